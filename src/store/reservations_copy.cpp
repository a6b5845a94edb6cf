// Reservations as bytes and back. One function says for each thing what is kept of it, in which order, and is
// read by two archives, of which one writes and the other reads.
//
// Little endian, numbers of 64 bits. Times and tats are told from the moment of copying on, so that they can
// be restored under another clock. For each stripe the number of its ledgers, and of each the key's hash, its
// epoch, quota, until when it is kept, and the ledger; the number of those that were idle again since the
// table began to be copied, and of each the hash and the key's state; and the number of its keys with slots,
// and of each the hash and the epoch; then for each shelf the number of its records, and of each record the
// id, its moment, until when it can be settled, whether it is held (1) or a plan (2), whether it is bound,
// how long it may be extended, and its parts; then to the end, of each key whose breaches count, its hash and
// until when.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/in_ledger.hpp"
#include "store/reservations.hpp"
#include "store/reservations_locked.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

// Of a record.
constexpr std::uint64_t kHeld = 1;
constexpr std::uint64_t kPlan = 2;

// Of a tat that says that there is none.
constexpr auto kNone = std::numeric_limits<std::int64_t>::min();

class Writing {
 public:
  static constexpr bool kReads = false;

  explicit Writing(nanoseconds now) : now_(now.count()) {}

  void number(auto number) { put(static_cast<std::uint64_t>(number)); }
  void flag(bool flag) { put(flag ? 1 : 0); }
  void time(nanoseconds time) { put(static_cast<std::uint64_t>(time.count() - now_)); }
  void length(nanoseconds length) { put(static_cast<std::uint64_t>(length.count())); }
  // Of a ledger: 0 says that there is none, and what was before a clock began is below 0.
  void moment(Ledger::Time time) { put(static_cast<std::uint64_t>(time == 0 ? kNone : time - now_)); }
  void tat(std::uint64_t tat) {
    put(tat == 0 ? static_cast<std::uint64_t>(kNone) : tat - static_cast<std::uint64_t>(now_));
  }
  std::size_t size(std::size_t size) {
    put(size);
    return size;
  }
  bool good() const { return true; }
  std::string take() { return std::exchange(bytes_, {}); }

 private:
  void put(std::uint64_t word) { bytes_.append(reinterpret_cast<const char*>(&word), sizeof word); }

  std::int64_t now_;
  std::string bytes_;
};

// Once something is missing or cannot be, everything that follows is 0.
class Reading {
 public:
  static constexpr bool kReads = true;

  Reading(std::string_view bytes, nanoseconds then) : bytes_(bytes), then_(then.count()) {}

  template <class Number>
  void number(Number& number) {
    number = static_cast<Number>(get());
  }
  void flag(bool& flag) { flag = get() != 0; }
  void time(nanoseconds& time) { time = nanoseconds{moved(static_cast<std::int64_t>(get()))}; }
  void length(nanoseconds& length) { length = nanoseconds{static_cast<std::int64_t>(get())}; }
  void moment(Ledger::Time& time) {
    const auto ahead = static_cast<std::int64_t>(get());
    time = 0;
    if (ahead == kNone) return;
    constexpr auto kMost = core::GrantMap::kForever;
    if (__builtin_add_overflow(then_, ahead, &time) || time >= kMost || time <= -kMost / 2) bad_ = true;
    if (time == 0) time = 1;
  }
  void tat(std::uint64_t& tat) {
    const auto ahead = static_cast<std::int64_t>(get());
    tat = ahead == kNone ? 0 : static_cast<std::uint64_t>(moved(ahead));
  }
  // Each element has one word at least.
  std::size_t size(std::size_t) {
    const std::uint64_t size = get();
    if (size > bytes_.size() / sizeof(std::uint64_t)) bad_ = true;
    return bad_ ? 0 : size;
  }
  // What follows a size.
  void each(const auto& read) {
    for (std::size_t left = size(0); left > 0 && good(); --left) read();
  }
  bool good() const { return !bad_; }
  void fail() { bad_ = true; }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::uint64_t get() {
    std::uint64_t word = 0;
    if (bytes_.size() < sizeof word) bad_ = true;
    if (bad_) return 0;
    std::memcpy(&word, bytes_.data(), sizeof word);
    bytes_.remove_prefix(sizeof word);
    return word;
  }
  // What was over before this clock began is over at its beginning.
  std::int64_t moved(std::int64_t ahead) const {
    std::int64_t time = 0;
    if (__builtin_add_overflow(then_, ahead, &time)) time = ahead < 0 ? 0 : INT64_MAX;
    return std::max<std::int64_t>(time, 0);
  }

