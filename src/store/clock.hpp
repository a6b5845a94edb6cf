// The embedded store's clock. Monotonic: a wall clock that is stepped by an hour changes no decision.
//
// CLOCK_MONOTONIC and not CLOCK_BOOTTIME: while a machine is suspended nobody is served either, and a debt
// that waits longer is safe where one that vanished might not be. Any thread.
#pragma once

#include <chrono>

namespace weir::store {

inline std::chrono::nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace weir::store
