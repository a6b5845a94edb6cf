#include "store/reservations.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <tuple>
#include <utility>

#include "core/calendar_window.hpp"
#include "core/reservation.hpp"
#include "store/check_rules.hpp"
#include "store/in_ledger.hpp"
#include "store/reservations_locked.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;

bool looks(std::span<const Check> checks) {
  return std::all_of(checks.begin(), checks.end(), [](const Check& each) { return each.cost.units == 0; });
}

// It costs nothing at a rate that is settled.
bool may_cost_more(const Check& check, const ReservationTerms& asked) {
  return asked.hold.count() != 0 && check.cost.units == 0 && check.limit->holding.settles && !check.shadow &&
         core::can_reserve(check.limit->rule.algorithm);
}

ReservationMemory::Kind kind_of(const ReservationTerms& asked) {
  return asked.hold.count() != 0 ? ReservationMemory::Kind::hold : ReservationMemory::Kind::wait;
}

}  // namespace

struct Reservations::Draft {
  ReservationMemory::Kind kind;
  std::vector<Part> parts{};
  ReservationMemory::Share share{};
  Shares shares{};                                              // of ledgers, by check
  std::array<std::optional<KeyLedger>, kMostChecks> ledgers{};  // of keys that are in none, by check
  ReservationMemory::Full full = ReservationMemory::Full::no;
  bool would_wait = false;  // and there is no memory for that
  nanoseconds open{0};      // for how long from its moment on
};

Reservations::Reservations(Table& table, std::size_t memory, const core::Random& random,
                           std::size_t penalty_memory)
    : table_(table), memory_(memory), penalties_(penalty_memory), ids_(random(), random()) {
  table.set_ledgers(this);
}

Reservations::~Reservations() { table_.set_ledgers(nullptr); }

// One whose key is not in it any more has nothing open: the key has drained, and another took its place.
Reservations::KeptLedger* Reservations::find_ledger(std::uint64_t hash, nanoseconds now) {
  Stripe& stripe = stripe_of(hash);
  stripe.mutex.assert_held();
  return find_ledger(stripe, hash, now);
}
Reservations::KeptLedger* Reservations::find_ledger(Stripe& stripe, std::uint64_t hash, nanoseconds now) {
  const auto found = stripe.ledgers.find(place_of(hash));
  if (found == stripe.ledgers.end()) return nullptr;
  if (is_in_ledger(table_.state_of(Table::place_of(hash)), now)) return &found->second;
  stripe.ledgers.erase(found);
  return nullptr;
}

Reservations::KeptLedger* Reservations::find_ledger(const Part& part, nanoseconds now) {
  if (!part.is_in_ledger()) return nullptr;
  KeptLedger* const kept = find_ledger(part.hash, now);
  if (kept == nullptr || kept->epoch != part.epoch) return nullptr;
  kept->rule = core::Rule{part.quota};
  return kept;
}

Ledgers Reservations::find_ledgers(std::span<const Check> checks, nanoseconds now) {
  Ledgers ledgers{};
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (!core::can_reserve(checks[i].limit->rule.algorithm)) continue;
    KeptLedger* const kept = find_ledger(checks[i].hash, now);
    if (kept == nullptr) continue;
    if (kept->ledger.is_idle(now)) {
      put_state(checks[i].hash, *kept, now);
      continue;
    }
    ledgers[i] = &kept->ledger;
    kept->rule = checks[i].limit->rule;
  }
  return ledgers;
}

// The key's state says so already.
Reservations::KeptLedger& Reservations::keep_ledger(Stripe& stripe, std::uint64_t hash, KeyLedger ledger,
                                                    const core::Rule& rule, nanoseconds until,
                                                    ReservationMemory::Share share) {
  const std::uint64_t epoch = epochs_.fetch_add(1, std::memory_order_relaxed) + 1;
  stripe.due.emplace(until, place_of(hash));
  return stripe.ledgers
      .insert_or_assign(place_of(hash), KeptLedger{.ledger = std::move(ledger),
                                                   .epoch = epoch,
                                                   .rule = rule,
                                                   .until = until,
                                                   .share = std::move(share)})
      .first->second;
}

