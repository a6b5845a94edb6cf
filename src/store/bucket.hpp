// A bucket of the table: one cache line, three entries, and a lock in one bit of it.
//
// What belongs to the entries may be touched only by the lock's holder, and clang checks that (see
// weir/lock.hpp). A lock is held for some tens of nanoseconds. A thread that waits for one holds no other,
// but may hold what comes before buckets in the order of locks (docs/architecture.md): a segment's shape, or
// the ledgers of keys.
//
// Memory orders: lock() acquires and unlock() releases `word`, so a holder sees all that earlier holders
// wrote, on any machine; while the lock is held nobody else writes `word`, so its holder reads and writes it
// relaxed. Memory that was never written, all zero, is an unlocked bucket without entries.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "core/rule.hpp"
#include "core/step.hpp"
#include "store/spin.hpp"
#include "weir/decision.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::store {

// `word`: bit 0 the lock, bit 1 "overflowed" (something whose first bucket is this one may be in its other
// bucket), then the high 10 bits of each tag.
class WEIR_CAPABILITY("bucket") alignas(64) Bucket {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr int kSlots = 3;

  bool try_lock() WEIR_TRY_ACQUIRE(true) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    return (seen & kLocked) == 0 &&
           word_.compare_exchange_weak(seen, seen | kLocked, std::memory_order_acquire,
                                       std::memory_order_relaxed);
  }
  void lock() WEIR_ACQUIRE() {
    Spin spin;
    while (!try_lock()) spin.wait();
  }
  void unlock() WEIR_RELEASE() {
    word_.store(word_.load(std::memory_order_relaxed) & ~kLocked, std::memory_order_release);
  }
  // For one of several that an object holds: says so to the analysis.
  void assert_held() const WEIR_ASSERT_HELD(this) {}

  bool overflowed() const WEIR_REQUIRES(this) {
    return (word_.load(std::memory_order_relaxed) & kOverflowed) != 0;
  }
  void mark_overflowed() WEIR_REQUIRES(this) {
    word_.store(word_.load(std::memory_order_relaxed) | kOverflowed, std::memory_order_relaxed);
  }

  [[gnu::always_inline]] std::uint64_t tag(int slot) const WEIR_REQUIRES(this) {
    const std::uint64_t high = (word_.load(std::memory_order_relaxed) >> (2 + 10 * slot)) & 1023;
    return high << kLowTagBits | low_tag_[static_cast<std::size_t>(slot)];
  }
  core::TwoWords state(int slot) const WEIR_REQUIRES(this) {
    const auto i = static_cast<std::size_t>(slot);
    return {until_[i], rest_[i]};
  }
  void set(int slot, core::TwoWords state) WEIR_REQUIRES(this) {
    const auto i = static_cast<std::size_t>(slot);
    until_[i] = state.until;
    rest_[i] = state.word;
  }
  void set(int slot, std::uint64_t new_tag, core::TwoWords state) WEIR_REQUIRES(this) {
    const std::uint32_t seen = word_.load(std::memory_order_relaxed);
    const auto high = static_cast<std::uint32_t>(new_tag >> kLowTagBits);
    word_.store((seen & ~(1023U << (2 + 10 * slot))) | high << (2 + 10 * slot), std::memory_order_relaxed);
    low_tag_[static_cast<std::size_t>(slot)] = static_cast<std::uint32_t>(new_tag);
    set(slot, state);
  }

  [[gnu::always_inline]] Decision decide(int slot, const core::Rule& rule, Cost cost, nanoseconds arrived,
                                         nanoseconds now) WEIR_REQUIRES(this) {
    const core::Step step = core::decide(rule, state(slot), now, cost, arrived);
    if (step.changes) set(slot, step.next);
    return step.decision();
  }

  // The key's own slot, live or not; -1 when there is none.
  // Called from nine places, which is why a compiler makes a call of it, and that costs more than it does.
  [[gnu::always_inline]] int find(std::uint64_t wanted) const WEIR_REQUIRES(this) {
    const auto low = static_cast<std::uint32_t>(wanted);
    for (int slot = 0; slot < kSlots; ++slot) {
      if (low_tag_[static_cast<std::size_t>(slot)] == low && tag(slot) == wanted) return slot;
    }
    return -1;
  }
  std::uint64_t ahead(int slot, nanoseconds now) const WEIR_REQUIRES(this) {
    return core::ahead_of(until_[static_cast<std::size_t>(slot)], now);
  }
  bool is_free(int slot, nanoseconds now) const WEIR_REQUIRES(this) { return ahead(slot, now) == 0; }
  int free_slot(nanoseconds now) const WEIR_REQUIRES(this) {
    for (int slot = 0; slot < kSlots; ++slot) {
      if (is_free(slot, now)) return slot;
    }
    return -1;
  }
  int free_slots(nanoseconds now) const WEIR_REQUIRES(this) {
    int count = 0;
    for (int slot = 0; slot < kSlots; ++slot) count += is_free(slot, now) ? 1 : 0;
    return count;
  }
  std::uint64_t soonest_free(nanoseconds now) const WEIR_REQUIRES(this) {
    return core::ahead_of(std::min({until_[0], until_[1], until_[2]}), now);
  }

 private:
  static constexpr std::uint32_t kLocked = 1;
  static constexpr std::uint32_t kOverflowed = 2;
  static constexpr int kLowTagBits = 32;

  std::atomic<std::uint32_t> word_;
  std::array<std::uint32_t, kSlots> low_tag_ WEIR_GUARDED_BY(this);
  std::array<std::uint64_t, kSlots> until_ WEIR_GUARDED_BY(this);  // a tat, the end of a window
  std::array<std::uint64_t, kSlots> rest_ WEIR_GUARDED_BY(this);
};
static_assert(sizeof(Bucket) == 64);

