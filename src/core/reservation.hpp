// Waiting instead of denying, by GCRA: what a reservation charges, and what a cost costs that turned out
// otherwise. docs/algorithm.md, "Waiting", has the proofs.
//
// A reservation is charged now as it would be charged at its moment (core/moment.hpp): then nobody who comes
// later can take its place, and the promise (core/gcra.hpp) holds at the moments of acting. So one word of
// state, the tat, is a queue in which all who reserve have a moment of their own.
//
// Pure functions of values: no clock, no lock, no allocation, any thread. Not for: where reservations are
// kept (store/reservations.hpp); algorithms other than gcra, whose states do not tell a later moment.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "core/rule.hpp"
#include "core/step.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::core {

// A state can be charged for a moment that has not come.
constexpr bool can_reserve(Algorithm algorithm) { return algorithm == Algorithm::gcra; }
// A reservation may meet it all the same: it counts at the grant, in the window that runs then, and has no
// moment. What goes back goes back to that window.
constexpr bool counts_at_grant(Algorithm algorithm) { return has_whole_windows(algorithm); }

// What a reservation has charged to one key, as is needed to take it back.
struct Charge {
  TwoWords before;  // what the state was
  TwoWords after;   // and what it became

  friend constexpr bool operator==(const Charge&, const Charge&) = default;
};

// More than was asked for is a debt that nobody is asked for, in the T that the debt is counted in, and the
// next ones wait for it.
constexpr TwoWords owe(const Quota& quota, TwoWords state, std::uint64_t units,
                       std::chrono::nanoseconds now) {
  if (ahead_of(state.until, now) == 0) {
    state = {static_cast<std::uint64_t>(now.count()),
             static_cast<std::uint64_t>(quota.emission_interval().count())};
  }
  constexpr unsigned __int128 kMost = std::numeric_limits<std::uint64_t>::max();
  const unsigned __int128 until = static_cast<unsigned __int128>(units) * state.word + state.until;
  return {static_cast<std::uint64_t>(std::min(until, kMost)), state.word};
}

// How long until one more unit is admitted.
inline std::chrono::nanoseconds until_one_more(const Rule& rule, TwoWords state,
                                               std::chrono::nanoseconds now) {
  const Step step = decide(rule, state, now, Cost{1});
  return std::chrono::nanoseconds{
      static_cast<std::int64_t>(step.verdict == Verdict::denied ? step.retry_after : 0)};
}

}  // namespace weir::core
