#include "store/table.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/reservation.hpp"
#include "store/all_or_none_check.hpp"
#include "store/in_ledger.hpp"
#include "store/in_place.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

nanoseconds as_time(std::uint64_t ns) { return nanoseconds{static_cast<std::int64_t>(ns)}; }

}  // namespace

std::size_t Table::at_least(std::size_t bytes) {
  if (bytes >= kLeastBytes) return bytes;
  throw std::invalid_argument("memory: " + std::to_string(bytes) + " bytes is below the minimum (" +
                              std::to_string(kLeastBytes) + ")");
}

namespace {

// A debt that is recounted drains from now on at another T, and how it drained before is forgotten.
// Deciding it no earlier than what was forgotten in the segment, and adding to that, keeps such changes in
// the order of their times, whatever the readings of the clock.
[[gnu::noinline]] Decision decide_by_another_quota(Bucket& bucket, int slot, Segments::Segment& segment,
                                                   const core::Rule& rule, Cost cost, nanoseconds arrived,
                                                   nanoseconds now) WEIR_REQUIRES(bucket) {
  const nanoseconds forgotten = as_time(segment.forgotten.load(std::memory_order_relaxed));
  const nanoseconds no_earlier = std::max(now, forgotten);
  const core::Step step = core::decide(rule, without_ledger_bit(rule, bucket.state(slot)), no_earlier, cost,
                                       std::max(arrived, forgotten));
  if (step.changes) {
    segment.forget(static_cast<std::uint64_t>(no_earlier.count()));
    bucket.set(slot, step.next);
  }
  return step.decision();
}

}  // namespace

Decision Table::check(KeyPlace place, const Limit& limit, Cost cost, nanoseconds arrived, nanoseconds now) {
  const core::Rule& rule = limit.rule;
  const std::uint32_t leaf = segments_.leaf_of(place.tag);
  Bucket* guess = &segments_.guess(leaf, place.bucket);
  for (;;) {
    Bucket& home = *guess;
    const Held held(home);
    const Segments::Owner owner = segments_.owner(leaf, place.bucket);
    if (owner.bucket != guess) {
      if (owner.bucket != nullptr) guess = owner.bucket;
      continue;
    }
    if (const int slot = home.find(place.tag); slot >= 0) {
      if (core::counted_by_another_quota(rule, home.state(slot))) [[unlikely]]
        break;
      return home.decide(slot, rule, cost, arrived, now);
    }
    if (home.overflowed()) {
      // Mostly it is in its other bucket, and that one is not locked. Only trying for it cannot lock up with
      // another thread that holds it and waits for ours.
      const std::uint32_t number = Segments::other(place.bucket, place.tag);
      Bucket* const other = segments_.owner(leaf, number).bucket;
      if (other == nullptr || !other->try_lock()) break;
      const Held held_too(*other, std::adopt_lock);
      const Segments::Owner there = segments_.owner(leaf, number);
      const int slot = there.bucket == other ? other->find(place.tag) : -1;
      if (slot < 0 || core::counted_by_another_quota(rule, other->state(slot))) break;
      return other->decide(slot, rule, cost, arrived, now);
    }
    const nanoseconds forgotten = as_time(owner.segment->forgotten.load(std::memory_order_relaxed));
    const core::Step step =
        core::decide(rule, {}, std::max(now, forgotten), cost, std::max(arrived, forgotten));
    if (step.changes) {
      const int slot = home.free_slot(now);
      if (slot < 0) break;
      owner.segment->put(home, slot, place.tag, step.next);
    }
    return step.decision();
  }
  return check_pair(place, limit, cost, arrived, now);
}

