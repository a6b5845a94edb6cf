// What the contract says of checks, by the rule itself: slow, in a map, one request at a time.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agreement/subject.hpp"
#include "conformance/trial.hpp"

namespace weir::store::conformance {

class Model {
 public:
  // One decision for each part: what it would be told alone. Charged all or none.
  std::vector<Decision> ask(const std::vector<Part>& parts, nanoseconds now) {
    std::vector<Decision> decisions;
    std::vector<Subject> after;
    bool all = true;
    for (const Part& part : parts) {
      Subject subject = states_.try_emplace({part.limit.id, part.key}, part.limit.rule).first->second;
      subject.adopt(part.limit.rule);
      decisions.push_back(subject.ask(now.count(), part.cost));
      after.push_back(std::move(subject));
      all = all && decisions.back().allowed();
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (all) states_.insert_or_assign({parts[i].limit.id, parts[i].key}, std::move(after[i]));
    }
    return decisions;
  }

 private:
  std::map<std::pair<std::uint64_t, std::string>, Subject> states_;
};

// That the question was told what the model says.
inline void expect_told(Trial& trial, const Question& question, const std::vector<Decision>& should,
                        const std::string& what) {
  for (std::size_t i = 0; i < should.size(); ++i) {
    if (question.source == Source::remembered && i != question.by) continue;
    trial.equal(shown(question.room[i].decision), shown(should[i]), what + ", check " + std::to_string(i));
  }
}

}  // namespace weir::store::conformance
