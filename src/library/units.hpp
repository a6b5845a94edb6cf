// What take_up_to() asks of its arguments, and what it takes where one limit alone decides.
//
// Pure, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "weir/decision.hpp"
#include "weir/quota.hpp"
#include "weir/take.hpp"

namespace weir::inline v0_1::store {

inline void require_units(const char* where, Cost most, Cost least) {
  if (least.units >= 1 && least.units <= most.units) return;
  throw std::invalid_argument("weir::" + std::string(where) + ": at least " + std::to_string(least.units) +
                              " and at most " + std::to_string(most.units) +
                              " units; expected 1 <= least <= most");
}

// The cost to ask for, of one that has found that much left.
inline Cost as_many(const Decision& found, Cost most, Cost least) {
  return {std::clamp(static_cast<std::uint64_t>(found.remaining), least.units, most.units)};
}

inline Taken taken(const Decision& decision, Cost cost) {
  return {decision, decision.allowed() ? cost.units : 0};
}

}  // namespace weir::store
