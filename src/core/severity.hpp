// Which of several decisions about one request is the answer.
//
// Pure, any thread.
#pragma once

#include <cstddef>

#include "weir/decision.hpp"

namespace weir::inline v0_1::core {

// Whether `a` decides rather than `b`: never over denied over allowed; of two denied, the one with the longer
// wait, and busy is one; of two allowed, the one with less left. False for two that are alike, so the first
// of them decides: of several `never` too, as none of them ends.
constexpr bool decides(const Decision& a, const Decision& b) {
  const auto rank = [](Verdict verdict) {
    return verdict == Verdict::never ? 2 : verdict == Verdict::allowed ? 0 : 1;
  };
  if (rank(a.verdict) != rank(b.verdict)) return rank(a.verdict) > rank(b.verdict);
  if (rank(a.verdict) == 1) return a.retry_after > b.retry_after;
  return a.verdict == Verdict::allowed && a.remaining < b.remaining;
}

// Which of `count` decides. `decision_of` gives a pointer for each number, null for one that has no say; when
// none has, it is the first.
template <class DecisionOf>
constexpr std::size_t deciding(std::size_t count, const DecisionOf& decision_of) {
  std::size_t by = 0;
  const Decision* best = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const Decision* const decision = decision_of(i);
    if (decision == nullptr || (best != nullptr && !decides(*decision, *best))) continue;
    best = decision;
    by = i;
  }
  return by;
}

}  // namespace weir::core
