// The sliding window counter: two counts stand for a window that slides.
//
//   allowed  iff  floor(prev x (P - e) / P) + cur + cost <= limit      e = now mod P
//
// Windows lie at the multiples of the period P since time 0 of the clock; `cur` was admitted in the present
// one, `prev` in the one before, of which a part of length P - e is still within P of now. It weighs whole
// units, rounded down as its namesakes do: otherwise 1/s admits 4 in 6 s of a client that asks each second.
//
// Source: Cloudflare, "How we built rate limiting capable of scaling to millions of domains" (2017).
// Weakness: approximate, because it assumes that `prev` came evenly. In a span of one period that ends e into
// a window it admits up to limit + prev x e / P, rounded up: 2 x limit at worst, if all of `prev` came last
// and all of `cur` too.
//
// A live state is believed, and its windows lie where its end says: a `now` before its window counts as that
// window's first moment. Under a changed period the counts last until the end that was stored: what is
// further ahead than two new periods counts whole, what is nearer counts as the rest of a window.
//
// Pure functions of values. Range: 0 <= now < 2^63, P < 2^62 and limit < 2^32 (Rule::make), so an end is
// below 2^64, a count below 2^32, a product below 2^94.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/step.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::core::sliding_window_counter {

using std::chrono::nanoseconds;

struct State {
  std::uint64_t end = 0;     // of the window after the one that `cur` counts, ns; not after now: no state
  std::uint64_t counts = 0;  // prev << 32 | cur

  friend constexpr bool operator==(const State&, const State&) = default;
};

using Step = StepOf<State>;

// The most of a window that may be left when `of` units of it weigh no more than `units`.
constexpr std::uint64_t most_left(std::uint64_t units, std::uint64_t of, std::uint64_t period) {
  using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{units + 1} * period - 1) / of);
}

// `phase` is the rule's (core/rule.hpp): how far the clock that windows go by is ahead of now's, in [0, P).
constexpr Step decide(const Quota& quota, State state, nanoseconds now, Cost cost,
                      nanoseconds phase = nanoseconds{0}) {
  using Wide = unsigned __int128;
  const auto limit = static_cast<std::uint64_t>(quota.rate().count);
  const auto period = static_cast<std::uint64_t>(quota.rate().period.count());
  const auto n = static_cast<std::uint64_t>(now.count());

  // The window that now is in: its end, and how long until then. A window that begins later is waited for.
  std::uint64_t end = 0;
  std::uint64_t prev = 0;
  std::uint64_t cur = 0;
  if (state.end <= n) {
    const auto ahead = static_cast<std::uint64_t>(phase.count());
    end = n + period - (n + ahead) % period;
  } else if (state.end - n > period) {
    end = state.end - period;
    prev = state.counts >> 32;
    cur = state.counts & 0xffff'ffff;
  } else {
    end = state.end;
    prev = state.counts & 0xffff'ffff;
  }
  const std::uint64_t until_end = end - n;
  const std::uint64_t left = until_end < period ? until_end : period;  // P - e
  // Without a window before, as most keys are, there is nothing to divide.
  const std::uint64_t weighed = prev != 0 ? static_cast<std::uint64_t>(Wide{prev} * left / period) : 0;

  Verdict verdict = Verdict::allowed;
  std::uint64_t retry_after = 0;
  State next = state;
  if (cost.units > limit) {
    verdict = Verdict::never;
  } else if (cost.units != 0) {
    const std::uint64_t spare = limit - cost.units;
    if (cur + weighed <= spare) {
      cur += cost.units;
      next = {end + period, prev << 32 | cur};
    } else {
      verdict = Verdict::denied;
      // It fits when little enough of the previous window is still within P. When `cur` alone is too much,
      // that is in the next window, whose previous window is `cur`.
      retry_after = spare >= cur ? until_end - most_left(spare - cur, prev, period)
                                 : until_end + period - most_left(spare, cur, period);
    }
  }
  const std::uint64_t taken = weighed + cur;
  const std::uint64_t reset_after = cur != 0       ? until_end + period - most_left(0, cur, period)
                                    : weighed != 0 ? until_end - most_left(0, prev, period)
                                                   : 0;
  return {verdict,
          quota.rate().count,
          taken < limit ? limit - taken : 0,
          at_most_the_longest(retry_after),
          at_most_the_longest(reset_after),
          next,
          next != state};
}

}  // namespace weir::core::sliding_window_counter