// After a change in the key's ledger, which is gone when that is idle.
void Reservations::put_state(std::uint64_t hash, KeptLedger& kept, nanoseconds now) {
  const auto place = Table::place_of(hash);
  const core::TwoWords before = table_.state_of(place);
  const core::TwoWords after = state_of(kept.ledger, kept.rule, now);
  const bool was_known = is_in_ledger(before, now) && table_.exchange(place, before, after);
  if (was_known && is_in_ledger(after, now)) return;
  Stripe& stripe = stripe_of(hash);
  stripe.mutex.assert_held();
  if (stripe.left) stripe.left->emplace_back(place_of(hash), was_known ? after : table_.state_of(place));
  stripe.ledgers.erase(place_of(hash));
}

void Reservations::clear_away(Stripe& stripe, nanoseconds now) {
  while (!stripe.due.empty() && stripe.due.begin()->first <= now) {
    const std::uint64_t hash = stripe.due.begin()->second;
    stripe.due.erase(stripe.due.begin());
    KeptLedger* const kept = find_ledger(hash, now);
    if (kept == nullptr) continue;
    if (kept->ledger.is_idle(now)) {
      put_state(hash, *kept, now);
      continue;
    }
    const nanoseconds next{
        static_cast<std::int64_t>(core::at_most_the_longest(table_.state_of(Table::place_of(hash)).until))};
    stripe.due.emplace(std::max(next, now + nanoseconds{1}), hash);
  }
}

void Reservations::clear_away(Shelf& shelf, nanoseconds now) {
  while (!shelf.due.empty() && shelf.due.front().first <= now) {
    const auto [due, id] = shelf.due.front();
    shelf.due.erase(shelf.due.begin());
    const auto found = shelf.records.find(id);
    if (found == shelf.records.end()) continue;
    if (found->second.held) {
      holds_expired_.fetch_add(1, std::memory_order_relaxed);
    } else {
      note_acted(shelf, id, found->second, due + kTold);
    }
    shelf.records.erase(found);
    open_.fetch_sub(1, std::memory_order_relaxed);
  }
  while (!shelf.acted.empty() && shelf.acted.front().told_until <= now) shelf.acted.pop_front();
}

void Reservations::clear_away_all(nanoseconds now) {
  for (Stripe& stripe : stripes_) {
    const Held lock(stripe.mutex);
    clear_away(stripe, now);
  }
  for (Shelf& shelf : shelves_) {
    const Held lock(shelf.mutex);
    clear_away(shelf, now);
  }
}

KeySlots* Reservations::find_slots(Stripe& stripe, std::uint64_t hash) {
  const auto found = stripe.slots.find(place_of(hash));
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
  return stripe.slots.try_emplace(place_of(hash), epoch, limit).first->second;
}

bool Reservations::has_slot(const Part& part, ReservationId id, nanoseconds end) {
  const KeySlots* const slots = part.is_slot ? find_slots(part.hash) : nullptr;
  return slots != nullptr && slots->has(id, end);
}

bool Reservations::free_slot(Stripe& stripe, std::uint64_t hash, ReservationId id, nanoseconds end) {
  KeySlots* const slots = find_slots(stripe, hash);
  if (slots == nullptr || !slots->free(id, end)) return false;
  freed_(place_of(hash));
  if (slots->open() == 0) stripe.slots.erase(place_of(hash));
  return true;
}

bool Reservations::free_slot(const Part& part, ReservationId id, nanoseconds end) {
  if (!part.is_slot) return false;
  Stripe& stripe = stripe_of(part.hash);
  stripe.mutex.assert_held();
  return free_slot(stripe, part.hash, id, end);
}

