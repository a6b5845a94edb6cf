// The quota of a fixed window, which counts and does not drain: any count per period, where a quota for all
// algorithms refuses counts that whole nanoseconds would slow by more than 0.1 %, or that are above one a
// nanosecond.
//
// A pure function, any thread. Not for: gcra, which would be slower than it says.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "weir/quota.hpp"

namespace weir::inline v0_1::core {

struct WindowQuota {
  // 1 <= count < 2^32, and 1 ns <= period < 2^62 ns.
  static constexpr Quota of(std::int64_t count, std::chrono::nanoseconds period) {
    const std::int64_t interval = (period.count() - 1) / count + 1;
    return {{count, period}, count, std::chrono::nanoseconds{interval}};
  }
};

}  // namespace weir::core