  std::string_view bytes_;
  std::int64_t then_;
  bool bad_ = false;
};

template <class Archive>
void transfer(Archive& archive, core::TwoWords& state) {
  archive.tat(state.until);
  archive.number(state.word);
}

template <class Archive>
void transfer(Archive& archive, Quota& quota) {
  std::int64_t count = quota.rate().count;
  nanoseconds period = quota.rate().period;
  std::int64_t burst = quota.burst();
  archive.number(count);
  archive.length(period);
  archive.number(burst);
  if constexpr (Archive::kReads) {
    if (const auto made = Quota::make({count, period}, burst)) {
      quota = *made;
    } else {
      archive.fail();
    }
  }
}

template <class Archive>
void transfer(Archive& archive, Ledger::Place& place) {
  archive.moment(place.at);
  archive.number(place.number);
}

template <class Archive>
void transfer(Archive& archive, KeyLedger::Own& own) {
  transfer(archive, own.place);
  archive.number(own.units);
  archive.time(own.until);
}

template <class Archive, class List, class Each>
void transfer(Archive& archive, List& list, const Each& each) {
  list.resize(archive.size(list.size()));
  for (auto& element : list) each(element);
}

}  // namespace

template <class Archive>
void Ledger::transfer(Archive& archive) {
  archive.number(interval_);
  archive.moment(front_);
  archive.moment(pause_end_);
  // A bit that no count needs; a program that does not know it reads a pause that forgets nothing.
  constexpr std::uint64_t kForgets = std::uint64_t{1} << 63;
  std::uint64_t numbers = numbers_ | (forgets_ ? kForgets : 0);
  archive.number(numbers);
  numbers_ = numbers & ~kForgets;
  forgets_ = pause_end_ != 0 && (numbers & kForgets) != 0;
  std::vector<Member> members;
  if constexpr (!Archive::kReads) members_.each([&](const Member& member) { members.push_back(member); });
  store::transfer(archive, members, [&](Member& member) {
    store::transfer(archive, member.key);
    archive.number(member.map.sum);
    archive.moment(member.map.least);
    archive.flag(member.is_open);
    if constexpr (Archive::kReads) {
      const bool is_good = member.map.sum >= 0 && member.map.sum <= core::GrantMap::kForever &&
                           member.key.number <= numbers_ && interval_ > 0;
      if (!is_good) return archive.fail();
      if (member.is_open) member.map = core::GrantMap::of(member.key.at, member.map.sum, true);
      keep(member);
    }
  });
  if constexpr (Archive::kReads) {
    if (interval_ <= 0) archive.fail();
  }
}

template <class Archive>
void KeyLedger::transfer(Archive& archive) {
  ledger_.transfer(archive);
  archive.moment(latest_);
  archive.moment(asked_for_);
  archive.moment(paused_from_);
  archive.moment(paused_until_);
  std::vector<Open> open;
  for (auto at = open_.begin(); !Archive::kReads && !open_.is_end(at); at = open_.next(at))
    open.push_back(open_[at]);
  store::transfer(archive, open, [&](Open& each) {
    archive.moment(each.until);
    store::transfer(archive, each.place);
    if (Archive::kReads) open_.insert(each);
  });
}

template <class Archive>
void Reservations::transfer(Archive& archive, KeptLedger& kept, ReservationMemory::Kind& kind) {
  archive.number(kept.epoch);
  store::transfer(archive, kept.rule.quota);
  archive.time(kept.until);
  auto number = static_cast<std::uint64_t>(kind);
  archive.number(number);
  kind = static_cast<ReservationMemory::Kind>(std::min<std::uint64_t>(number, 2));
  kept.ledger.transfer(archive);
}

template <class Archive>
void Reservations::transfer(Archive& archive, Part& part) {
  archive.number(part.hash);
  archive.number(part.epoch);
  store::transfer(archive, part.quota);
  store::transfer(archive, part.own);
  archive.number(part.limit);
  archive.flag(part.settles);
  archive.flag(part.by_actual);
  archive.flag(part.shadow);
  archive.flag(part.is_slot);
  archive.flag(part.is_window);
  archive.flag(part.is_dated);
  archive.tat(part.window_end);
  archive.number(part.window_id);
}

