#include "store/table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>

#include "core/rule.hpp"
#include "store/mapping.hpp"
#include "store/spin.hpp"

namespace weir::store {
namespace {

constexpr std::uint64_t kLowTagBits = 32;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

void raise_to(std::atomic<std::uint64_t>& value, std::uint64_t least) {
  std::uint64_t seen = value.load(std::memory_order_relaxed);
  while (seen < least && !value.compare_exchange_weak(seen, least, std::memory_order_relaxed)) {
  }
}

}  // namespace

// One cache line. `word`: bit 0 the lock, bit 1 "overflowed" (something whose first bucket is this one may be
// in its other bucket), then the high 10 bits of each tag. Everything else is touched only by the lock's
// holder.
struct alignas(64) Table::Bucket {
  static constexpr std::uint32_t kLocked = 1;
  static constexpr std::uint32_t kOverflowed = 2;

  std::atomic<std::uint32_t> word;
  std::array<std::uint32_t, kSlots> low_tag;
  std::array<std::uint64_t, kSlots> until;  // a tat, the end of a window
  std::array<std::uint64_t, kSlots> rest;

  bool try_lock() {
    std::uint32_t seen = word.load(std::memory_order_relaxed);
    return (seen & kLocked) == 0 &&
           word.compare_exchange_weak(seen, seen | kLocked, std::memory_order_acquire,
                                      std::memory_order_relaxed);
  }
  void lock() {
    Spin spin;
    while (!try_lock()) spin.wait();
  }
  void unlock() { word.store(word.load(std::memory_order_relaxed) & ~kLocked, std::memory_order_release); }

  bool overflowed() const { return (word.load(std::memory_order_relaxed) & kOverflowed) != 0; }
  void mark_overflowed() {
    word.store(word.load(std::memory_order_relaxed) | kOverflowed, std::memory_order_relaxed);
  }

  std::uint64_t tag(int slot) const {
    const auto i = static_cast<std::size_t>(slot);
    const std::uint64_t high = (word.load(std::memory_order_relaxed) >> (2 + 10 * slot)) & 1023;
    return high << kLowTagBits | low_tag[i];
  }
  core::TwoWords state(int slot) const {
    const auto i = static_cast<std::size_t>(slot);
    return {until[i], rest[i]};
  }
  void set(int slot, core::TwoWords state) {
    const auto i = static_cast<std::size_t>(slot);
    until[i] = state.until;
    rest[i] = state.word;
  }
  void set(int slot, std::uint64_t new_tag, core::TwoWords state) {
    const std::uint32_t seen = word.load(std::memory_order_relaxed);
    const auto high = static_cast<std::uint32_t>(new_tag >> kLowTagBits);
    word.store((seen & ~(1023U << (2 + 10 * slot))) | high << (2 + 10 * slot), std::memory_order_relaxed);
    low_tag[static_cast<std::size_t>(slot)] = static_cast<std::uint32_t>(new_tag);
    set(slot, state);
  }

  Decision decide(int slot, const core::Rule& rule, Cost cost, nanoseconds arrived, nanoseconds now) {
    const core::Step step = core::decide(rule, state(slot), now, cost, arrived);
    if (step.changes) set(slot, step.next);
    return step.decision();
  }

  // The key's own slot, live or not; -1 when there is none.
  int find(std::uint64_t wanted) const {
    const auto low = static_cast<std::uint32_t>(wanted);
    for (int slot = 0; slot < kSlots; ++slot) {
      if (low_tag[static_cast<std::size_t>(slot)] == low && tag(slot) == wanted) return slot;
    }
    return -1;
  }
  int free_slot(nanoseconds now) const {
    for (int slot = 0; slot < kSlots; ++slot) {
      if (core::ahead_of(until[static_cast<std::size_t>(slot)], now) == 0) return slot;
    }
    return -1;
  }
  std::uint64_t soonest_free(nanoseconds now) const {
    return core::ahead_of(std::min({until[0], until[1], until[2]}), now);
  }
};

// Unlocks behind a return that builds its Decision in the caller's place.
struct Table::Release {
  Bucket& bucket;
  ~Release() { bucket.unlock(); }
};

// A range of leaves and the 2^14 buckets that hold their keys. Splitting gives [mid, end) to `upper`, bucket
// by bucket under each bucket's lock; the buckets below `progress` have been split. At rest mid equals end.
struct alignas(64) Table::Segment {
  std::uint32_t begin = 0;
  std::atomic<std::uint32_t> end{0};
  std::atomic<std::uint32_t> mid{0};
  std::atomic<std::uint32_t> progress{0};
  std::atomic<std::uint32_t> upper{0};

