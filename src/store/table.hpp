// The embedded store's table: from keys to states of two words, made for GCRA and good for every algorithm
// but the sliding window log (store/log_table.hpp). One table serves limits of different algorithms: a
// limit's id and algorithm are hashed with the key, so two that differ never share a state.
//
// Any thread may call anything at any time; a check allocates nothing (locks: weir/limiter.hpp).
// The caller owns the clock: every call is handed `now`, on one clock that starts at 0 or above.
//
// What makes it small and safe:
// - An entry whose first word, a tat or the end of a window, is not after now equals no entry, so its slot is
//   free by definition: expiry needs no timer and no scan, and reusing such a slot forgets nothing.
// - No key is kept, only 55 bits of a keyed hash of it: 42 as the entry's tag, 13 in its two places, of which
//   the tag tells the home. Two of n keys that meet share one limit whole, which admits less, never more; the
//   chance that any two of n live keys do is about n^2 / 2^56 (a million keys: 1 in 70,000), and nobody
//   without the seed can aim at it.
// - Bounded: when every slot that could hold a new key is live, nothing live is evicted; `when_full` decides
//   for the new key, and it is counted. Flooding the table makes no drained key forget.
//
// A check touches the first of a key's two buckets, and the second only when something that belongs into the
// first had to go there. How it lies in memory and grows: store/segments.hpp.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "core/rule.hpp"
#include "core/siphash.hpp"
#include "core/step.hpp"
#include "store/segments.hpp"
#include "store/store.hpp"
#include "weir/algorithm.hpp"
#include "weir/decision.hpp"
#include "weir/memory.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

class KeyLedger;
struct Charging;
struct JointReservation;
using Ledgers = std::array<KeyLedger*, kMostChecks>;

// What keeps the ledgers of keys (in_ledger.hpp), asked for the checks of one that has a ledger.
class LedgerKeys {
 public:
  // Locks the ledgers of the checks' keys and lets Table::check_all() decide with them.
  virtual bool check_all(std::span<Check> checks, std::chrono::nanoseconds arrived,
                         std::chrono::nanoseconds now, Charging* charging, TakeTerms* taking) = 0;
  // The same, and lets Table::look_all() decide.
  virtual void look(std::span<Check> checks, std::chrono::nanoseconds now) = 0;

 protected:
  ~LedgerKeys() = default;
};

class Table {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  using Place = store::KeyPlace;
  using Entry = store::TableEntry;

  static constexpr std::size_t kSegmentBytes = Segments::kSegmentBytes;
  static constexpr std::size_t kLeastBytes = kSegmentBytes;
  static constexpr std::size_t kSlotsPerSegment = kSegmentBytes / sizeof(Bucket) * Bucket::kSlots;

  // Made of what hash() makes of a key.
  static constexpr Place place_of(std::uint64_t hash) { return Segments::place_of(hash); }

  // `bytes` is the most that entries may take, at least kLeastBytes, rounded down to whole segments; address
  // space for all of it is reserved now, memory is taken as it is used. Throws std::invalid_argument for
  // less or for more than 2^48, std::system_error when the address space is refused.
  Table(std::size_t bytes, WhenFull when_full, core::HashKey seed = core::random_key())
      : segments_(at_least(bytes)), seed_(seed), when_full_(when_full) {}

  // Without it, states have no ledgers. Before anything is asked; it must live as long as anything is
  // asked.
  void set_ledgers(LedgerKeys* ledgers) { ledgers_ = ledgers; }

  // What place_of() makes a key's place of. The id 0 with the first algorithm leaves the hash of the key
  // alone, which is what snapshots of one limit have always held.
  std::uint64_t hash(std::string_view key, Algorithm algorithm, std::uint64_t id) const {
    return core::siphash<1, 3>(seed_, key, id << 8 | static_cast<std::uint64_t>(algorithm));
  }
  Place locate(std::string_view key, const core::Rule& rule, std::uint64_t id = 0) const {
    return place_of(hash(key, rule.algorithm, id));
  }
  Place locate(std::string_view key) const { return place_of(hash(key, {}, 0)); }

  // Asks the processor to fetch what a check of the key will touch.
  void prefetch(Place place) const { segments_.prefetch(place); }
  void prefetch(const Entry& entry) const { segments_.prefetch(Segments::place(entry.tag, entry.bucket)); }

  // Decides and, if allowed, charges. A `now` that another thread has overtaken is as good as any: a check is
  // never decided earlier than what was forgotten in its place, and one by another quota than the key's debt
  // was counted by is never decided earlier than the last of its kind.
  // The requester has been waiting since `arrived`, from when gcra charges it (gcra::decide).
  Decision check(Place place, const Limit& limit, Cost cost, nanoseconds arrived, nanoseconds now);
  // By gcra, for a requester that has just come.
  Decision check(Place place, const Quota& quota, Cost cost, nanoseconds now) {
    return check(place, Limit{core::Rule{quota}}, cost, now, now);
  }

