// A clock that a test sets before each call, also back, as the reading of another thread may lag: each thread
// has a time of its own.
#pragma once

#include <chrono>

#include "weir/clock.hpp"

namespace weir::inline v0_1 {

class SetClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override { return time; }
  static inline thread_local std::chrono::nanoseconds time{0};
};
inline const SetClock kSetClock;

// `asked`, for a call at that time: at_time(5s, limiter).check().
template <class Asked>
Asked& at_time(std::chrono::nanoseconds now, Asked& asked) {
  SetClock::time = now;
  return asked;
}

}  // namespace weir
