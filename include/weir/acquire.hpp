// Waiting for the moment of a reservation, in a thread of the caller's own.
//
//   std::jthread worker([&](std::stop_token stop) {
//     while (weir::acquire(limiter, {.max_wait = 5s}, stop).granted()) send();
//   });
//
// A moment that is further away than max_wait is denied at once, never slept through. A stop while it waits
// cancels the reservation, exactly once, and wakes the thread. Nothing polls: the thread sleeps on a
// condition variable until the one or the other.
//
// It goes by the limiter's clock: with a ManualClock the thread wakes when that is advanced to the moment.
// With another Clock of the program's own it sleeps by the steady clock, and again for what is then left. Not
// for event loops (weir/asio_acquire.hpp).
#pragma once

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <initializer_list>
#include <mutex>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

#include "weir/clock.hpp"
#include "weir/limiter.hpp"
#include "weir/reservation.hpp"

namespace weir::inline v0_1 {

// Returns when the moment has come, or with it cancelled when `stop` is requested before; at once when it was
// not granted. Whether it is granted now. Threads: only the caller may use the reservation meanwhile; any
// thread may request the stop. Not of a reservation that a twin made, whose clock nobody knows.
inline bool wait(Reservation& reservation, std::stop_token stop = {}) {
  if (!reservation.granted()) return false;
  std::mutex mutex;
  std::condition_variable_any changed;
  bool rung = false;
  Alarm alarm([&] {
    const std::scoped_lock lock(mutex);
    rung = true;
    changed.notify_all();
  });
  const bool rings = reservation.left().count() > 0 && reservation.set(alarm);
  for (auto left = reservation.left(); left.count() > 0; left = reservation.left()) {
    if (stop.stop_requested()) {
      reservation.cancel();
      return reservation.granted();  // unless its moment came meanwhile
    }
    std::unique_lock lock(mutex);
    if (rings) {
      changed.wait(lock, stop, [&] { return rung; });
    } else {
      changed.wait_for(lock, stop, left, [] { return false; });
    }
  }
  return true;
}

// reserve() and wait(): granted() says whether the caller may act now. Throws what reserve() throws.
[[nodiscard]] inline Reservation acquire(Limiter& limiter, ReserveOptions options, std::stop_token stop = {},
                                         Cost cost = {}) {
  Reservation reservation = limiter.reserve(options, cost);
  wait(reservation, std::move(stop));
  return reservation;
}
// A KeyedLimiter, or the SharedLimiter of weir/redis.hpp.
template <class Keyed>
  requires requires(Keyed& limiter, std::string_view key, ReserveOptions options, Cost cost) {
    { limiter.reserve(key, options, cost) } -> std::same_as<Reservation>;
  }
[[nodiscard]] Reservation acquire(Keyed& limiter, std::string_view key, ReserveOptions options,
                                  std::stop_token stop = {}, Cost cost = {}) {
  Reservation reservation = limiter.reserve(key, options, cost);
  wait(reservation, std::move(stop));
  return reservation;
}
[[nodiscard]] inline Reservation acquire(LocalStore& store, std::span<const KeyedCheck> checks,
                                         ReserveOptions options, std::stop_token stop = {}) {
  Reservation reservation = store.reserve(checks, options);
  wait(reservation, std::move(stop));
  return reservation;
}
[[nodiscard]] inline Reservation acquire(LocalStore& store, std::initializer_list<KeyedCheck> checks,
                                         ReserveOptions options, std::stop_token stop = {}) {
  return acquire(store, std::span<const KeyedCheck>(checks.begin(), checks.size()), options, std::move(stop));
}

}  // namespace weir