  // The latest `until` that was overwritten by another key's. A key that is not found was never live beyond
  // this time, so deciding it no earlier keeps the promise even for a thread whose `now` is older.
  alignas(64) std::atomic<std::uint64_t> forgotten{0};
  // After a search for room that failed at the bound: no further search before this time, so that a flood of
  // fresh keys pays for one search in 10 ms and not for one each.
  std::atomic<std::uint64_t> search_after{0};
  // Held while entries move between buckets: by a displacement, a split, a copy.
  std::atomic<bool> shape{false};

  void lock_shape() {
    Spin spin;
    while (shape.exchange(true, std::memory_order_acquire)) spin.wait();
  }
  void unlock_shape() { shape.store(false, std::memory_order_release); }
};

// Both buckets of a key, locked in address order and owned by the key's leaf.
struct Table::Pair {
  std::array<Bucket*, 2> bucket;
  std::array<Segment*, 2> segment;

  nanoseconds no_earlier(nanoseconds now) const {
    std::uint64_t least = 0;
    for (const Segment* s : segment) least = std::max(least, s->forgotten.load(std::memory_order_relaxed));
    return std::max(now, nanoseconds{static_cast<std::int64_t>(least)});
  }
  void unlock() {
    bucket[0]->unlock();
    bucket[1]->unlock();
  }
};

Table::Table(std::size_t bytes, WhenFull when_full, core::HashKey seed) : seed_(seed), when_full_(when_full) {
  if (bytes < kLeastBytes) {
    throw std::invalid_argument("memory: " + std::to_string(bytes) + " bytes is below the minimum (" +
                                std::to_string(kLeastBytes) + ")");
  }
  const std::size_t segments = bytes / kSegmentBytes;
  if (segments > std::size_t{1} << 28) {
    throw std::invalid_argument("memory: " + std::to_string(bytes) +
                                " bytes is above the maximum (2^48)");
  }
  leaves_ = static_cast<std::uint32_t>(segments);
  segments_ = std::make_unique<Segment[]>(segments);
  directory_ = std::make_unique<std::atomic<std::uint32_t>[]>(segments);
  segments_[0].end = leaves_;
  segments_[0].mid = leaves_;

  // Huge pages where the kernel gives them: random places in a large table miss the TLB otherwise.
  mapping_bytes_ = segments * kSegmentBytes + kHugePage;
  mapping_ = reserve_memory(mapping_bytes_);
  base_ = mapping_ + (kHugePage - reinterpret_cast<std::uintptr_t>(mapping_) % kHugePage) % kHugePage;
  if (segments * kSegmentBytes >= kHugePage) madvise(base_, segments * kSegmentBytes, MADV_HUGEPAGE);
}

Table::~Table() { munmap(mapping_, mapping_bytes_); }

core::HashKey Table::random_seed() {
  std::random_device source;  // the kernel's generator on every platform we build for
  const auto word = [&source] { return std::uint64_t{source()} << 32 | source(); };
  return {word(), word()};
}

Table::Bucket& Table::bucket_at(std::uint32_t segment, std::uint32_t bucket) const {
  static_assert(sizeof(Bucket) == 64);
  return *reinterpret_cast<Bucket*>(address(segment, bucket));
}

Table::Segment& Table::segment_for(std::uint32_t leaf) const {
  return segments_[directory_[leaf].load(std::memory_order_acquire)];
}

// The bucket that holds `leaf`'s entries of that number, or null when the directory was read too early.
// Certain only while that bucket is locked, because a split of it needs the same lock. `end` is read last:
// whoever sees the fields of a later split sees that the earlier one took the leaf away.
Table::Bucket* Table::owner(std::uint32_t leaf, std::uint32_t bucket, Segment*& segment) const {
  std::uint32_t index = directory_[leaf].load(std::memory_order_acquire);
  Segment& from = segments_[index];
  if (leaf >= from.mid.load(std::memory_order_acquire) &&
      bucket < from.progress.load(std::memory_order_acquire)) {
    index = from.upper.load(std::memory_order_acquire);
  }
  if (leaf >= from.end.load(std::memory_order_acquire)) return nullptr;
  segment = &segments_[index];
  return &bucket_at(index, bucket);
}

// Locks what the directory says and asks only then whether that was right, which it is but for a split under
// way.
Table::Bucket& Table::lock_home(std::uint32_t leaf, std::uint32_t bucket, Segment*& segment) const {
  Bucket* guess = &bucket_at(directory_[leaf].load(std::memory_order_acquire), bucket);
  for (;;) {
    guess->lock();
    Bucket* found = owner(leaf, bucket, segment);
    if (found == guess) return *found;
    guess->unlock();
    if (found != nullptr) guess = found;
  }
}

Table::Pair Table::lock_pair(Place place) const {
  const std::uint32_t leaf = leaf_of(place.tag);
  const std::uint32_t second = other(place.bucket, place.tag);
  for (;;) {
    Pair pair{};
    pair.bucket = {owner(leaf, place.bucket, pair.segment[0]), owner(leaf, second, pair.segment[1])};
    if (pair.bucket[0] == nullptr || pair.bucket[1] == nullptr) continue;
    std::min(pair.bucket[0], pair.bucket[1])->lock();
    std::max(pair.bucket[0], pair.bucket[1])->lock();
    if (owner(leaf, place.bucket, pair.segment[0]) == pair.bucket[0] &&
        owner(leaf, second, pair.segment[1]) == pair.bucket[1]) {
      return pair;
    }
    pair.unlock();
  }
}

Decision Table::check(Place place, const core::Rule& rule, Cost cost, nanoseconds arrived, nanoseconds now) {
  const std::uint32_t leaf = leaf_of(place.tag);
  Segment* segment = nullptr;
  Bucket& home = lock_home(leaf, place.bucket, segment);
  if (const int slot = home.find(place.tag); slot >= 0) {
    const Release release{home};
    return home.decide(slot, rule, cost, arrived, now);
  }
  if (home.overflowed()) {
    // Mostly it is in its other bucket, and that one is not locked. Only trying for it cannot lock up with
    // another thread that holds it and waits for ours.
    Segment* ignored = nullptr;
    Bucket* second = owner(leaf, other(place.bucket, place.tag), ignored);
    if (second != nullptr && second->try_lock()) {
      const bool valid = owner(leaf, other(place.bucket, place.tag), ignored) == second;
      if (const int slot = valid ? second->find(place.tag) : -1; slot >= 0) {
        const Release release{home};
        const Release release_second{*second};
        return second->decide(slot, rule, cost, arrived, now);
      }
      second->unlock();
    }
  } else {
    const auto forgotten =
        nanoseconds{static_cast<std::int64_t>(segment->forgotten.load(std::memory_order_relaxed))};
    const core::Step step =
        core::decide(rule, {}, std::max(now, forgotten), cost, std::max(arrived, forgotten));
    const int slot = step.changes ? home.free_slot(now) : -1;
    if (slot >= 0) {
      raise_to(segment->forgotten, home.state(slot).until);
      home.set(slot, place.tag, step.next);
    }
    if (slot >= 0 || !step.changes) {
      home.unlock();
      return step.decision();
    }
  }
  home.unlock();
  return check_pair(place, rule, cost, arrived, now);
}

// The general case: both buckets locked, whatever it takes to find room.
Decision Table::check_pair(Place place, const core::Rule& rule, Cost cost, nanoseconds arrived,
                           nanoseconds now) {
  for (;;) {
    Pair pair = lock_pair(place);
    for (Bucket* bucket : pair.bucket) {
      if (const int slot = bucket->find(place.tag); slot >= 0) {
        const Release release{*pair.bucket[0]};
        const Release release_second{*pair.bucket[1]};
        return bucket->decide(slot, rule, cost, arrived, now);
      }
    }
    const core::Step step = core::decide(rule, {}, pair.no_earlier(now), cost, pair.no_earlier(arrived));
    if (!step.changes) {
      pair.unlock();
      return step.decision();
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (const int slot = pair.bucket[i]->free_slot(now); slot >= 0) {
        raise_to(pair.segment[i]->forgotten, pair.bucket[i]->state(slot).until);
        pair.bucket[i]->set(slot, place.tag, step.next);
        if (i == 1) pair.bucket[0]->mark_overflowed();
        pair.unlock();
        return step.decision();
      }
    }
    const std::uint64_t soonest =
        std::min(pair.bucket[0]->soonest_free(now), pair.bucket[1]->soonest_free(now));
    pair.unlock();
    if (make_room(place, now)) continue;
    refused_.fetch_add(1, std::memory_order_relaxed);
    return when_full_ == WhenFull::allow ? step.decision() : no_room(rule.quota, soonest);
  }
}

Decision Table::no_room(const Quota& quota, std::uint64_t soonest) {
  return {Verdict::denied, quota.burst(), 0, nanoseconds{static_cast<std::int64_t>(soonest)}, nanoseconds{0}};
}

bool Table::check_all(std::span<const Request> requests, nanoseconds now, std::span<Decision> decisions) {
  std::vector<Limit> limits;
  std::vector<Check> checks;
  limits.reserve(requests.size());
  for (const Request& request : requests) {
    limits.push_back({.rule = core::Rule{*request.quota}});
    checks.push_back({.limit = &limits.back(),
                      .cost = request.cost,
                      .hash = request.place.tag << 22 | request.place.bucket});
  }
  const bool all = check_all(checks, now, now);
  for (std::size_t i = 0; i < checks.size(); ++i) decisions[i] = checks[i].decision;
  return all;
}

bool Table::check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now) {
  if (checks.size() > kMostTogether) {
    throw std::invalid_argument("check_all: at most " + std::to_string(kMostTogether) + " checks");
  }
  struct Undo {
    Bucket* bucket;
    int slot;
    std::uint64_t tag;
    core::TwoWords state;
  };
  std::array<bool, kMostTogether> unstored{};  // allowed for lack of room, by when_full
  for (;;) {
    // Every bucket that any of the keys may be in, locked once each in address order.
    std::array<std::array<Bucket*, 2>, kMostTogether> mine{};
    std::array<std::array<Segment*, 2>, kMostTogether> segments{};
    std::array<Bucket*, 2 * kMostTogether> locked{};
    std::size_t count = 0;
    const auto owners = [&](std::size_t i, std::size_t which) {
      const Place place = place_of(checks[i].hash);
      const std::uint32_t bucket = which == 0 ? place.bucket : other(place.bucket, place.tag);
      return owner(leaf_of(place.tag), bucket, segments[i][which]);
    };
    bool valid = true;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      for (std::size_t which = 0; which < 2; ++which) {
        mine[i][which] = owners(i, which);
        valid = valid && mine[i][which] != nullptr;
        locked[count++] = mine[i][which];
      }
    }
    if (!valid) continue;
    std::sort(locked.begin(), locked.begin() + static_cast<std::ptrdiff_t>(count));
    count = static_cast<std::size_t>(
        std::unique(locked.begin(), locked.begin() + static_cast<std::ptrdiff_t>(count)) - locked.begin());
    const auto held = std::span(locked).first(count);
    for (Bucket* bucket : held) bucket->lock();
    for (std::size_t i = 0; i < checks.size(); ++i) {
      for (std::size_t which = 0; which < 2; ++which) valid = valid && owners(i, which) == mine[i][which];
    }

    std::array<Undo, kMostTogether> undo{};
    std::size_t undone = 0;
    std::size_t homeless = checks.size();  // the request that found no room, if any
    std::uint64_t soonest = 0;
    bool all = true;
    for (std::size_t i = 0; valid && i < checks.size() && homeless == checks.size(); ++i) {
      const Check& check = checks[i];
      const core::Rule& rule = check.limit->rule;
      const Place place = place_of(check.hash);
      Bucket* bucket = nullptr;
      int slot = -1;
      for (Bucket* candidate : mine[i]) {
        if (slot < 0) {
          bucket = candidate;
          slot = candidate->find(place.tag);
        }
      }
      const bool found = slot >= 0;
      const Pair pair{mine[i], segments[i]};
      const nanoseconds at = found ? now : pair.no_earlier(now);
      const nanoseconds since = found ? arrived : pair.no_earlier(arrived);
      const core::Step step =
          core::decide(rule, found ? bucket->state(slot) : core::TwoWords{}, at, check.cost, since);
      checks[i].decision = step.decision();
      const bool allowed = step.verdict == Verdict::allowed;
      all = all && allowed;
      // A denial may write down a re-denominated debt, and keeps it when the rest is undone.
      if (!allowed && step.changes) bucket->set(slot, step.next);
      if (!allowed || !step.changes) continue;
      if (slot < 0 && unstored[i]) continue;
      for (std::size_t which = 0; which < 2 && slot < 0; ++which) {
        bucket = mine[i][which];
        slot = bucket->free_slot(now);
        if (slot >= 0) {
          raise_to(segments[i][which]->forgotten, bucket->state(slot).until);
          if (which == 1) mine[i][0]->mark_overflowed();
        }
      }
      if (slot < 0) {
        homeless = i;
        soonest = std::min(mine[i][0]->soonest_free(now), mine[i][1]->soonest_free(now));
        break;
      }
      undo[undone++] = {bucket, slot, bucket->tag(slot), bucket->state(slot)};
      bucket->set(slot, place.tag, step.next);
    }
    const auto roll_back = [&] {
      while (undone > 0) {
        const Undo& last = undo[--undone];
        last.bucket->set(last.slot, last.tag, last.state);
      }
    };
    if (!valid || !all || homeless != checks.size()) roll_back();
    for (Bucket* bucket : held) bucket->unlock();
    if (!valid) continue;
    if (homeless == checks.size()) return all;
    if (make_room(place_of(checks[homeless].hash), now)) continue;
    refused_.fetch_add(1, std::memory_order_relaxed);
    if (when_full_ == WhenFull::allow) {
      unstored[homeless] = true;
      continue;
    }
    // Without room the whole request is refused: charging the others alone would not be all or none.
    for (std::size_t i = homeless; i < checks.size(); ++i)
      checks[i].decision = no_room(checks[i].limit->rule.quota, soonest);
    return false;
  }
}

