// The embedded store's table: from keys to states of two words, made for GCRA and good for every algorithm
// but the sliding window log (store/log_table.hpp). One table serves limits of different algorithms: a
// limit's id and algorithm are hashed with the key, so two that differ never share a state.
//
// Any thread may call anything at any time; a check allocates nothing and holds no lock across a system call.
// The caller owns the clock: every call is handed `now`, on one clock that starts at 0 or above.
//
// What makes it small and safe:
// - An entry whose first word, a tat or the end of a window, is not after now equals no entry, so its slot is
// free
//   by definition: expiry needs no timer and no scan, and reusing such a slot forgets nothing.
// - No key is kept, only 56 bits of a keyed hash of it: 42 as the entry's tag, 14 in its place. Two of n keys
//   that meet share one limit, which admits less, never more; the chance that any two of n live keys do is
//   about n^2 / 2^56 (a million keys: 1 in 70,000), and nobody without the seed can aim at it.
// - Bounded: when every slot that could hold a new key is live, nothing live is evicted; `when_full` decides
//   for the new key, and it is counted. Flooding the table makes no drained key forget.
//
// How it lies in memory: segments of 1 MiB, each a cuckoo table (R. Pagh, F. Rodler, "Cuckoo Hashing", 2001;
// in the bucketed form of M. Dietzfelbinger, C. Weidling, 2007) of 2^14 buckets of one cache line and three
// entries. A key has two buckets, both in one segment. A check touches the first, and the second only when
// something that belongs into the first had to go there. Growth: the tag as a fraction of 2^42 says which of
// the table's final segments ("leaves") a key belongs to; a segment covers a range of leaves and, when it is
// full, gives the upper half of its range to a new segment, bucket by bucket, while other threads go on.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/rule.hpp"
#include "core/siphash.hpp"
#include "core/step.hpp"
#include "store/store.hpp"
#include "weir/algorithm.hpp"
#include "weir/decision.hpp"
#include "weir/limiter.hpp"
#include "weir/quota.hpp"

namespace weir::store {

class Table {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  static constexpr std::size_t kSegmentBytes = std::size_t{1} << 20;
  static constexpr std::size_t kLeastBytes = kSegmentBytes;
  static constexpr std::size_t kSlotsPerSegment = kSegmentBytes / 64 * 3;

  // Where a key's entry can be; made by locate(), good for this table for ever.
  struct Place {
    std::uint64_t tag;     // 42 bits
    std::uint32_t bucket;  // 14 bits
  };

  static constexpr Place place_of(std::uint64_t hash) {
    return {hash >> 22, static_cast<std::uint32_t>(hash & kBucketMask)};
  }

  struct Request {
    Place place;
    const Quota* quota;
    Cost cost;
  };

  // An entry without its time: how far ahead of now its first word stands, and the second, gcra's T.
  struct Entry {
    Place place;
    std::uint64_t ahead;
    std::uint64_t interval;
  };

  // `bytes` is the most that entries may take, at least kLeastBytes, rounded down to whole segments; address
  // space for all of it is reserved now, memory is taken as it is used. Throws std::invalid_argument for
  // less, std::system_error when the address space is refused.
  Table(std::size_t bytes, WhenFull when_full, core::HashKey seed = random_seed());
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // What place_of() makes a key's place of. The id 0 with gcra leaves the hash of the key alone, which is
  // what snapshots of one limit have always held.
  std::uint64_t hash(std::string_view key, Algorithm algorithm, std::uint32_t id) const {
    return core::siphash<1, 3>(seed_, key, std::uint64_t{id} << 8 | static_cast<std::uint64_t>(algorithm));
  }
  Place locate(std::string_view key, const core::Rule& rule, std::uint32_t id = 0) const {
    return place_of(hash(key, rule.algorithm, id));
  }
  Place locate(std::string_view key) const { return place_of(hash(key, Algorithm::gcra, 0)); }

  // Asks the processor to fetch both buckets of the key. With 16 keys prefetched before the first is decided
  // a check of a million random keys took 65 ns; with only the first bucket 108, with neither 212
  // (bench/table.cpp, then).
  void prefetch(Place place) const {
    const std::uint32_t segment = directory_[leaf_of(place.tag)].load(std::memory_order_relaxed);
    __builtin_prefetch(address(segment, place.bucket), 1);
    __builtin_prefetch(address(segment, other(place.bucket, place.tag)), 1);
  }

