// What is owed while nobody may act: a pause leaves its end and burst - 1 units after that, and what is owed
// beyond them was charged in units. The end is a time, so other numbers do not move it; what lies after it
// follows them.
//
// So a state that a pause has left is counted by other numbers from its end, and not from now: until it is
// charged after the pause, it is the same whenever that is done.
//
// Pure functions of values: no clock, no lock, no allocation, any thread. Not for: how far those who wait
// move (store/schedule.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "core/step.hpp"

namespace weir::inline v0_1::core {

// The tat that a pause leaves, by these numbers.
constexpr std::uint64_t tat_after_pause(std::uint64_t end, std::uint64_t interval, std::uint64_t burst) {
  constexpr unsigned __int128 kMost = std::numeric_limits<std::int64_t>::max();
  const auto tat = static_cast<unsigned __int128>(burst - 1) * interval + end;
  return static_cast<std::uint64_t>(std::min(kMost, tat));
}

// A pause that has left a state: its end, and tat_after_pause() by the numbers that the state is counted by;
// 0 for none.
struct PausedState {
  std::uint64_t end = 0;
  std::uint64_t tat = 0;

  // Of gcra's.
  constexpr TwoWords counted_by(std::uint64_t interval, std::uint64_t burst, TwoWords state) const {
    if (tat == 0 || state.word == 0) return state;
    const std::uint64_t least = tat_after_pause(end, interval, burst);
    if (state.word == interval && least == tat) return state;
    std::uint64_t beyond = state.until > tat ? state.until - tat : 0;
    if (state.word != interval) {
      const std::uint64_t units = beyond / state.word + (beyond % state.word != 0 ? 1 : 0);
      beyond = static_cast<std::uint64_t>(std::min<unsigned __int128>(
          static_cast<unsigned __int128>(units) * interval, std::numeric_limits<std::int64_t>::max()));
    }
    return {least + beyond, interval};
  }
};

}  // namespace weir::core
