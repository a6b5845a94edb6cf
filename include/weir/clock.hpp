// The clock that a limiter reads, for tests that must not wait (docs/testing.md). Without one, limiters read
// std::chrono::steady_clock.
//
//   weir::ManualClock clock;
//   weir::Limiter limiter{weir::Quota::per_second(1), clock};
//   clock.advance(1s);
//
// The clock is the caller's, and must outlive the limiters that it is given to. Any thread may call now().
#pragma once

#include <atomic>
#include <chrono>

namespace weir {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since a moment of the clock's own: 0 or above, and never going back.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const noexcept = 0;

 protected:
  Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

// Stands still until it is advanced. Any thread may call any member.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::chrono::nanoseconds start = std::chrono::nanoseconds{0}) noexcept
      : now_(start.count()) {}

  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::nanoseconds{now_.load(std::memory_order_acquire)};
  }
  // By 0 or more.
  void advance(std::chrono::nanoseconds by) noexcept {
    now_.fetch_add(by.count(), std::memory_order_acq_rel);
  }

 private:
  std::atomic<std::chrono::nanoseconds::rep> now_;
};

}  // namespace weir
