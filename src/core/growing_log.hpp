// A sliding window log that owns its ring, which grows with what is admitted: for whom the keys are few, or
// the limits too different for rings of one size.
//
// One thread at a time. Not for: a server's table, whose memory is bounded (store/log_table.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "core/sliding_window_log.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::core {

class GrowingLog {
 public:
  // As sliding_window_log::decide().
  Decision decide(const Quota& quota, std::chrono::nanoseconds now, Cost cost) {
    if (state_.count == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + state_.head, ring_.end());
      state_.head = 0;
      ring_.resize(std::max<std::size_t>(4, ring_.size() * 2));
    }
    return sliding_window_log::decide(quota, state_, ring_, now, cost);
  }

  // What decide() would say, of what is there without it; nothing changes.
  Decision look(const Quota& quota, std::chrono::nanoseconds now, Cost cost) {
    const Decision found = decide(quota, now, Cost{0});
    const bool fits = cost.units <= static_cast<std::uint64_t>(found.remaining);
    return fits ? found : decide(quota, now, cost);
  }

  // How long until it equals none.
  std::uint64_t reset_after(const Quota& quota, std::chrono::nanoseconds now) const {
    return sliding_window_log::reset_after(quota, state_, now);
  }

 private:
  sliding_window_log::State state_;
  std::vector<sliding_window_log::Entry> ring_;
};

}  // namespace weir::core