template <class Archive>
void Reservations::transfer(Archive& archive, ReservationId& id, Record& record) {
  archive.number(id.high);
  archive.number(id.low);
  archive.time(record.moment);
  archive.time(record.until);
  std::uint64_t kind = (record.held ? kHeld : 0) | (record.is_plan ? kPlan : 0);
  archive.number(kind);
  record.held = (kind & kHeld) != 0;
  record.is_plan = (kind & kPlan) != 0;
  archive.flag(record.bound);
  archive.length(record.longest);
  store::transfer(archive, record.parts, [&](Part& part) { transfer(archive, part); });
}

// Before the table is copied: which keys leave their ledgers from then on is in the copy too.
void Reservations::begin_copy() {
  for (Stripe& stripe : stripes_) {
    const Held lock(stripe.mutex);
    stripe.left.emplace();
  }
}

void Reservations::end_copy() {
  for (Stripe& stripe : stripes_) {
    const Held lock(stripe.mutex);
    stripe.left.reset();
  }
}

// Ledgers first, and then the records. A record whose reservation was granted in between has a place that its
// ledger does not know; one that was taken back in between is not there any more: either is forgotten.
void Reservations::copy(nanoseconds now, const std::function<bool(std::string_view)>& put) {
  Writing out(now);
  for (Stripe& stripe : stripes_) {
    {
      const Held lock(stripe.mutex);
      clear_away(stripe, now);
      std::erase_if(stripe.ledgers, [&](const auto& each) {
        return !is_in_ledger(table_.state_of(Table::place_of(each.first)), now);
      });
      out.size(stripe.ledgers.size());
      for (auto& [key, kept] : stripe.ledgers) {
        out.number(key);
        ReservationMemory::Kind kind = kept.share.kind();
        transfer(out, kept, kind);
      }
      auto left = std::exchange(stripe.left, std::nullopt).value_or(Stripe::Left{});
      out.size(left.size());
      for (auto& [hash, state] : left) {
        out.number(hash);
        store::transfer(out, state);
      }
      out.size(stripe.slots.size());
      for (const auto& [key, slots] : stripe.slots) {
        out.number(key);
        out.number(slots.epoch());
      }
    }
    if (!put(out.take())) return end_copy();
  }
  for (Shelf& shelf : shelves_) {
    {
      const Held lock(shelf.mutex);
      clear_away(shelf, now);
      out.size(shelf.records.size());
      for (auto& [key, record] : shelf.records) {
        ReservationId id = key;
        transfer(out, id, record);
      }
    }
    if (!put(out.take())) return;
  }
  penalties_.copy(now, [&out](std::uint64_t key, nanoseconds forgotten) {
    out.number(key);
    out.time(forgotten);
  });
  put(out.take());
}

// By the hash of a key and the former epoch.
struct Reservations::Restored {
  std::map<std::pair<std::uint64_t, std::uint64_t>, KeptLedger*> ledgers;
  std::set<std::pair<std::uint64_t, std::uint64_t>> slots;
};

bool Reservations::restore(std::string_view bytes, nanoseconds then, nanoseconds now,
                           bool connections_go_on) {
  Reading in(bytes, then);
  Restored restored;
  for (std::size_t i = 0; i < stripes_.size(); ++i) {
    in.each([&] {
      std::uint64_t hash = 0;
      KeptLedger kept{.ledger = KeyLedger({0, 1}),
                      .rule = core::Rule{Quota::per(1, std::chrono::seconds{1})}};
      in.number(hash);
      auto kind = ReservationMemory::Kind::wait;
      transfer(in, kept, kind);
      if (!in.good()) return;
      const std::uint64_t epoch = kept.epoch;
      if (KeptLedger* const ledger = restore_ledger(hash, std::move(kept), kind, now))
        restored.ledgers[{hash, epoch}] = ledger;
    });
    in.each([&] {
      std::uint64_t hash = 0;
      core::TwoWords state;
      in.number(hash);
      store::transfer(in, state);
      if (in.good()) table_.replace(Table::place_of(hash), without_ledger_bit(state), now);
    });
    in.each([&] {
      std::uint64_t hash = 0;
      std::uint64_t epoch = 0;
      in.number(hash);
      in.number(epoch);
      restored.slots.insert({hash, epoch});
    });
  }
  std::vector<ReservationId> ended;  // what is bound, and plans: who stood in line has gone
  for (std::size_t i = 0; i < shelves_.size(); ++i)
    in.each([&] {
      ReservationId id;
      Record record;
      transfer(in, id, record);
      if (!in.good()) return;
      const bool ends = record.is_plan || (record.bound && !connections_go_on);
      if (restore_record(id, std::move(record), restored, now) && ends) ended.push_back(id);
    });
  while (in.good() && !in.at_end()) {
    std::uint64_t key = 0;
    nanoseconds forgotten{0};
    in.number(key);
    in.time(forgotten);
    if (in.good()) penalties_.keep(key, forgotten, now);
  }
  for (const ReservationId id : ended) end(id, now);
  return in.good() && in.at_end();
}

