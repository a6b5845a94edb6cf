#include "store/segments.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "store/mapping.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMostBytes = std::size_t{1} << 48;

}  // namespace

void Segments::Segment::forget(std::uint64_t until) {
  std::uint64_t seen = forgotten.load(std::memory_order_relaxed);
  while (seen < until && !forgotten.compare_exchange_weak(seen, until, std::memory_order_relaxed)) {
  }
}

Segments::Segments(std::size_t bytes) {
  if (bytes > kMostBytes) {
    throw std::invalid_argument("memory: " + std::to_string(bytes) + " bytes is above the maximum (2^48)");
  }
  const std::size_t segments = bytes / kSegmentBytes;
  leaves_ = static_cast<std::uint32_t>(segments);
  // One mapping: what describes the segments, and after it, from a multiple of kHugePage on, their buckets.
  // Memory that was never written, all zero, is a segment without leaves and a directory of the first one.
  const std::size_t described = segments * (sizeof(Segment) + sizeof(std::atomic<std::uint32_t>));
  mapping_bytes_ = described + kHugePage + segments * kSegmentBytes;
  mapping_ = reserve_memory(mapping_bytes_);
  segments_ = reinterpret_cast<Segment*>(mapping_);
  directory_ = reinterpret_cast<std::atomic<std::uint32_t>*>(mapping_ + segments * sizeof(Segment));
  segments_[0].end = leaves_;
  segments_[0].mid = leaves_;

  // Huge pages where the kernel gives them: random places in a large table miss the TLB otherwise.
  const std::size_t start = reinterpret_cast<std::uintptr_t>(mapping_) + described;
  base_ = mapping_ + described + (kHugePage - start % kHugePage) % kHugePage;
  if (segments * kSegmentBytes >= kHugePage) madvise(base_, segments * kSegmentBytes, MADV_HUGEPAGE);
}

Segments::~Segments() { munmap(mapping_, mapping_bytes_); }

Segments::Pair Segments::lock_pair(KeyPlace place) const {
  for (;;) {
    const Homes found = homes(place);
    if (found[0].bucket == nullptr || found[1].bucket == nullptr) continue;
    HeldBoth held(*found[0].bucket, *found[1].bucket);
    if (homes(place) == found) return {found, std::move(held)};
  }
}

Segments::Room Segments::make_room(KeyPlace place, nanoseconds now, std::span<const Bucket* const> claimed) {
  const std::uint32_t leaf = leaf_of(place.tag);
  for (;;) {
    Segment& segment = segment_for(leaf);
    if (static_cast<std::uint64_t>(now.count()) < segment.search_after.load(std::memory_order_relaxed))
      return Room::none;
    const Held held(segment.shape);
    if (leaf < segment.end.load(std::memory_order_acquire)) return make_room_in(segment, place, now, claimed);
  }
}

Segments::Room Segments::make_room_in(Segment& segment, KeyPlace place, nanoseconds now,
                                      std::span<const Bucket* const> claimed) {
  const auto search = [&](std::uint32_t root)
                          WEIR_REQUIRES(segment.shape) { return displace(segment, root, now, claimed); };
  const Search first = search(place.bucket);
  if (first == Search::found) return Room::first;
  const Search second = search(other(place.bucket, place.tag));
  if (second == Search::found) return Room::second;
  if (first == Search::missed || second == Search::missed) return Room::missed;
  if (split(segment)) return Room::split;
  constexpr std::uint64_t kSearchEvery = 10'000'000;
  segment.search_after.store(static_cast<std::uint64_t>(now.count()) + kSearchEvery,
                             std::memory_order_relaxed);
  return Room::none;
}

// Makes a slot of `root` free that is not spoken for, by moving entries, breadth first over at most kNodes
// buckets. The segment's shape is locked, so entries stay where they are, but other threads go on charging
// and filling free slots: each move is checked again under both locks, and one that no longer fits ends the
// attempt. No bucket but `root` ends with more free slots than before, and none with fewer than are claimed.
Segments::Search Segments::displace(Segment& segment, std::uint32_t root, nanoseconds now,
                                    std::span<const Bucket* const> claimed) {
  constexpr std::size_t kNodes = 160;
  struct Node {
    std::uint32_t bucket;
    std::uint32_t from;  // the bucket before it, which for the root is itself
    std::size_t parent;
    std::uint64_t tag;  // of the entry in `from` that would move here
  };
  const std::uint32_t index = index_of(segment);
  std::array<Node, kNodes> nodes;
  nodes[0] = {root, root, 0, 0};
  std::size_t count = 1;
  for (std::size_t head = 0; head < count; ++head) {
    const Node node = nodes[head];
    Bucket& bucket = bucket_at(index, node.bucket);
    const auto spoken_for = std::count(claimed.begin(), claimed.end(), &bucket);
    bool spare = false;
    {
      const Held held(bucket);
      spare = bucket.free_slots(now) > spoken_for;
      for (int slot = 0; slot < Bucket::kSlots && !spare; ++slot) {
        if (count == kNodes || bucket.is_free(slot, now)) continue;
        const std::uint64_t tag = bucket.tag(slot);
        const std::uint32_t next = other(node.bucket, tag);
        if (head == 0 || next != node.from) nodes[count++] = {next, node.bucket, head, tag};
      }
    }
    if (!spare) continue;
    for (std::size_t at = head; at != 0; at = nodes[at].parent) {
      if (!move(segment, nodes[at].from, nodes[at].bucket, nodes[at].tag, now)) return Search::missed;
    }
    return Search::found;
  }
  return Search::failed;
}

