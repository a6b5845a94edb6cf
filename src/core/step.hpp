// The result of one request under an algorithm whose state is two words, and those two words.
//
// Pure values, any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "weir/decision.hpp"

namespace weir::inline v0_1::core {

// The state of a key as a store keeps it. Each algorithm has its own names for the two.
struct TwoWords {
  std::uint64_t until = 0;  // ns; a state whose `until` is not after now equals no state at all
  std::uint64_t word = 0;   // meaningless when `until` is not after now

  friend constexpr bool operator==(const TwoWords&, const TwoWords&) = default;
};

constexpr std::uint64_t ahead_of(std::uint64_t until, std::chrono::nanoseconds now) {
  const auto n = static_cast<std::uint64_t>(now.count());
  return until > n ? until - n : 0;
}

// A time of a decision: at most 2^63 - 1 ns, the longest that nanoseconds hold. Only from a reading of the
// clock that is earlier than the one that a state was made by is its end further away.
constexpr std::uint64_t at_most_the_longest(std::uint64_t ns) {
  return std::min(ns, static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count()));
}

// The parts of a decision as numbers that stay in registers. A Decision is built from them at the very end,
// in the caller's place: filling one and copying it cost 5 of 39 ns, because the copy loads wider than the
// fields were stored and has to wait for them.
template <class State>
struct StepOf {
  Verdict verdict;
  std::int64_t limit;
  std::uint64_t remaining;
  std::uint64_t retry_after;  // ns, below 2^63; meaningful when denied
  std::uint64_t reset_after;  // ns, below 2^63
  State next;                 // what to remember instead
  bool changes;               // whether `next` differs from what was remembered

  constexpr Decision decision() const {
    using std::chrono::nanoseconds;
    return {verdict, limit, static_cast<std::int64_t>(remaining),
            verdict == Verdict::denied ? std::optional(nanoseconds{static_cast<std::int64_t>(retry_after)})
                                       : std::nullopt,
            nanoseconds{static_cast<std::int64_t>(reset_after)}};
  }
};

using Step = StepOf<TwoWords>;

}  // namespace weir::core
