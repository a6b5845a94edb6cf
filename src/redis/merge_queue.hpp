// The checks that wait for a call of their key: where checks merge, a key has one call under way, and what
// comes meanwhile leaves together when its answer has come.
//
// One thread. Not for: deciding, or asking.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "redis/kept_check.hpp"
#include "redis/ticket.hpp"

namespace weir::redis {

// A check of a request that has only this one.
struct KeyCheck : KeptCheck {
  Ticket ticket;
  std::chrono::nanoseconds deadline;
  bool may_lease;  // it may spend a lease of the key
};

// A call to the store for a check and for those like it that travel with it.
struct KeyCall {
  KeyCheck check;
  std::vector<KeyCheck> more{};    // of the same key, rule and cost
  std::uint64_t lease = 0;         // units asked for instead of the cost; 0: the cost
  bool others_wait = false;        // in the queue, until it is answered
  std::chrono::nanoseconds at{0};  // when it was asked

  Cost cost() const { return lease != 0 ? Cost{lease} : check.cost; }
  std::chrono::nanoseconds deadline() const;
};

// In their order, neighbours that are alike in one call.
std::vector<KeyCall> calls_of(std::vector<KeyCheck> checks);

class MergeQueue {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  enum class Turn : std::uint8_t {
    first,  // no call of the key is under way: this one is, from now on
    waits,  // for the call under way
    alone,  // it has less time than the call under way
  };
  Turn turn_of(std::uint64_t key, nanoseconds deadline);
  void wait(KeyCheck check);

  // The call under way has been answered: what has waited, in order. Then nothing of the key is under way.
  std::vector<KeyCheck> end(std::uint64_t key);
  // The last of several calls that have left is the one to wait for.
  void begin(std::uint64_t key, nanoseconds deadline) { keys_.try_emplace(key, Queue{deadline, {}}); }

  std::size_t waiting() const { return waiting_; }

 private:
  struct Queue {
    nanoseconds deadline;  // of the call under way
    std::vector<KeyCheck> checks;
  };
  std::unordered_map<std::uint64_t, Queue> keys_;
  std::size_t waiting_ = 0;
};

}  // namespace weir::redis
