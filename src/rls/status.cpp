#include "rls/status.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "rls/form.hpp"
#include "service/told.hpp"
#include "store/charging.hpp"

namespace weir::inline v0_1::rls {
namespace {

using service::Question;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::uint32_t cut(std::int64_t number) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, kMost));
}

// That is told where there is no more of two.
std::uint64_t left(const Status& status) {
  return status.limit ? status.remaining : std::numeric_limits<std::uint64_t>::max();
}

bool is_worse(const Status& a, const Status& b) {
  if (a.over != b.over) return a.over;
  if (a.over) return a.until_reset.value_or(seconds::max()) > b.until_reset.value_or(seconds::max());
  return left(a) < left(b);
}

}  // namespace

nanoseconds until_more(const core::Rule& rule, const Decision& decision) {
  const Quota& quota = rule.quota;
  const bool has_burst = core::has_burst(rule.algorithm);
  if (decision.verdict == Verdict::never) {
    // A window of the clock's has its end whatever is asked.
    if (core::goes_by_the_clock(rule.algorithm) && decision.reset_after.count() != 0)
      return decision.reset_after;
    return has_burst ? quota.burst() * quota.emission_interval() : quota.rate().period;
  }
  if (!has_burst) return decision.retry_after.value_or(decision.reset_after);
  return decision.reset_after - (quota.burst() - 1) * quota.emission_interval();
}

void decide_charge(const Question& question) {
  if (question.checks.empty() || question.charge->decides) return;
  store::Check& check = question.checks[question.by];
  check.decision = store::decision_of(question.charge->told, check.limit->rule, question.charge->outside);
  check.decision.source = question.source;
}

void DescriptorTelling::clear() {
  status = {};
  undecided = by_fallback = helps = is_quota = false;
}

void DescriptorTelling::add(const Question& question, const limits::Set& set) {
  const service::Told told = service::told_of(question, &set);
  if (const limits::Matched& matched = question.more->matched;
      matched.outcome == limits::Matched::Outcome::refused) {
    Status refused{.over = true};
    if (matched.ban != nullptr) refused.until_reset = std::chrono::ceil<seconds>(matched.banned_for);
    return take(refused, {}, matched.ban != nullptr);
  }
  if (told.by.empty() || (question.form & kShadow) != 0) return;
  const bool denies = question.verb != store::Verb::look || form_of(question.form) == Form::whether;
  Status its{.over = !told.allowed && denies};
  const core::Rule& rule = question.checks[question.by].limit->rule;
  const limits::RateUnit unit = limits::unit_of(rule.quota.rate().period);
  its.limit = {cut(rule.quota.rate().count), unit, {}};
  if (its.over) {
    its.until_reset = std::max(std::chrono::ceil<seconds>(until_more(rule, question.decision())), seconds{1});
  } else {
    its.remaining = cut(told.remaining);
    its.until_reset = std::chrono::ceil<seconds>(told.reset_after);
  }
  std::string its_name(told.by);
  if (unit == limits::RateUnit::unknown) core::append_window(rule, its_name += '-');
  take(its, its_name, its.over && told.verdict != Verdict::never);
}

void DescriptorTelling::take(const Status& other, std::string_view its_name, bool its_time_helps) {
  if (!is_worse(other, status)) return;
  status = other;
  name = its_name;
  if (status.limit) status.limit->name = name;
  helps = its_time_helps;
}

}  // namespace weir::rls
