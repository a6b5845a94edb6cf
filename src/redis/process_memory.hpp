// What all event loops of a process know together about keys of the store.
//
// Any thread. Not for: what only one of them may use (leases.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/random.hpp"
#include "core/siphash.hpp"
#include "redis/denial_memory.hpp"
#include "redis/store_clock.hpp"

namespace weir::inline v0_1::redis {

// How often keys have been reset through this process, so that no event loop spends a lease of what another
// one has had forgotten. Keys share counters: one more question, never a wrong answer.
class Resets {
 public:
  std::atomic<std::uint32_t>& of(std::uint64_t key) { return counts_[key % counts_.size()]; }

 private:
  std::array<std::atomic<std::uint32_t>, 1024> counts_{};
};

struct ProcessMemory {
  explicit ProcessMemory(std::size_t denial_bytes = DenialMemory::kBytes,
                         core::HashKey key = core::random_key())
      : secret(key), denials(denial_bytes) {}

  // Never 0, which is not a key.
  std::uint64_t hash_of(std::uint64_t limit_id, std::string_view key) const {
    return core::siphash<1, 3>({secret.k0, secret.k1 ^ limit_id}, key) | 1;
  }

  const core::HashKey secret;
  Resets resets;
  DenialMemory denials;
  StoreClock store_clock;
};

}  // namespace weir::redis
