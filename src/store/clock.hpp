// The embedded store's clock. Monotonic: a wall clock that is stepped by an hour changes no decision.
//
// CLOCK_MONOTONIC and not CLOCK_BOOTTIME: while a machine is suspended nobody is served either, and a debt
// that waits longer is safe where one that vanished might not be. Any thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "weir/clock.hpp"

namespace weir::inline v0_1::store {

inline std::chrono::nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// Times begin at 0: before it everything would have drained.
constexpr std::chrono::nanoseconds from_zero(std::chrono::nanoseconds now) {
  return std::max(now, std::chrono::nanoseconds{0});
}

// The clock that a limiter was given; null: the steady clock.
inline std::chrono::nanoseconds read(const Clock* clock) noexcept {
  if (clock == nullptr) [[likely]]
    return steady_now();
  return from_zero(clock->now());
}

}  // namespace weir::store