  // Decides and, if allowed, charges. A `now` that another thread has overtaken is as good as any: a check is
  // never decided earlier than what was forgotten in its place.
  // The requester has been waiting since `arrived`, from when gcra charges it (gcra::decide).
  Decision check(Place place, const core::Rule& rule, Cost cost, nanoseconds arrived, nanoseconds now);
  // By gcra.
  Decision check(Place place, const Quota& quota, Cost cost, nanoseconds arrived, nanoseconds now) {
    return check(place, core::Rule{quota}, cost, arrived, now);
  }
  Decision check(Place place, const Quota& quota, Cost cost, nanoseconds now) {
    return check(place, core::Rule{quota}, cost, now, now);
  }

  // Several limits of one request: charged all, or none when any of them is not allowed. Each check's hash is
  // hash(). The decisions say what each would have answered alone after those before it. At most kMostChecks.
  bool check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now);
  // The same by gcra.
  static constexpr std::size_t kMostTogether = kMostChecks;
  bool check_all(std::span<const Request> requests, nanoseconds now, std::span<Decision> decisions);

  // Forgets the key; true if there was something to forget.
  bool reset(Place place, nanoseconds now);
  // gcra::give_back() for the key.
  void give_back(Place place, const Quota& quota, Cost cost, nanoseconds charged_at, nanoseconds now);

  // Entries in use, some 0.3 ms for each MiB of the table. With `most_segments` it reads at
  // most so many, evenly spread, and scales what it found.
  std::uint64_t live(nanoseconds now, std::uint32_t most_segments = ~0U) const;
  std::uint64_t capacity() const { return std::uint64_t{leaves_} * kSlotsPerSegment; }
  std::size_t allocated_bytes() const {
    return std::size_t{segments_used_.load(std::memory_order_relaxed)} * kSegmentBytes;
  }
  // New keys that when_full had to decide.
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  core::HashKey seed() const { return seed_; }

  // For snapshots. copy_segment() appends the live entries of the segment that holds `leaf` and returns the
  // first leaf behind it; walking from 0 to leaves() misses no entry that is live throughout.
  std::uint32_t leaves() const { return leaves_; }
  std::uint32_t copy_segment(std::uint32_t leaf, nanoseconds now, std::vector<Entry>& out);
  // Puts an entry back; false when there is no room. The table must have the seed that the entry came from.
  bool restore(const Entry& entry, nanoseconds now);

  static core::HashKey random_seed();

 private:
  static constexpr std::uint32_t kBuckets = 1U << 14;
  static constexpr std::uint32_t kBucketMask = kBuckets - 1;
  static constexpr int kSlots = 3;

  struct Bucket;
  struct Release;
  struct Segment;
  struct Pair;  // both buckets of a key, locked

  // The other bucket of an entry, from either.
  static std::uint32_t other(std::uint32_t bucket, std::uint64_t tag) {
    return bucket ^ ((static_cast<std::uint32_t>(tag) & kBucketMask) | 1U);
  }
  std::uint32_t leaf_of(std::uint64_t tag) const {
    return static_cast<std::uint32_t>((static_cast<unsigned __int128>(tag << 22) * leaves_) >> 64);
  }
  std::byte* address(std::uint32_t segment, std::uint32_t bucket) const {
    return base_ + std::size_t{segment} * kSegmentBytes + std::size_t{bucket} * 64;
  }
  Bucket& bucket_at(std::uint32_t segment, std::uint32_t bucket) const;
  Segment& segment_for(std::uint32_t leaf) const;
  Bucket* owner(std::uint32_t leaf, std::uint32_t bucket, Segment*& segment) const;
  Bucket& lock_home(std::uint32_t leaf, std::uint32_t bucket, Segment*& segment) const;
  Pair lock_pair(Place place) const;
  Decision check_pair(Place place, const core::Rule& rule, Cost cost, nanoseconds arrived, nanoseconds now);
  bool make_room(Place place, nanoseconds now);
  static Decision no_room(const Quota& quota, std::uint64_t soonest);
  bool displace(std::uint32_t segment, std::uint32_t root, nanoseconds now);
  bool move(std::uint32_t segment, std::uint32_t from, std::uint32_t to, std::uint64_t tag, nanoseconds now);
  bool split(Segment& segment);

  core::HashKey seed_;
  WhenFull when_full_;
  std::uint32_t leaves_;
  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::unique_ptr<Segment[]> segments_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> directory_;  // leaf -> index of the segment that covers it
  std::atomic<std::uint32_t> segments_used_{1};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace weir::store