bool Segments::move(Segment& segment, std::uint32_t from, std::uint32_t to, std::uint64_t tag,
                    nanoseconds now) {
  Bucket& source = bucket_at(index_of(segment), from);
  Bucket& target = bucket_at(index_of(segment), to);
  const HeldBoth held(source, target);
  source.assert_held();
  target.assert_held();
  const int slot = source.find(tag);
  const int free = target.free_slot(now);
  if (slot < 0 || free < 0) return false;
  segment.put(target, free, tag, source.state(slot));
  source.set(slot, 0, {});
  if (place(tag, from).bucket == from) source.mark_overflowed();
  return true;
}

bool RoomForKey::make() {
  if (made_ > Segments::kMostMissed) return false;
  const Segments::Room room = segments_.make_room(place_, now_);
  if (room != Segments::Room::split) ++made_;
  return room != Segments::Room::none;
}

bool Segments::split_at(std::uint64_t tag) {
  const std::uint32_t leaf = leaf_of(tag);
  for (;;) {
    Segment& segment = segment_for(leaf);
    const Held held(segment.shape);
    if (leaf < segment.end.load(std::memory_order_acquire)) return split(segment);
  }
}

// Gives the upper half of the segment's leaves to a new segment. The entries keep their bucket numbers, so
// each bucket is split by itself under its own lock, and no other thread waits for more than one bucket.
//
// The new segment's shape is held until the directory says where its leaves are. Other threads can reach it
// before, and could split it in turn: the entries that they publish would then be overwritten by ours, and a
// leaf whose directory entry names a segment that has given it away is never found again.
//
// The order of the stores, for owner(): `upper` before `mid`, because a thread that sees the new `mid`
// follows `upper`; `progress` of the last split is gone before either; `end` last, when nobody needs the
// detour.
bool Segments::split(Segment& segment) {
  const std::uint32_t end = segment.end.load(std::memory_order_relaxed);
  if (end - segment.begin < 2) return false;
  const std::uint32_t mid = segment.begin + (end - segment.begin) / 2;
  const std::uint32_t to = used_.fetch_add(1, std::memory_order_relaxed);
  Segment& upper = segments_[to];
  const Held held(upper.shape);
  upper.begin = mid;
  upper.end.store(end, std::memory_order_relaxed);
  upper.mid.store(end, std::memory_order_relaxed);
  segment.progress.store(0, std::memory_order_release);
  segment.upper.store(to, std::memory_order_release);
  segment.mid.store(mid, std::memory_order_release);
  for (std::uint32_t number = 0; number < kBuckets; ++number) split_bucket(segment, upper, number);
  for (std::uint32_t leaf = mid; leaf < end; ++leaf) {
    directory_[leaf].store(to, std::memory_order_release);
    if (const auto pause = while_publishing.load(std::memory_order_relaxed); pause != nullptr) [[unlikely]]
      pause();
  }
  segment.end.store(mid, std::memory_order_release);
  return true;
}

void Segments::split_bucket(Segment& lower, Segment& upper, std::uint32_t number) {
  Bucket& source = bucket_at(index_of(lower), number);
  Bucket& target = bucket_at(index_of(upper), number);
  // Nobody reaches the target before progress says so, except by a stale guess that fails its check.
  const HeldBoth held(source, target);
  source.assert_held();
  target.assert_held();
  if (source.overflowed()) target.mark_overflowed();
  for (int slot = 0; slot < Bucket::kSlots; ++slot) {
    if (source.state(slot).until == 0 || leaf_of(source.tag(slot)) < upper.begin) continue;
    target.set(slot, source.tag(slot), source.state(slot));
    source.set(slot, 0, {});
  }
  upper.forget(lower.forgotten.load(std::memory_order_relaxed));
  lower.progress.store(number + 1, std::memory_order_release);
}

std::uint64_t Segments::live(nanoseconds now, std::uint32_t most_segments) const {
  const std::uint32_t all = used();
  const std::uint32_t step = (all - 1) / most_segments + 1;
  const std::uint32_t read = (all - 1) / step + 1;
  std::uint64_t found = 0;
  for (std::uint32_t segment = 0; segment < all; segment += step) {
    for (std::uint32_t number = 0; number < kBuckets; ++number) {
      Bucket& bucket = bucket_at(segment, number);
      const Held held(bucket);
      found += static_cast<std::uint64_t>(Bucket::kSlots - bucket.free_slots(now));
    }
  }
  return found * all / read;
}

std::uint32_t Segments::copy(std::uint32_t leaf, nanoseconds now, std::vector<TableEntry>& out) const {
  for (;;) {
    Segment& segment = segment_for(leaf);
    const Held held_shape(segment.shape);
    const std::uint32_t end = segment.end.load(std::memory_order_acquire);
    if (leaf >= end) continue;
    for (std::uint32_t number = 0; number < kBuckets; ++number) copy_bucket(segment, number, now, out);
    return end;
  }
}

void Segments::copy_bucket(Segment& segment, std::uint32_t number, nanoseconds now,
                           std::vector<TableEntry>& out) const {
  Bucket& bucket = bucket_at(index_of(segment), number);
  const Held held(bucket);
  for (int slot = 0; slot < Bucket::kSlots; ++slot) {
    const std::uint64_t ahead = bucket.ahead(slot, now);
    if (ahead != 0) out.push_back({bucket.tag(slot), number, ahead, bucket.state(slot).word});
  }
}

}  // namespace weir::store