// Slots whose holds their time has ended. Under no lock.
void Reservations::free_ended(std::uint64_t hash, nanoseconds now) {
  std::vector<std::pair<ReservationId, nanoseconds>> ended;
  Stripe& stripe = stripe_of(hash);
  {
    const Held lock(stripe.mutex);
    if (const KeySlots* const slots = find_slots(stripe, hash)) slots->find_ended(now, ended);
  }
  for (const auto& [id, end] : ended) {
    {
      Shelf& shelf = shelf_of(id);
      const Held lock(shelf.mutex);
      clear_away(shelf, now);
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
  table_.look_all(checks, now, find_ledgers(checks, now));
}

bool Reservations::check_all(std::span<Check> checks, nanoseconds arrived, nanoseconds now,
                             Charging* charging, TakeTerms* taking) {
  Locked locked(*this, checks);
  locked.clear_away(now);
  const bool charged = table_.check_all(checks, arrived, now, find_ledgers(checks, now), charging, taking);
  if (charging != nullptr)
    for (const Check& each : checks) owed_changed_(place_of(each.hash));
  return charged;
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
  asked.full_for = nanoseconds{0};  // it may be what was answered before
  asked.full_by = 0;
  asked.sooner_by = nanoseconds{0};
  const bool may_act_now = asked.lines.empty() || looks(request.checks);
  if (asked.instead_of.empty() && may_act_now && (asked.hold.count() == 0 || looks(request.checks)) &&
      reserve_now(request, when))
    return;
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
  // What its class never admits it may have inside its guarantee.
  const bool is_guaranteed = std::any_of(request.checks.begin(), request.checks.end(), [](const Check& each) {
    return each.inside != Check::kNoGuarantee;
  });
  if (!decision.retry_after) return !is_guaranteed;
  return asked.max_wait.count() == 0 && request.checks.size() == 1;
}

void Reservations::reserve_later(Request& request, Arrival when) {
  for (const Check& check : request.checks)
    if (core::can_reserve(check.limit->rule.algorithm) && !KeyLedger::can_count(check.limit->rule.quota))
      return refuse(request, KeyLedger::too_long());
  Draft asked{kind_of(*request.reservation)};
  make_room(request.reservation->client, bytes_of(request) + request.checks.size() * kLedgerBytes, asked.kind,
            when.now);
  Locked locked(*this, request.checks);
  locked.clear_away(when.now);
  cancel_before(request, when.now);
  if (!take_memory(request, asked, when.now)) return;
  decide(request, when, asked);
  ReservationTerms& reservation = *request.reservation;
  if (request.charged && (reservation.wait.count() != 0 || reservation.hold.count() != 0))
    return keep(request, asked, when.now);
  if (asked.would_wait) refuse_full(request, asked.full, asked.kind);
}

// What it is asked instead of. Under the locks of its stripes, which are those of the request's.
void Reservations::cancel_before(Request& request, nanoseconds now) {
  const auto id = ReservationId::read(request.reservation->instead_of);
  const auto before = id ? copy_record(*id, now) : std::nullopt;
  if (!before || (before->moment <= now && !before->is_plan)) return;
  ReservationTerms cancelled{.stands_in_line = true};
  if (const auto record = take_record(*id, now)) cancel_all(*id, *record, cancelled, now);
}

// Of one reservation, beside its ledgers.
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
  return kPartBytes + kGrantBytes + (holds ? KeyHolds::kBytes : 0);
}

// What is over elsewhere keeps its memory until somebody needs it. Under no lock.
void Reservations::make_room(std::uint64_t client, std::size_t bytes, ReservationMemory::Kind kind,
                             nanoseconds now) {
  if (!memory_.take(client, bytes, kind)) clear_away_all(now);
}

// What is to be kept until then at the latest: the memory of each key's ledger that would be kept so long for
// it alone, or that only one who waits has kept. Under the locks of their stripes.
ReservationMemory::Full Reservations::take_ledgers(std::span<const Check> checks, nanoseconds until,
                                                   nanoseconds now, std::uint64_t client,
                                                   ReservationMemory::Kind kind, Shares& shares) {
  std::ignore = find_ledgers(checks, now);  // an idle one goes, and its share
  auto full = ReservationMemory::Full::no;
  for (std::size_t i = 0; i < checks.size() && full == ReservationMemory::Full::no; ++i) {
    if (!core::can_reserve(checks[i].limit->rule.algorithm)) continue;
    const KeptLedger* const kept = find_ledger(checks[i].hash, now);
    if (kept != nullptr && (kept->share.is_of(client, kind) || !outlasts(*kept, until, kind))) continue;
    shares[i] = memory_.take(client, kLedgerBytes, kind, full);
  }
  return full;
}

bool Reservations::outlasts(const KeptLedger& kept, nanoseconds until, ReservationMemory::Kind kind) {
  using Kind = ReservationMemory::Kind;
  return kept.until < until || (kind == Kind::hold && kept.share.kind() == Kind::wait);
}

// Before anything is charged. Without it, one without a hold may still act now; false for others.
bool Reservations::take_memory(Request& request, Draft& asked, nanoseconds now) {
  const ReservationTerms& reservation = *request.reservation;
  asked.share = memory_.take(reservation.client, bytes_of(request), asked.kind, asked.full);
  if (asked.share) {
    const nanoseconds most = nanoseconds::max() - now - reservation.hold;
    asked.full = take_ledgers(request.checks, now + std::min(reservation.max_wait, most) + reservation.hold,
                              now, reservation.client, asked.kind, asked.shares);
  }
  if (asked.full == ReservationMemory::Full::no) return true;
  asked.share = {};
  asked.shares = {};
  if (asked.kind == ReservationMemory::Kind::wait) return true;
  refuse_full(request, asked.full, asked.kind);
  return false;
}

void Reservations::refuse_full(Request& request, ReservationMemory::Full full, ReservationMemory::Kind kind) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  refuse(request, memory_.describe(full, kind));
}