namespace {

// Of a key without an entry: false when it is to be charged and has no slot; then the soonest that one is
// free.
bool decide_fresh(const Segments::Pair& pair, KeyPlace place, nanoseconds now, core::Step& step,
                  std::uint64_t& soonest) {
  if (!step.changes) return true;
  for (const auto [bucket, segment] : pair.homes) {
    bucket->assert_held();
    if (const int slot = bucket->free_slot(now); slot >= 0) {
      segment->put(*bucket, slot, place.tag, step.next);
      Bucket& first = *pair.homes[0].bucket;
      first.assert_held();
      if (bucket != &first) first.mark_overflowed();
      return true;
    }
    soonest = std::min(soonest, bucket->soonest_free(now));
  }
  return false;
}

}  // namespace

// The general case: both buckets locked, a debt that was counted by another quota, a ledger, whatever it
// takes to find room. It begins again only after a split, of which there are less than leaves(), or as often
// as RoomForKey lets others take the room that was made.
Decision Table::check_pair(KeyPlace place, const Limit& limit, Cost cost, nanoseconds arrived,
                           nanoseconds now) {
  const core::Rule& rule = limit.rule;
  RoomForKey room(segments_, place, now);
  for (;;) {
    std::uint64_t soonest = ~std::uint64_t{0};
    core::Step step{};
    bool in_ledger = false;
    {
      const Segments::Pair pair = segments_.lock_pair(place);
      nanoseconds forgotten{0};
      for (const auto [bucket, segment] : pair.homes) {
        bucket->assert_held();
        forgotten = std::max(forgotten, as_time(segment->forgotten.load(std::memory_order_relaxed)));
        const int slot = in_ledger ? -1 : bucket->find(place.tag);
        if (slot < 0) continue;
        const core::TwoWords state = bucket->state(slot);
        if (!core::counted_by_another_quota(rule, state))
          return bucket->decide(slot, rule, cost, arrived, now);
        in_ledger = is_in_ledger(state, now);
        if (!in_ledger) return decide_by_another_quota(*bucket, slot, *segment, rule, cost, arrived, now);
      }
      if (!in_ledger) {
        step = core::decide(rule, {}, std::max(now, forgotten), cost, std::max(arrived, forgotten));
        if (decide_fresh(pair, place, now, step, soonest)) return step.decision();
      }
    }
    if (in_ledger) {
      Check check{.limit = &limit, .key = {}, .cost = cost, .hash = Segments::hash_of(place)};
      check_in_ledgers({&check, 1}, arrived, now);
      return check.decision;
    }
    if (room.make()) continue;
    refused_.fetch_add(1, std::memory_order_relaxed);
    if (limit.when_full.value_or(when_full_) == WhenFull::allow) return step.decision();
    return {Verdict::denied, rule.quota.burst(), 0, as_time(core::at_most_the_longest(soonest)),
            nanoseconds{0}};
  }
}

bool Table::check_in_ledgers(std::span<Check> checks, nanoseconds arrived, nanoseconds now,
                             Charging* charging, TakeTerms* taking) {
  return ledgers_ != nullptr ? ledgers_->check_all(checks, arrived, now, charging, taking)
                             : check_all(checks, arrived, now, Ledgers{}, charging, taking);
}

bool Table::check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now) {
  if (checks.size() > kMostChecks) {
    throw std::invalid_argument("check_all: at most " + std::to_string(kMostChecks) + " checks");
  }
  if (const auto charged = check_in_place(segments_, checks, arrived, now)) return *charged;
  AllOrNoneCheck joint(segments_, when_full_, checks, arrived, now);
  while (!joint.round()) {
  }
  if (joint.needs_ledgers()) return check_in_ledgers(checks, arrived, now);
  refused_.fetch_add(joint.refused(), std::memory_order_relaxed);
  return joint.charged();
}

