#include "store/reservations.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "core/calendar_window.hpp"
#include "core/moment.hpp"
#include "core/reservation.hpp"
#include "store/check_rules.hpp"
#include "store/penalty.hpp"
#include "store/scheduled.hpp"
#include "store/settlement.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

// Of a key; what its schedules are found by.
std::uint64_t schedule_key(std::uint64_t hash) { return Segments::hash_of(Segments::place_of(hash)); }

bool looks(std::span<const Check> checks) {
  return std::all_of(checks.begin(), checks.end(), [](const Check& each) { return each.cost.units == 0; });
}

ReservationMemory::Kind kind_of(const ReservationTerms& asked) {
  return asked.hold.count() != 0 ? ReservationMemory::Kind::hold : ReservationMemory::Kind::wait;
}

}  // namespace

// In ascending order, so that two threads cannot wait for each other.
class Reservations::Locked {
 public:
  template <class Hashes>
  Locked(Reservations& reservations, const Hashes& hashes) : reservations_(reservations) {
    for (const auto& each : hashes) wanted_ |= std::uint64_t{1} << (each.hash >> 58);
    each([](Stripe& stripe) WEIR_NOT_ANALYSED { stripe.mutex.lock(); });
  }
  ~Locked() {
    each([](Stripe& stripe) WEIR_NOT_ANALYSED { stripe.mutex.unlock(); });
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  void clear_away(nanoseconds now) {
    each([&](Stripe& stripe) {
      stripe.mutex.assert_held();
      reservations_.clear_away(stripe, now);
    });
  }

 private:
  template <class Call>
  void each(const Call& call) {
    for (std::uint64_t left = wanted_; left != 0; left &= left - 1)
      call(reservations_.stripes_[static_cast<std::size_t>(std::countr_zero(left))]);
  }

  Reservations& reservations_;
  std::uint64_t wanted_ = 0;
};

// A schedule while something is done with it, under its lock. What it then has lost or gained is counted.
class Reservations::Used {
 public:
  Used(Reservations& book, Schedule& schedule, std::uint64_t hash)
      : book_(book), schedule_(schedule), place_(Table::place_of(hash)), holes_(schedule.holes()) {}
  ~Used() {
    book_.holes_.fetch_add(schedule_.holes() - holes_, std::memory_order_relaxed);
    book_.lost_holes_.fetch_add(schedule_.take_lost(), std::memory_order_relaxed);
    book_.settled_lost_units_.fetch_add(schedule_.take_lost_units(), std::memory_order_relaxed);
  }
  Used(const Used&) = delete;
  Used& operator=(const Used&) = delete;

  Schedule* operator->() { return &schedule_; }
  // The key's state, if it is still the one that the schedule knows; otherwise the schedule has lost it.
  core::TwoWords state(nanoseconds now) {
    before_ = book_.table_.state_of(place_);
    knows_ = is_scheduled(before_, now);
    if (!knows_) schedule_.lose();
    return without_schedule(before_);
  }
  // By these numbers, which may be others than those that a pause has left it by.
  core::TwoWords state(const QuotaNumbers& numbers, nanoseconds now) {
    const core::TwoWords before = state(now);
    const core::TwoWords after = counted_by(numbers, before);
    if (after != before) schedule_.lose();
    return after;
  }
  core::TwoWords counted_by(const QuotaNumbers& numbers, core::TwoWords state) const {
    return knows_ ? schedule_.counted_by(numbers, state) : state;
  }
  // False when another thread has found that state drained, and has taken its place.
  bool set(core::TwoWords after, nanoseconds now) {
    after.word |= before_.word & kScheduled;
    if (after == before_) return true;
    schedule_.wrote(now);
    return book_.table_.exchange(place_, before_, after);
  }

