#include "core/overdraft.hpp"

#include <limits>

#include "core/reservation.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::nanoseconds;
using Wide = unsigned __int128;

constexpr std::uint64_t kMostUsed = std::numeric_limits<std::uint32_t>::max();

std::uint64_t units_of(std::uint64_t time, std::uint64_t interval) {
  return time / interval + (time % interval != 0 ? 1 : 0);
}

std::uint64_t interval_of(const Rule& rule) {
  return static_cast<std::uint64_t>(rule.quota.emission_interval().count());
}

Overdrawn overdraw_gcra(const Rule& rule, TwoWords state, nanoseconds now, const Outside& outside) {
  const std::uint64_t interval = interval_of(rule);
  const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
  const std::uint64_t ahead = ahead_of(state.until, now);
  const bool recounts = ahead != 0 && state.word != interval;
  const std::uint64_t owed_units = ahead == 0 ? 0 : units_of(ahead, state.word);
  const Wide owed = recounts ? static_cast<Wide>(owed_units) * interval : ahead;

  Overdrawn told{.next = state};
  Wide after = owed;
  if (outside.form == Outside::Form::cost) {
    const Wide most = std::max<Wide>(owed, most_owed(rule, outside.overdraft));
    after = std::min(owed + static_cast<Wide>(outside.units) * interval, most);
    told.charged = static_cast<std::uint64_t>((after - owed) / interval);
    told.dropped = outside.units - told.charged;
  } else {
    const std::uint64_t used = burst - std::min(outside.units, burst);
    after = std::max(owed, static_cast<Wide>(used) * interval);
    if (after > owed) told.charged = used - owed_units;
  }
  if (after > owed) {
    told.next = {static_cast<std::uint64_t>(now.count()) + static_cast<std::uint64_t>(after), interval};
    told.changes = true;
  }
  const std::uint64_t left = ahead_of(told.next.until, now);
  const std::uint64_t left_units = left == 0 ? 0 : units_of(left, told.next.word);
  told.overdraft = left_units - std::min(left_units, burst);
  told.wait = until_one_more(rule, told.next, now);
  told.reset_after = nanoseconds{static_cast<std::int64_t>(at_most_the_longest(left))};
  return told;
}

Overdrawn overdraw_window(const Rule& rule, TwoWords state, nanoseconds now, const Outside& outside) {
  const auto limit = static_cast<std::uint64_t>(rule.quota.rate().count);
  const std::uint64_t used = ahead_of(state.until, now) == 0 ? 0 : state.word;
  std::uint64_t after = used;
  if (outside.form == Outside::Form::cost) {
    const std::uint64_t most = std::max({used, limit, kMostUsed});
    after = used + std::min(outside.units, most - used);
  } else {
    after = std::max(used, limit - std::min(outside.units, limit));
  }
  Overdrawn told{.next = state, .changes = after != used, .charged = after - used};
  if (outside.form == Outside::Form::cost) told.dropped = outside.units - told.charged;
  if (told.changes) {
    // A unit that passes tells which window runs.
    const TwoWords open = ahead_of(state.until, now) == 0 ? decide(rule, {}, now, Cost{1}).next : state;
    told.next = {open.until, after};
  }
  told.overdraft = after - std::min(after, limit);
  if (after == 0) return told;
  told.reset_after =
      nanoseconds{static_cast<std::int64_t>(at_most_the_longest(ahead_of(told.next.until, now)))};
  if (after >= limit) told.wait = told.reset_after;
  return told;
}

}  // namespace

std::uint64_t most_owed(const Rule& rule, nanoseconds overdraft) {
  constexpr auto kMost = static_cast<std::uint64_t>(nanoseconds::max().count());
  const std::uint64_t full = static_cast<std::uint64_t>(rule.quota.burst()) * interval_of(rule);
  return full +
         std::min(static_cast<std::uint64_t>(std::max(overdraft.count(), std::int64_t{0})), kMost - full);
}

Overdrawn overdraw(const Rule& rule, TwoWords state, nanoseconds now, const Outside& outside) {
  return rule.algorithm == Algorithm::gcra ? overdraw_gcra(rule, state, now, outside)
                                           : overdraw_window(rule, state, now, outside);
}

}  // namespace weir::core
