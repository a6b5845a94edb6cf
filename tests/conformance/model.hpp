// What the contract says of checks, by the rule itself: slow, in a map, one request at a time.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agreement/subject.hpp"
#include "conformance/trial.hpp"

namespace weir::inline v0_1::store::conformance {

class Model {
 public:
  // One decision for each part: what it would be told alone; of one that allows what others deny, what is
  // there without it. Charged all or none that are enforced, and of the others those that allow.
  std::vector<Decision> ask(const std::vector<Part>& parts, nanoseconds now, bool look = false) {
    std::vector<Decision> decisions;
    std::vector<Decision> found;
    std::vector<Subject> after;
    bool all = true;
    for (const Part& part : parts) {
      core::Rule rule = part.limit.rule;
      if (part.inside != Check::kNoGuarantee && decisions.at(part.inside).allowed())
        rule.kept = nanoseconds{0};
      Subject subject = states_.try_emplace({part.limit.id, part.key}, rule).first->second;
      subject.adopt(rule);
      Subject before = subject;
      const Decision decision = subject.ask(now.count(), part.cost);
      decisions.push_back(decision);
      found.push_back(before.ask(now.count(), 0));
      found.back().verdict = decision.verdict;
      found.back().retry_after = decision.retry_after;
      after.push_back(std::move(subject));
      all = all && (part.shadow || decision.allowed());
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (look || (!all && decisions[i].allowed())) decisions[i] = found[i];
      if (all && !look) states_.insert_or_assign({parts[i].limit.id, parts[i].key}, std::move(after[i]));
    }
    return decisions;
  }

 private:
  std::map<std::pair<std::uint64_t, std::string>, Subject> states_;
};

// That the question was told what the model says.
inline void expect_told(Trial& trial, const TestRequest& question, const std::vector<Decision>& should,
                        const std::string& what) {
  for (std::size_t i = 0; i < should.size(); ++i) {
    if (question.source == Source::remembered && i != question.by) continue;
    trial.equal(shown(question.room[i].decision), shown(should[i]), what + ", check " + std::to_string(i));
  }
}

}  // namespace weir::store::conformance
