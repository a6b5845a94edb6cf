// What a server counts about its requests. Any thread; relaxed, because people read the numbers and no
// decision does. Not for: connections, which net counts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "service/metrics.hpp"
#include "steering/actor.hpp"

namespace weir::inline v0_1::service {

// Why the gate denied a request that no limit has decided.
enum class GateRefusal : std::uint8_t {
  path,       // it can be read in more than one way
  address,    // something else stands where the client's should
  header,     // one that says who asks for what comes twice
  attribute,  // one that is needed is missing
  kCount,
};

struct Counters {
  std::atomic<std::uint64_t> commands{0};
  std::atomic<std::uint64_t> denied{0};
  std::atomic<std::uint64_t> dropped{0};  // units charged afterwards that nobody will owe
  std::atomic<std::uint64_t> protocol_errors{0};
  std::atomic<std::uint64_t> auth_failures{0};
  std::atomic<std::uint64_t> auth_refused{0};
  std::array<std::atomic<std::uint64_t>, 4> forbidden{};  // by the role that was needed
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(GateRefusal::kCount)> gate_refused{};
  std::atomic<std::uint64_t> saving{0};  // snapshots being written now
  std::atomic<std::uint64_t> snapshots{0};
  std::atomic<std::uint64_t> snapshot_errors{0};

  void count(std::atomic<std::uint64_t> Counters::* what, std::uint64_t by = 1) {
    (this->*what).fetch_add(by, std::memory_order_relaxed);
  }
  void drop(std::uint64_t units) {
    if (units != 0) count(&Counters::dropped, units);
  }
  void count_forbidden(steering::Role needed) {
    forbidden[static_cast<std::size_t>(needed)].fetch_add(1, std::memory_order_relaxed);
  }
  void count(GateRefusal why) {
    gate_refused[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace weir::service
