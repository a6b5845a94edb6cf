#include "store/log_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "store/mapping.hpp"
#include "store/spin.hpp"

namespace weir::inline v0_1::store {

using LogEntry = core::sliding_window_log::Entry;
using core::sliding_window_log::State;

// What is guarded, and the rings that belong to it, is touched only by the lock's holder, to whom the lock's
// acquire and release show what earlier holders wrote. Memory that was never written is a valid bucket.
struct WEIR_CAPABILITY("bucket of logs") alignas(64) LogTable::Bucket {
  static constexpr std::uint32_t kLocked = 1;
  static constexpr std::uint32_t kUsed = 2;

  std::atomic<std::uint32_t> word;
  // The latest time until which an overwritten log was live: a key that is not found is decided no earlier.
  std::uint64_t forgotten WEIR_GUARDED_BY(this);
  std::array<std::uint64_t, kSlots> tag WEIR_GUARDED_BY(this);
  std::array<State, kSlots> log WEIR_GUARDED_BY(this);

  bool try_lock() WEIR_TRY_ACQUIRE(true) {
    std::uint32_t seen = word.load(std::memory_order_relaxed);
    return (seen & kLocked) == 0 &&
           word.compare_exchange_weak(seen, seen | kLocked, std::memory_order_acquire,
                                      std::memory_order_relaxed);
  }
  void lock() WEIR_ACQUIRE() {
    Spin spin;
    while (!try_lock()) spin.wait();
  }
  void unlock() WEIR_RELEASE() {
    word.store(word.load(std::memory_order_relaxed) & ~kLocked, std::memory_order_release);
  }

  // For one of two that a Pair holds: says so to the analysis.
  void assert_held() const WEIR_ASSERT_HELD(this) {}

  // Reading it needs no lock, so counting does not turn untouched address space into memory.
  bool used() const { return (word.load(std::memory_order_relaxed) & kUsed) != 0; }
  void mark_used() WEIR_REQUIRES(this) {
    word.store(word.load(std::memory_order_relaxed) | kUsed, std::memory_order_relaxed);
  }

