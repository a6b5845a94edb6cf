#include "redis/ledger_view.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

namespace weir::inline v0_1::redis {

std::optional<LedgerView> LedgerView::read(std::string_view text) {
  if (!text.starts_with(kMark)) return std::nullopt;
  LedgerView view;
  const char* at = text.data() + kMark.size();
  const char* const end = text.data() + text.size();
  const std::array numbers = {&view.interval_, &view.free_,        &view.owed_, &view.sum_,
                              &view.least_,    &view.retry_after_, &view.rest_, &view.charged_};
  constexpr std::size_t kLeast = 7;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto [tail, error] = std::from_chars(at, end, *numbers[i]);
    if (error != std::errc()) return std::nullopt;
    if (tail == end) return i + 1 >= kLeast && view.interval_ != 0 ? std::optional(view) : std::nullopt;
    if (*tail != ' ') return std::nullopt;
    at = tail + 1;
  }
  return std::nullopt;
}

core::Step LedgerView::decide(const core::Rule& rule, Cost cost) const {
  core::Step step{.verdict = Verdict::allowed,
                  .limit = rule.quota.burst(),
                  .remaining = free_ / interval_,
                  .retry_after = 0,
                  .reset_after = 0,
                  .next = {},
                  .changes = false};
  if (cost.units > core::most_units(rule)) {
    step.verdict = Verdict::never;
  } else if (cost.units > step.remaining) {
    step.verdict = Verdict::denied;
    step.retry_after = retry_after_;
  } else if (cost.units != 0) {
    step.changes = true;
    step.remaining -= cost.units;
  }
  const std::uint64_t need = cost.units * interval_;
  step.reset_after = core::at_most_the_longest(step.changes ? std::max(owed_ + need + sum_, least_) : rest_);
  return step;
}

void LedgerView::charge(Cost cost) {
  const std::uint64_t need = cost.units * interval_;
  free_ -= std::min(free_, need);
  owed_ += need;
  rest_ = std::max(owed_ + sum_, least_);
}

Charged LedgerView::told(const core::Rule& rule, std::uint64_t units) const {
  const core::Step one = decide(rule, Cost{1});
  const std::uint64_t full = static_cast<std::uint64_t>(rule.quota.burst()) * interval_;
  Charged told;
  told.charged = units;
  told.overdraft = owed_ <= full ? 0 : (owed_ - full - 1) / interval_ + 1;
  told.remaining = free_ / interval_;
  if (one.verdict == Verdict::denied)
    told.wait = std::chrono::nanoseconds{static_cast<std::int64_t>(retry_after_)};
  told.reset_after = std::chrono::nanoseconds{static_cast<std::int64_t>(core::at_most_the_longest(rest_))};
  return told;
}

}  // namespace weir::redis