void Table::give_back(Place place, const Quota& quota, Cost cost, nanoseconds charged_at, nanoseconds now) {
  Pair pair = lock_pair(place);
  for (Bucket* bucket : pair.bucket) {
    if (const int slot = bucket->find(place.tag); slot >= 0) {
      const auto [tat, interval] = bucket->state(slot);
      const core::gcra::State left = core::gcra::give_back(quota, {tat, interval}, now, cost, charged_at);
      bucket->set(slot, {left.tat, left.interval});
    }
  }
  pair.unlock();
}

bool Table::reset(Place place, nanoseconds now) {
  Pair pair = lock_pair(place);
  bool forgot = false;
  for (Bucket* bucket : pair.bucket) {
    if (const int slot = bucket->find(place.tag); slot >= 0) {
      forgot = forgot || core::ahead_of(bucket->state(slot).until, now) != 0;
      bucket->set(slot, {});
    }
  }
  pair.unlock();
  return forgot;
}

// Room for a key whose two buckets are full of live entries: by moving others to their other buckets, or else
// by splitting the segment. True when it is worth looking again.
bool Table::make_room(Place place, nanoseconds now) {
  const std::uint32_t leaf = leaf_of(place.tag);
  for (;;) {
    Segment& segment = segment_for(leaf);
    const auto n = static_cast<std::uint64_t>(now.count());
    if (n < segment.search_after.load(std::memory_order_relaxed)) return false;
    segment.lock_shape();
    if (leaf >= segment.end.load(std::memory_order_acquire)) {
      segment.unlock_shape();
      continue;
    }
    const auto index = static_cast<std::uint32_t>(&segment - segments_.get());
    const bool room = displace(index, place.bucket, now) ||
                      displace(index, other(place.bucket, place.tag), now) || split(segment);
    constexpr std::uint64_t kSearchEvery = 10'000'000;
    if (!room) segment.search_after.store(n + kSearchEvery, std::memory_order_relaxed);
    segment.unlock_shape();
    return room;
  }
}

