// A clock and the wall clock of a test, which stand still until they are told to go on, together.
//
// Any thread may tell the time; one lets it go on. Not for: what is to happen meanwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace weir::inline v0_1::core {

class VirtualTime {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // What is computed of later times fits a number of nanoseconds.
  static constexpr nanoseconds kMost = std::chrono::hours{24} * 36'525;
  static constexpr nanoseconds kLatestWall = std::chrono::hours{24} * 47'482;  // 2100-01-01

  // `wall`: since 1970, at most kLatestWall.
  explicit VirtualTime(nanoseconds wall) : wall_(wall) {}

  nanoseconds now() const { return kStart + passed(); }
  nanoseconds wall_now() const { return wall_ + passed(); }
  nanoseconds passed() const { return passed_.load(std::memory_order_relaxed); }
  // To a later moment of now(), or as far as it goes.
  void go_to(nanoseconds moment) {
    passed_.store(std::clamp(moment - kStart, passed(), kMost), std::memory_order_relaxed);
  }
  // To the start: whatever has a later time is to be forgotten.
  void start_again() { passed_.store(nanoseconds{0}, std::memory_order_relaxed); }

 private:
  static constexpr nanoseconds kStart = std::chrono::hours{1};

  const nanoseconds wall_;
  std::atomic<nanoseconds> passed_{nanoseconds{0}};
};

}  // namespace weir::core
