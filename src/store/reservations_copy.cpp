// Reservations as bytes and back. One function says for each thing what is kept of it, in which order, and is
// read by two archives, of which one writes and the other reads.
//
// Little endian, numbers of 64 bits. Times and tats are told from the moment of copying on, so that they can
// be restored under another clock. For each stripe the number of its schedules, and of each schedule the
// key's hash, the schedule's epoch, the key's state and the schedule, and the number of its keys with slots,
// and of each the hash and the epoch; then for each shelf the number of its records, and of each record the
// id, its moment, until when it can be settled, whether it is held, whether that is bound, how long it may be
// extended, and its parts; then to the end, of each key whose breaches count, its hash and until when.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/reservations.hpp"
#include "store/scheduled.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

// Of a tat that says that there is none.
constexpr auto kNone = std::numeric_limits<std::int64_t>::min();

class Writing {
 public:
  static constexpr bool kReads = false;

  explicit Writing(nanoseconds now) : now_(now.count()) {}

  void number(std::uint64_t& number) { put(number); }
  void flag(bool& flag) { put(flag ? 1 : 0); }
  void time(nanoseconds& time) { put(static_cast<std::uint64_t>(time.count() - now_)); }
  void length(nanoseconds& length) { put(static_cast<std::uint64_t>(length.count())); }
  void tat(std::uint64_t& tat) {
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

  void number(std::uint64_t& number) { number = get(); }
  void flag(bool& flag) { flag = get() != 0; }
  void time(nanoseconds& time) { time = nanoseconds{moved(static_cast<std::int64_t>(get()))}; }
  void length(nanoseconds& length) { length = nanoseconds{static_cast<std::int64_t>(get())}; }
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
void transfer(Archive& archive, QuotaNumbers& numbers) {
  archive.number(numbers.interval);
  archive.number(numbers.burst);
}

template <class Archive>
void transfer(Archive& archive, Quota& quota) {
  auto count = static_cast<std::uint64_t>(quota.rate().count);
  auto period = static_cast<std::uint64_t>(quota.rate().period.count());
  auto burst = static_cast<std::uint64_t>(quota.burst());
  archive.number(count);
  archive.number(period);
  archive.number(burst);
  if constexpr (Archive::kReads) {
    const auto made =
        Quota::make({static_cast<std::int64_t>(count), nanoseconds{static_cast<std::int64_t>(period)}},
                    static_cast<std::int64_t>(burst));
    if (made) {
      quota = *made;
    } else {
      archive.fail();
    }
  }
}

template <class Archive>
void transfer(Archive& archive, OwnUnits& own) {
  archive.number(own.grant);
  archive.number(own.number);
  archive.number(own.count);
  archive.tat(own.low);
  archive.tat(own.end);
  archive.number(own.moved);
  archive.number(own.paused);
  archive.number(own.generation);
  transfer(archive, own.numbers);
  archive.flag(own.held);
}

template <class Archive, class List, class Each>
void transfer(Archive& archive, List& list, const Each& each) {
  list.resize(archive.size(list.size()));
  for (auto& element : list) each(element);
}

}  // namespace

// Its moments too: one that was settled before its moment has no record any more, and is still to come.
template <class Archive>
void Schedule::transfer(Archive& archive) {
  archive.time(until_);
  archive.time(latest_);
  archive.time(fixed_until_);
  store::transfer(archive, numbers_);
  archive.number(generation_);
  archive.number(grants_);
  archive.number(units_);
  archive.number(moved_);
  std::size_t left = archive.size(holes());
  for (auto each = passing_.begin(); left > 0 && archive.good(); --left) {
    if (!Archive::kReads && each == passing_.end()) each = lasting_.begin();
    std::uint64_t end = Archive::kReads ? 0 : each->first;
    Hole fresh;
    Hole& hole = Archive::kReads ? fresh : (each++)->second;
    archive.tat(end);
    archive.time(hole.moment);
    archive.tat(hole.low);
    archive.number(hole.units);
    archive.number(hole.count);
    archive.number(hole.number);
    archive.flag(hole.lasts);
    if (!Archive::kReads || hole.units == 0 || find_hole(end)) continue;
    if (memory_ != nullptr) hole.share = memory_->take(0, kHoleBytes, ReservationMemory::Kind::wait);
    if (memory_ != nullptr && !hole.share) {
      ++lost_;
      lose_units(hole);
      continue;
    }
    put(end, std::move(hole));
  }
  left = archive.size(holds_.size());
  for (auto at = Holds::begin(); left > 0 && archive.good(); --left) {
    Hold hold;
    if (!Archive::kReads) {
      hold = holds_[at];
      at = holds_.next(at);
    }
    archive.number(hold.number);
    archive.time(hold.until);
    archive.number(hold.units);
    archive.number(hold.paused);
    if (Archive::kReads) keep(hold);
  }
  left = archive.size(words_.size());
  for (std::size_t i = 0; i < left && archive.good(); ++i) {
    auto [number, word] = Archive::kReads ? std::pair<std::uint64_t, std::uint64_t>() : words_[i];
    archive.number(number);
    archive.number(word);
    if (Archive::kReads) words_.add(number, word);
  }
  archive.time(pause_end_);
  archive.tat(paused_tat_);
  moves_.transfer(archive);
  std::vector<std::pair<MomentsAhead::Whose, nanoseconds>> ahead;
  ahead_.each([&](MomentsAhead::Whose whose, nanoseconds moment) { ahead.emplace_back(whose, moment); });
  store::transfer(archive, ahead, [&](auto& each) {
    archive.number(each.first.number);
    archive.number(each.first.grant);
    archive.time(each.second);
    if (Archive::kReads) ahead_.add(each.first, each.second);
  });
  if (Archive::kReads) keep_moments();
}

template <class Archive>
void Reservations::transfer(Archive& archive, Part& part) {
  archive.number(part.hash);
  archive.number(part.epoch);
  store::transfer(archive, part.quota);
  store::transfer(archive, part.own);
  // One word, which snapshots have had from the beginning: of earlier ones it is 0 or 1.
  std::uint64_t how = (part.limit << 2U) | (part.by_actual ? 0U : 2U) | (part.settles ? 1U : 0U);
  archive.number(how);
  part.settles = (how & 1U) != 0;
  part.by_actual = (how & 2U) == 0;
  part.limit = how >> 2U;
  archive.flag(part.shadow);
  archive.flag(part.is_slot);
  // One word, too: 2 of a window of the calendar.
  std::uint64_t window = part.is_dated ? 2 : part.is_window ? 1 : 0;
  archive.number(window);
  part.is_window = window != 0;
  part.is_dated = window == 2;
}

// Schedules first, each with the state of its key, and then the records. A record whose reservation was
// granted in between has a number that its schedule does not know; one that was taken back in between is not
// there any more: either is forgotten.
void Reservations::copy(nanoseconds now, const std::function<bool(std::string_view)>& put) {
  Writing out(now);
  for (Stripe& stripe : stripes_) {
    {
      const Held lock(stripe.mutex);
      clear_away(stripe, now);
      out.size(stripe.schedules.size());
      for (auto& [key, kept] : stripe.schedules) {
        Schedule& schedule = kept.schedule;
        std::uint64_t hash = key;
        std::uint64_t epoch = schedule.epoch();
        core::TwoWords state = table_.state_of(Table::place_of(hash));
        out.number(hash);
        out.number(epoch);
        store::transfer(out, state);
        schedule.transfer(out);
      }
      out.size(stripe.slots.size());
      for (const auto& [key, slots] : stripe.slots) {
        std::uint64_t hash = key;
        std::uint64_t epoch = slots.epoch();
        out.number(hash);
        out.number(epoch);
      }
    }
    if (!put(out.take())) return;
  }
  for (Shelf& shelf : shelves_) {
    {
      const Held lock(shelf.mutex);
      clear_away(shelf, now);
      out.size(shelf.records.size());
      for (auto& [key, record] : shelf.records) {
        ReservationId id = key;
        out.number(id.high);
        out.number(id.low);
        out.time(record.moment);
        out.time(record.until);
        out.flag(record.held);
        out.flag(record.bound);
        out.length(record.longest);
        store::transfer(out, record.parts, [&](Part& part) { transfer(out, part); });
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

bool Reservations::restore(std::string_view bytes, nanoseconds then, nanoseconds now,
                           bool connections_go_on) {
  Reading in(bytes, then);
  // By the key's hash and the schedule's former epoch.
  std::map<std::pair<std::uint64_t, std::uint64_t>, Schedule*> known;
  std::set<std::pair<std::uint64_t, std::uint64_t>> with_slots;
  for (std::size_t i = 0; i < stripes_.size(); ++i) {
    for (std::size_t left = in.size(0); left > 0 && in.good(); --left) {
      std::uint64_t hash = 0;
      std::uint64_t epoch = 0;
      core::TwoWords state;
      Schedule schedule(epochs_.fetch_add(1, std::memory_order_relaxed) + 1, &memory_);
      in.number(hash);
      in.number(epoch);
      store::transfer(in, state);
      schedule.transfer(in);
      if (!in.good() || schedule.until() <= now) continue;
      const auto kind = schedule.kept_for(now);
      KeySchedule kept{std::move(schedule), memory_.take(0, Schedule::kBytes, kind)};
      if (!kept.share) state = without_schedule(state);
      if (!table_.replace(Table::place_of(hash), state, now)) continue;
      Stripe& stripe = stripe_of(hash);
      const Held lock(stripe.mutex);
      if (!kept.share) {
        stripe.fixed_until = std::max(stripe.fixed_until, kept.schedule.until());
        not_restored_.fetch_add(1, std::memory_order_relaxed);
        if (kept.schedule.is_paused(now)) pauses_not_kept_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      stripe.due.emplace(kept.schedule.until(), hash);
      holes_.fetch_add(kept.schedule.holes(), std::memory_order_relaxed);
      known[{hash, epoch}] = &stripe.schedules.insert_or_assign(hash, std::move(kept)).first->second.schedule;
    }
    for (std::size_t left = in.size(0); left > 0 && in.good(); --left) {
      std::uint64_t hash = 0;
      std::uint64_t epoch = 0;
      in.number(hash);
      in.number(epoch);
      with_slots.insert({hash, epoch});
    }
  }
  std::vector<ReservationId> bound;
  for (std::size_t i = 0; i < shelves_.size(); ++i) {
    for (std::size_t left = in.size(0); left > 0 && in.good(); --left) {
      ReservationId id;
      Record record;
      in.number(id.high);
      in.number(id.low);
      in.time(record.moment);
      in.time(record.until);
      in.flag(record.held);
      in.flag(record.bound);
      in.length(record.longest);
      store::transfer(in, record.parts, [&](Part& part) { transfer(in, part); });
      if (!in.good()) continue;
      std::uint64_t moved = 0;
      std::erase_if(record.parts, [&](Part& part) {
        if (part.is_slot) return !with_slots.contains({part.hash, part.epoch});
        if (part.is_window) {
          part.epoch = 0;
          return core::ahead_of(part.own.end, now) == 0;
        }
        const auto found = known.find({part.hash, part.epoch});
        if (found == known.end() || !found->second->knows(part.own)) return true;
        part.epoch = found->second->epoch();
        found->second->name_hold(part.own, id);
        moved = std::max(moved, found->second->moved_by_pauses(part.own));
        return false;
      });
      record.due = record.until + nanoseconds{static_cast<std::int64_t>(moved)};
      if (record.parts.empty() || record.due <= now) continue;
      if (!take_memory(record)) continue;
      for (Part& part : record.parts) {
        if (!part.is_slot) continue;
        Stripe& stripe = stripe_of(part.hash);
        const Held lock(stripe.mutex);
        KeySlots& slots = make_slots(stripe, part.hash, part.limit);
        part.epoch = slots.epoch();
        slots.take(id, record.due);
      }
      if (record.bound && !connections_go_on) bound.push_back(id);
      put_back(id, std::move(record), now);
    }
  }
  while (in.good() && !in.at_end()) {
    std::uint64_t key = 0;
    nanoseconds forgotten{0};
    in.number(key);
    in.time(forgotten);
    if (in.good()) penalties_.keep(key, forgotten, now);
  }
  for (const ReservationId id : bound) end(id, now);
  return in.good() && in.at_end();
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
  shelf.due.insert({record.due, id});
  shelf.records.insert_or_assign(id, std::move(record));
  open_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir::store