 private:
  Reservations& book_;
  Schedule& schedule_;
  Table::Place place_;
  std::size_t holes_;
  core::TwoWords before_{};
  bool knows_ = false;
};

struct Reservations::Draft {
  ReservationMemory::Kind kind;
  std::vector<Part> parts{};
  ReservationMemory::Share share{};
  Shares shares{};  // of schedules that are there
  ReservationMemory::Full full = ReservationMemory::Full::no;
  bool would_wait = false;            // and there is no memory for that
  std::vector<std::uint64_t> made{};  // the hashes of schedules that were made for it
};

Reservations::Reservations(Table& table, std::size_t memory, const core::Random& random,
                           std::size_t penalty_memory)
    : table_(table), memory_(memory), penalties_(penalty_memory), ids_(random(), random()) {
  table.set_schedules(this);
}

Reservations::~Reservations() { table_.set_schedules(nullptr); }

Reservations::KeySchedule* Reservations::find_kept(Stripe& stripe, std::uint64_t hash) {
  const auto found = stripe.schedules.find(schedule_key(hash));
  return found != stripe.schedules.end() ? &found->second : nullptr;
}

Schedule* Reservations::find_schedule(Stripe& stripe, std::uint64_t hash) {
  KeySchedule* const kept = find_kept(stripe, hash);
  return kept != nullptr ? &kept->schedule : nullptr;
}

Schedule* Reservations::find_schedule(std::uint64_t hash) {
  Stripe& stripe = stripe_of(hash);
  stripe.mutex.assert_held();
  return find_schedule(stripe, hash);
}

Reservations::KeySchedule* Reservations::find_kept(std::uint64_t hash) {
  Stripe& stripe = stripe_of(hash);
  stripe.mutex.assert_held();
  return find_kept(stripe, hash);
}

Schedule* Reservations::find_schedule(const Part& part) {
  Schedule* const schedule = find_schedule(part.hash);
  return schedule != nullptr && schedule->epoch() == part.epoch ? schedule : nullptr;
}

Schedule* Reservations::make_schedule(std::uint64_t hash, nanoseconds until, ReservationMemory::Share share) {
  Stripe& stripe = stripe_of(hash);
  stripe.mutex.assert_held();
  const std::uint64_t epoch = epochs_.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto [made, is_new] = stripe.schedules.try_emplace(
      schedule_key(hash), KeySchedule{Schedule(epoch, &memory_), std::move(share)});
  stripe.due.emplace(until, schedule_key(hash));
  made->second.schedule.keep_until(until);
  made->second.schedule.add_fixed_moment(stripe.fixed_until);
  return &made->second.schedule;
}

Schedules Reservations::find_schedules(std::span<const Check> checks) {
  Schedules schedules{};
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (core::can_reserve(checks[i].limit->rule.algorithm)) schedules[i] = find_schedule(checks[i].hash);
  return schedules;
}

void Reservations::unmake(std::span<const std::uint64_t> schedules) {
  for (const std::uint64_t hash : schedules) {
    Stripe& stripe = stripe_of(hash);
    stripe.mutex.assert_held();
    stripe.schedules.erase(hash);
  }
}

void Reservations::clear_away(Stripe& stripe, nanoseconds now) {
  while (!stripe.due.empty() && stripe.due.begin()->first <= now) {
    const std::uint64_t hash = stripe.due.begin()->second;
    stripe.due.erase(stripe.due.begin());
    const auto found = stripe.schedules.find(hash);
    if (found == stripe.schedules.end()) continue;
    if (found->second.schedule.until() > now) {
      stripe.due.emplace(found->second.schedule.until(), hash);
      continue;
    }
    Used(*this, found->second.schedule, hash)->has_holes(now);
    holes_.fetch_sub(found->second.schedule.holes(), std::memory_order_relaxed);
    stripe.schedules.erase(found);
  }
}

void Reservations::clear_away(Shelf& shelf, nanoseconds now) {
  const std::uint64_t pauses = pauses_.load(std::memory_order_relaxed);
  while (!shelf.due.empty() && shelf.due.front().first <= now) {
    const auto [due, id] = shelf.due.front();
    shelf.due.erase(shelf.due.begin());
    const auto found = shelf.records.find(id);
    if (found == shelf.records.end()) continue;
    if (found->second.pauses != pauses) {
      shelf.moved.push_back(id);
      continue;
    }
    if (found->second.held) {
      holds_expired_.fetch_add(1, std::memory_order_relaxed);
    } else {
      if (shelf.acted.size() == kMostTold) shelf.acted.pop_front();
      shelf.acted.emplace_back(due + kTold, id);
    }
    shelf.records.erase(found);
    open_.fetch_sub(1, std::memory_order_relaxed);
  }
  while (!shelf.acted.empty() && shelf.acted.front().first <= now) shelf.acted.pop_front();
}

// Those that would be over had no pause moved them. Under no lock: schedules come before shelves.
void Reservations::look_for_moved(Shelf& shelf, nanoseconds now) {
  std::vector<ReservationId> ids;
  {
    const Held lock(shelf.mutex);
    clear_away(shelf, now);
    ids.swap(shelf.moved);
  }
  if (ids.empty()) return;
  for (const ReservationId& id : ids) move_due(id, now);
  const Held lock(shelf.mutex);
  clear_away(shelf, now);
}

// To where pauses have moved its end. Under no lock.
void Reservations::move_due(ReservationId id, nanoseconds now) {
  const std::uint64_t pauses = pauses_.load(std::memory_order_relaxed);
  const auto record = copy_record(id, now);
  if (!record || (record->pauses == pauses && record->due > now)) return;
  const Locked locked(*this, record->parts);
  const nanoseconds by = moved(*record);
  Shelf& shelf = shelf_of(id);
  const Held lock(shelf.mutex);
  const auto found = shelf.records.find(id);
  if (found == shelf.records.end()) return;
  found->second.pauses = pauses;
  set_due(shelf, id, found->second, found->second.until + by);
}

// Under the locks of its stripes, too.
void Reservations::set_due(Shelf& shelf, ReservationId id, Record& record, nanoseconds due) {
  if (const auto at = shelf.due.find_from({record.due, id});
      !shelf.due.is_end(at) && shelf.due[at].second == id)
    shelf.due.erase(at);
  for (const Part& part : record.parts)
    if (free_slot(part, id, record.due)) {
      Stripe& stripe = stripe_of(part.hash);
      stripe.mutex.assert_held();
      make_slots(stripe, part.hash, part.limit).take(id, due);
    }
  record.due = due;
  shelf.due.insert({due, id});
}

// How far pauses have moved it, at the key where that is furthest; under the locks of its stripes.
nanoseconds Reservations::moved(const Record& record) {
  std::uint64_t longest = 0;
  for (const Part& part : record.parts)
    if (const Schedule* const schedule = find_schedule(part))
      longest = std::max(longest, schedule->moved_by_pauses(part.own));
  return nanoseconds{static_cast<std::int64_t>(longest)};
}

// When it acts, the latest of its keys' moments; nothing when that has come. Under the locks of its stripes.
std::optional<nanoseconds> Reservations::moment_of(const Record& record, nanoseconds now) {
  std::optional<nanoseconds> latest;
  for (const Part& part : record.parts) {
    Schedule* const schedule = find_schedule(part);
    const auto moment = schedule != nullptr ? schedule->moment_of(part.own, now) : std::nullopt;
    if (moment && (!latest || *moment > *latest)) latest = moment;
  }
  return latest;
}

void Reservations::clear_away_all(nanoseconds now) {
  for (Stripe& stripe : stripes_) {
    const Held lock(stripe.mutex);
    clear_away(stripe, now);
  }
  for (Shelf& shelf : shelves_) look_for_moved(shelf, now);
}

KeySlots* Reservations::find_slots(Stripe& stripe, std::uint64_t hash) {
  const auto found = stripe.slots.find(schedule_key(hash));
  return found != stripe.slots.end() ? &found->second : nullptr;
}

// Under the lock of its stripe, as are those without a stripe.
KeySlots* Reservations::find_slots(std::uint64_t hash) {
  Stripe& stripe = stripe_of(hash);
  stripe.mutex.assert_held();
  return find_slots(stripe, hash);
}

KeySlots& Reservations::make_slots(Stripe& stripe, std::uint64_t hash, std::uint64_t limit) {
  if (KeySlots* const slots = find_slots(stripe, hash)) return *slots;
  const std::uint64_t epoch = epochs_.fetch_add(1, std::memory_order_relaxed) + 1;
  return stripe.slots.try_emplace(schedule_key(hash), epoch, limit).first->second;
}

bool Reservations::has_slot(const Part& part, ReservationId id, nanoseconds end) {
  const KeySlots* const slots = part.is_slot ? find_slots(part.hash) : nullptr;
  return slots != nullptr && slots->has(id, end);
}

bool Reservations::free_slot(Stripe& stripe, std::uint64_t hash, ReservationId id, nanoseconds end) {
  KeySlots* const slots = find_slots(stripe, hash);
  if (slots == nullptr || !slots->free(id, end)) return false;
  freed_(schedule_key(hash));
  if (slots->open() == 0) stripe.slots.erase(schedule_key(hash));
  return true;
}

bool Reservations::free_slot(const Part& part, ReservationId id, nanoseconds end) {
  if (!part.is_slot) return false;
  Stripe& stripe = stripe_of(part.hash);
  stripe.mutex.assert_held();
  return free_slot(stripe, part.hash, id, end);
}

// The slots of a key to where pauses have moved the ends of their holds, by the schedules of other keys.
// Under no lock. Costs as many as there are, once after a pause.
void Reservations::move_slots(std::uint64_t hash, nanoseconds now) {
  const std::uint64_t pauses = pauses_.load(std::memory_order_relaxed);
  std::vector<std::pair<ReservationId, nanoseconds>> open;
  Stripe& stripe = stripe_of(hash);
  {
    const Held lock(stripe.mutex);
    const KeySlots* const slots = find_slots(stripe, hash);
    if (slots == nullptr || slots->pauses == pauses) return;
    slots->find_ended(nanoseconds::max(), open);
  }
  for (const auto& each : open) move_due(each.first, now);
  const Held lock(stripe.mutex);
  if (KeySlots* const slots = find_slots(stripe, hash)) slots->pauses = pauses;
}

// Slots whose holds their time has ended. Under no lock.
void Reservations::free_ended(std::uint64_t hash, nanoseconds now) {
  move_slots(hash, now);
  std::vector<std::pair<ReservationId, nanoseconds>> ended;
  Stripe& stripe = stripe_of(hash);
  const auto find = [&] {
    const Held lock(stripe.mutex);
    ended.clear();
    if (const KeySlots* const slots = find_slots(stripe, hash)) slots->find_ended(now, ended);
  };
  find();
  if (ended.empty()) return;
  for (const auto& [id, end] : ended) look_for_moved(shelf_of(id), now);
  find();
  for (const auto& [id, end] : ended) {
    {
      Shelf& shelf = shelf_of(id);
      const Held lock(shelf.mutex);
      const auto found = shelf.records.find(id);
      if (found != shelf.records.end() && found->second.due > now) continue;
    }
    const Held lock(stripe.mutex);
    free_slot(stripe, hash, id, end);
  }
}

void Reservations::free_ended(std::span<const Check> checks, nanoseconds now) {
  for (const Check& check : checks)
    if (core::counts_slots(check.limit->rule.algorithm)) free_ended(check.hash, now);
}

// What there is of slots, at each check of them. Under the locks of their stripes.
void Reservations::decide_slots(std::span<Check> checks, nanoseconds now) {
  for (Check& check : checks) {
    const core::Rule& rule = check.limit->rule;
    if (!core::counts_slots(rule.algorithm)) continue;
    const KeySlots* const slots = find_slots(check.hash);
    const std::int64_t most = rule.quota.burst() - core::kept_slots(rule);
    const FreeSlots free = slots != nullptr ? slots->find_free(most, now) : FreeSlots{};
    check.decision = free.decide(rule.quota.burst(), most, check.cost.units != 0);
  }
}

void Reservations::look(Request& request, nanoseconds now) {
  free_ended(request.checks, now);
  const Locked locked(*this, request.checks);
  look_all(request.checks, now);
  decide_slots(request.checks, now);
  request.by = deciding(request.checks);
}

void Reservations::look(std::span<Check> checks, nanoseconds now) {
  const Locked locked(*this, checks);
  look_all(checks, now);
}

// Under the locks of their stripes.
void Reservations::look_all(std::span<Check> checks, nanoseconds now) {
  table_.look_all(checks, now, find_schedules(checks));
}

bool Reservations::check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now,
                             Charging* charging, TakeTerms* taking) {
  Locked locked(*this, checks);
  locked.clear_away(now);
  return table_.check_all(checks, arrived, now, find_schedules(checks), charging, taking);
}

