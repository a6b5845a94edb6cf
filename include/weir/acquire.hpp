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

#include <concepts>
#include <initializer_list>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

#include "weir/limiter.hpp"
#include "weir/reservation.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

// Returns when the moment has come, or with it cancelled when `stop` is requested before; at once when it was
// not granted. Whether it is granted now. Threads: only the caller may use the reservation meanwhile; any
// thread may request the stop.
WEIR_API bool wait(Reservation& reservation, std::stop_token stop = {});

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
