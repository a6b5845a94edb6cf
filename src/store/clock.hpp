// The embedded store's clock. Monotonic: a wall clock that is stepped by an hour changes no decision.
//
// CLOCK_MONOTONIC and not CLOCK_BOOTTIME: while a machine is suspended nobody is served either, and a debt
// that waits longer is safe where one that vanished might not be. Any thread.
#pragma once

#include <chrono>

#include "weir/clock.hpp"

namespace weir::inline v0_1::store {

inline std::chrono::nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// The clock that a limiter was given; null: the steady clock.
inline std::chrono::nanoseconds read(const Clock* clock) noexcept {
  if (clock == nullptr) [[likely]]
    return steady_now();
  return clock->now();
}

}  // namespace weir::store