  // The key's own slot, live or not; kSlots when there is none.
  std::size_t find(std::uint64_t wanted) const WEIR_REQUIRES(this) {
    return static_cast<std::size_t>(std::find(tag.begin(), tag.end(), wanted) - tag.begin());
  }
};

// Locked in the order of their places, so that two threads with the same two cannot lock each other up.
class LogTable::Pair {
 public:
  Pair(LogTable& table, const Place& place) WEIR_NOT_ANALYSED
      : bucket_{&table.bucket_at(place.bucket[0]), &table.bucket_at(place.bucket[1])} {
    lock_all<Bucket>(std::array{std::min(bucket_[0], bucket_[1]), std::max(bucket_[0], bucket_[1])});
  }
  ~Pair() WEIR_NOT_ANALYSED {
    bucket_[0]->unlock();
    bucket_[1]->unlock();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  Bucket& operator[](std::size_t which) const { return *bucket_[which]; }

 private:
  std::array<Bucket*, 2> bucket_;
};

LogTable::LogTable(const Quota& quota, std::size_t bytes, WhenFull when_full, core::HashKey seed)
    : quota_(quota), seed_(seed), when_full_(when_full) {
  const auto limit = static_cast<std::size_t>(quota.rate().count);
  const std::size_t bucket_bytes = sizeof(Bucket) + kSlots * limit * sizeof(LogEntry);
  buckets_ = bytes / bucket_bytes;
  if (buckets_ < 2) {
    throw std::invalid_argument("memory: " + std::to_string(bytes) +
                                " bytes is below the minimum for logs of " + std::to_string(limit) +
                                " admissions (" + std::to_string(2 * bucket_bytes) + ")");
  }
  mapping_bytes_ = buckets_ * bucket_bytes;
  mapping_ = reserve_memory(mapping_bytes_);
  rings_ = reinterpret_cast<LogEntry*>(mapping_ + buckets_ * sizeof(Bucket));
}

LogTable::~LogTable() { munmap(mapping_, mapping_bytes_); }

LogTable::Bucket& LogTable::bucket_at(std::uint64_t index) const {
  return reinterpret_cast<Bucket*>(mapping_)[index];
}

std::span<LogEntry> LogTable::ring(std::uint64_t bucket, std::size_t slot) const {
  const auto limit = static_cast<std::size_t>(quota_.rate().count);
  return {rings_ + (bucket * kSlots + slot) * limit, limit};
}

std::uint64_t LogTable::live_for(const State& log, nanoseconds now) const {
  return core::sliding_window_log::reset_after(quota_, log, now);
}

void LogTable::prefetch(const Place& place) const {
  for (const std::uint64_t index : place.bucket) {
    Bucket& bucket = bucket_at(index);
    __builtin_prefetch(&bucket, 1);
    __builtin_prefetch(&bucket.log, 1);
  }
}

Decision LogTable::take(const Place& place, Cost most, nanoseconds now, Cost& cost) {
  const auto decide = [&](State& log, std::span<LogEntry> ring, nanoseconds at) {
    if (most.units > cost.units) {
      const Decision found = core::sliding_window_log::decide(quota_, log, ring, at, Cost{0});
      cost.units = std::clamp(static_cast<std::uint64_t>(found.remaining), cost.units, most.units);
    }
    return core::sliding_window_log::decide(quota_, log, ring, at, cost);
  };
  const Pair pair(*this, place);
  std::uint64_t forgotten = 0;
  for (std::size_t which = 0; which < 2; ++which) {
    Bucket& bucket = pair[which];
    bucket.assert_held();
    if (const std::size_t slot = bucket.find(place.tag); slot != kSlots) {
      return decide(bucket.log[slot], ring(place.bucket[which], slot), now);
    }
    forgotten = std::max(forgotten, bucket.forgotten);
  }
  State log;
  std::array<LogEntry, 1> entry;
  const Decision decision =
      decide(log, entry, std::max(now, nanoseconds{static_cast<std::int64_t>(forgotten)}));
  if (log.count == 0) return decision;

  std::array<std::size_t, 2> free{};       // how many
  std::array<std::size_t, 2> free_slot{};  // one of them
  std::uint64_t soonest = ~std::uint64_t{0};
  for (std::size_t which = 0; which < 2; ++which) {
    const Bucket& bucket = pair[which];
    bucket.assert_held();
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const std::uint64_t left = live_for(bucket.log[slot], now);
      soonest = std::min(soonest, left);
      if (left != 0) continue;
      ++free[which];
      free_slot[which] = slot;
    }
  }
  const std::size_t which = free[0] >= free[1] ? 0 : 1;
  if (free[which] == 0) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    if (when_full_ == WhenFull::allow) return decision;
    return {Verdict::denied, quota_.rate().count, 0, nanoseconds{static_cast<std::int64_t>(soonest)},
            nanoseconds{0}};
  }
  Bucket& bucket = pair[which];
  bucket.assert_held();
  const std::size_t slot = free_slot[which];
  // 0 + P for a slot that was never used would decide every new key no earlier than P.
  if (const State& old = bucket.log[slot]; old.count != 0) {
    bucket.forgotten =
        std::max(bucket.forgotten, old.newest + static_cast<std::uint64_t>(quota_.rate().period.count()));
  }
  bucket.mark_used();
  bucket.tag[slot] = place.tag;
  bucket.log[slot] = log;
  ring(place.bucket[which], slot)[0] = entry[0];
  return decision;
}

bool LogTable::reset(const Place& place, nanoseconds now) {
  const Pair pair(*this, place);
  for (std::size_t which = 0; which < 2; ++which) {
    Bucket& bucket = pair[which];
    bucket.assert_held();
    if (const std::size_t slot = bucket.find(place.tag); slot != kSlots) {
      const bool forgot = live_for(bucket.log[slot], now) != 0;
      bucket.log[slot] = {};
      return forgot;
    }
  }
  return false;
}

std::uint64_t LogTable::live(nanoseconds now) const {
  std::uint64_t found = 0;
  for (std::uint64_t index = 0; index < buckets_; ++index) {
    Bucket& bucket = bucket_at(index);
    if (!bucket.used()) continue;
    const Held held(bucket);
    for (const State& log : bucket.log) found += live_for(log, now) != 0 ? 1 : 0;
  }
  return found;
}

}  // namespace weir::store
