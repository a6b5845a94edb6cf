// A key's state that has a line (line.hpp): a bit of its second word says so, which no T needs, as T is below
// 2^63. A check that finds it has to tell the line what it charged, and by which reading of the clock. A
// state that is recounted, drained and charged again, forgotten or restored has lost the bit, and the line
// sees that it is not the one that it knew.
//
// Of gcra's states only. Pure, any thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/rule.hpp"
#include "core/step.hpp"

namespace weir::inline v0_1::store {

constexpr std::uint64_t kLined = std::uint64_t{1} << 63;

constexpr bool is_lined(core::TwoWords state, std::chrono::nanoseconds now) {
  return (state.word & kLined) != 0 && core::ahead_of(state.until, now) != 0;
}
constexpr core::TwoWords without_line(core::TwoWords state) { return {state.until, state.word & ~kLined}; }
// Of a rule of any algorithm: those of others have no line.
constexpr core::TwoWords without_line(const core::Rule& rule, core::TwoWords state) {
  return rule.algorithm == Algorithm::gcra ? without_line(state) : state;
}

}  // namespace weir::store
