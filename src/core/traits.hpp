// What each algorithm can do, as one table: other code asks this, never which algorithm it is
// (tools/check_sizes.py).
//
// Constants and pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/algorithm.hpp"

namespace weir::inline v0_1::core {

struct Traits {
  enum class State : std::uint8_t { two_words, log, holds };
  enum class Windows : std::uint8_t { none, from_the_first, of_a_clock, of_a_calendar, sliding };

  Algorithm algorithm;
  State state;
  Windows windows;
  // It drains unit by unit, by what its state says: a burst stands beside the rate, a class may leave part of
  // it free, and a key can have a ledger.
  bool drains;
  // At most what it admits at once + W / T in any span W, not in its windows alone.
  bool holds_in_any_span;
};

inline constexpr std::array kTraits = {
    Traits{Algorithm::gcra, Traits::State::two_words, Traits::Windows::none, true, true},
    Traits{Algorithm::fixed_window, Traits::State::two_words, Traits::Windows::from_the_first, false, false},
    Traits{Algorithm::fixed_window_clock, Traits::State::two_words, Traits::Windows::of_a_clock, false,
           false},
    Traits{Algorithm::sliding_window_log, Traits::State::log, Traits::Windows::sliding, false, true},
    Traits{Algorithm::sliding_window_counter, Traits::State::two_words, Traits::Windows::sliding, false,
           false},
    Traits{Algorithm::calendar, Traits::State::two_words, Traits::Windows::of_a_calendar, false, false},
    Traits{Algorithm::in_flight, Traits::State::holds, Traits::Windows::none, false, false}};

constexpr bool each_has_its_row() {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (static_cast<std::size_t>(kTraits[i].algorithm) != i) return false;
  }
  return true;
}
static_assert(each_has_its_row());

constexpr const Traits& traits(Algorithm algorithm) { return kTraits[static_cast<std::size_t>(algorithm)]; }

// A key's state is two words: decide() (core/rule.hpp) decides by it, and a store that keeps words can count
// by it.
constexpr bool kept_in_two_words(Algorithm algorithm) {
  return traits(algorithm).state == Traits::State::two_words;
}
// It counts open holds: a reservation takes a slot until its end. Its state is the holds
// themselves, which the store that keeps reservations knows; decide() passes it by.
constexpr bool counts_slots(Algorithm algorithm) { return traits(algorithm).state == Traits::State::holds; }
// A quota's burst stands beside its rate.
constexpr bool has_burst(Algorithm algorithm) { return traits(algorithm).drains; }
// What was charged can be taken back: for that a state must tell what has drained, as a tat does. Leases, and
// all-or-none where the checks cannot be decided at one moment in one place, need it.
constexpr bool can_give_back(Algorithm algorithm) { return traits(algorithm).drains; }
// A state can be charged for a moment that has not come, by a ledger.
constexpr bool can_reserve(Algorithm algorithm) { return traits(algorithm).drains; }
// It can be paused, or so that it is afresh then: a window of the calendar stays that of its date.
constexpr bool can_pause(Algorithm algorithm, bool afresh) {
  const Traits::Windows windows = traits(algorithm).windows;
  return traits(algorithm).drains ||
         (afresh && (windows == Traits::Windows::from_the_first || windows == Traits::Windows::of_a_clock));
}
// It counts in windows that end as a whole, one after the other.
constexpr bool has_whole_windows(Algorithm algorithm) {
  return traits(algorithm).windows != Traits::Windows::none &&
         traits(algorithm).windows != Traits::Windows::sliding;
}
// Once it has denied one unit it denies every one until its window ends, whatever is charged meanwhile.
constexpr bool denies_to_the_end(Algorithm algorithm) { return has_whole_windows(algorithm); }
// A denial, with its times, still says when the request passes after time has gone by.
constexpr bool can_remember_denials(Algorithm algorithm) {
  return traits(algorithm).drains || denies_to_the_end(algorithm);
}
// A reservation may meet it though it cannot be reserved: it counts at the grant, in the window that runs
// then, and has no moment. What goes back goes back to that window.
constexpr bool counts_at_grant(Algorithm algorithm) { return has_whole_windows(algorithm); }
// A state says how much was used, and may say that it was more than the limit.
constexpr bool can_overdraw(Algorithm algorithm) {
  return traits(algorithm).drains || has_whole_windows(algorithm);
}
// Windows lie at the multiples of the period on a clock, so it matters which clock: Rule::phase.
constexpr bool goes_by_the_clock(Algorithm algorithm) {
  const Traits::Windows windows = traits(algorithm).windows;
  return windows == Traits::Windows::of_a_clock || windows == Traits::Windows::of_a_calendar ||
         (windows == Traits::Windows::sliding && kept_in_two_words(algorithm));
}

// For code that has no limit to ask: the first of the table that can do this.
consteval Algorithm first_that(bool (*can)(Algorithm)) {
  std::size_t i = 0;
  while (!can(kTraits[i].algorithm)) ++i;
  return kTraits[i].algorithm;
}

}  // namespace weir::core