// Two different buckets, locked in the order of their addresses as everywhere, so that two threads cannot
// wait for each other. Code that uses one of them says assert_held().
class HeldBoth {
 public:
  HeldBoth(Bucket& a, Bucket& b) WEIR_NOT_ANALYSED : first_(std::min(&a, &b)), second_(std::max(&a, &b)) {
    lock_all<Bucket>(std::array{first_, second_});
  }
  ~HeldBoth() WEIR_NOT_ANALYSED {
    if (first_ == nullptr) return;
    second_->unlock();
    first_->unlock();
  }
  HeldBoth(HeldBoth&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), second_(other.second_) {}
  HeldBoth& operator=(HeldBoth&&) = delete;

 private:
  Bucket* first_;
  Bucket* second_;
};

// Any number of buckets, as HeldBoth holds two. Sorts them and drops those that are named twice; the caller
// keeps the memory.
class HeldAll {
 public:
  explicit HeldAll(std::span<Bucket*> buckets) WEIR_NOT_ANALYSED {
    sort(buckets);
    const auto end = std::unique(buckets.begin(), buckets.end());
    buckets_ = buckets.first(static_cast<std::size_t>(end - buckets.begin()));
    lock_all<Bucket>(buckets_);
  }
  ~HeldAll() WEIR_NOT_ANALYSED {
    for (Bucket* bucket : buckets_) bucket->unlock();
  }
  HeldAll(const HeldAll&) = delete;
  HeldAll& operator=(const HeldAll&) = delete;

  // How many there are, each once.
  std::size_t size() const { return buckets_.size(); }

 private:
  // By insertion: they are few.
  static void sort(std::span<Bucket*> buckets) {
    for (std::size_t i = 1; i < buckets.size(); ++i) {
      Bucket* const one = buckets[i];
      std::size_t at = i;
      for (; at > 0 && buckets[at - 1] > one; --at) buckets[at] = buckets[at - 1];
      buckets[at] = one;
    }
  }

  std::span<Bucket*> buckets_;
};

}  // namespace weir::store