void Reservations::reserve(Request& request, Arrival when) {
  if (has_slots(request.checks)) {
    if (looks(request.checks)) return look_at_slots(request, when.now);
    free_ended(request.checks, when.now);
  }
  reserve_rates(request, when);
}

// One that costs nothing.
void Reservations::look_at_slots(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.id.clear();
  look(request, now);
  request.charged = request.decision().allowed();
  asked.wait = request.charged ? nanoseconds{0} : request.decision().retry_after.value_or(nanoseconds{-1});
}

void Reservations::reserve_rates(Request& request, Arrival when) {
  ReservationTerms& asked = *request.reservation;
  asked.id.clear();
  asked.wait = nanoseconds{0};
  if ((asked.hold.count() == 0 || looks(request.checks)) && reserve_now(request, when)) return;
  reserve_later(request, when);
}

// As a plain check; false when that was denied and its moment may be soon enough.
bool Reservations::reserve_now(Request& request, Arrival when) {
  Check& first = request.checks[0];
  if (request.checks.size() == 1 && first.is_plain()) {
    // Built in its place: an assignment would copy it (core::StepOf).
    new (&first.decision)
        Decision(table_.check(Table::place_of(first.hash), *first.limit, first.cost, when.arrived, when.now));
    request.charged = first.decision.allowed();
  } else {
    request.charged = table_.check_all(request.checks, when.arrived, when.now);
    request.by = deciding(request.checks);
  }
  const Decision& decision = request.decision();
  if (decision.allowed()) return true;
  ReservationTerms& asked = *request.reservation;
  asked.wait = decision.retry_after.value_or(nanoseconds{-1});
  if (!decision.retry_after) return true;
  // What others have settled may be there to act now.
  return asked.max_wait.count() == 0 &&
         (request.checks.size() != 1 || holes_.load(std::memory_order_relaxed) == 0);
}

void Reservations::reserve_later(Request& request, Arrival when) {
  Draft asked{kind_of(*request.reservation)};
  make_room(request.reservation->client, bytes_of(request) + request.checks.size() * Schedule::kBytes,
            asked.kind, when.now);
  Locked locked(*this, request.checks);
  locked.clear_away(when.now);
  if (!take_memory(request, asked, when.now)) return;
  decide(request, when, asked);
  ReservationTerms& reservation = *request.reservation;
  if (request.charged && (reservation.wait.count() != 0 || reservation.hold.count() != 0))
    return keep(request, asked, when.now);
  unmake(asked.made);
  if (asked.would_wait) refuse_full(request, asked.full, asked.kind);
}

// Of one reservation, beside its schedules.
std::size_t Reservations::bytes_of(const Request& request) {
  const bool holds = kind_of(*request.reservation) == ReservationMemory::Kind::hold;
  std::size_t bytes = kRecordBytes;
  for (const Check& check : request.checks)
    bytes += bytes_of(core::counts_slots(check.limit->rule.algorithm), holds);
  return bytes;
}

// Of one part.
std::size_t Reservations::bytes_of(bool is_slot, bool holds) {
  if (is_slot) return kPartBytes + KeySlots::kBytes;
  return kPartBytes + Schedule::kMomentBytes + (holds ? Schedule::kHoldBytes : 0);
}

// What is over elsewhere keeps its memory until somebody needs it. Under no lock.
void Reservations::make_room(std::uint64_t client, std::size_t bytes, ReservationMemory::Kind kind,
                             nanoseconds now) {
  if (!memory_.take(client, bytes, kind)) return clear_away_all(now);
  if (pauses_.load(std::memory_order_relaxed) != 0)
    look_for_moved(shelves_[looked_.fetch_add(1, std::memory_order_relaxed) % kStripes], now);
}

