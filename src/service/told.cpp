#include "service/told.hpp"

#include <vector>

namespace weir::inline v0_1::service {

Told told_of(const Question& question, const limits::Set* set) {
  const store::Request* const asked = asked_of(question);
  Told told;
  if (question.by_file) {
    static_cast<limits::Answer&>(told) = limits::answer_of(*set, question.more->matched, asked);
    if (!told.allowed)
      told.verdict = question.more->matched.outcome == limits::Matched::Outcome::refused
                         ? Verdict::denied
                         : question.decision().verdict;
  } else {
    const Decision& decision = question.decision();
    told.allowed = decision.allowed();
    told.limit = decision.limit;
    told.remaining = decision.remaining;
    told.retry_after = decision.retry_after;
    told.reset_after = decision.reset_after;
    told.by = question.checks[question.by].key;
    told.verdict = decision.verdict;
  }
  if (asked == nullptr) {
    told.wait = std::chrono::nanoseconds{told.allowed ? 0 : -1};
  } else if (question.reservation != nullptr) {
    told.wait = question.reservation->wait;
    told.id = question.reservation->id;
  }
  return told;
}

limits::Explanation explanation_of(const Question& question, const limits::Set& set) {
  std::vector<limits::Attribute> attributes;
  for (const auto& [name, value] : question.more->said) attributes.push_back({name, value});
  return limits::explain(set.file(), question.more->trace, attributes, question.checks, asked_of(question));
}

}  // namespace weir::service
