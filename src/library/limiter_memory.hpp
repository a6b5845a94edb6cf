// What the limiters of one memory share.
//
// Any thread; shared by the limiters, the LocalStore, and the reservations of all of them. Not for: limits
// whose states are not two words (log_table.hpp).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "store/clock.hpp"
#include "store/embedded_store.hpp"
#include "store/store.hpp"
#include "weir/clock.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1 {
namespace store {

struct LimiterMemory {
  LimiterMemory(std::size_t memory, WhenFull when_full, const Clock* given_clock)
      : embedded(memory, when_full), clock(given_clock) {}

  EmbeddedStore embedded;
  const Clock* clock;
  std::atomic<std::uint64_t> ids{0};  // that limiters have; a limiter alone has 0
};

// Answered when it returns.
inline void submit(LimiterMemory& local, Request& request, std::chrono::nanoseconds now) {
  Request* const batch[] = {&request};
  local.embedded.submit(batch, {now, now});
}

}  // namespace store

// A request against several limits as the store is asked it.
struct [[gnu::visibility("hidden")]] LocalStore::JointRequest {
  std::array<std::optional<store::Limit>, store::kMostChecks> own;  // of those with a quota of this request
  std::array<store::Check, store::kMostChecks> checks;
  store::Request request;
};

}  // namespace weir
