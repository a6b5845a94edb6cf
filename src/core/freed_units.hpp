// Units that a reservation does not need after all: how much of them is left, and who may take them over.
//
// A reservation owns the interval of time that ends at `end`, T for each of its units, and acts no later than
// that begins. What has drained of it is spent, because others may have been admitted for it.
// docs/algorithm.md, "Settling", has the proofs.
//
// Pure functions of values: no clock, no lock, no allocation, any thread. Not for: whose units they are, and
// what becomes of those that come after them (store/schedule.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "core/step.hpp"

namespace weir::inline v0_1::core {

// For how long the last `less` units before `end` have yet to drain.
constexpr std::uint64_t undrained(std::uint64_t end, std::uint64_t less, std::uint64_t interval,
                                  std::chrono::nanoseconds now) {
  return static_cast<std::uint64_t>(
      std::min<unsigned __int128>(ahead_of(end, now), static_cast<unsigned __int128>(less) * interval));
}

// Where units end that ended at `end` when all that is left of a schedule had moved up by `then`. It has by
// `moved` now, of which `later` moved only what comes after them.
constexpr std::uint64_t end_after_moves(std::uint64_t end, std::uint64_t then, std::uint64_t moved,
                                        std::uint64_t later) {
  return end - (moved - then - later);
}

// The least that a tat may be before a pause's end: then one unit acts, and the pace after that.
constexpr std::uint64_t least_tat(std::chrono::nanoseconds pause_end, std::uint64_t burst,
                                  std::uint64_t interval, std::chrono::nanoseconds now) {
  if (pause_end <= now) return 0;
  const auto full = static_cast<unsigned __int128>(burst - 1) * interval;
  return static_cast<std::uint64_t>(std::min<unsigned __int128>(
      std::numeric_limits<std::int64_t>::max(), full + static_cast<unsigned __int128>(pause_end.count())));
}

// The first moment at which anybody may act whose interval ends at `end`: `drains` later, burst x T, at most.
constexpr std::chrono::nanoseconds first_moment(std::uint64_t end, std::uint64_t drains) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(end > drains ? end - drains : 0)};
}

// What may still be taken of the units between `low` and `end`, at a moment from `first` on.
struct FreeUnits {
  std::chrono::nanoseconds moment;
  std::uint64_t begin;  // no earlier than the moment
  std::uint64_t count;
};
constexpr FreeUnits free_units(std::uint64_t low, std::uint64_t end, std::chrono::nanoseconds first,
                               std::uint64_t interval, std::chrono::nanoseconds now) {
  const std::chrono::nanoseconds moment = std::max(first, now);
  const std::uint64_t begin = std::max(low, static_cast<std::uint64_t>(moment.count()));
  return {moment, begin, begin < end ? (end - begin) / interval : 0};
}

}  // namespace weir::core
