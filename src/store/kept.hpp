// What a weir::Reservation can do with what was charged for it: an interface, because each limiter keeps its
// reservations in its own way.
//
// One thread at a time for each. Not for: when it may be called (reservation.cpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "store/clock.hpp"
#include "weir/clock.hpp"
#include "weir/reservation.hpp"

namespace weir::inline v0_1::store {

class Kept {
 public:
  Kept() = default;
  virtual ~Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  // That its moment lies on; null: the steady clock.
  virtual const Clock* clock() const noexcept = 0;
  std::chrono::nanoseconds now() const noexcept { return read(clock()); }
  // Before its moment; units.
  virtual std::uint64_t cancel(std::chrono::nanoseconds now) noexcept = 0;
  // Without an actual it cost what it was charged. Nothing: it died. Throws std::invalid_argument, with
  // nothing changed.
  virtual std::optional<std::chrono::nanoseconds> settle(std::chrono::nanoseconds now,
                                                         std::optional<std::uint64_t> actual) = 0;
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
