// What a shared store has done and has not: for counters, and for its health.
//
// Written by the store's thread; the counters are read by any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "redis/cause.hpp"
#include "redis/health.hpp"

namespace weir::inline v0_1::redis {

struct StoreCounters {
  using Count = std::atomic<std::uint64_t>;
  Count decided{0};                                  // by the store
  Count remembered{0};                               // denied without asking
  Count leased{0};                                   // allowed without asking
  Count merged{0};                                   // decided by the store, in another check's call
  Count fallbacks{0};                                // requests that the fallback decided
  std::array<Count, kCauseNames.size()> failures{};  // by cause: what the store has not done
  Count under_way{0};                                // now: answers that the store owes
  Count waiting{0};                                  // now: calls that wait for it to have room
  std::atomic<bool> ready{false};                    // as health() says
};

struct StoreTally {
  StoreCounters counters;
  Health health;

  static void count(StoreCounters::Count& counter, std::uint64_t n = 1) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  void decided(std::chrono::nanoseconds now) {
    count(counters.decided);
    health.decided(now);
  }
  void failed(Cause cause) { count(counters.failures[static_cast<std::size_t>(cause)]); }
  // A check: what is under its key is the asker's fault.
  void refused(Cause cause, std::string_view why, std::chrono::nanoseconds now) {
    failed(cause);
    if (cause != Cause::wrongtype) health.refused(why, now);
  }
};

}  // namespace weir::redis