void Reservations::decide(Request& request, Arrival when, Draft& asked) {
  ReservationTerms& reservation = *request.reservation;
  const std::span<Check> checks = request.checks;
  request.charged = false;
  if (!slots_fit(request, when.now) || !holds_fit(request, when.now)) return;
  Ledgers ledgers = find_ledgers(checks, when.now);
  for (std::size_t i = 0; asked.share && i < checks.size(); ++i)
    if (ledgers[i] == nullptr && core::can_reserve(checks[i].limit->rule.algorithm))
      ledgers[i] = &asked.ledgers[i].emplace(core::TwoWords{0, 1});
  reservation.sooner_by = may_be_sooner_by(request, when.now);
  JointReservation reserving{.max_wait = reservation.max_wait,
                             .sooner_by = reservation.sooner_by,
                             .hold = reservation.hold,
                             .planned = reservation.stands_in_line ? kPlanned : nanoseconds{0},
                             .lines = reservation.lines,
                             .keeps = static_cast<bool>(asked.share)};
  request.charged = table_.reserve_all(checks, when.arrived, when.now, ledgers, reserving);
  request.by = reserving.by;
  reservation.wait = reserving.wait;
  asked.would_wait = reserving.would_wait;
  asked.open = reserving.open();
  for (std::size_t i = 0; request.charged && i < checks.size(); ++i) {
    const Check& check = checks[i];
    if (core::counts_at_grant(check.limit->rule.algorithm)) {
      if (reserving.states[i].until != 0 && check.cost.units != 0)
        asked.parts.push_back(part_of_window(check, reserving.states[i]));
    } else if (reserving.owns[i].units != 0 || may_cost_more(check, reservation)) {
      asked.parts.push_back({.hash = place_of(check.hash),
                             .quota = check.limit->rule.quota,
                             .own = reserving.owns[i],
                             .settles = check.limit->holding.settles,
                             .shadow = check.shadow,
                             .by_actual = check.limit->holding.by_actual,
                             .limit = check.limit->id});
    }
  }
  if (has_slots(checks)) take_slots(request, when.now, asked);
}

Reservations::Part Reservations::part_of_window(const Check& check, core::TwoWords state) {
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
  part.own.units = check.cost.units;
  part.window_end = state.until;
  if (const core::Calendar* const calendar = check.limit->rule.calendar) {
    part.is_dated = true;
    part.window_id = core::calendar_window::id_of(state.word);
    part.window_end -= static_cast<std::uint64_t>(core::calendar_window::kept_for(calendar->unit()).count());
  }
  return part;
}

