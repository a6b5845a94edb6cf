// A key's state that has a schedule (schedule.hpp): a bit of its second word says so, which no T needs, as T
// is below 2^63. A check that finds it has to tell the schedule what it charged, and by which reading of the
// clock. A state that is recounted, drained and charged again, forgotten or restored has lost the bit, and
// the schedule sees that it is not the one that it knew.
//
// Of gcra's states only. Pure, any thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/rule.hpp"
#include "core/step.hpp"

namespace weir::inline v0_1::store {

constexpr std::uint64_t kScheduled = std::uint64_t{1} << 63;

constexpr bool is_scheduled(core::TwoWords state, std::chrono::nanoseconds now) {
  return (state.word & kScheduled) != 0 && core::ahead_of(state.until, now) != 0;
}
constexpr core::TwoWords without_schedule(core::TwoWords state) {
  return {state.until, state.word & ~kScheduled};
}
// Of a rule of any algorithm: those of others have no schedule.
constexpr core::TwoWords without_schedule(const core::Rule& rule, core::TwoWords state) {
  return rule.algorithm == Algorithm::gcra ? without_schedule(state) : state;
}

}  // namespace weir::store