// What is to be kept until then at the latest: the memory of each key's schedule that would be kept so long
// for it alone, or that only one who waits has kept. Under the locks of their stripes.
ReservationMemory::Full Reservations::take_schedules(std::span<const Check> checks, nanoseconds until,
                                                     std::uint64_t client, ReservationMemory::Kind kind,
                                                     Shares& shares) {
  auto full = ReservationMemory::Full::no;
  for (std::size_t i = 0; i < checks.size() && full == ReservationMemory::Full::no; ++i) {
    if (!core::can_reserve(checks[i].limit->rule.algorithm)) continue;
    const KeySchedule* const kept = find_kept(checks[i].hash);
    if (kept != nullptr && (kept->share.is_of(client, kind) || !outlasts(*kept, until, kind))) continue;
    shares[i] = memory_.take(client, Schedule::kBytes, kind, full);
  }
  return full;
}

bool Reservations::outlasts(const KeySchedule& kept, nanoseconds until, ReservationMemory::Kind kind) {
  using Kind = ReservationMemory::Kind;
  return kept.schedule.until() < until || (kind == Kind::hold && kept.share.kind() == Kind::wait);
}

// Before anything is charged. Without it, one without a hold may still act now; false for others.
bool Reservations::take_memory(Request& request, Draft& asked, nanoseconds now) {
  const ReservationTerms& reservation = *request.reservation;
  asked.share = memory_.take(reservation.client, bytes_of(request), asked.kind, asked.full);
  if (asked.share) {
    const nanoseconds most = nanoseconds::max() - now - reservation.hold;
    asked.full = take_schedules(request.checks, now + std::min(reservation.max_wait, most) + reservation.hold,
                                reservation.client, asked.kind, asked.shares);
  }
  if (asked.full != ReservationMemory::Full::no) {
    asked.share = {};
    asked.shares = {};
    if (asked.kind == ReservationMemory::Kind::wait) return true;
    refuse_full(request, asked.full, asked.kind);
    return false;
  }
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const std::uint64_t hash = request.checks[i].hash;
    if (!asked.shares[i] || find_schedule(hash) != nullptr) continue;
    make_schedule(hash, now, std::move(asked.shares[i]));
    asked.made.push_back(schedule_key(hash));
  }
  return true;
}

// Of one of a snapshot. Without it, it ends as it does when its time is over: what it was charged stays.
bool Reservations::take_memory(Record& record) {
  using Kind = ReservationMemory::Kind;
  std::size_t bytes = kRecordBytes;
  for (const Part& part : record.parts) bytes += bytes_of(part.is_slot, record.held);
  record.share = memory_.take(0, bytes, record.held ? Kind::hold : Kind::wait);
  if (record.share) return true;
  not_restored_.fetch_add(1, std::memory_order_relaxed);
  const Locked locked(*this, record.parts);
  for (const Part& part : record.parts)
    if (Schedule* const schedule = find_schedule(part)) schedule->end_hold(part.own);
  return false;
}

void Reservations::refuse_full(Request& request, ReservationMemory::Full full, ReservationMemory::Kind kind) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  refuse(request, memory_.describe(full, kind));
}

void Reservations::decide(Request& request, Arrival when, Draft& asked) {
  ReservationTerms& reservation = *request.reservation;
  if (!slots_fit(request, when.now)) {
    request.charged = false;
    return;
  }
  const Schedules schedules = find_schedules(request.checks);
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    if (schedules[i] == nullptr) continue;
    const Check& check = request.checks[i];
    const QuotaNumbers numbers(check.limit->rule.quota);
    Used used(*this, *schedules[i], check.hash);
    used.state(numbers, when.now);
    used->count_by(numbers);
  }
  if (!holds_fit(request, when.now, schedules)) {
    request.charged = false;
    return;
  }
  if (take_hole(request, when.now, schedules, asked)) return;
  JointReservation reserving{.max_wait = reservation.max_wait,
                             .keeps = static_cast<bool>(asked.share),
                             .holds = reservation.hold.count() != 0};
  request.charged = table_.reserve_all(request.checks, when.arrived, when.now, schedules, reserving);
  request.by = reserving.by;
  reservation.wait = reserving.wait;
  asked.would_wait = reserving.would_wait;
  for (std::size_t i = 0; request.charged && i < request.checks.size(); ++i) {
    const Check& check = request.checks[i];
    const core::Charge& charge = reserving.charges[i];
    if (charge.after.until == 0 || check.cost.units == 0) continue;
    if (core::counts_at_grant(check.limit->rule.algorithm)) {
      asked.parts.push_back(part_of_window(check, charge));
    } else if (schedules[i] != nullptr) {
      const Quota& quota = check.limit->rule.quota;
      asked.parts.push_back({schedule_key(check.hash), schedules[i]->epoch(), quota,
                             schedules[i]->append(charge, check.cost.units, QuotaNumbers(quota), when.now),
                             check.limit->holding.settles, check.shadow, check.limit->holding.by_actual,
                             check.limit->id});
    }
  }
  if (has_slots(request.checks)) take_slots(request, when.now, asked);
}

Reservations::Part Reservations::part_of_window(const Check& check, const core::Charge& charge) {
  Stripe& stripe = stripe_of(check.hash);
  stripe.mutex.assert_held();
  Part part{.hash = check.hash,
            .epoch = stripe.resets,
            .quota = check.limit->rule.quota,
            .settles = check.limit->holding.settles,
            .shadow = check.shadow,
            .by_actual = check.limit->holding.by_actual,
            .limit = check.limit->id,
            .is_window = true};
  part.own.count = check.cost.units;
  part.own.end = charge.after.until;
  if (const core::Calendar* const calendar = check.limit->rule.calendar) {
    part.is_dated = true;
    part.own.number = core::calendar_window::id_of(charge.after.word);
    part.own.end -= static_cast<std::uint64_t>(core::calendar_window::kept_for(calendar->unit()).count());
  }
  return part;
}

// To the window in which they were counted, while that runs: its state then, or nothing. A reset of any key
// of the stripe keeps them: they may have been forgotten.
std::optional<core::TwoWords> Reservations::give_back(const Part& window, std::uint64_t units,
                                                      nanoseconds now) {
  Stripe& stripe = stripe_of(window.hash);
  stripe.mutex.assert_held();
  if (window.epoch != stripe.resets || core::ahead_of(window.own.end, now) == 0) return std::nullopt;
  return table_.give_back_in_window(Table::place_of(window.hash), units, now);
}

// What is used of a window of the calendar, while it runs and its state counts it: what that becomes, or
// nothing. Checks of the key may come in between.
template <class Change>
std::optional<std::uint64_t> Reservations::change_dated(const Part& window, nanoseconds now,
                                                        const Change& change) {
  using core::calendar_window::id_of, core::calendar_window::used_of;
  const auto place = Table::place_of(window.hash);
  while (core::ahead_of(window.own.end, now) != 0) {
    const core::TwoWords before = table_.state_of(place);
    if (core::ahead_of(before.until, now) == 0 || id_of(before.word) != window.own.number) break;
    const std::uint64_t used = change(used_of(before.word));
    if (table_.exchange(place, before,
                        {before.until, core::calendar_window::word_of(window.own.number, used)}))
      return used;
  }
  return std::nullopt;
}

