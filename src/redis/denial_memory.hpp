// Denials that need not be asked for again.
//
// A denial is remembered until its retry_after, and the key denied without asking: exact, because a debt
// never falls faster than time, whatever else uses the key. Not seen from here are another machine's reset of
// the key, its raised limit, and a charge that it gives back (several limits across slots of a cluster): then
// a denial lasts at most as long as it said. The memory is bounded, and forgets when it is full, which only
// costs a question.
//
// One thread; Resets any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::redis {

// How often keys have been reset through this process, so that no event
// loop remembers what another one has had forgotten. Keys share counters: one more question, never a wrong
// answer. Any thread.
class Resets {
 public:
  std::atomic<std::uint32_t>& of(std::uint64_t key) { return counts_[key % counts_.size()]; }

 private:
  std::array<std::atomic<std::uint32_t>, 1024> counts_{};
};

class DenialMemory {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::size_t kEntries = std::size_t{1} << 14;  // of some 100 bytes

  // `asked` and `answered` are when the question went out and its answer came, on our clock.
  void remember(std::uint64_t key, const Quota& quota, Cost cost, const Decision& denial, nanoseconds asked,
                nanoseconds answered, std::uint32_t resets);
  void forget(std::uint64_t key);
  std::optional<Decision> recall(std::uint64_t key, const Quota& quota, Cost cost, nanoseconds now,
                                 std::uint32_t resets) const;

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::optional<Quota> quota;
    std::uint64_t ahead = 0;  // of the tat, when the store decided
    nanoseconds asked{0};
    nanoseconds answered{0};
    nanoseconds until{0};
    std::uint32_t resets = 0;
  };
  std::vector<Entry> entries_;  // made with the first denial
};

}  // namespace weir::redis