std::optional<core::Overdrawn> Table::charge_in_place(KeyPlace place, const core::Rule& rule,
                                                      const Outside& outside, nanoseconds now) {
  const std::uint32_t leaf = segments_.leaf_of(place.tag);
  Bucket& home = segments_.guess(leaf, place.bucket);
  const Held held(home);
  const Segments::Owner owner = segments_.owner(leaf, place.bucket);
  if (owner.bucket != &home) return std::nullopt;
  if (const int slot = home.find(place.tag); slot >= 0) {
    const core::TwoWords state = home.state(slot);
    if (core::counted_by_another_quota(rule, state)) return std::nullopt;
    const core::Overdrawn told = core::overdraw(rule, state, now, outside);
    if (told.changes) home.set(slot, told.next);
    return told;
  }
  if (home.overflowed()) return std::nullopt;
  const nanoseconds forgotten = as_time(owner.segment->forgotten.load(std::memory_order_relaxed));
  const core::Overdrawn told = core::overdraw(rule, {}, std::max(now, forgotten), outside);
  if (!told.changes) return told;
  const int slot = home.free_slot(now);
  if (slot < 0) return std::nullopt;
  owner.segment->put(home, slot, place.tag, told.next);
  return told;
}

void Table::charge_all(std::span<Check> checks, nanoseconds now, Charging& charging) {
  AllOrNoneCheck joint(segments_, when_full_, checks, now, now, nullptr, nullptr, &charging);
  while (!joint.round()) {
  }
  if (joint.needs_ledgers()) {
    check_in_ledgers(checks, now, now, &charging);
    return;
  }
  refused_.fetch_add(joint.refused(), std::memory_order_relaxed);
}

bool Table::check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now, const Ledgers& ledgers,
                      Charging* charging, TakeTerms* taking) {
  AllOrNoneCheck joint(segments_, when_full_, checks, arrived, now, &ledgers, nullptr, charging, taking);
  while (taking != nullptr && taking->looks ? !joint.look() : !joint.round()) {
  }
  refused_.fetch_add(joint.refused(), std::memory_order_relaxed);
  return joint.charged();
}

bool Table::take_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now, TakeTerms& taking) {
  AllOrNoneCheck joint(segments_, when_full_, checks, arrived, now, nullptr, nullptr, nullptr, &taking);
  while (taking.looks ? !joint.look() : !joint.round()) {
  }
  if (joint.needs_ledgers()) return check_in_ledgers(checks, arrived, now, nullptr, &taking);
  refused_.fetch_add(joint.refused(), std::memory_order_relaxed);
  return joint.charged();
}

bool Table::reserve_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now, const Ledgers& ledgers,
                        JointReservation& reserving) {
  AllOrNoneCheck joint(segments_, when_full_, checks, arrived, now, &ledgers, &reserving);
  while (!joint.round()) {
  }
  refused_.fetch_add(joint.refused(), std::memory_order_relaxed);
  return joint.charged();
}

bool Table::exchange(KeyPlace place, core::TwoWords before, core::TwoWords after) {
  const Segments::Pair pair = segments_.lock_pair(place);
  for (const auto [bucket, segment] : pair.homes) {
    bucket->assert_held();
    const int slot = bucket->find(place.tag);
    if (slot < 0) continue;
    if (bucket->state(slot) != before) return false;
    bucket->set(slot, after);
    return true;
  }
  return false;
}

