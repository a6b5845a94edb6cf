// Who may be told a moment at which it is to act, and what it is told.
//
// Pure, any thread. Not for: which moment that is (store/key_ledger.hpp, store/joint_moment.hpp).
#pragma once

#include <chrono>

#include "core/rule.hpp"

namespace weir::inline v0_1::core {

// Whether requests under this rule may be told a moment ahead. One of a class that leaves room for more
// important ones may not: it would fill that room.
constexpr bool may_wait(const Rule& rule) { return rule.kept.count() == 0 || counts_slots(rule.algorithm); }

struct Moment {
  bool granted = false;
  // Granted: until the moment. Otherwise the shortest time after which the same request would be granted if
  // nobody else came, and below 0 if no time helps.
  std::chrono::nanoseconds wait{0};
};

}  // namespace weir::core
