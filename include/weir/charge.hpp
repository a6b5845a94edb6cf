// What happened outside and no limiter was asked for: a cost that is known only afterwards, calls that
// another program made, what a vendor says is left.
//
//   limiter.charge(weir::Cost{1500});      // they were used, whether there was room or not
//   limiter.charge(weir::Remaining{12});   // the answer's header says so
//   limiter.charge(weir::Pause{30s});      // it answered 429, with Retry-After: 30
//   limiter.charge(weir::Pause{15min, true});  // nobody for a quarter of an hour, and then afresh
//   limiter.refund(weir::Cost{3});         // the last three units were not used after all
//
// A charge never denies and never waits: it raises what is owed, and those who ask next are denied, or wait,
// until that has drained. It admits nothing, so the promise holds for all that was admitted.
//
// A pause is a time and no debt: what is owed drains on, nobody acts before its end, and then one unit does,
// and the pace follows. A reservation whose moment lies in it is cancelled when it asks
// (Reservation::moment()). Nothing shortens a pause, and other numbers do not move it. Of two the later end
// stands, with what that one leaves at it.
//
// One that is afresh forgets: at its end the key is as if never used, but for what acts then or later. What
// was held before keeps its slots, and can only cost more. It undoes a limit, and the promise holds for what
// was not forgotten.
//
// A refund is for callers that have no weir::Reservation to settle: it takes the key's last units back,
// which may be another caller's, so the promise holds for what was not refunded. It takes from what is over
// and was charged before every open hold, and nothing that a pause or a Remaining has asked for and that has
// not drained.
//
// What is owed beyond the burst is an overdraft. It is bounded, as a time: what would drain later is dropped.
//
// Plain values, any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "weir/quota.hpp"
#include "weir/source.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

// The units that are left, as the other side says.
struct Remaining {
  std::uint64_t units = 0;
};

// Nobody acts for that long: then one unit, and the pace after that. Afresh: then the key is as if never used
// but for what acts at the end or later. 0 to 24 h; by gcra, and afresh by fixed windows too.
struct Pause {
  std::chrono::nanoseconds length{0};
  bool afresh = false;

  static constexpr std::chrono::nanoseconds kLongest = std::chrono::hours{24};
};

// What is told of the outside.
struct Outside {
  enum class Form : std::uint8_t {
    cost,       // `units` were used
    remaining,  // `units` are left
    pause,      // `length` is how long nobody acts
    refund,     // the last `units` that were charged were not used
  };
  Form form = Form::cost;
  std::uint64_t units = 1;
  // For how long, at most, what is owed then may take to drain beyond the burst; not below 0.
  std::chrono::nanoseconds overdraft = std::chrono::hours{24};
  std::chrono::nanoseconds length{0};
  bool afresh = false;  // of a pause

  constexpr Outside() noexcept = default;
  constexpr Outside(Cost used) noexcept : units(used.units) {}
  constexpr Outside(Remaining left) noexcept : form(Form::remaining), units(left.units) {}
  constexpr Outside(Pause pause) noexcept
      : form(Form::pause),
        length(std::clamp(pause.length, std::chrono::nanoseconds{0}, Pause::kLongest)),
        afresh(pause.afresh) {}
  constexpr Outside(Form said, std::uint64_t of_units, std::chrono::nanoseconds at_most) noexcept
      : form(said), units(of_units), overdraft(at_most) {}
};

namespace detail {
constexpr Outside refund_of(Cost units) noexcept {
  return {Outside::Form::refund, units.units, std::chrono::nanoseconds{0}};
}
}  // namespace detail

// What a charge came to.
struct Charged {
  std::uint64_t charged = 0;                // units that are owed now and were not; of a refund, given back
  std::uint64_t overdraft = 0;              // units owed beyond the limit, rounded up
  std::uint64_t remaining = 0;              // units that would be admitted at once now
  std::chrono::nanoseconds wait{0};         // until one more unit is admitted
  std::chrono::nanoseconds reset_after{0};  // until it is as if never used
  std::uint64_t dropped = 0;                // units that would be owed for too long, or had no room
  Source source = Source::store;            // who keeps it
};

}  // namespace weir