// Of one whose rates are decided: it is told of its slots, which are in its parts where it is granted.
void Reservations::take_slots(Request& request, nanoseconds now, Draft& asked) {
  decide_slots(request.checks, now);
  if (!request.charged) return;
  for (Check& check : request.checks) {
    if (!takes_slot(check) || !check.decision.allowed()) continue;
    Part& part = asked.parts.emplace_back();
    part.hash = schedule_key(check.hash);
    part.own.count = 1;
    part.by_actual = false;
    part.shadow = check.shadow;
    part.limit = check.limit->id;
    part.is_slot = true;
    --check.decision.remaining;
    check.decision.reset_after =
        std::max(check.decision.reset_after, request.reservation->wait + request.reservation->hold);
  }
  if (request.reservation->wait.count() == 0) request.by = deciding(request.checks);
}

// Whether there is a slot at each key. Otherwise it is denied for as long as its slots or its rates ask for.
bool Reservations::slots_fit(Request& request, nanoseconds now) {
  if (!has_slots(request.checks)) return true;
  decide_slots(request.checks, now);
  if (std::all_of(request.checks.begin(), request.checks.end(), [](const Check& each) {
        return each.shadow || !core::counts_slots(each.limit->rule.algorithm) || each.decision.allowed();
      }))
    return true;
  look_all(request.checks, now);
  decide_slots(request.checks, now);
  const std::span<Check> checks = request.checks;
  ReservationTerms& asked = *request.reservation;
  const Busy busy = longest_of(
      checks.size(), asked.max_wait, [&](std::size_t i) -> auto& { return checks[i].limit->rule; },
      [&](std::size_t i) { return checks[i].shadow ? nullptr : &checks[i].decision; });
  asked.wait = busy.wait;
  request.by = busy.by;
  if (busy.wait.count() > 0) checks[busy.by].decision.retry_after = busy.wait;
  return false;
}

// Of one that is to be held: whether each of its limits has room for another open hold. Otherwise it is
// denied for as long as its holds or its rates ask for.
bool Reservations::holds_fit(Request& request, nanoseconds now, const Schedules& schedules) {
  ReservationTerms& asked = *request.reservation;
  if (asked.hold.count() == 0) return true;
  const std::span<Check> checks = request.checks;
  Busy full;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    const Holding& holding = check.limit->holding;
    if (!holding.settles || check.shadow || schedules[i] == nullptr) continue;
    const nanoseconds wait = schedules[i]->until_hold_fits(check.cost.units, holding.at_most, now);
    if (wait.count() == 0 || full.wait.count() < 0 || (wait.count() > 0 && wait <= full.wait)) continue;
    full = {wait, static_cast<std::uint8_t>(i)};
  }
  asked.full_for = full.wait;
  asked.full_by = full.by;
  if (full.wait.count() == 0) return true;
  look_all(checks, now);
  decide_slots(checks, now);
  full = longest_of(
      checks.size(), asked.max_wait, [&](std::size_t i) -> auto& { return checks[i].limit->rule; },
      [&](std::size_t i) { return checks[i].shadow ? nullptr : &checks[i].decision; }, full);
  request.by = full.by;
  Decision& decision = checks[full.by].decision;
  decision.verdict = full.wait.count() < 0 ? Verdict::never : Verdict::denied;
  decision.retry_after = full.wait.count() < 0 ? std::nullopt : std::optional(full.wait);
  asked.wait = full.wait;
  return false;
}

// A moment that somebody gave up, unless the request's own would be earlier.
bool Reservations::take_hole(Request& request, nanoseconds now, const Schedules& schedules, Draft& asked) {
  Check& check = request.checks[0];
  const core::Rule& rule = check.limit->rule;
  if (request.checks.size() != 1 || schedules[0] == nullptr || !check.is_plain() || !core::may_wait(rule))
    return false;
  Used used(*this, *schedules[0], check.hash);
  if (!used->has_holes(now)) return false;
  look_all(request.checks, now);
  if (check.decision.verdict != Verdict::denied || !check.decision.retry_after) return false;
  ReservationTerms& reservation = *request.reservation;
  const nanoseconds latest = now + std::min(*check.decision.retry_after, reservation.max_wait);
  if (!asked.share && latest > now) return false;
  const auto taken = used->take_hole(check.cost.units, now, latest);
  if (!taken) return false;
  used->read(now);
  check.decision.verdict = Verdict::allowed;
  check.decision.retry_after.reset();
  request.charged = true;
  request.by = 0;
  reservation.wait = taken->moment - now;
  asked.parts.push_back({schedule_key(check.hash), used->epoch(), rule.quota, taken->own,
                         check.limit->holding.settles, false, check.limit->holding.by_actual,
                         check.limit->id});
  return true;
}

void Reservations::keep(Request& request, Draft& asked, nanoseconds now) {
  ReservationTerms& reservation = *request.reservation;
  const nanoseconds moment = now + reservation.wait;
  const nanoseconds until = moment + reservation.hold;
  // With several, what moves up at one of them is not the moment.
  const bool moves_up = reservation.moves_up &&
                        std::count_if(asked.parts.begin(), asked.parts.end(),
                                      [](const Part& part) { return !part.is_slot && !part.is_window; }) == 1;
  const ReservationId id = ids_.next();
  nanoseconds longest = kLongestExtension;
  for (const Check& check : request.checks)
    if (check.limit->holding.settles && !check.shadow)
      longest = std::min(longest, check.limit->holding.longest);
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    if (!asked.shares[i]) continue;
    KeySchedule& kept = *find_kept(request.checks[i].hash);
    if (outlasts(kept, until, asked.kind)) kept.share = std::move(asked.shares[i]);
  }
  for (Part& part : asked.parts) {
    if (part.is_slot) {
      Stripe& stripe = stripe_of(part.hash);
      stripe.mutex.assert_held();
      KeySlots& slots = make_slots(stripe, part.hash, part.limit);
      part.epoch = slots.epoch();
      slots.take(id, until);
      continue;
    }
    if (part.is_window) continue;
    Schedule& schedule = *find_schedule(part.hash);
    schedule.keep_until(until);
    schedule.keep_until_drained(part.own.end);
    if (moment > now) schedule.add_moment(part.own, moment, now);
    if (!moves_up) schedule.keep_moment(moment);
    if (reservation.hold.count() != 0 && part.settles && !part.shadow)
      schedule.hold(part.own, until, now, id);
  }
  put_back(
      id,
      {moment, until, std::move(asked.parts), std::move(asked.share), pauses_.load(std::memory_order_relaxed),
       until, reservation.hold.count() != 0, reservation.bound, longest, moves_up, reservation.address},
      now);
  reservation.id = id.text();
}

