// What a weir::Reservation can do with what was charged for it: an interface, because each limiter keeps its
// reservations in its own way.
//
// One thread at a time for each. Not for: when it may be called (reservation.cpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "store/clock.hpp"
#include "weir/callback.hpp"
#include "weir/clock.hpp"
#include "weir/completion.hpp"
#include "weir/reservation.hpp"

namespace weir::inline v0_1::store {

class ReservationHandle {
 public:
  ReservationHandle() = default;
  virtual ~ReservationHandle() = default;
  ReservationHandle(const ReservationHandle&) = delete;
  ReservationHandle& operator=(const ReservationHandle&) = delete;

  // That its moment lies on; null: the steady clock.
  virtual const Clock* clock() const noexcept = 0;
  std::chrono::nanoseconds now() const noexcept { return read(clock()); }
  // False: the store had no memory for more than its moment.
  virtual bool can_cancel() const noexcept { return true; }
  // How long until its moment by now; nothing: it died.
  virtual std::optional<std::chrono::nanoseconds> moment(std::chrono::nanoseconds now) = 0;
  // Another end of its hold; how long it has then, 0: none is open. `hold` is 0 or more.
  virtual std::chrono::nanoseconds extend(std::chrono::nanoseconds now, std::chrono::nanoseconds hold) = 0;
  // Before its moment; units.
  virtual std::uint64_t cancel(std::chrono::nanoseconds now) noexcept = 0;
  // Without an actual it cost what it was charged. Nothing: it died. Throws std::invalid_argument, with
  // nothing changed.
  virtual std::optional<std::chrono::nanoseconds> settle(std::chrono::nanoseconds now,
                                                         std::optional<std::uint64_t> actual) = 0;
  // Without waiting. What they return needs the handle no longer.
  virtual detail::Ready<std::optional<std::chrono::nanoseconds>> ready_moment(std::chrono::nanoseconds now) {
    return answers(moment(now));
  }
  virtual detail::Ready<std::chrono::nanoseconds> ready_extend(std::chrono::nanoseconds now,
                                                               std::chrono::nanoseconds hold) {
    return answers(extend(now, hold));
  }
  template <class Value>
  static detail::Ready<Value> answers(Value value) {
    return [value](Callback<detail::RawResult<Value>> answer) { answer({.value = value}); };
  }
  // The same as the last thing that is asked of it.
  using Cancelled = detail::RawResult<std::uint64_t>;
  using Settled = detail::RawResult<std::optional<std::chrono::nanoseconds>>;
  virtual void begin_cancel(std::chrono::nanoseconds now, Callback<Cancelled> answer) {
    answer({.value = cancel(now)});
  }
  virtual void begin_settle(std::chrono::nanoseconds now, std::optional<std::uint64_t> actual,
                            Callback<Settled> answer) {
    Settled settled;
    try {
      settled.value = settle(now, actual);
    } catch (const std::invalid_argument& refused) {
      settled.fault = Fault::unsuitable;
      settled.why = refused.what();
    }
    answer(std::move(settled));
  }
};

// So that no sum of a moment and one of these wraps.
inline ReserveOptions bounded(ReserveOptions options, std::chrono::nanoseconds now) {
  const std::chrono::nanoseconds most = (std::chrono::nanoseconds::max() - now) / 4;
  const auto bound = [&](std::chrono::nanoseconds each) {
    return std::clamp(each, std::chrono::nanoseconds{0}, most);
  };
  return {bound(options.max_wait), bound(options.hold)};
}

}  // namespace weir::store
