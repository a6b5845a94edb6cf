// The clock that a limiter reads, for tests that must not wait (docs/testing.md). Without one, limiters read
// std::chrono::steady_clock.
//
//   weir::ManualClock clock;
//   weir::Limiter limiter{weir::Quota::per_second(1), clock};
//   clock.advance(1s);
//
// The clock is the caller's, and must outlive the limiters that it is given to. Any thread may call now().
//
// What waits by a clock, as acquire() and async_wait(), sets an Alarm. A clock that runs as the steady clock
// does takes none: those that wait sleep by the steady clock, and read now() again. A ManualClock rings.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

#include "weir/lock.hpp"
#include "weir/version.hpp"
#include "weir/waiters.hpp"

namespace weir::inline v0_1 {

class ManualClock;

// Rings once, when the clock that it was set on has come to a time. The ManualClock must outlive it. One
// thread at a time, apart from the ringing.
class WEIR_API Alarm final : private Waiter {
 public:
  // `ring` is called by the thread that advances the clock, or by the one that sets the alarm too late. It
  // must not throw, block, or touch an alarm or the clock, but for now().
  explicit Alarm(std::function<void()> ring);
  // It does not ring from then on, nor is ringing.
  ~Alarm();

 private:
  friend class ManualClock;
  std::function<void()> ring_;
  const ManualClock* clock_ = nullptr;  // that it was set on
};

class WEIR_API Clock {
 public:
  virtual ~Clock();
  // Nanoseconds since a moment of the clock's own: 0 or above, and never going back.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const noexcept = 0;
  // Has `alarm` ring once now() is `time` or later. False, without setting it: this clock runs as the steady
  // clock does. A clock of your own that is moved by hand passes this on to a ManualClock that moves with it.
  [[nodiscard]] virtual bool ring_at(std::chrono::nanoseconds time, Alarm& alarm) const noexcept;

 protected:
  Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

// Stands still until it is advanced. Any thread may call any member.
class WEIR_API ManualClock final : public Clock {
 public:
  explicit ManualClock(std::chrono::nanoseconds start = std::chrono::nanoseconds{0}) noexcept;
  ~ManualClock() override;

  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override;
  // By 0 or more. Wakes those whose time has come, the earliest first.
  void advance(std::chrono::nanoseconds by) noexcept;
  // To a time of the caller's, as that of an event; one that is before now() changes nothing.
  void advance_to(std::chrono::nanoseconds time) noexcept;
  // How many wait by this clock, in acquire(), async_wait() or with an alarm of their own: a test advances
  // the clock when all that it expects are there.
  [[nodiscard]] std::size_t waiting() const noexcept;
  // The earliest time that one of them waits for.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> next() const noexcept;

  [[nodiscard]] bool ring_at(std::chrono::nanoseconds time, Alarm& alarm) const noexcept override;

 private:
  friend class Alarm;
  void forget(Alarm& alarm) const noexcept;

  std::atomic<std::chrono::nanoseconds::rep> now_;
  mutable detail::Mutex mutex_;
  mutable Waiters alarms_ WEIR_GUARDED_BY(mutex_);  // they ring meanwhile
};

}  // namespace weir
