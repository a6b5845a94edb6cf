// Which algorithms a reservation may meet.
//
// Pure functions of values: no clock, no lock, no allocation, any thread. Not for: ledgers
// (store/key_ledger.hpp), and where reservations are kept (store/reservations.hpp).
#pragma once

#include <chrono>
#include <cstdint>

#include "core/rule.hpp"
#include "core/step.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::core {

// How long until one more unit is admitted.
inline std::chrono::nanoseconds until_one_more(const Rule& rule, TwoWords state,
                                               std::chrono::nanoseconds now) {
  const Step step = decide(rule, state, now, Cost{1});
  return std::chrono::nanoseconds{
      static_cast<std::int64_t>(step.verdict == Verdict::denied ? step.retry_after : 0)};
}

}  // namespace weir::core