// Without its share of the memory.
std::optional<Reservations::Record> Reservations::copy_record(ReservationId id, nanoseconds now) {
  Shelf& shelf = shelf_of(id);
  const Held lock(shelf.mutex);
  clear_away(shelf, now);
  const auto found = shelf.records.find(id);
  if (found == shelf.records.end()) return std::nullopt;
  const Record& record = found->second;
  return Record{record.moment, record.until,   record.parts,   {}, record.pauses, record.due, record.held,
                record.bound,  record.longest, record.moves_up};
}

std::optional<Reservations::Record> Reservations::take_record(ReservationId id, nanoseconds now) {
  Shelf& shelf = shelf_of(id);
  const Held lock(shelf.mutex);
  clear_away(shelf, now);
  const auto found = shelf.records.find(id);
  if (found == shelf.records.end()) return std::nullopt;
  Record record = std::move(found->second);
  if (const auto due = shelf.due.find_from({record.due, id});
      !shelf.due.is_end(due) && shelf.due[due].second == id)
    shelf.due.erase(due);
  shelf.records.erase(found);
  open_.fetch_sub(1, std::memory_order_relaxed);
  return record;
}

void Reservations::moment(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.wait = nanoseconds{-1};
  const auto id = ReservationId::read(asked.id);
  if (!id) return;
  Shelf& shelf = shelf_of(*id);
  look_for_moved(shelf, now);
  const auto record = copy_record(*id, now);
  if (!record) {
    const Held lock(shelf.mutex);
    if (std::any_of(shelf.acted.begin(), shelf.acted.end(),
                    [&id](const auto& each) { return each.second == *id; }))
      asked.wait = nanoseconds{0};
    return;
  }
  const Locked locked(*this, record->parts);
  if (!record->parts.empty() && !is_there(*id, *record)) return;
  asked.wait = moment_of(*record, now).value_or(now) - now;
}

// Whether anything that it charged, or has, is not forgotten. Under the locks of its stripes.
bool Reservations::is_there(ReservationId id, const Record& record) {
  return std::any_of(record.parts.begin(), record.parts.end(), [&](const Part& part) {
    return find_schedule(part) != nullptr || has_slot(part, id, record.due) || part.is_window;
  });
}

void Reservations::extend(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.wait = nanoseconds{0};
  const auto id = ReservationId::read(asked.id);
  if (!id) return;
  Shelf& shelf = shelf_of(*id);
  look_for_moved(shelf, now);
  const auto record = copy_record(*id, now);
  if (!record || !record->held) return;
  const Locked locked(*this, record->parts);
  if (!record->parts.empty() && !is_there(*id, *record)) return;
  const nanoseconds by = moved(*record);
  const nanoseconds from = std::max(now, moment_of(*record, now).value_or(now));
  const nanoseconds end = from + std::min(asked.hold, record->longest);
  const Held lock(shelf.mutex);
  const auto found = shelf.records.find(*id);
  if (found == shelf.records.end()) return;
  found->second.until = end - by;
  set_due(shelf, *id, found->second, end);
  for (const Part& part : record->parts)
    if (Schedule* const schedule = find_schedule(part)) schedule->extend(part.own, end);
  asked.wait = end - now;
}

// With the moment that it was granted. Under no lock.
std::optional<std::pair<nanoseconds, OpenHold>> Reservations::describe_hold(ReservationId id,
                                                                            std::uint64_t cost,
                                                                            nanoseconds now) {
  const auto record = copy_record(id, now);
  if (!record || !record->held) return std::nullopt;
  const Locked locked(*this, record->parts);
  if (!is_there(id, *record)) return std::nullopt;
  const nanoseconds ends = record->until + moved(*record);
  if (ends <= now) return std::nullopt;
  OpenHold told{id.text(), cost, moment_of(*record, now).value_or(now) - now, ends - now};
  Shelf& shelf = shelf_of(id);
  const Held lock(shelf.mutex);
  const auto found = shelf.records.find(id);
  if (found != shelf.records.end()) told.address = found->second.address;
  return std::pair(record->moment, std::move(told));
}

// Before a pause moves anybody: those whose time is over do not move. Under no lock.
void Reservations::look_for_ended(nanoseconds now) {
  if (open_.load(std::memory_order_relaxed) == 0) return;
  for (Shelf& shelf : shelves_) look_for_moved(shelf, now);
}

void Reservations::pause(Request& request, nanoseconds now) {
  constexpr auto kPause = ReservationMemory::Kind::pause;
  ChargeTerms& terms = *request.charge;
  look_for_ended(now);
  make_room(terms.client, request.checks.size() * Schedule::kBytes, kPause, now);
  Charging charging{terms};
  Locked locked(*this, request.checks);
  locked.clear_away(now);
  Shares shares;
  const auto full = take_schedules(request.checks, now + terms.outside.length, terms.client, kPause, shares);
  if (full != ReservationMemory::Full::no) return refuse_full(request, full, kPause);
  pause(request.checks, charging, shares, now);
  charging.tell(request);
}

// Under the locks of their stripes. Of each key there is a schedule, or the share for one.
void Reservations::pause(std::span<Check> checks, Charging& charging, Shares& shares, nanoseconds now) {
  const nanoseconds end = now + charging.terms.outside.length;
  Schedules schedules{};
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    const QuotaNumbers numbers(check.limit->rule.quota);
    if (KeySchedule* const kept = find_kept(check.hash); kept == nullptr) {
      if (end <= now) continue;
      schedules[i] = make_schedule(check.hash, end, std::move(shares[i]));
    } else {
      schedules[i] = &kept->schedule;
      if (shares[i] && kept->schedule.until() < end) kept->share = std::move(shares[i]);
    }
    Used used(*this, *schedules[i], check.hash);
    used.set(used.state(numbers, now), now);
    used->count_by(numbers);
    charging.moved[i] = used->pause(end, now);
    if (charging.moved[i] != 0) pauses_.fetch_add(1, std::memory_order_relaxed);
  }
  table_.check_all(checks, now, now, schedules, &charging);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (schedules[i] == nullptr) continue;
    schedules[i]->paused(table_.state_of(Table::place_of(checks[i].hash)).until, now);
  }
}

void Reservations::penalise(Request& request, nanoseconds now) {
  const auto may_be = [](const Check& check) {
    return may_be_breached(*check.limit, check.shadow, check.decision);
  };
  if (!may_breach(request) || request.fault != Fault::none ||
      std::none_of(request.checks.begin(), request.checks.end(), may_be))
    return;
  {
    const Locked locked(*this, request.checks);
    const auto breaches = [&](const Check& check) { return may_be(check) && is_breached(check, now); };
    if (std::none_of(request.checks.begin(), request.checks.end(), breaches)) return;
  }
  look_for_ended(now);
  make_room(ReservationMemory::kPenalties, Schedule::kBytes, ReservationMemory::Kind::pause, now);
  Locked locked(*this, request.checks);
  locked.clear_away(now);
  bool any = false;
  for (const Check& check : request.checks)
    if (may_be(check) && is_breached(check, now) && penalise(check, now)) any = true;
  if (!any) return;
  std::array<Decision, kMostChecks> before{};
  std::transform(request.checks.begin(), request.checks.end(), before.begin(),
                 [](const Check& check) { return check.decision; });
  look_all(request.checks, now);
  // The others are told what denied them first, which may have been full holds.
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    Check& check = request.checks[i];
    const bool denies = !check.decision.allowed();
    if (!may_be_breached(*check.limit, check.shadow, before[i]) || !denies) check.decision = before[i];
  }
  tell_rest(request);
}

