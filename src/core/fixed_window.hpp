// Fixed windows: a count that starts again at 0 with each window.
//
//   allowed  iff  units admitted in the window + cost <= limit
//
// A window is one period long. Either the key's first request opens it, [now, now + P), and after its end the
// next request opens the next one ("time bucketed"); or windows lie at the multiples of P since time 0 of the
// clock (1970 for a wall clock).
//
// Source: the oldest way to limit, without a known author; the first form is Redis' INCR with EXPIRE.
// Weakness: up to 2 x limit in a span of one period, around the end of a window. tests/agreement has a trace
// that reaches it. After a denial nothing passes until the window ends, and then everything.
//
// A live state is believed: a `now` before its window counts as inside it, and under a changed quota the
// units used stay until the end that was stored. So two quotas used alternately hand out nothing twice, but
// the period of a raised limit begins only with the next window.
//
// A key that is paused so that it is afresh then has used all until the end, whatever its limit, and what
// ends there is no window: the next one is opened as ever.
//
// Pure functions of values. Range: 0 <= now < 2^63 and P < 2^63, so an end is below 2^64.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/step.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::core::fixed_window {

using std::chrono::nanoseconds;

struct State {
  std::uint64_t end = 0;   // of the window, ns; an end that is not after now equals no state at all
  std::uint64_t used = 0;  // units admitted in it

  friend constexpr bool operator==(const State&, const State&) = default;
};

using Step = StepOf<State>;

// The units used of a key that is paused, or more: as many as a double holds exactly, below 2^63.
constexpr std::uint64_t kPaused = (std::uint64_t{1} << 63) - 1024;
constexpr bool is_paused(State state, nanoseconds now) {
  return state.used >= kPaused && state.end > static_cast<std::uint64_t>(now.count());
}

enum class Opens { at_first_request, on_the_clock };

// `phase` is the rule's (core/rule.hpp): how far the clock that windows go by is ahead of now's, in [0, P).
constexpr Step decide(const Quota& quota, State state, nanoseconds now, Cost cost, Opens opens,
                      nanoseconds phase = nanoseconds{0}) {
  const auto limit = static_cast<std::uint64_t>(quota.rate().count);
  const auto period = static_cast<std::uint64_t>(quota.rate().period.count());
  const auto n = static_cast<std::uint64_t>(now.count());

  State window = state;
  if (state.end <= n) {
    const auto ahead = static_cast<std::uint64_t>(phase.count());
    const bool now_opens = opens == Opens::at_first_request;
    window = {n + period - (now_opens ? 0 : (n + ahead) % period), 0};
  }
  std::uint64_t room = limit - std::min(window.used, limit);

  Verdict verdict = Verdict::allowed;
  State next = state;
  if (cost.units > limit) {
    verdict = Verdict::never;
  } else if (cost.units > room) {
    verdict = Verdict::denied;
  } else if (cost.units != 0) {
    window.used += cost.units;
    room -= cost.units;
    next = window;
  }
  const std::uint64_t left = at_most_the_longest(window.end - n);
  return {verdict, quota.rate().count, room, left, window.used != 0 ? left : 0, next, next != state};
}

}  // namespace weir::core::fixed_window
