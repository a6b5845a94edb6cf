// Where the table's entries lie, and how room is made for another.
//
// Segments of 1 MiB, each a cuckoo table (R. Pagh, F. Rodler, "Cuckoo Hashing", 2001; in the bucketed form of
// M. Dietzfelbinger, C. Weidling, 2007) of 2^14 buckets of one cache line and three entries. A key has two
// buckets, both in one segment. Growth: the tag as a fraction of 2^42 says which of the table's final
// segments ("leaves") a key belongs to; a segment covers a range of leaves and, when it is full, gives the
// upper half of its range to a new segment, bucket by bucket, while other threads go on.
//
// Any thread. Bounded: address space for all of it is reserved at once, memory is taken as it is used.
//
// Memory orders. What tells where a leaf's entries lie (the directory, a segment's mid, progress, upper, end)
// is read without a lock, and acted on only when it still says so after the bucket that it names has been
// locked: owner() under that lock is the judge. All of it is stored with release and loaded with acquire, and
// the order of the stores in split() matters, see there. `forgotten` is raised and read under the lock of a
// bucket of the key that it concerns, and the lock orders it: relaxed. `search_after` and the count of
// segments in use are hints and statistics: relaxed.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/step.hpp"
#include "store/bucket.hpp"
#include "store/spin.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::store {

// Where a key's entry can be; good for its table as long as that lives.
struct KeyPlace {
  std::uint64_t tag;     // 42 bits
  std::uint32_t bucket;  // 14 bits; the key's home, which is looked into first
};

// An entry without its time: how far ahead of now its first word stands, and the second.
struct TableEntry {
  std::uint64_t tag;
  std::uint32_t bucket;  // where it lies, at home or not
  std::uint64_t ahead;
  std::uint64_t word;
};

class Segments {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  static constexpr std::uint32_t kBuckets = 1U << 14;
  static constexpr std::uint32_t kBucketMask = kBuckets - 1;
  static constexpr std::size_t kSegmentBytes = std::size_t{kBuckets} * sizeof(Bucket);

  // A range of leaves and the 2^14 buckets that hold their keys. Splitting gives [mid, end) to `upper`,
  // bucket by bucket under each bucket's lock; the buckets below `progress` have been split. At rest mid
  // equals end.
  struct alignas(64) Segment {
    std::uint32_t begin = 0;
    std::atomic<std::uint32_t> end{0};
    std::atomic<std::uint32_t> mid{0};
    std::atomic<std::uint32_t> progress{0};
    std::atomic<std::uint32_t> upper{0};

    // The latest `until` that was overwritten by another key's, or time at which a debt was recounted by
    // another quota. A key that is not found was never live beyond this time, so deciding it no earlier keeps
    // the promise even for a thread whose `now` is older.
    alignas(64) std::atomic<std::uint64_t> forgotten{0};
    // After a search for room that failed at the bound: no further search before this time, so that a flood
    // of fresh keys pays for one search in 10 ms and not for one each.
    std::atomic<std::uint64_t> search_after{0};
    // Held while entries move between buckets: by a displacement, a split, a copy.
    SpinLock shape;

    void forget(std::uint64_t until);
    // Writes a key's entry over one that is free.
    void put(Bucket& bucket, int slot, std::uint64_t tag, core::TwoWords state) WEIR_REQUIRES(bucket) {
      forget(bucket.state(slot).until);
      bucket.set(slot, tag, state);
    }
  };

  // A bucket and the segment that it is in; no bucket when the directory was read too early.
  struct Owner {
    Bucket* bucket = nullptr;
    Segment* segment = nullptr;

    friend bool operator==(const Owner&, const Owner&) = default;
  };
  using Homes = std::array<Owner, 2>;

  // Both buckets of a key, locked.
  struct Pair {
    Homes homes;
    HeldBoth held;
  };

  // `bytes` is at least one segment and rounded down to whole ones. Throws std::invalid_argument for more
  // than 2^48, std::system_error when the address space is refused. Nothing is touched yet, however much it
  // is.
  explicit Segments(std::size_t bytes);
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  std::uint32_t leaves() const { return leaves_; }
  std::uint32_t used() const { return used_.load(std::memory_order_relaxed); }

  // The other bucket of an entry, from either.
  static constexpr std::uint32_t other(std::uint32_t bucket, std::uint64_t tag) {
    return bucket ^ apart(tag);
  }
  // The place of a key with this tag, one of whose buckets this is. The two differ in bit 0, and home is the
  // one that has bit 0 of the tag (a bit that neither apart() nor leaf_of() uses): an entry tells its home
  // wherever it lies, and two keys with one tag and the same two buckets are one key, which finds its entry.
  static constexpr KeyPlace place(std::uint64_t tag, std::uint32_t bucket) {
    const std::uint32_t away = (bucket ^ static_cast<std::uint32_t>(tag)) & 1U;
    return {tag, bucket ^ (apart(tag) & (0U - away))};
  }
  static constexpr KeyPlace place_of(std::uint64_t hash) {
    return place(hash >> 22, static_cast<std::uint32_t>(hash) & kBucketMask);
  }
  // One hash of those that have this place, always the same.
  static constexpr std::uint64_t hash_of(KeyPlace place) { return place.tag << 22 | place.bucket; }
  std::uint32_t leaf_of(std::uint64_t tag) const {
    return static_cast<std::uint32_t>((static_cast<unsigned __int128>(tag << 22) * leaves_) >> 64);
  }

