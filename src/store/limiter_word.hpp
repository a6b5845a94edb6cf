// The one word that a Limiter keeps, its tat: what it says when it is locked, and a decision by it.
//
// Pure, any thread. Not for: keys (table.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "core/gcra.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

// Of a limiter that somebody has locked. No tat: gcra's are below 2^64 - 1 (src/core/gcra.hpp).
constexpr std::uint64_t kLocked = std::numeric_limits<std::uint64_t>::max();

inline core::gcra::Step step_of(const Quota& quota, std::uint64_t tat, std::chrono::nanoseconds now,
                                Cost cost) {
  return core::gcra::decide(quota, {tat, static_cast<std::uint64_t>(quota.emission_interval().count())}, now,
                            cost);
}

}  // namespace weir::store
