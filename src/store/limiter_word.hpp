// The one word that a Limiter keeps, its tat: what it says when it is locked, and a decision by it; and where
// the tat is while something is reserved.
//
// Pure, any thread; a LimiterLine belongs to the thread that has locked its limiter. Not for: keys
// (table.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "core/gcra.hpp"
#include "store/line.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

// Of a limiter that somebody has locked. No tat: gcra's are below 2^64 - 1 (src/core/gcra.hpp).
constexpr std::uint64_t kLocked = std::numeric_limits<std::uint64_t>::max();
// The tat is in the limiter's line: what charges has to tell the line. No tat either, as long as the clock
// is a nanosecond short of 2^63.
constexpr std::uint64_t kInLine = kLocked - 1;

struct LimiterLine {
  Line line{1};
  std::uint64_t tat = 0;
};

inline core::gcra::Step step_of(const Quota& quota, std::uint64_t tat, std::chrono::nanoseconds now,
                                Cost cost) {
  return core::gcra::decide(quota, {tat, static_cast<std::uint64_t>(quota.emission_interval().count())}, now,
                            cost);
}

}  // namespace weir::store