  // Asks the processor to fetch both buckets of the key. With 16 keys prefetched before the first is decided
  // a check of a million random keys took 65 ns; with only the first bucket 108, with neither 212
  // (bench/table.cpp, then).
  void prefetch(KeyPlace place) const {
    const std::uint32_t segment = directory_[leaf_of(place.tag)].load(std::memory_order_relaxed);
    __builtin_prefetch(&bucket_at(segment, place.bucket), 1);
    __builtin_prefetch(&bucket_at(segment, other(place.bucket, place.tag)), 1);
  }

  // What the directory says, which is right but for a split under way.
  Bucket& guess(std::uint32_t leaf, std::uint32_t bucket) const {
    return bucket_at(directory_[leaf].load(std::memory_order_acquire), bucket);
  }
  // The bucket that holds `leaf`'s entries of that number. Certain only while that bucket is locked, because
  // a split of it needs the same lock. `end` is read last: a thread that sees the fields of a later split
  // sees that the earlier one took the leaf away.
  [[gnu::always_inline]] Owner owner(std::uint32_t leaf, std::uint32_t bucket) const {
    std::uint32_t index = directory_[leaf].load(std::memory_order_acquire);
    const Segment& from = segments_[index];
    if (leaf >= from.mid.load(std::memory_order_acquire) &&
        bucket < from.progress.load(std::memory_order_acquire)) {
      index = from.upper.load(std::memory_order_acquire);
    }
    if (leaf >= from.end.load(std::memory_order_acquire)) return {};
    return {&bucket_at(index, bucket), &segments_[index]};
  }
  // Both of a key's.
  Homes homes(KeyPlace place) const {
    const std::uint32_t leaf = leaf_of(place.tag);
    return {owner(leaf, place.bucket), owner(leaf, other(place.bucket, place.tag))};
  }
  Pair lock_pair(KeyPlace place) const;

  // Makes room for a key whose buckets have none: by moving others to their other buckets, or else by
  // splitting the segment. `claimed` are buckets in which a free slot is spoken for, one for each time that
  // they are named: such slots count as taken, so room that was made once is not undone to make it again.
  enum class Room {
    none,    // every slot that could hold the key is in use
    first,   // the key's first bucket has a slot to spare, now
    second,  // its second has
    split,   // the segment was split, which happens less than leaves() times: look again
    missed,  // another thread filled a slot meanwhile: look again
  };
  Room make_room(KeyPlace place, nanoseconds now, std::span<const Bucket* const> claimed = {});
  // How often room that was made may be lost to others. The table is then so full, and so busy, that more
  // would not help.
  static constexpr int kMostMissed = 16;

  // Splits the segment that holds the tag, if it covers more than one leaf; false when it does not.
  bool split_at(std::uint64_t tag);

  // For tests: called between two stores of the directory by a split, under its locks.
  static inline std::atomic<void (*)()> while_publishing{nullptr};

  // The live entries; with `most_segments` it reads at most that number, evenly spread, and scales what it
  // found.
  std::uint64_t live(nanoseconds now, std::uint32_t most_segments) const;
  // Table::copy_segment().
  std::uint32_t copy(std::uint32_t leaf, nanoseconds now, std::vector<TableEntry>& out) const;

 private:
  enum class Search { failed, found, missed };

  static constexpr std::uint32_t apart(std::uint64_t tag) {
    return (static_cast<std::uint32_t>(tag) & kBucketMask) | 1U;
  }

  Bucket& bucket_at(std::uint32_t segment, std::uint32_t bucket) const {
    return *reinterpret_cast<Bucket*>(base_ + std::size_t{segment} * kSegmentBytes +
                                      std::size_t{bucket} * sizeof(Bucket));
  }
  Segment& segment_for(std::uint32_t leaf) const {
    return segments_[directory_[leaf].load(std::memory_order_acquire)];
  }
  std::uint32_t index_of(const Segment& segment) const {
    return static_cast<std::uint32_t>(&segment - segments_);
  }
  Room make_room_in(Segment& segment, KeyPlace place, nanoseconds now, std::span<const Bucket* const> claimed)
      WEIR_REQUIRES(segment.shape);
  Search displace(Segment& segment, std::uint32_t root, nanoseconds now,
                  std::span<const Bucket* const> claimed) WEIR_REQUIRES(segment.shape);
  bool move(Segment& segment, std::uint32_t from, std::uint32_t to, std::uint64_t tag, nanoseconds now)
      WEIR_REQUIRES(segment.shape);
  bool split(Segment& segment) WEIR_REQUIRES(segment.shape);
  void split_bucket(Segment& lower, Segment& upper, std::uint32_t number)
      WEIR_REQUIRES(lower.shape, upper.shape);
  void copy_bucket(Segment& segment, std::uint32_t number, nanoseconds now,
                   std::vector<TableEntry>& out) const WEIR_REQUIRES(segment.shape);

  std::uint32_t leaves_;
  std::size_t mapping_bytes_;
  std::byte* mapping_;
  std::byte* base_;
  Segment* segments_;
  std::atomic<std::uint32_t>* directory_;  // leaf -> index of the segment that covers it
  std::atomic<std::uint32_t> used_{1};
};

// Room for one key, made again where another thread has taken it: but not forever, as two that move one
// entry back and forth between their keys' buckets could. One thread.
class RoomForKey {
 public:
  RoomForKey(Segments& segments, KeyPlace place, std::chrono::nanoseconds now)
      : segments_(segments), place_(place), now_(now) {}

  // False when there is none, or when it was lost more than kMostMissed times; else look again.
  bool make();

 private:
  Segments& segments_;
  KeyPlace place_;
  std::chrono::nanoseconds now_;
  int made_ = 0;
};

}  // namespace weir::store
