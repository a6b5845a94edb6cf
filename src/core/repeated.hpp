// When to tell something that happens again and again: at once, then at intervals, each time with how often
// it has happened since. So one cause never fills a log, and nothing that happened goes uncounted.
//
// Any thread. The clock's readings are handed in; one may be older than the last.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir::inline v0_1::core {

class Repeated {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  explicit constexpr Repeated(nanoseconds interval = std::chrono::seconds{10}) : interval_(interval) {}

  // Counts what happened, one if nothing else is said. How many are to be told of now: 0 within the interval
  // since the last that was told, else all that have happened since then, these too. One caller at most is
  // given each.
  std::uint64_t happened(nanoseconds now, std::uint64_t times = 1) {
    untold_.fetch_add(times, std::memory_order_relaxed);
    return rest(now);
  }

  // How many happened since the last that was told, once the interval is over: nobody may happen to be next.
  std::uint64_t rest(nanoseconds now) {
    if (untold_.load(std::memory_order_relaxed) == 0) return 0;
    nanoseconds due = due_.load(std::memory_order_relaxed);
    if (now < due || !due_.compare_exchange_strong(due, now + interval_, std::memory_order_relaxed)) return 0;
    return untold_.exchange(0, std::memory_order_relaxed);
  }

  // The next is told at once: after a change that makes it news again.
  void renew() { due_.store(nanoseconds::min(), std::memory_order_relaxed); }

 private:
  const nanoseconds interval_;
  std::atomic<nanoseconds> due_{nanoseconds::min()};
  std::atomic<std::uint64_t> untold_{0};
};

}  // namespace weir::core