// Frees a slot of `root` by moving its entries, breadth first over at most kNodes buckets. The segment's
// shape is locked, so entries stay where they are, but other threads go on charging and filling free slots:
// each move is checked again under both locks, and one that no longer fits ends the attempt.
bool Table::displace(std::uint32_t segment, std::uint32_t root, nanoseconds now) {
  constexpr int kNodes = 160;
  struct Node {
    std::uint32_t bucket;
    int parent;
    std::uint64_t tag;  // of the parent's entry that would move here
  };
  std::array<Node, kNodes> nodes;
  nodes[0] = {root, -1, 0};
  int count = 1;
  for (int head = 0; head < count; ++head) {
    const std::uint32_t number = nodes[static_cast<std::size_t>(head)].bucket;
    Bucket& bucket = bucket_at(segment, number);
    bucket.lock();
    const bool free = bucket.free_slot(now) >= 0;
    const std::array<std::uint64_t, kSlots> tags = {bucket.tag(0), bucket.tag(1), bucket.tag(2)};
    bucket.unlock();
    if (free) {
      for (int at = head; nodes[static_cast<std::size_t>(at)].parent >= 0;) {
        const Node& to = nodes[static_cast<std::size_t>(at)];
        const Node& from = nodes[static_cast<std::size_t>(to.parent)];
        if (!move(segment, from.bucket, to.bucket, to.tag, now)) return true;
        at = to.parent;
      }
      return true;
    }
    for (const std::uint64_t tag : tags) {
      const std::uint32_t next = other(number, tag);
      const int parent = nodes[static_cast<std::size_t>(head)].parent;
      if (count < kNodes && (parent < 0 || next != nodes[static_cast<std::size_t>(parent)].bucket)) {
        nodes[static_cast<std::size_t>(count++)] = {next, head, tag};
      }
    }
  }
  return false;
}