// False: nothing is left of it, or there is no room.
bool Reservations::restore_record(ReservationId id, Record record, const Restored& restored,
                                  nanoseconds now) {
  std::erase_if(record.parts, [&](Part& part) {
    if (part.is_uncharged()) return false;
    if (part.is_slot) return !restored.slots.contains({part.hash, part.epoch});
    if (part.is_window) {
      part.epoch = 0;
      return core::ahead_of(part.window_end, now) == 0;
    }
    const auto found = restored.ledgers.find({part.hash, part.epoch});
    if (found == restored.ledgers.end() || !found->second->ledger.is_open(part.own)) return true;
    part.epoch = found->second->epoch;
    if (record.held && part.is_listed()) found->second->holds.add(record.until, id, part.own.units);
    return false;
  });
  if (record.parts.empty() || record.until <= now || !take_memory(record)) return false;
  for (Part& part : record.parts) {
    if (!part.is_slot) continue;
    Stripe& stripe = stripe_of(part.hash);
    const Held lock(stripe.mutex);
    KeySlots& slots = make_slots(stripe, part.hash, part.limit);
    part.epoch = slots.epoch();
    slots.take(id, record.until);
  }
  put_back(id, std::move(record), now);
  return true;
}

// Without it, it ends as it does when its time is over: what it was charged stays.
bool Reservations::take_memory(Record& record) {
  using Kind = ReservationMemory::Kind;
  std::size_t bytes = kRecordBytes;
  for (const Part& part : record.parts) bytes += bytes_of(part.is_slot, record.held);
  record.share = memory_.take(0, bytes, record.held ? Kind::hold : Kind::wait);
  if (!record.share) not_restored_.fetch_add(1, std::memory_order_relaxed);
  return static_cast<bool>(record.share);
}

// One that is not over, as long as there is room; without it the key owes what it owes.
Reservations::KeptLedger* Reservations::restore_ledger(std::uint64_t hash, KeptLedger kept,
                                                       ReservationMemory::Kind kind, nanoseconds now) {
  const auto place = Table::place_of(hash);
  core::TwoWords state = state_of(kept.ledger, kept.rule, now);
  if (is_in_ledger(state, now)) {
    const bool is_paused = kept.ledger.is_paused(now);
    kept.share = memory_.take(0, kLedgerBytes, kind);
    if (!kept.share) {
      not_restored_.fetch_add(1, std::memory_order_relaxed);
      if (is_paused) pauses_not_kept_.fetch_add(1, std::memory_order_relaxed);
      state = {kept.ledger.owed(kept.rule), without_ledger_bit(state).word};
    }
  }
  if (!table_.replace(place, state, now) || !is_in_ledger(state, now)) return nullptr;
  Stripe& stripe = stripe_of(hash);
  const Held lock(stripe.mutex);
  const nanoseconds until = kept.until;
  return &keep_ledger(stripe, hash, std::move(kept.ledger), kept.rule, until, std::move(kept.share));
}

// As its connection's end does: before its moment a cancel, after it a settlement at the estimate.
void Reservations::end(ReservationId id, nanoseconds now) {
  ReservationTerms terms{.id = id.text()};
  Request request{.reservation = &terms};
  cancel(request, now);
  settle(request, now);
}

void Reservations::put_back(ReservationId id, Record record, nanoseconds now) {
  Shelf& shelf = shelf_of(id);
  const Held lock(shelf.mutex);
  clear_away(shelf, now);
  shelf.due.insert({record.until, id});
  shelf.records.insert_or_assign(id, std::move(record));
  open_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir::store
