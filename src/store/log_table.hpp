// The embedded store of the sliding window log: a table from keys to logs of up to `limit` admissions.
//
// Any thread may call anything at any time; a check allocates nothing (locks: weir/limiter.hpp).
// The caller owns the clock: every call is handed `now`, on one clock that starts at 0 or above.
//
// What makes it safe is what makes Table safe (store/table.hpp): a log whose newest entry has left equals
// none, so its slot is free by definition; no key is kept, only 64 bits of a keyed hash of it; nothing live
// is evicted.
//
// How it lies in memory: buckets of 8 slots, each bucket with a lock, followed by a ring of `limit`
// entries for each slot. A key has two buckets and goes into the one with more free slots (Y. Azar, A.
// Broder, A. Karlin, E. Upfal, "Balanced Allocations", 1994); it never moves. All of it is address space from
// the beginning and memory as it is used: a ring that has been filled once stays memory.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/siphash.hpp"
#include "core/sliding_window_log.hpp"
#include "weir/decision.hpp"
#include "weir/memory.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

class LogTable {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // Where a key's log can be; made by locate(), valid for the life of this table.
  struct Place {
    std::uint64_t tag;
    std::array<std::uint64_t, 2> bucket;  // never the same
  };

  // `bytes` is the most that it may take. Throws std::invalid_argument when that is too little for two
  // buckets of such logs, std::system_error when the address space is refused. The quota is one that
  // Rule::make passes.
  LogTable(const Quota& quota, std::size_t bytes, WhenFull when_full, core::HashKey seed);
  ~LogTable();
  LogTable(const LogTable&) = delete;
  LogTable& operator=(const LogTable&) = delete;

  Place locate(std::string_view key) const {
    const std::uint64_t hash = core::siphash<1, 3>(seed_, key);
    const auto first = static_cast<std::uint64_t>((static_cast<unsigned __int128>(hash) * buckets_) >> 64);
    const std::uint64_t step = 1 + (((hash & 0xffff'ffff) * (buckets_ - 1)) >> 32);
    return {hash, {first, (first + step) % buckets_}};
  }
  void prefetch(const Place& place) const;

  // Decides and, if allowed, writes it down. A `now` that another thread has overtaken is as good as any: a
  // check is never decided earlier than the key's newest admission, nor than what was forgotten in its place.
  Decision check(const Place& place, Cost cost, nanoseconds now) { return take(place, cost, now, cost); }
  // As much as there is, up to `most`; `cost` is the least, and then what was decided for.
  Decision take(const Place& place, Cost most, nanoseconds now, Cost& cost);

  // Forgets the key; true if there was something to forget.
  bool reset(const Place& place, nanoseconds now);

  std::uint64_t live(nanoseconds now) const;  // keys in use; reads the buckets and not the rings
  std::uint64_t capacity() const { return buckets_ * kSlots; }
  // New keys that when_full had to decide.
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kSlots = 8;

  struct Bucket;
  class Pair;  // both buckets of a key, locked

  Bucket& bucket_at(std::uint64_t index) const;
  std::span<core::sliding_window_log::Entry> ring(std::uint64_t bucket, std::size_t slot) const;
  std::uint64_t live_for(const core::sliding_window_log::State& log, nanoseconds now) const;

  Quota quota_;
  core::HashKey seed_;
  WhenFull when_full_;
  std::uint64_t buckets_;
  std::size_t mapping_bytes_ = 0;
  std::byte* mapping_ = nullptr;
  core::sliding_window_log::Entry* rings_ = nullptr;
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace weir::store