bool Table::move(std::uint32_t segment, std::uint32_t from, std::uint32_t to, std::uint64_t tag,
                 nanoseconds now) {
  Bucket& source = bucket_at(segment, from);
  Bucket& target = bucket_at(segment, to);
  std::min(&source, &target)->lock();
  std::max(&source, &target)->lock();
  const int slot = source.find(tag);
  const int free = target.free_slot(now);
  const bool fits = slot >= 0 && free >= 0;
  if (fits) {
    raise_to(segments_[segment].forgotten, target.state(free).until);
    target.set(free, tag, source.state(slot));
    source.set(slot, 0, {});
    source.mark_overflowed();
  }
  source.unlock();
  target.unlock();
  return fits;
}

// Gives the upper half of the segment's leaves to a new segment. The entries keep their bucket numbers, so
// each bucket is split by itself under its own lock, and no other thread waits for more than one bucket.
bool Table::split(Segment& segment) {
  const std::uint32_t end = segment.end.load(std::memory_order_relaxed);
  if (end - segment.begin < 2) return false;
  const std::uint32_t mid = segment.begin + (end - segment.begin) / 2;
  const auto from = static_cast<std::uint32_t>(&segment - segments_.get());
  const std::uint32_t to = segments_used_.fetch_add(1, std::memory_order_relaxed);
  Segment& upper = segments_[to];
  upper.begin = mid;
  upper.end = end;
  upper.mid = end;
  segment.progress = 0;
  segment.upper = to;
  segment.mid = mid;
  for (std::uint32_t number = 0; number < kBuckets; ++number) {
    Bucket& source = bucket_at(from, number);
    Bucket& target = bucket_at(to, number);
    source.lock();
    // Nobody reaches the target before progress says so, except by a stale guess that fails its check.
    target.lock();
    if (source.overflowed()) target.mark_overflowed();
    for (int slot = 0; slot < kSlots; ++slot) {
      if (source.state(slot).until == 0 || leaf_of(source.tag(slot)) < mid) continue;
      target.set(slot, source.tag(slot), source.state(slot));
      source.set(slot, 0, {});
    }
    raise_to(upper.forgotten, segment.forgotten.load(std::memory_order_relaxed));
    segment.progress = number + 1;
    target.unlock();
    source.unlock();
  }
  for (std::uint32_t leaf = mid; leaf < end; ++leaf) directory_[leaf].store(to, std::memory_order_release);
  segment.end = mid;
  return true;
}

