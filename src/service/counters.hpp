// What a server counts about its requests. Any thread; relaxed, because people read the numbers and no
// decision does. Not for: connections, which net counts.
#pragma once

#include <atomic>
#include <cstdint>

#include "service/metrics.hpp"

namespace weir::inline v0_1::service {

struct Counters {
  std::atomic<std::uint64_t> commands{0};
  std::atomic<std::uint64_t> denied{0};
  std::atomic<std::uint64_t> protocol_errors{0};
  std::atomic<std::uint64_t> auth_failures{0};
  std::atomic<std::uint64_t> auth_refused{0};
  std::atomic<std::uint64_t> saving{0};  // snapshots being written now
  std::atomic<std::uint64_t> snapshots{0};
  std::atomic<std::uint64_t> snapshot_errors{0};

  void count(std::atomic<std::uint64_t> Counters::* what, std::uint64_t by = 1) {
    (this->*what).fetch_add(by, std::memory_order_relaxed);
  }
};

}  // namespace weir::service
