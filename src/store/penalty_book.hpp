// How often keys have been breached, where their penalties grow (core/penalty.hpp): of each the time at which
// that is forgotten.
//
// A table of a fixed size, made when the first key needs it. A key has kPlaces places, beside one another;
// where keys that count have them all, it is not kept: its penalty is that of a first breach. What is over
// makes place for others.
//
// Any thread may call anything at any time; a call looks at kPlaces places under a lock. Not for: how a key
// rests (key_ledger.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>

#include "core/penalty.hpp"
#include "store/spin.hpp"

namespace weir::inline v0_1::store {

class PenaltyBook {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  static constexpr std::size_t kMemory = std::size_t{8} << 20;
  static constexpr std::size_t kPlaces = 16;

  explicit PenaltyBook(std::size_t bytes) : places_(bytes / sizeof(Entry)) {}

  // For how long that key rests, whose breach of now counts from then on.
  nanoseconds breach(std::uint64_t key, const core::PenaltyTerms& penalty, nanoseconds now);
  void forget(std::uint64_t key);

  // For a snapshot: those that count at `now`, some at a time under the lock.
  void copy(nanoseconds now, const std::function<void(std::uint64_t key, nanoseconds forgotten)>& each);
  // One of a snapshot, as far as there is room.
  void keep(std::uint64_t key, nanoseconds forgotten, nanoseconds now);

  std::size_t bytes() const { return kept_.load(std::memory_order_relaxed) * sizeof(Entry); }
  std::size_t most_bytes() const { return places_ * sizeof(Entry); }
  std::uint64_t not_kept() const { return not_kept_.load(std::memory_order_relaxed); }  // breaches, ever

 private:
  struct Entry {
    std::uint64_t key;
    std::int64_t forgotten;  // 0: nobody's
  };
  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };

  Entry* find(std::uint64_t key, nanoseconds now) WEIR_REQUIRES(mutex_);

  std::size_t places_;
  SpinLock mutex_;
  std::unique_ptr<Entry[], Free> entries_ WEIR_GUARDED_BY(mutex_);
  std::atomic<std::size_t> kept_{0};  // what is over is among them until its place is needed
  std::atomic<std::uint64_t> not_kept_{0};
};

}  // namespace weir::store