// Of one whose rates are decided: it is told of its slots, which are in its parts where it is granted.
void Reservations::take_slots(Request& request, nanoseconds now, Draft& asked) {
  decide_slots(request.checks, now);
  if (!request.charged) return;
  for (Check& check : request.checks) {
    if (!takes_slot(check) || !check.decision.allowed()) continue;
    Part& part = asked.parts.emplace_back();
    part.hash = place_of(check.hash);
    part.own.units = 1;
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
bool Reservations::holds_fit(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  if (asked.hold.count() == 0) return true;
  const std::span<Check> checks = request.checks;
  Busy full;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    const Holding& holding = check.limit->holding;
    if (!holding.settles || check.shadow || !core::can_reserve(check.limit->rule.algorithm)) continue;
    KeptLedger* const kept = find_ledger(check.hash, now);
    KeyHolds none;
    const nanoseconds wait =
        (kept != nullptr ? kept->holds : none).until_fits(check.cost.units, holding.at_most, now);
    if (wait.count() == 0 || full.wait.count() < 0 || (wait.count() > 0 && wait <= full.wait)) continue;
    full = {wait, static_cast<std::uint8_t>(i)};
  }
  asked.full_for = full.wait;
  asked.full_by = full.by;
  if (full.wait.count() == 0) return true;
  look_all(checks, now);
  decide_slots(checks, now);
  const auto deny = [checks](const Busy& by) {
    Decision& decision = checks[by.by].decision;
    decision.verdict = by.wait.count() < 0 ? Verdict::never : Verdict::denied;
    decision.retry_after = by.wait.count() < 0 ? std::nullopt : std::optional(by.wait);
  };
  if (full.wait.count() < 0) deny(full);
  full = longest_of(
      checks.size(), asked.max_wait, [&](std::size_t i) -> auto& { return checks[i].limit->rule; },
      [&](std::size_t i) { return checks[i].shadow ? nullptr : &checks[i].decision; }, full);
  deny(full);
  request.by = full.by;
  asked.wait = full.wait;
  return false;
}

void Reservations::keep(Request& request, Draft& asked, nanoseconds now) {
  ReservationTerms& reservation = *request.reservation;
  const nanoseconds moment = now + reservation.wait;
  const bool is_plan = reservation.stands_in_line && reservation.wait.count() > 0;
  const bool held = reservation.hold.count() != 0;
  const nanoseconds until = moment + asked.open;
  const ReservationId id = ids_.next();
  nanoseconds longest = kLongestExtension;
  for (const Check& check : request.checks)
    if (check.limit->holding.settles && !check.shadow)
      longest = std::min(longest, check.limit->holding.longest);
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Check& check = request.checks[i];
    std::optional<KeyLedger>& made = asked.ledgers[i];
    if (made && is_in_ledger(table_.state_of(Table::place_of(check.hash)), now)) {
      Stripe& stripe = stripe_of(check.hash);
      stripe.mutex.assert_held();
      // Looked at by then: of a plan that has acted nothing is left, however long it could be cancelled.
      keep_ledger(stripe, check.hash, *std::move(made), check.limit->rule, moment + reservation.hold,
                  std::move(asked.shares[i]));
    } else if (KeptLedger* const kept = asked.shares[i] ? find_ledger(check.hash, now) : nullptr) {
      if (outlasts(*kept, until, asked.kind)) kept->share = std::move(asked.shares[i]);
    }
  }
  for (Part& part : asked.parts) {
    if (part.is_slot) {
      Stripe& stripe = stripe_of(part.hash);
      stripe.mutex.assert_held();
      KeySlots& slots = make_slots(stripe, part.hash, part.limit);
      part.epoch = slots.epoch();
      slots.take(id, until);
    } else if (KeptLedger* const kept = part.is_in_ledger() ? find_ledger(part.hash, now) : nullptr) {
      part.epoch = kept->epoch;
      kept->until = std::max(kept->until, until);
      if (held && part.is_listed()) kept->holds.add(until, id, part.own.units);
    }
  }
  put_back(id,
           {moment, until, std::move(asked.parts), std::move(asked.share), held, reservation.bound, longest,
            reservation.address, is_plan},
           now);
  reservation.id = id.text();
}

}  // namespace weir::store