std::uint64_t Table::live(nanoseconds now, std::uint32_t most_segments) const {
  const std::uint32_t used = segments_used_.load(std::memory_order_acquire);
  const std::uint32_t step = (used - 1) / most_segments + 1;
  const std::uint32_t read = (used - 1) / step + 1;
  std::uint64_t found = 0;
  for (std::uint32_t segment = 0; segment < used; segment += step) {
    for (std::uint32_t number = 0; number < kBuckets; ++number) {
      Bucket& bucket = bucket_at(segment, number);
      bucket.lock();
      for (const std::uint64_t until : bucket.until) found += core::ahead_of(until, now) != 0 ? 1 : 0;
      bucket.unlock();
    }
  }
  return found * used / read;
}

std::uint32_t Table::copy_segment(std::uint32_t leaf, nanoseconds now, std::vector<Entry>& out) {
  out.reserve(out.size() + kSlotsPerSegment);
  for (;;) {
    Segment& segment = segment_for(leaf);
    segment.lock_shape();
    const std::uint32_t end = segment.end.load(std::memory_order_acquire);
    if (leaf >= end) {
      segment.unlock_shape();
      continue;
    }
    const auto index = static_cast<std::uint32_t>(&segment - segments_.get());
    for (std::uint32_t number = 0; number < kBuckets; ++number) {
      Bucket& bucket = bucket_at(index, number);
      bucket.lock();
      for (int slot = 0; slot < kSlots; ++slot) {
        const core::TwoWords state = bucket.state(slot);
        const std::uint64_t ahead = core::ahead_of(state.until, now);
        if (ahead != 0) out.push_back({{bucket.tag(slot), number}, ahead, state.word});
      }
      bucket.unlock();
    }
    segment.unlock_shape();
    return end;
  }
}

bool Table::restore(const Entry& entry, nanoseconds now) {
  const core::TwoWords state{static_cast<std::uint64_t>(now.count()) + entry.ahead, entry.interval};
  for (;;) {
    Pair pair = lock_pair(entry.place);
    for (std::size_t i = 0; i < 2; ++i) {
      int slot = pair.bucket[i]->find(entry.place.tag);
      if (slot < 0) slot = pair.bucket[i]->free_slot(now);
      if (slot < 0) continue;
      pair.bucket[i]->set(slot, entry.place.tag, state);
      // Which bucket the key looks into first is not known here: it finds the other way from either.
      pair.bucket[1 - i]->mark_overflowed();
      pair.unlock();
      return true;
    }
    pair.unlock();
    if (!make_room(entry.place, now)) return false;
  }
}

}  // namespace weir::store