// False when there is no room for its rest: then it does not count as a breach. Under the lock of its stripe.
bool Reservations::penalise(const Check& check, nanoseconds now) {
  const core::PenaltyTerms& penalty = check.limit->penalty;
  Check alone{.limit = check.limit, .key = check.key, .hash = check.hash};
  Shares shares;
  if (take_schedules({&alone, 1}, now + std::max(penalty.time, penalty.most), ReservationMemory::kPenalties,
                     ReservationMemory::Kind::pause, shares) != ReservationMemory::Full::no) {
    pauses_not_kept_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  ChargeTerms terms{.outside = Pause{penalties_.breach(schedule_key(check.hash), penalty, now)}};
  Charging charging{terms};
  pause({&alone, 1}, charging, shares, now);
  return true;
}

// Whether what is owed denies it, and the key does not rest.
bool Reservations::is_breached(const Check& check, nanoseconds now) {
  const Schedule* const schedule = find_schedule(check.hash);
  if (schedule != nullptr && schedule->is_paused(now)) return false;
  Limit whole = *check.limit;
  whole.rule.kept = nanoseconds{0};
  Check alone{.limit = &whole, .key = check.key, .cost = check.cost, .hash = check.hash};
  look_all({&alone, 1}, now);
  return alone.decision.verdict == Verdict::denied && alone.decision.retry_after;
}

void Reservations::refund(Request& request, nanoseconds now) {
  Charging charging{*request.charge};
  Locked locked(*this, request.checks);
  locked.clear_away(now);
  const Schedules schedules = find_schedules(request.checks);
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Check& check = request.checks[i];
    if (!core::can_reserve(check.limit->rule.algorithm)) continue;
    if (schedules[i] != nullptr) {
      const QuotaNumbers numbers(check.limit->rule.quota);
      Used used(*this, *schedules[i], check.hash);
      const std::uint64_t interval = used.state(numbers, now).word;
      charging.least[i] = used->least_after_refund(numbers, interval, now);
      continue;
    }
    // Somebody whose key is not known may wait there.
    Stripe& stripe = stripe_of(check.hash);
    stripe.mutex.assert_held();
    if (stripe.fixed_until > now) charging.least[i] = Schedule::kUnknown;
  }
  table_.check_all(request.checks, now, now, schedules, &charging);
  charging.tell(request);
}

void Reservations::cancel(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.given_back = 0;
  const auto id = ReservationId::read(asked.id);
  auto record = id ? copy_record(*id, now) : std::nullopt;
  if (!record) return;
  // It may have been moved.
  bool is_ahead = record->moment > now;
  if (record->moves_up || record->pauses != pauses_.load(std::memory_order_relaxed) ||
      record->due != record->until) {
    const Locked locked(*this, record->parts);
    const auto is_live = [this](const Part& part) { return find_schedule(part) != nullptr; };
    if (!is_ahead || std::any_of(record->parts.begin(), record->parts.end(), is_live))
      is_ahead = moment_of(*record, now).has_value();
  }
  if (!is_ahead) return;
  record = take_record(*id, now);
  if (!record) return;
  record->share = {};
  Locked locked(*this, record->parts);
  for (const Part& part : record->parts) {
    free_slot(part, *id, record->due);
    if (cancel(part, *record, asked.client, now) && !part.shadow)
      asked.given_back = std::max(asked.given_back, part.own.count);
  }
  // Also where a window has drained since.
  if (asked.given_back == 0 || !asked.tells_changes) return;
  for (const Part& part : record->parts) {
    if (!part.is_slot && !part.shadow)
      asked.changes.push_back({part.limit, part.hash, {}, -static_cast<std::int64_t>(part.own.count)});
  }
}

// The last reservation of a key goes back as if it had never been; any other leaves its moment to the next.
bool Reservations::cancel(const Part& part, const Record& record, std::uint64_t client, nanoseconds now) {
  if (part.is_dated) {
    Stripe& stripe = stripe_of(part.hash);
    stripe.mutex.assert_held();
    const auto less = [&](std::uint64_t used) { return used - std::min(used, part.own.count); };
    return part.epoch == stripe.resets && change_dated(part, now, less);
  }
  if (part.is_window) return give_back(part, part.own.count, now).has_value();
  Schedule* const schedule = find_schedule(part);
  if (schedule == nullptr) return false;
  Used used(*this, *schedule, part.hash);
  core::TwoWords state = used.state(now);
  return used->cancel(part.own, record.moment, now, client, state) && used.set(state, now);
}

void Reservations::settle(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.wait = nanoseconds{-1};
  asked.dropped = 0;
  const auto id = ReservationId::read(asked.id);
  if (!id) return;
  std::vector<std::uint64_t> costs;  // by part
  std::optional<std::string> why;
  std::optional<Record> refused;
  if (pauses_.load(std::memory_order_relaxed) != 0) look_for_moved(shelf_of(*id), now);
  {
    Shelf& shelf = shelf_of(*id);
    const Held lock(shelf.mutex);
    clear_away(shelf, now);
    const auto found = shelf.records.find(*id);
    if (found == shelf.records.end()) return;
    why = settle_parts(found->second, asked, costs);
    if (why) {
      refused.emplace().parts = found->second.parts;
      refused->due = found->second.due;
    }
  }
  if (why) {
    // Unless all that it charged has been forgotten since: then there is none.
    const Locked locked(*this, refused->parts);
    return is_there(*id, *refused) ? refuse(request, *std::move(why)) : void();
  }
  const auto record = take_record(*id, now);
  if (!record) return;
  Locked locked(*this, record->parts);
  const nanoseconds moment = moment_of(*record, now).value_or(std::min(record->moment, now));
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (free_slot(record->parts[i], *id, record->due)) asked.wait = std::max(asked.wait, nanoseconds{0});
    const Part& part = record->parts[i];
    settle(part, costs[i], moment, asked, now);
    if (asked.tells_changes && part.settles && !part.is_slot && !part.shadow)
      asked.changes.push_back(
          {part.limit,
           part.hash,
           {},
           static_cast<std::int64_t>(costs[i]) - static_cast<std::int64_t>(part.own.count)});
  }
}

