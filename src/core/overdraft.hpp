// What happened outside is charged afterwards, whether there was room or not: a debt that nobody was asked
// for, up to a bound, and the next ones wait for it.
//
// By gcra, with `owed` for tat - now:
//
//   cost n:       owed := max(owed, min(owed + n x T, burst x T + overdraft))
//   remaining n:  owed := max(owed, (burst - n) x T)
//   pause p:      owed := max(owed, p + (burst - 1) x T), of a burst that no ledger counts, afresh or not
//   refund n:     owed := min(owed, max(owed - n x T, what has to stay))
//
// By a fixed window: used := used + n, or max(used, limit - n), or max(0, used - n), in the window that runs.
// Paused so that it is afresh then, it has used all until the end, and nothing that is charged or taken back
// until then counts.
// All but a refund only raise what is owed, so they admit nothing. docs/algorithm.md has it under that name.
//
// Pure functions of values: no clock, no lock, no allocation, any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "core/rule.hpp"
#include "core/step.hpp"
#include "weir/algorithm.hpp"
#include "weir/charge.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::core {

// As far as charges let a fixed window's count grow, or to its number where that is more.
constexpr std::uint32_t kMostUsedOfWindow = std::numeric_limits<std::uint32_t>::max();

struct Overdrawn : Charged {
  TwoWords next{};
  bool changes = false;  // whether `next` differs from what was there
};

// The most that gcra may owe with such an overdraft, ns: a tat stays below 2^64.
std::uint64_t most_owed(const Rule& rule, std::chrono::nanoseconds overdraft);

// By an algorithm that can_overdraw(); a pause by one that can_pause().
// A gcra debt that was counted in another T is counted in this one first, in whole units, where anything is
// charged.
Overdrawn overdraw(const Rule& rule, TwoWords state, std::chrono::nanoseconds now, const Outside& outside);

// Takes units back that were charged and not used, and says how many; the tat stays at `least` or later.
Overdrawn refund(const Rule& rule, TwoWords state, std::chrono::nanoseconds now, std::uint64_t units,
                 std::uint64_t least);

}  // namespace weir::core