  // Several limits of one request: charged all, or none when any of them is enforced and not allowed. Each
  // check's hash is hash(), and they are not malformed() (store/check_rules.hpp). The decisions say what each
  // would have answered alone after those before it. At most kMostChecks.
  bool check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now);
  // With the ledgers of all their keys, and for what is charged afterwards, or taken, if it is that.
  bool check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now, const Ledgers& ledgers,
                 Charging* charging = nullptr, TakeTerms* taking = nullptr);
  // As much of them as there is, or nothing of that is charged where it only looks.
  bool take_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now, TakeTerms& taking);
  // One, where its key lies in its first bucket and has no ledger, and its debt is in the same T; nothing
  // where it is not that simple, and then nothing was charged.
  std::optional<core::Overdrawn> charge_in_place(Place place, const core::Rule& rule, const Outside& outside,
                                                 nanoseconds now);
  // All of them, whether there is room or not. Each check's hash is set, and they are not malformed().
  void charge_all(std::span<Check> checks, nanoseconds now, Charging& charging);
  // The same for the moment at which all allow, from `now` on; all limits are gcra's. Each check's hash is
  // set.
  bool reserve_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now, const Ledgers& ledgers,
                   JointReservation& reserving);
  // Puts one state in the place of another; false when the key's is not that one.
  bool exchange(Place place, core::TwoWords before, core::TwoWords after);
  // What check_all() would decide, as core::look() says it. Whether a key that is not here would find room is
  // not looked at.
  void look_all(std::span<Check> checks, nanoseconds now);
  // With the ledgers of all their keys.
  void look_all(std::span<Check> checks, nanoseconds now, const Ledgers& ledgers);

  // Forgets the key; true if there was something to forget.
  bool reset(Place place, nanoseconds now);
  // For a debt that is counted elsewhere: the key owes at least until `tat`, in the quota's T. What it owes
  // in another T is counted in this one first. Not of one in a ledger. False when there is no room, which is
  // not for when_full to decide.
  bool raise(Place place, const Quota& quota, std::uint64_t tat, nanoseconds now);
  // What is kept of a key, with the bit of its ledger; nothing of one that is not here.
  core::TwoWords state_of(Place place) const;
  // Puts a state in the place of what is kept of the key. False when there is no room.
  bool replace(Place place, core::TwoWords state, nanoseconds now);
  // Of a fixed window that runs: that many of its units, as far as there are, are used no more. Its state
  // then; nothing when none runs.
  std::optional<core::TwoWords> give_back_in_window(Place place, std::uint64_t units, nanoseconds now);
  // gcra::give_back() for the key.
  void give_back(Place place, const Quota& quota, Cost cost, nanoseconds charged_at, nanoseconds now);

  // Entries in use, some 0.3 ms for each MiB of the table. With `most_segments` it reads at most that many,
  // evenly spread, and scales what it found.
  std::uint64_t live(nanoseconds now, std::uint32_t most_segments = ~0U) const {
    return segments_.live(now, most_segments);
  }
  std::uint64_t capacity() const { return std::uint64_t{segments_.leaves()} * kSlotsPerSegment; }
  std::size_t allocated_bytes() const { return std::size_t{segments_.used()} * kSegmentBytes; }
  // New keys that when_full had to decide.
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  core::HashKey seed() const { return seed_; }

  // For snapshots. copy_segment() appends the live entries of the segment that holds `leaf` and returns the
  // first leaf after it; walking from 0 to leaves() misses no entry that is live throughout.
  std::uint32_t leaves() const { return segments_.leaves(); }
  std::uint32_t copy_segment(std::uint32_t leaf, nanoseconds now, std::vector<Entry>& out) const;
  // Both put an entry back; false when there is no room. The table must have the seed that the entry came
  // from. Of an entry that is there already, the further in debt stays.
  bool restore(const Entry& entry, nanoseconds now);
  // Into the very bucket where it lay, if need be by splitting segments: an empty table as large as the one
  // that was copied thus takes all of it, in any order. For each bucket of the copy there comes a bucket of
  // no more leaves, because the splits of both tables are the same halves of the same whole; and what one
  // bucket held, one bucket can hold.
  bool restore_in_place(const Entry& entry, nanoseconds now);

 private:
  static std::size_t at_least(std::size_t bytes);
  bool put_back(const Entry& entry, bool anywhere, nanoseconds now);
  bool check_in_ledgers(std::span<Check> checks, nanoseconds arrived, nanoseconds now,
                        Charging* charging = nullptr, TakeTerms* taking = nullptr);
  Decision check_pair(Place place, const Limit& limit, Cost cost, nanoseconds arrived, nanoseconds now);

  Segments segments_;
  core::HashKey seed_;
  WhenFull when_full_;
  LedgerKeys* ledgers_ = nullptr;
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace weir::store
