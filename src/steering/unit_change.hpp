// Units that were booked, and taken back, one after the other, where the sum is never below 0: as one thing
// that can be applied to a sum later, and to several.
//
// Each step makes x into max(x + d, 0). Steps one after the other are max(x + a, b) for some a and b,
// whatever x >= 0: so two numbers keep any run of them, and what comes of a run does not depend on where it
// is cut. Pure, any thread. Numbers that would pass 2^62 stay there.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::inline v0_1::steering {

struct UnitChange {
  static constexpr std::int64_t kMost = std::int64_t{1} << 61;  // two of them are a number still

  std::int64_t sum = 0;    // a
  std::int64_t least = 0;  // b

  void add(std::int64_t units) { then({units, 0}); }
  // `next`, a run or a step, after this.
  void then(const UnitChange& next) {
    least = std::max(bounded(least, next.sum), next.least);
    sum = bounded(sum, next.sum);
  }
  std::int64_t applied_to(std::int64_t units) const { return std::max(bounded(units, sum), least); }

 private:
  static std::int64_t bounded(std::int64_t a, std::int64_t b) {
    b = std::clamp(b, -kMost, kMost);
    return std::clamp(a, -kMost, kMost) + b > kMost ? kMost
                                                    : std::max(std::clamp(a, -kMost, kMost) + b, -kMost);
  }
};

}  // namespace weir::steering