namespace {

void write(Bucket& bucket, int slot, Segments::Segment& segment, core::TwoWords state, nanoseconds now)
    WEIR_REQUIRES(bucket) {
  // As decide_by_another_quota() does.
  if ((state.word ^ bucket.state(slot).word) & ~kLedgerBit)
    segment.forget(static_cast<std::uint64_t>(now.count()));
  bucket.set(slot, state);
}

// What `next` makes of a key's state, or of none, is its state; an entry that would owe nothing is not made.
// Nothing when there is no room for one. As of `now`, but no earlier than what was forgotten in the key's
// place: what it owed until then would be taken for drained at an older `now`.
template <class Next>
std::optional<core::TwoWords> change(Segments& segments, KeyPlace place, nanoseconds now, const Next& next) {
  const bool owes = core::ahead_of(next(core::TwoWords{}, now).until, now) != 0;
  const std::uint32_t leaf = segments.leaf_of(place.tag);
  Bucket& home = segments.guess(leaf, place.bucket);
  {
    // As in check(): mostly the first bucket is all that is touched.
    const Held held(home);
    const Segments::Owner owner = segments.owner(leaf, place.bucket);
    if (owner.bucket == &home) {
      const nanoseconds at = std::max(now, as_time(owner.segment->forgotten.load(std::memory_order_relaxed)));
      if (const int slot = home.find(place.tag); slot >= 0) {
        const core::TwoWords state = next(home.state(slot), at);
        write(home, slot, *owner.segment, state, at);
        return state;
      }
      const int slot = home.overflowed() || !owes ? -1 : home.free_slot(now);
      if (slot >= 0) {
        const core::TwoWords state = next(core::TwoWords{}, at);
        owner.segment->put(home, slot, place.tag, state);
        return state;
      }
    }
  }
  RoomForKey room(segments, place, now);
  for (;;) {
    {
      const Segments::Pair pair = segments.lock_pair(place);
      nanoseconds at = now;
      for (const Segments::Owner& owner : pair.homes)
        at = std::max(at, as_time(owner.segment->forgotten.load(std::memory_order_relaxed)));
      for (const auto [bucket, segment] : pair.homes) {
        bucket->assert_held();
        const int slot = bucket->find(place.tag);
        if (slot < 0) continue;
        const core::TwoWords state = next(bucket->state(slot), at);
        write(*bucket, slot, *segment, state, at);
        return state;
      }
      const core::TwoWords fresh = next(core::TwoWords{}, at);
      if (!owes) return fresh;
      Bucket& first = *pair.homes[0].bucket;
      first.assert_held();
      for (const auto [bucket, segment] : pair.homes) {
        bucket->assert_held();
        const int slot = bucket->free_slot(now);
        if (slot < 0) continue;
        segment->put(*bucket, slot, place.tag, fresh);
        if (bucket != &first) first.mark_overflowed();
        return fresh;
      }
    }
    if (!room.make()) return std::nullopt;
  }
}

}  // namespace

void Table::look_all(std::span<Check> checks, nanoseconds now) {
  AllOrNoneCheck joint(segments_, when_full_, checks, now, now);
  while (!joint.look()) {
  }
  refused_.fetch_add(joint.refused(), std::memory_order_relaxed);
  if (!joint.needs_ledgers()) return;
  ledgers_ != nullptr ? ledgers_->look(checks, now) : look_all(checks, now, Ledgers{});
}

void Table::look_all(std::span<Check> checks, nanoseconds now, const Ledgers& ledgers) {
  AllOrNoneCheck joint(segments_, when_full_, checks, now, now, &ledgers);
  while (!joint.look()) {
  }
  refused_.fetch_add(joint.refused(), std::memory_order_relaxed);
}

bool Table::reset(KeyPlace place, nanoseconds now) {
  const Segments::Pair pair = segments_.lock_pair(place);
  bool forgot = false;
  for (const auto [bucket, segment] : pair.homes) {
    bucket->assert_held();
    const int slot = bucket->find(place.tag);
    if (slot < 0) continue;
    forgot = forgot || !bucket->is_free(slot, now);
    bucket->set(slot, {});
  }
  return forgot;
}

namespace {

core::TwoWords raised(core::TwoWords before, const Quota& quota, std::uint64_t tat, nanoseconds now) {
  const core::TwoWords state = without_ledger_bit(before);
  const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
  const std::uint64_t ahead = core::ahead_of(state.until, now);
  if (ahead == 0) return {std::max(state.until, tat), interval};
  if (state.word == interval) return {std::max(state.until, tat), state.word};
  // Counted by another quota: whole units are owed.
  const std::uint64_t units = (ahead - 1) / state.word + 1;
  // More than the whole burst, still at its former pace.
  if (interval > state.word && units > static_cast<std::uint64_t>(quota.burst())) return state;
  return {std::max(static_cast<std::uint64_t>(now.count()) + units * interval, tat), interval};
}

}  // namespace

