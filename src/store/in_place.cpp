#include "store/in_place.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "core/rule.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;
using Owner = Segments::Owner;

// Where a check's key is, and what it becomes. Without initial values: setting those of all kMostChecks takes
// longer than deciding one.
struct Cell {
  Bucket* bucket;  // that has the key's entry, or room for it: first its home
  Segments::Segment* segment;
  std::uint64_t tag;
  std::uint32_t leaf;
  std::uint32_t home;  // its number
  int slot;            // -1: there is no room for it
  bool known;          // it has an entry
  bool changes;
  std::uint64_t no_earlier;  // of a key without an entry: when what was in its place was forgotten
  std::uint64_t until;
  std::uint64_t word;
};

// Buckets that are locked while others are held. Only trying for them cannot lock up with another thread that
// holds one and waits for ours.
class Tried {
 public:
  Tried() = default;
  ~Tried() WEIR_NOT_ANALYSED {
    while (count_ > 0) held_[--count_]->unlock();
  }
  Tried(const Tried&) = delete;
  Tried& operator=(const Tried&) = delete;

  bool lock(Bucket& bucket) WEIR_NOT_ANALYSED {
    if (!bucket.try_lock()) return false;
    held_[count_++] = &bucket;
    return true;
  }

 private:
  std::array<Bucket*, kMostChecks> held_;
  std::size_t count_ = 0;
};

std::uint64_t forgotten_in(const Segments::Segment& segment) {
  return segment.forgotten.load(std::memory_order_relaxed);
}

// Of a key that is not at home, where something of its kind has gone to its other bucket, or has to: looks
// there. False when another thread is about that bucket, or another key of the request.
[[gnu::noinline]] bool look_away(const Segments& segments, Cell& cell, Tried& others, nanoseconds now) {
  const std::uint32_t number = Segments::other(cell.home, cell.tag);
  const Owner away = segments.owner(cell.leaf, number);
  if (away.bucket == nullptr || !others.lock(*away.bucket)) return false;
  if (segments.owner(cell.leaf, number) != away) return false;
  away.bucket->assert_held();
  const int entry = away.bucket->find(cell.tag);
  cell.known = entry >= 0;
  cell.no_earlier = std::max(forgotten_in(*cell.segment), forgotten_in(*away.segment));
  if (!cell.known && cell.slot >= 0) return true;
  cell.bucket = away.bucket;
  cell.segment = away.segment;
  cell.slot = cell.known ? entry : away.bucket->free_slot(now);
  return true;
}

bool find(const Segments& segments, Cell& cell, Tried& others, nanoseconds now) {
  if (segments.owner(cell.leaf, cell.home) != Owner{cell.bucket, cell.segment}) return false;
  Bucket& home = *cell.bucket;
  home.assert_held();
  cell.slot = home.find(cell.tag);
  cell.known = cell.slot >= 0;
  if (cell.known) return true;
  cell.no_earlier = forgotten_in(*cell.segment);
  cell.slot = home.free_slot(now);
  return (cell.slot >= 0 && !home.overflowed()) || look_away(segments, cell, others, now);
}

// False when the key has no room, or a debt that was counted by another quota.
bool decide(std::span<Check> checks, std::size_t which, Cell& cell, nanoseconds arrived, nanoseconds now) {
  const DecidingRule rule(checks, which);
  core::TwoWords state{};
  if (cell.known) {
    Bucket& bucket = *cell.bucket;
    bucket.assert_held();
    state = bucket.state(cell.slot);
    if (core::counted_by_another_quota(*rule, state)) return false;
  } else {
    const nanoseconds no_earlier{static_cast<std::int64_t>(cell.no_earlier)};
    now = std::max(now, no_earlier);
    arrived = std::max(arrived, no_earlier);
  }
  Check& check = checks[which];
  const core::Step step = core::decide(*rule, state, now, check.cost, arrived);
  new (&check.decision) Decision(step.decision());
  cell.changes = step.changes;
  cell.until = step.next.until;
  cell.word = step.next.word;
  return cell.slot >= 0 || !step.changes;
}

// The request is denied.
void tell_uncharged(std::span<Check> checks, std::size_t which, const Cell& cell, nanoseconds now) {
  const DecidingRule rule(checks, which);
  if (!cell.known)
    return tell_without(checks[which], *rule, {},
                        std::max(now, nanoseconds{static_cast<std::int64_t>(cell.no_earlier)}));
  Bucket& bucket = *cell.bucket;
  bucket.assert_held();
  tell_without(checks[which], *rule, bucket.state(cell.slot), now);
}

void write(const Cell& cell, Bucket& home) {
  Bucket& bucket = *cell.bucket;
  bucket.assert_held();
  if (cell.known) return bucket.set(cell.slot, {cell.until, cell.word});
  cell.segment->put(bucket, cell.slot, cell.tag, {cell.until, cell.word});
  home.assert_held();
  if (&bucket != &home) home.mark_overflowed();
}

}  // namespace

std::optional<bool> check_in_place(const Segments& segments, std::span<Check> checks, nanoseconds arrived,
                                   nanoseconds now) {
  std::array<Cell, kMostChecks> room;
  std::array<Bucket*, kMostChecks> homes;
  std::array<Bucket*, kMostChecks> sorted;
  const std::span<Cell> cells(room.data(), checks.size());
  std::uint32_t guarantees = 0;  // by check
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const KeyPlace place = Segments::place_of(checks[i].hash);
    const std::uint32_t leaf = segments.leaf_of(place.tag);
    const Owner owner = segments.owner(leaf, place.bucket);
    if (owner.bucket == nullptr) return std::nullopt;
    __builtin_prefetch(owner.bucket, 1);
    cells[i].bucket = homes[i] = sorted[i] = owner.bucket;
    cells[i].segment = owner.segment;
    cells[i].tag = place.tag;
    cells[i].leaf = leaf;
    cells[i].home = place.bucket;
    if (checks[i].inside != Check::kNoGuarantee) guarantees |= 1U << checks[i].inside;
  }
  const HeldAll held({sorted.data(), cells.size()});
  if (held.size() != cells.size()) return std::nullopt;
  Tried others;
  bool all = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    // A guarantee is charged as of now: charged from when it came, a request that waited would come into the
    // parent, which may be busy, later than it counts in its guarantee, which is not.
    if (!find(segments, cells[i], others, now) ||
        !decide(checks, i, cells[i], (guarantees >> i & 1U) != 0 ? now : arrived, now))
      return std::nullopt;
    all = all && (checks[i].shadow || checks[i].decision.allowed());
  }
  if (!all) {
    for (std::size_t i = 0; i < cells.size(); ++i) tell_uncharged(checks, i, cells[i], now);
    return false;
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].changes) write(cells[i], *homes[i]);
  }
  return true;
}

}  // namespace weir::store
