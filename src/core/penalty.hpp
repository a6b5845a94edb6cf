// How long a key rests after a breach (store/penalty.hpp): for a time, or for time x growing^n, at most
// `most`. n is 0 at first; each breach adds one to it, and each `most` since the last one takes one.
//
// All that is kept of a key is the time at which its n is 0 again: n is then how often `most` fits until
// that, rounded up. By another `most` the same time says another n.
//
// Pure functions, any thread. Not for: where that time is kept (store/penalty_book.hpp, reserve.lua).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weir::inline v0_1::core {

struct PenaltyTerms {
  std::chrono::nanoseconds time{0};  // 0: none
  std::uint32_t growing = kWhole;    // thousandths
  std::chrono::nanoseconds most{0};  // of one that grows
  bool afresh = false;               // at its end the key is as if never used, as Pause has it

  static constexpr std::uint32_t kWhole = 1000;
  static constexpr std::uint64_t kMostBreaches = 1000;  // any more count as that

  explicit operator bool() const { return time.count() != 0; }
  bool grows() const { return growing > kWhole; }

  // n by now, of a key whose n will be 0 then.
  std::uint64_t breaches(std::chrono::nanoseconds forgotten, std::chrono::nanoseconds now) const {
    if (forgotten <= now) return 0;
    const auto each = static_cast<std::uint64_t>(most.count());
    const auto ahead =
        static_cast<std::uint64_t>(forgotten.count()) - static_cast<std::uint64_t>(now.count());
    return std::min((ahead - 1) / each + 1, kMostBreaches);
  }
  // When n will be 0, after a breach that found it so.
  std::chrono::nanoseconds forgotten(std::uint64_t breaches, std::chrono::nanoseconds now) const {
    return now + most * static_cast<std::int64_t>(std::min(breaches + 1, kMostBreaches));
  }
  // The rest that it takes. Multiplied in this order in reserve.lua, too, so that they agree to the bit.
  std::chrono::nanoseconds rest(std::uint64_t breaches) const {
    if (!grows()) return time;
    double factor = 1;
    for (double power = growing / double{kWhole}; breaches > 0; breaches /= 2, power *= power)
      if (breaches % 2 == 1) factor *= power;
    const double longest =
        std::min(static_cast<double>(time.count()) * factor, static_cast<double>(most.count()));
    return std::chrono::nanoseconds{static_cast<std::int64_t>(longest)};
  }

  friend bool operator==(const PenaltyTerms&, const PenaltyTerms&) = default;
};

}  // namespace weir::core