core::TwoWords Table::state_of(KeyPlace place) const {
  const Segments::Pair pair = segments_.lock_pair(place);
  for (const auto [bucket, segment] : pair.homes) {
    bucket->assert_held();
    if (const int slot = bucket->find(place.tag); slot >= 0) return bucket->state(slot);
  }
  return {};
}

bool Table::replace(KeyPlace place, core::TwoWords state, nanoseconds now) {
  return change(segments_, place, now, [&](core::TwoWords, nanoseconds) { return state; }).has_value();
}

bool Table::raise(KeyPlace place, const Quota& quota, std::uint64_t tat, nanoseconds now) {
  const auto raising = [&](core::TwoWords state, nanoseconds at) { return raised(state, quota, tat, at); };
  return change(segments_, place, now, raising).has_value();
}

void Table::give_back(KeyPlace place, const Quota& quota, Cost cost, nanoseconds charged_at,
                      nanoseconds now) {
  const Segments::Pair pair = segments_.lock_pair(place);
  for (const auto [bucket, segment] : pair.homes) {
    bucket->assert_held();
    const int slot = bucket->find(place.tag);
    if (slot < 0) continue;
    const core::TwoWords state = bucket->state(slot);
    const auto [tat, interval] = without_ledger_bit(state);
    const core::gcra::State left = core::gcra::give_back(quota, {tat, interval}, now, cost, charged_at);
    bucket->set(slot, {left.tat, state.word});
  }
}

std::optional<core::TwoWords> Table::give_back_in_window(KeyPlace place, std::uint64_t units,
                                                         nanoseconds now) {
  const Segments::Pair pair = segments_.lock_pair(place);
  for (const auto [bucket, segment] : pair.homes) {
    bucket->assert_held();
    const int slot = bucket->find(place.tag);
    if (slot < 0 || bucket->is_free(slot, now)) continue;
    core::TwoWords state = bucket->state(slot);
    state.word -= std::min(units, state.word);
    bucket->set(slot, state);
    return state;
  }
  return std::nullopt;
}

std::uint32_t Table::copy_segment(std::uint32_t leaf, nanoseconds now, std::vector<Entry>& out) const {
  out.reserve(out.size() + kSlotsPerSegment);
  return segments_.copy(leaf, now, out);
}

// Anywhere is: in either of its buckets, its home first.
bool Table::put_back(const Entry& entry, bool anywhere, nanoseconds now) {
  const KeyPlace place = Segments::place(entry.tag, entry.bucket);
  const core::TwoWords state{static_cast<std::uint64_t>(now.count()) + entry.ahead, entry.word};
  const Segments::Pair pair = segments_.lock_pair(place);
  Bucket& home = *pair.homes[0].bucket;
  home.assert_held();
  for (const auto [bucket, segment] : pair.homes) {
    bucket->assert_held();
    const int slot = bucket->find(entry.tag);
    if (slot < 0) continue;
    if (bucket->state(slot).until < state.until) bucket->set(slot, state);
    return true;
  }
  for (const std::uint32_t number : {place.bucket, Segments::other(place.bucket, place.tag)}) {
    if (!anywhere && number != entry.bucket) continue;
    const auto [bucket, segment] = pair.homes[number == place.bucket ? 0 : 1];
    bucket->assert_held();
    const int slot = bucket->free_slot(now);
    if (slot < 0) continue;
    segment->put(*bucket, slot, entry.tag, state);
    if (bucket != &home) home.mark_overflowed();
    return true;
  }
  return false;
}

bool Table::restore(const Entry& entry, nanoseconds now) {
  RoomForKey room(segments_, Segments::place(entry.tag, entry.bucket), now);
  while (!put_back(entry, true, now)) {
    if (!room.make()) return false;
  }
  return true;
}

bool Table::restore_in_place(const Entry& entry, nanoseconds now) {
  while (!put_back(entry, false, now)) {
    // Another thread may have split it, and made room, meanwhile.
    if (!segments_.split_at(entry.tag)) return put_back(entry, false, now) || restore(entry, now);
  }
  return true;
}

}  // namespace weir::store
