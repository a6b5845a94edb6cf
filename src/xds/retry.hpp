// After how long a connection that ended is made again: by chance between the first delay and twice as much
// with each attempt, so that servers that lost one together do not all come back together.
//
// One thread; chance is handed in.
#pragma once

#include <algorithm>
#include <chrono>

namespace weir::inline v0_1::xds {

class Retry {
 public:
  Retry(std::chrono::nanoseconds first, std::chrono::nanoseconds most) : first_(first), most_(most) {}

  // `chance`: from 0 to 1.
  std::chrono::nanoseconds next(double chance) {
    ceiling_ = ceiling_ > most_ / 2 ? most_ : ceiling_ * 2;
    const auto width = std::chrono::duration<double, std::nano>(ceiling_ - first_) * chance;
    return std::clamp(first_ + std::chrono::duration_cast<std::chrono::nanoseconds>(width), first_, most_);
  }
  // The connection was of use: it begins with the first delay again.
  void succeeded() { ceiling_ = first_; }

 private:
  const std::chrono::nanoseconds first_;
  const std::chrono::nanoseconds most_;
  std::chrono::nanoseconds ceiling_ = first_;
};

}  // namespace weir::xds
