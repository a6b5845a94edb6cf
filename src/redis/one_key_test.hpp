// For tests: a store of one key, and chance.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/chance_test.hpp"
#include "core/gcra.hpp"

namespace weir::inline v0_1::redis {

inline std::uint64_t seed() { return core::Chance::seed(); }

// The store: one key, its clock `offset` ahead of ours.
struct Store {
  core::gcra::State state;
  Decision ask(const Quota& quota, std::chrono::nanoseconds now, std::uint64_t cost) {
    const core::gcra::Step step = core::gcra::decide(quota, state, now, Cost{cost});
    if (step.changes) state = step.next;
    return step.decision();
  }
};

}  // namespace weir::redis
