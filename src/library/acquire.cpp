#include "weir/acquire.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <optional>

#include "weir/clock.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1 {

namespace {

struct Bell {
  detail::Mutex mutex;
  std::condition_variable_any changed;
  bool rung WEIR_GUARDED_BY(mutex) = false;

  void ring() {
    const detail::Held lock(mutex);
    rung = true;
    changed.notify_all();
  }
  // Until it rings, or for a time.
  void wait(const std::stop_token& stop, std::optional<std::chrono::nanoseconds> time) WEIR_REQUIRES(mutex) {
    const auto has_rung = [this]() WEIR_REQUIRES(mutex) { return rung; };
    if (time) {
      changed.wait_for(mutex, stop, *time, has_rung);
    } else {
      changed.wait(mutex, stop, has_rung);
    }
  }
};

// Until the moment that it has been told.
bool wait_as_told(Reservation& reservation, const std::stop_token& stop) {
  Bell bell;
  Alarm alarm([&] { bell.ring(); });
  const bool rings = reservation.left().count() > 0 && reservation.set(alarm);
  for (auto left = reservation.left(); left.count() > 0; left = reservation.left()) {
    if (stop.stop_requested()) {
      reservation.cancel();
      return reservation.granted();  // unless its moment came meanwhile
    }
    const detail::Held lock(bell.mutex);
    bell.wait(stop, rings ? std::nullopt : std::optional(left));
  }
  return true;
}

}  // namespace

bool detail::wait_for_slot(std::chrono::steady_clock::time_point until, const std::stop_token& stop) {
  constexpr std::chrono::nanoseconds kBetween = std::chrono::milliseconds{50};
  const std::chrono::nanoseconds left = until - std::chrono::steady_clock::now();
  if (left.count() <= 0 || stop.stop_requested()) return false;
  Bell bell;
  const Held lock(bell.mutex);
  bell.wait(stop, std::min(left, kBetween));
  return !stop.stop_requested();
}

bool wait(Reservation& reservation, std::stop_token stop) {
  if (!reservation.granted()) return false;
  while (reservation.left().count() > 0) {
    if (!wait_as_told(reservation, stop)) return false;
    // A pause may have ended it. Where its store does not say, it acts as it was told.
    try {
      reservation.moment();
    } catch (const std::exception&) {
      return true;
    }
  }
  return reservation.granted();
}

}  // namespace weir
