#include "rls/status.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "service/told.hpp"

namespace weir::inline v0_1::rls {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

std::uint32_t cut(std::int64_t number) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, kMost));
}

// Until one more unit is admitted; where no time helps, the window, or the time in which a burst drains.
nanoseconds until_more(const core::Rule& rule, const Decision& decision) {
  const Quota& quota = rule.quota;
  const bool gcra = rule.algorithm == Algorithm::gcra;
  if (decision.verdict == Verdict::never)
    return gcra ? quota.burst() * quota.emission_interval() : quota.rate().period;
  if (!gcra) return decision.retry_after.value_or(decision.reset_after);
  return decision.reset_after - (quota.burst() - 1) * quota.emission_interval();
}

}  // namespace

StatusOf status_of(const service::Question& question, const limits::Set& set, std::string& room) {
  const service::Told told = service::told_of(question, &set);
  StatusOf made{.status = {.over = !told.allowed && !question.looks()}};
  Status& status = made.status;
  const bool listed = question.more->matched.outcome == limits::Matched::Outcome::refused;
  status.over = status.over || listed;
  if (listed || told.by.empty()) return made;
  const core::Rule& rule = question.checks[question.by].limit->rule;
  const std::uint32_t unit = unit_of(rule.quota.rate().period);
  room = told.by;
  if (unit == 0) core::append_window(rule, room += '-');
  status.limit = {cut(rule.quota.rate().count), unit, room};
  if (!status.over) {
    status.remaining = cut(told.remaining);
    status.until_reset = std::chrono::ceil<seconds>(told.reset_after);
    return made;
  }
  status.until_reset =
      std::max(std::chrono::ceil<seconds>(until_more(rule, question.decision())), seconds{1});
  if (told.verdict != Verdict::never) made.retry_after = status.until_reset;
  return made;
}

}  // namespace weir::rls
