// The one word that a Limiter keeps, its tat: what it says when it is locked, and a decision by it; and where
// the tat is while something is reserved.
//
// Pure, any thread; a LimiterLedger belongs to the thread that has locked its limiter. Not for: keys
// (table.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "core/gcra.hpp"
#include "store/key_ledger.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

// Of a limiter that somebody has locked. No tat: gcra's are below 2^64 - 1 (src/core/gcra.hpp).
constexpr std::uint64_t kLocked = std::numeric_limits<std::uint64_t>::max();
// The tat is in the limiter's ledger. No tat either, as long as the clock is a nanosecond short of 2^63.
constexpr std::uint64_t kInLedger = kLocked - 1;

inline core::gcra::State state_of(const Quota& quota, std::uint64_t tat) {
  return {tat, static_cast<std::uint64_t>(quota.emission_interval().count())};
}

inline core::gcra::Step step_of(const Quota& quota, std::uint64_t tat, std::chrono::nanoseconds now,
                                Cost cost) {
  return core::gcra::decide(quota, state_of(quota, tat), now, cost);
}

// While something is reserved or paused, and for good once the quota was changed: only here is there a place
// for another one.
struct LimiterLedger {
  explicit LimiterLedger(const Quota& first)
      : ledger({0, static_cast<std::uint64_t>(first.emission_interval().count())}), rule{first} {}

  KeyLedger ledger;
  core::Rule rule;
  bool is_changed = false;   // the quota is no longer the first
  std::uint64_t resets = 0;  // what was reserved before the last is forgotten
};

}  // namespace weir::store
