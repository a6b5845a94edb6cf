// Waiting for the moment of a reservation, in a thread of the caller's own.
//
//   std::jthread worker([&](std::stop_token stop) {
//     while (weir::acquire(limiter, {.max_wait = 5s}, stop).granted()) send();
//   });
//
// Where a pause (weir/charge.hpp) has come over its moment it asks for another one, within what is left of
// max_wait. Where a store does not say whether one has, it acts as it was told.
//
// A moment that is further away than max_wait is denied at once, never slept through. A stop while it waits
// cancels the reservation, exactly once, and wakes the thread. Nothing polls for a moment: the thread sleeps
// on a condition variable until the one or the other.
//
// Slots (weir/slots.hpp) have no moment: where none is free it asks again every 50 ms, for as long as
// max_wait by the steady clock, and then waits for its moment. It is first come, first served for those that
// stand in line at a server (WEIR.ACQUIRE, docs/slots.md); here it is not.
//
// It goes by the limiter's clock: with a ManualClock the thread wakes when that is advanced to the moment.
// With another Clock of the program's own it sleeps by the steady clock, and again for what is then left. Not
// for event loops (weir/asio_acquire.hpp).
#pragma once

#include <algorithm>
#include <chrono>
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

namespace detail {

// Sleeps until it is time to ask for a slot again; false: `until` has come, or `stop` is requested.
WEIR_API bool wait_for_slot(std::chrono::steady_clock::time_point until, const std::stop_token& stop);

// What has a reservation in it (LimitsReservation), and a Reservation itself.
template <class Held>
Reservation& reservation_of(Held& held) {
  if constexpr (std::same_as<Held, Reservation>) {
    return held;
  } else {
    return held.reservation;
  }
}

// Asks until a slot is free. Hidden, as its lambda would be: a shared library that waits shows none of these.
template <class Reserve>
[[gnu::visibility("hidden")]] auto reserve_by(const Reserve& reserve, ReserveOptions& options,
                                              const std::stop_token& stop) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours{24 * 365};
  const auto until = std::chrono::steady_clock::now() + std::min(options.max_wait, kLongest);
  auto mine = reserve(options);
  while (reservation_of(mine).decision().verdict == Verdict::busy && wait_for_slot(until, stop)) {
    options.max_wait = until - std::chrono::steady_clock::now();
    if (options.max_wait.count() <= 0) break;
    mine = reserve(options);
  }
  return mine;
}

template <class Reserve>
[[gnu::visibility("hidden")]] auto acquire_by(const Reserve& reserve, ReserveOptions options,
                                              const std::stop_token& stop) {
  for (;;) {
    auto mine = reserve_by(reserve, options, stop);
    Reservation& reservation = reservation_of(mine);
    const bool ends = wait(reservation, stop) || !reservation.decision().allowed() || stop.stop_requested();
    options.max_wait -= reservation.wait();
    if (ends || options.max_wait.count() <= 0) return mine;
  }
}

}  // namespace detail

// reserve() and wait(): granted() says whether the caller may act now. Throws what reserve() throws.
[[nodiscard]] inline Reservation acquire(Limiter& limiter, ReserveOptions options, std::stop_token stop = {},
                                         Cost cost = {}) {
  return detail::acquire_by([&](ReserveOptions within) { return limiter.reserve(within, cost); }, options,
                            stop);
}
// A KeyedLimiter, or the SharedLimiter of weir/redis.hpp.
template <class Keyed>
  requires requires(Keyed& limiter, std::string_view key, ReserveOptions options, Cost cost) {
    { limiter.reserve(key, options, cost) } -> std::same_as<Reservation>;
  }
[[nodiscard]] Reservation acquire(Keyed& limiter, std::string_view key, ReserveOptions options,
                                  std::stop_token stop = {}, Cost cost = {}) {
  return detail::acquire_by([&](ReserveOptions within) { return limiter.reserve(key, within, cost); },
                            options, stop);
}
// weir::Limits of weir/limits.hpp, with a LimitsRequest.
template <class File, class Request>
  requires requires(File& limits, const Request& request, ReserveOptions options) {
    { limits.reserve(request, options).reservation } -> std::same_as<Reservation&&>;
  }
[[nodiscard]] auto acquire(File& limits, const Request& request, ReserveOptions options,
                           std::stop_token stop = {}) {
  return detail::acquire_by([&](ReserveOptions within) { return limits.reserve(request, within); }, options,
                            stop);
}
[[nodiscard]] inline Reservation acquire(LocalStore& store, std::span<const KeyedCheck> checks,
                                         ReserveOptions options, std::stop_token stop = {}) {
  return detail::acquire_by([&](ReserveOptions within) { return store.reserve(checks, within); }, options,
                            stop);
}
[[nodiscard]] inline Reservation acquire(LocalStore& store, std::initializer_list<KeyedCheck> checks,
                                         ReserveOptions options, std::stop_token stop = {}) {
  return acquire(store, std::span<const KeyedCheck>(checks.begin(), checks.size()), options, std::move(stop));
}

}  // namespace weir
