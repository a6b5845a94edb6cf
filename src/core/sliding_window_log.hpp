// The sliding window log: every admission is remembered for one period.
//
//   allowed  iff  units admitted in (now - P, now] + cost <= limit
//
// The span is open at its beginning: an entry exactly one period old has left.
//
// Source: the definition of "at most `limit` in any period", taken literally; Redis users keep it in a
// sorted set. Weakness: memory. 16 bytes for each admission of the last period, at most `limit` of them; and
// a request that does not fit reads through all entries that must leave first.
//
// Pure: no clock, no lock, no allocation. The caller owns the memory and keeps two threads from using one log
// at a time. Range: 0 <= now < 2^63, P < 2^63, limit < 2^32 (Rule::make).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "core/step.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::core::sliding_window_log {

using std::chrono::nanoseconds;

// What was admitted at one time.
struct Entry {
  std::uint64_t at = 0;  // ns
  std::uint64_t units = 0;
};

// The log lies in a ring, oldest first from `head`. One without entries equals no log at all, and so does one
// whose newest entry has left.
struct State {
  std::uint64_t newest = 0;  // the time of the last entry; meaningless without one
  std::uint32_t used = 0;    // units of all entries, including those that have left
  std::uint32_t head = 0;    // index of the oldest entry
  std::uint32_t count = 0;   // entries

  friend constexpr bool operator==(const State&, const State&) = default;
};

// Whether what was admitted at one time counts no more at another.
constexpr bool has_left(std::uint64_t admitted, std::uint64_t period, std::uint64_t at) {
  return admitted + period <= at;
}
// How long until it has.
constexpr std::uint64_t until_it_leaves(std::uint64_t admitted, std::uint64_t period, nanoseconds now) {
  return at_most_the_longest(ahead_of(admitted + period, now));
}
// How many of the units that count have to leave before the cost fits beside the others; 0: it fits.
constexpr std::uint64_t excess_of(std::uint64_t limit, std::uint64_t used, std::uint64_t cost) {
  return cost > limit - std::min(used, limit) ? used + cost - limit : 0;
}

// How long until the log equals none.
constexpr std::uint64_t reset_after(const Quota& quota, const State& log, nanoseconds now) {
  const auto period = static_cast<std::uint64_t>(quota.rate().period.count());
  return log.count != 0 ? until_it_leaves(log.newest, period, now) : 0;
}

// Decides one request and, if it is allowed, records it; otherwise changes nothing. The ring must have
// `limit` entries, or one more than the log has. A ring that grows must keep the log's order: entry i is at
// (head + i) % size.
//
// Entries are dropped only by an admission, which is recorded at max(now, newest). So a dropped entry has
// left for every later decision too, even for a thread with an older `now`.
inline Decision decide(const Quota& quota, State& log, std::span<Entry> ring, nanoseconds now, Cost cost) {
  const auto limit = static_cast<std::uint64_t>(quota.rate().count);
  const auto period = static_cast<std::uint64_t>(quota.rate().period.count());
  const auto n = static_cast<std::uint64_t>(now.count());
  const std::uint64_t at = log.count != 0 ? std::max(n, log.newest) : n;
  const auto entry = [&](std::uint64_t i) -> Entry& {
    const std::uint64_t place = log.head + i;
    return ring[place < ring.size() ? place : place - ring.size()];
  };

  std::uint64_t left = 0;  // entries that have left
  std::uint64_t used = log.used;
  if (log.count != 0 && has_left(log.newest, period, at)) {
    left = log.count;
    used = 0;
  }
  for (; left < log.count && has_left(entry(left).at, period, at); ++left) used -= entry(left).units;

  Verdict verdict = Verdict::allowed;
  std::optional<nanoseconds> retry_after;
  if (cost.units > limit) {
    verdict = Verdict::never;
  } else if (const std::uint64_t excess = excess_of(limit, used, cost.units); excess != 0) {
    verdict = Verdict::denied;
    std::uint64_t i = left;
    for (std::uint64_t gone = entry(i).units; gone < excess; gone += entry(i).units) ++i;
    retry_after = nanoseconds{static_cast<std::int64_t>(until_it_leaves(entry(i).at, period, now))};
  } else if (cost.units != 0) {
    log.head = static_cast<std::uint32_t>((log.head + left) % ring.size());
    log.count -= static_cast<std::uint32_t>(left);
    if (log.count == 0 || log.newest != at) {
      ++log.count;
      entry(log.count - 1) = {at, 0};
    }
    entry(log.count - 1).units += cost.units;
    used += cost.units;
    log.used = static_cast<std::uint32_t>(used);
    log.newest = at;
  }
  return {verdict, quota.rate().count, static_cast<std::int64_t>(limit - std::min(used, limit)), retry_after,
          nanoseconds{static_cast<std::int64_t>(reset_after(quota, log, now))}};
}

}  // namespace weir::core::sliding_window_log
