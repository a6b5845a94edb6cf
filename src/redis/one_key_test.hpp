// For tests: a store of one key, and chance.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "core/gcra.hpp"

namespace weir::redis {

inline std::uint64_t seed() {
  const char* given = std::getenv("WEIR_SEED");
  const std::uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("WEIR_SEED=%llu\n", static_cast<unsigned long long>(chosen));
  return chosen;
}

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
