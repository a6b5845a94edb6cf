// The checks that wait for a call of their key: where checks merge, what comes while a call of the key is
// under way leaves together, when that call's answer has come or when it could no longer be answered in time.
//
// One thread. Not for: deciding, or asking.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "redis/kept_check.hpp"
#include "redis/ticket.hpp"

namespace weir::inline v0_1::redis {

// A check of a request that has only this one.
struct KeyCheck : KeptCheck {
  Ticket ticket;
  std::chrono::nanoseconds deadline;
  bool may_lease;  // it may spend a lease of the key
};

class MergeQueue {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  bool has(std::uint64_t key) const { return keys_.contains(key); }
  // A call of the key leaves, for whose answer those that come from now on wait: its turn. Of several calls
  // it is the last.
  std::uint64_t begin(std::uint64_t key);
  // For the call under way, at the longest until `until`.
  void wait(KeyCheck check, nanoseconds until);

  // Whether what waits for the key waits for that call.
  bool waits_for(std::uint64_t key, std::uint64_t turn) const;
  // What has waited, in order. Then nothing of the key is under way.
  std::vector<KeyCheck> end(std::uint64_t key);

  // A key whose checks have waited long enough by `now`.
  std::optional<std::uint64_t> take_due(nanoseconds now);
  // When there is one; never when nothing waits.
  nanoseconds next_due();

  std::size_t waiting() const { return waiting_; }

 private:
  struct Queue {
    std::uint64_t turn;
    nanoseconds until;
    std::vector<KeyCheck> checks;
  };
  using Due = std::pair<nanoseconds, std::uint64_t>;  // a queue's `until`, and its key

  std::unordered_map<std::uint64_t, Queue> keys_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // also of queues that have ended
  std::size_t waiting_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace weir::redis