// What each part cost; or why nothing is settled.
std::optional<std::string> Reservations::settle_parts(const Record& record, const ReservationTerms& asked,
                                                      std::vector<std::uint64_t>& costs) {
  if (record.parts.empty()) return std::nullopt;  // it was charged nothing
  if (!record.held) return without_hold();
  std::vector<SettledCharge> charges;
  for (const Part& part : record.parts)
    charges.push_back({part.limit, part.own.count, part.settles, part.by_actual});
  auto why = settle_each(asked, charges);
  for (const SettledCharge& each : charges) costs.push_back(each.cost);
  return why;
}

void Reservations::settle(const Part& part, std::uint64_t actual, nanoseconds moment, ReservationTerms& asked,
                          nanoseconds now) {
  if (part.is_window) return settle_window(part, actual, asked, now);
  if (part.is_slot) return;
  Stripe& stripe = stripe_of(part.hash);
  stripe.mutex.assert_held();
  Schedule* const schedule = find_schedule(stripe, part.hash);
  // A pause of another key may let it end after its schedule here: then all of it has drained.
  const bool is_its = schedule != nullptr && schedule->epoch() == part.epoch;
  if (!is_its && part.epoch <= stripe.reset_up_to) return;
  asked.wait = std::max(asked.wait, nanoseconds{0});
  if (!part.settles) return;
  std::optional<Used> used;
  if (schedule != nullptr) used.emplace(*this, *schedule, part.hash);
  core::TwoWords state =
      used ? used->state(now) : without_schedule(table_.state_of(Table::place_of(part.hash)));
  if (is_its && used && actual < part.own.count) {
    const bool moved = schedule->settle(part.own, moment, part.own.count - actual, now, asked.client, state);
    used->set(state, now);
    if (moved) moved_up_(schedule_key(part.hash));
  } else if (is_its) {
    schedule->end_hold(part.own);
  }
  if (actual > part.own.count) state = charge_more(part, actual - part.own.count, schedule, asked, now);
  if (used) state = used->counted_by(QuotaNumbers(part.quota), state);
  if (!part.shadow)
    asked.wait = std::max(asked.wait, core::until_one_more(core::Rule{part.quota}, state, now));
}

// The key's state then. Its schedule, if it has one, may have been made since.
core::TwoWords Reservations::charge_more(const Part& part, std::uint64_t units, Schedule* schedule,
                                         ReservationTerms& asked, nanoseconds now) {
  if (schedule != nullptr) schedule->read(now);
  const nanoseconds at = schedule != nullptr ? schedule->no_earlier(now) : now;
  const core::Owed owed = table_.owe(Table::place_of(part.hash), part.quota, units, at, asked.overdraft);
  asked.dropped += owed.dropped;
  if (schedule != nullptr) {
    schedule->left(owed.next.until);
    schedule->wrote(now);
  }
  return owed.next;
}

// More is charged beyond its number too, as core::overdraw() does it.
void Reservations::settle_dated(const Part& part, std::uint64_t actual, ReservationTerms& asked,
                                nanoseconds now) {
  Stripe& stripe = stripe_of(part.hash);
  stripe.mutex.assert_held();
  const auto limit = static_cast<std::uint64_t>(part.quota.rate().count);
  const bool knows = part.epoch == stripe.resets;
  const auto used = change_dated(part, now, [&](std::uint64_t before) -> std::uint64_t {
    if (!part.settles || actual == part.own.count) return before;
    if (actual < part.own.count) return knows ? before - std::min(before, part.own.count - actual) : before;
    const std::uint64_t most = std::max({before, limit, std::uint64_t{core::kMostUsedOfWindow}});
    return before + std::min(actual - part.own.count, most - before);
  });
  if (used && *used >= limit && !part.shadow)
    asked.wait =
        std::max(asked.wait, nanoseconds{static_cast<std::int64_t>(core::ahead_of(part.own.end, now))});
}

void Reservations::settle_window(const Part& part, std::uint64_t actual, ReservationTerms& asked,
                                 nanoseconds now) {
  asked.wait = std::max(asked.wait, nanoseconds{0});
  if (part.is_dated) return settle_dated(part, actual, asked, now);
  if (core::ahead_of(part.own.end, now) == 0) return;  // another window runs
  const std::uint64_t count = part.own.count;
  const core::Rule rule{part.quota, Algorithm::fixed_window};
  auto state = give_back(part, part.settles && actual < count ? count - actual : 0, now);
  if (part.settles && actual > count) {
    if (const auto told = table_.charge_in_place(Table::place_of(part.hash), rule, Cost{actual - count}, now))
      state = told->next;
  }
  if (state && !part.shadow) asked.wait = std::max(asked.wait, core::until_one_more(rule, *state, now));
}

void Reservations::give_back(const Check& charged, nanoseconds charged_at, nanoseconds now) {
  Stripe& stripe = stripe_of(charged.hash);
  const Held lock(stripe.mutex);
  if (Schedule* const schedule = find_schedule(stripe, charged.hash); schedule != nullptr) {
    if (!schedule->is_idle(now)) return;
    schedule->wrote(now);
  }
  table_.give_back(Table::place_of(charged.hash), charged.limit->rule.quota, charged.cost, charged_at, now);
}

bool Reservations::reset(std::uint64_t hash, nanoseconds now) {
  penalties_.forget(schedule_key(hash));
  Stripe& stripe = stripe_of(hash);
  const Held lock(stripe.mutex);
  if (const auto found = stripe.schedules.find(schedule_key(hash)); found != stripe.schedules.end()) {
    holes_.fetch_sub(found->second.schedule.holes(), std::memory_order_relaxed);
    stripe.schedules.erase(found);
  }
  ++stripe.resets;
  stripe.reset_up_to = epochs_.load(std::memory_order_relaxed);
  const bool had_slots = stripe.slots.erase(schedule_key(hash)) != 0;
  if (had_slots) freed_(schedule_key(hash));
  return table_.reset(Table::place_of(hash), now) || had_slots;
}

std::unordered_map<std::uint64_t, std::uint64_t> Reservations::in_flight(nanoseconds now) {
  std::unordered_map<std::uint64_t, std::uint64_t> open;
  for (Stripe& stripe : stripes_) {
    std::vector<std::uint64_t> keys;
    {
      const Held lock(stripe.mutex);
      for (const auto& [hash, slots] : stripe.slots) keys.push_back(hash);
    }
    for (const std::uint64_t hash : keys) {
      free_ended(hash, now);
      const Held lock(stripe.mutex);
      if (const KeySlots* const slots = find_slots(stripe, hash)) open[slots->limit()] += slots->open();
    }
  }
  return open;
}

Reservations::Counts Reservations::counts() const {
  return {open_.load(std::memory_order_relaxed),
          holes_.load(std::memory_order_relaxed),
          lost_holes_.load(std::memory_order_relaxed),
          refused_.load(std::memory_order_relaxed),
          pauses_not_kept_.load(std::memory_order_relaxed),
          not_restored_.load(std::memory_order_relaxed),
          holds_expired_.load(std::memory_order_relaxed),
          settled_lost_units_.load(std::memory_order_relaxed)};
}

}  // namespace weir::store
