// Clocks that a program has of its own, and alarms by them.
#include <utility>

#include "weir/clock.hpp"

namespace weir::inline v0_1 {

using std::chrono::nanoseconds;

Alarm::Alarm(std::function<void()> ring)
    : Waiter([](Waiter& waiter) { static_cast<Alarm&>(waiter).ring_(); }), ring_(std::move(ring)) {}

Alarm::~Alarm() {
  if (clock_ != nullptr) clock_->forget(*this);
}

Clock::~Clock() = default;
bool Clock::ring_at(nanoseconds, Alarm&) const noexcept { return false; }

ManualClock::ManualClock(nanoseconds start) noexcept : now_(start.count()) {}
ManualClock::~ManualClock() = default;

nanoseconds ManualClock::now() const noexcept { return nanoseconds{now_.load(std::memory_order_acquire)}; }

void ManualClock::advance(nanoseconds by) noexcept {
  const detail::Held lock(mutex_);
  now_.fetch_add(by.count(), std::memory_order_acq_rel);
  alarms_.advance(now());
}

void ManualClock::advance_to(nanoseconds time) noexcept {
  const detail::Held lock(mutex_);
  if (time <= now()) return;
  now_.store(time.count(), std::memory_order_release);
  alarms_.advance(time);
}

std::size_t ManualClock::waiting() const noexcept {
  const detail::Held lock(mutex_);
  return alarms_.size();
}

std::optional<nanoseconds> ManualClock::next() const noexcept {
  const detail::Held lock(mutex_);
  return alarms_.next_deadline();
}

bool ManualClock::ring_at(nanoseconds time, Alarm& alarm) const noexcept {
  const detail::Held lock(mutex_);
  alarm.clock_ = this;
  alarms_.add(alarm, time);
  alarms_.advance(now());
  return true;
}

void ManualClock::forget(Alarm& alarm) const noexcept {
  const detail::Held lock(mutex_);
  alarms_.cancel(alarm);
}

}  // namespace weir
