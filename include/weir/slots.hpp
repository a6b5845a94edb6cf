// How many calls may be under way at once, for a limiter that counts those instead of a rate.
//
//   weir::RedisStore store{"redis://10.0.0.1:6379"};
//   weir::SharedLimiter calls{weir::Slots{5}, store};
//   weir::Reservation mine = calls.reserve("vendor", {.hold = 60s});
//   if (!mine.granted()) return later();  // its verdict is busy
//   act();
//   mine.settle();  // the slot is free again, and without that when the hold's time is over
//
// A slot is taken by a reservation that has a hold, whatever it costs, until it is settled. A reservation
// that is destroyed keeps it for as long as its hold lasts. docs/slots.md has the rest.
//
// Plain values, any thread.
#pragma once

#include <cstdint>

#include "weir/version.hpp"

namespace weir::inline v0_1 {

struct Slots {
  std::int64_t count = 1;  // from 1 to 1,000,000,000

  friend constexpr bool operator==(const Slots&, const Slots&) = default;
};

}  // namespace weir
