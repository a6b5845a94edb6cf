// The one word that a Limiter keeps, its tat: what it says when it is locked, and a decision by it; and where
// the tat is while something is reserved.
//
// Pure, any thread; a LimiterSchedule belongs to the thread that has locked its limiter. Not for: keys
// (table.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/gcra.hpp"
#include "store/schedule.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

// Of a limiter that somebody has locked. No tat: gcra's are below 2^64 - 1 (src/core/gcra.hpp).
constexpr std::uint64_t kLocked = std::numeric_limits<std::uint64_t>::max();
// The tat is in the limiter's schedule: what charges has to tell the schedule. No tat either, as long as the
// clock is a nanosecond short of 2^63.
constexpr std::uint64_t kInSchedule = kLocked - 1;

inline core::gcra::State state_of(const Quota& quota, std::uint64_t tat) {
  return {tat, static_cast<std::uint64_t>(quota.emission_interval().count())};
}

inline core::gcra::Step step_of(const Quota& quota, std::uint64_t tat, std::chrono::nanoseconds now,
                                Cost cost) {
  return core::gcra::decide(quota, state_of(quota, tat), now, cost);
}

// While something is reserved, and for good once the quota was changed: only here is there a place for the T
// that a debt was counted in.
struct LimiterSchedule {
  Schedule schedule{1};
  core::gcra::State state{};
  std::optional<Quota> quota{};  // that it was changed to

  const Quota& quota_or(const Quota& first) const { return quota ? *quota : first; }

  // Changes of the T come in the order of their times (core::counted_by_another_quota).
  std::chrono::nanoseconds no_earlier(const Quota& first, std::chrono::nanoseconds now) const {
    return state.interval == state_of(quota_or(first), 0).interval ? now : schedule.no_earlier(now);
  }
  core::gcra::Step decide(const Quota& first, std::chrono::nanoseconds now, Cost cost) const {
    return core::gcra::decide(quota_or(first), state, no_earlier(first, now), cost);
  }
  void charge(const core::gcra::State& next, std::chrono::nanoseconds now) {
    if (next.interval != state.interval) schedule.lose();
    state = next;
    schedule.read(now);
  }
};

}  // namespace weir::store
