// How reservations end: by a cancel, a settlement, their time or their connection; and what is told of them.
#include <algorithm>
#include <string>
#include <utility>

#include "core/calendar_window.hpp"
#include "core/fixed_window.hpp"
#include "core/overdraft.hpp"
#include "core/reservation.hpp"
#include "store/check_rules.hpp"
#include "store/in_ledger.hpp"
#include "store/reservations.hpp"
#include "store/reservations_locked.hpp"
#include "store/settlement.hpp"

namespace weir::inline v0_1::store {

using std::chrono::nanoseconds;

// Without its share of the memory.
std::optional<Reservations::Record> Reservations::copy_record(ReservationId id, nanoseconds now) {
  Shelf& shelf = shelf_of(id);
  const Held lock(shelf.mutex);
  clear_away(shelf, now);
  const auto found = shelf.records.find(id);
  if (found == shelf.records.end()) return std::nullopt;
  const Record& record = found->second;
  return Record{record.moment,  record.until,   record.parts,  {}, record.held, record.bound,
                record.longest, record.address, record.is_plan};
}

void Reservations::forget_due(Shelf& shelf, ReservationId id, const Record& record) {
  const auto due = shelf.due.find_from({record.until, id});
  if (!shelf.due.is_end(due) && shelf.due[due].second == id) shelf.due.erase(due);
}

std::optional<Reservations::Record> Reservations::take_record(ReservationId id, nanoseconds now) {
  Shelf& shelf = shelf_of(id);
  const Held lock(shelf.mutex);
  clear_away(shelf, now);
  const auto found = shelf.records.find(id);
  if (found == shelf.records.end()) return std::nullopt;
  Record record = std::move(found->second);
  forget_due(shelf, id, record);
  shelf.records.erase(found);
  open_.fetch_sub(1, std::memory_order_relaxed);
  return record;
}

// Whether anything that it charged, or has, is not forgotten. Under the locks of its stripes.
bool Reservations::is_there(ReservationId id, const Record& record, nanoseconds now) {
  bool has_charged = false;
  for (const Part& part : record.parts) {
    if (find_ledger(part, now) != nullptr || has_slot(part, id, record.until) || has_window(part, now))
      return true;
    has_charged = has_charged || !part.is_uncharged();
  }
  return !has_charged;
}

namespace {

// Whether the window in which it was counted, not one of the calendar, is the one that runs.
template <class Part>
bool runs_still(const Table& table, const Part& part, nanoseconds now) {
  const core::TwoWords state = table.state_of(Table::place_of(part.hash));
  return core::ahead_of(part.window_end, now) != 0 && state.until == part.window_end &&
         !core::fixed_window::is_paused({state.until, state.word}, now);
}

}  // namespace

// Unless it is seen that the window has been forgotten since.
bool Reservations::has_window(const Part& part, nanoseconds now) const {
  if (!part.is_window) return false;
  if (core::ahead_of(part.window_end, now) == 0) return true;
  const core::TwoWords state = table_.state_of(Table::place_of(part.hash));
  if (!part.is_dated) return state.until == part.window_end;
  return core::ahead_of(state.until, now) != 0 && core::calendar_window::id_of(state.word) == part.window_id;
}

// Whether no pause lies over its moment. Under the locks of its stripes.
bool Reservations::may_act(const Record& record, nanoseconds now) {
  return std::all_of(record.parts.begin(), record.parts.end(), [&](const Part& part) {
    const KeptLedger* const kept = find_ledger(part, now);
    return kept == nullptr || kept->ledger.may_act(part.own);
  });
}

std::optional<Reservations::Acted> Reservations::find_acted(ReservationId id) {
  Shelf& shelf = shelf_of(id);
  const Held lock(shelf.mutex);
  const auto found =
      std::find_if(shelf.acted.begin(), shelf.acted.end(), [id](const Acted& each) { return each.id == id; });
  return found != shelf.acted.end() ? std::optional(*found) : std::nullopt;
}

// One that asks a moment late, in a pause, acts in none.
bool Reservations::has_acted(const Acted& acted, nanoseconds now) {
  const Locked locked(*this, acted.keys);
  return std::all_of(acted.keys.begin(), acted.keys.end(), [&](const Acted::Key& key) {
    const KeptLedger* const kept = find_ledger(key.hash, now);
    return kept == nullptr || kept->ledger.may_act_at(acted.moment);
  });
}

// One over whose moment a pause lies is cancelled.
void Reservations::moment(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.wait = nanoseconds{-1};
  const auto id = ReservationId::read(asked.id);
  if (!id) return;
  const auto record = copy_record(*id, now);
  if (!record) {
    const auto acted = find_acted(*id);
    if (acted && has_acted(*acted, now)) asked.wait = nanoseconds{0};
    return;
  }
  const Locked locked(*this, record->parts);
  if (!is_there(*id, *record, now)) return;
  if (may_act(*record, now)) {
    asked.wait = std::max(record->moment - now, nanoseconds{0});
    if (record->is_plan && asked.wait.count() == 0) act_on_plan(*id, now);
    return;
  }
  if (const auto taken = take_record(*id, now)) cancel_all(*id, *taken, asked, now);
}

// It can be cancelled no more, and without a hold it is over. Under the locks of its stripes.
void Reservations::act_on_plan(ReservationId id, nanoseconds now) {
  Shelf& shelf = shelf_of(id);
  {
    const Held lock(shelf.mutex);
    const auto found = shelf.records.find(id);
    if (found == shelf.records.end()) return;
    found->second.is_plan = false;
    if (found->second.held) return;
  }
  auto record = take_record(id, now);
  if (!record) return;
  for (Part& part : record->parts) {
    KeptLedger* const kept = find_ledger(part, now);
    if (kept == nullptr) continue;
    kept->ledger.extend(part.own, now);
    put_state(part.hash, *kept, now);
  }
  const Held lock(shelf.mutex);
  note_acted(shelf, id, *record, now + kTold);
}

void Reservations::note_acted(Shelf& shelf, ReservationId id, const Record& record, nanoseconds told_until) {
  if (shelf.acted.size() == kMostTold) shelf.acted.pop_front();
  Acted& acted = shelf.acted.emplace_back(Acted{id, record.moment, told_until, {}});
  for (const Part& part : record.parts)
    if (part.is_in_ledger()) acted.keys.push_back({part.hash});
}

void Reservations::extend(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.wait = nanoseconds{0};
  const auto id = ReservationId::read(asked.id);
  if (!id) return;
  const auto record = copy_record(*id, now);
  if (!record || !record->held) return;
  const Locked locked(*this, record->parts);
  if (!is_there(*id, *record, now)) return;
  const nanoseconds end = std::max(now, record->moment) + std::min(asked.hold, record->longest);
  Shelf& shelf = shelf_of(*id);
  const Held lock(shelf.mutex);
  const auto found = shelf.records.find(*id);
  if (found == shelf.records.end()) return;
  Record& kept = found->second;
  forget_due(shelf, *id, kept);
  for (Part& part : kept.parts) {
    if (has_slot(part, *id, kept.until)) {
      find_slots(part.hash)->move(*id, kept.until, end);
      freed_(place_of(part.hash));  // sooner, it may be
    } else if (KeptLedger* const ledger = find_ledger(part, now)) {
      ledger->ledger.extend(part.own, end);
      ledger->until = std::max(ledger->until, end);
      ledger->holds.remove(kept.until, *id);
      if (part.is_listed()) ledger->holds.add(end, *id, part.own.units);
      put_state(part.hash, *ledger, now);
    }
  }
  kept.until = end;
  shelf.due.insert({end, *id});
  asked.wait = end - now;
}

// With the moment that it was granted. Under no lock.
std::optional<std::pair<nanoseconds, OpenHold>> Reservations::describe_hold(ReservationId id,
                                                                            std::uint64_t cost,
                                                                            nanoseconds now) {
  const auto record = copy_record(id, now);
  if (!record || !record->held) return std::nullopt;
  const Locked locked(*this, record->parts);
  if (!is_there(id, *record, now)) return std::nullopt;
  OpenHold told{id.text(), cost, std::max(record->moment - now, nanoseconds{0}), record->until - now,
                record->address};
  return std::pair(record->moment, std::move(told));
}

void Reservations::cancel(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.given_back = 0;
  const auto id = ReservationId::read(asked.id);
  auto record = id ? copy_record(*id, now) : std::nullopt;
  if (!record || (record->moment <= now && !record->is_plan)) return;
  record = take_record(*id, now);
  if (!record) return;
  record->share = {};
  const Locked locked(*this, record->parts);
  cancel_all(*id, *record, asked, now);
}

// Under the locks of its stripes.
void Reservations::cancel_all(ReservationId id, const Record& record, ReservationTerms& asked,
                              nanoseconds now) {
  for (const Part& part : record.parts) {
    free_slot(part, id, record.until);
    if (!cancel(part, id, record, now)) continue;
    if (!part.shadow) asked.given_back = std::max(asked.given_back, part.own.units);
    if (!asked.stands_in_line) owed_changed_(place_of(part.hash));
  }
  // Also where a window has drained since.
  if (asked.given_back == 0 || !asked.tells_changes) return;
  for (const Part& part : record.parts) {
    if (!part.is_slot && !part.shadow)
      asked.changes.push_back({part.limit, part.hash, {}, -static_cast<std::int64_t>(part.own.units)});
  }
}

// To the window in which they were counted, while that runs: its state then, or nothing. A reset of any key
// of the stripe keeps them: they may have been forgotten.
std::optional<core::TwoWords> Reservations::give_back(const Part& window, std::uint64_t units,
                                                      nanoseconds now) {
  Stripe& stripe = stripe_of(window.hash);
  stripe.mutex.assert_held();
  if (window.epoch != stripe.resets || !runs_still(table_, window, now)) return std::nullopt;
  return table_.give_back_in_window(Table::place_of(window.hash), units, now);
}

// What is used of a window of the calendar, while it runs and its state counts it: what that becomes, or
// nothing. Checks of the key may come in between.
template <class Change>
std::optional<std::uint64_t> Reservations::change_dated(const Part& window, nanoseconds now,
                                                        const Change& change) {
  using core::calendar_window::id_of, core::calendar_window::used_of;
  const auto place = Table::place_of(window.hash);
  while (core::ahead_of(window.window_end, now) != 0) {
    const core::TwoWords before = table_.state_of(place);
    if (core::ahead_of(before.until, now) == 0 || id_of(before.word) != window.window_id) break;
    const std::uint64_t used = change(used_of(before.word));
    if (table_.exchange(place, before,
                        {before.until, core::calendar_window::word_of(window.window_id, used)}))
      return used;
  }
  return std::nullopt;
}

bool Reservations::cancel(const Part& part, ReservationId id, const Record& record, nanoseconds now) {
  if (part.is_dated) {
    Stripe& stripe = stripe_of(part.hash);
    stripe.mutex.assert_held();
    const auto less = [&](std::uint64_t used) { return used - std::min(used, part.own.units); };
    return part.epoch == stripe.resets && change_dated(part, now, less);
  }
  if (part.is_window) return give_back(part, part.own.units, now).has_value();
  KeptLedger* const kept = find_ledger(part, now);
  if (kept == nullptr) return false;
  kept->ledger.cancel(part.own);
  kept->holds.remove(record.until, id);
  put_state(part.hash, *kept, now);
  return true;
}

// Before its moment nothing is settled.
void Reservations::settle(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.wait = nanoseconds{-1};
  asked.dropped = 0;
  const auto id = ReservationId::read(asked.id);
  if (!id) return;
  std::vector<std::uint64_t> costs;  // by part
  const auto found = copy_record(*id, now);
  if (!found) return;
  if (auto why = settle_parts(*found, asked, costs)) {
    // Unless all that it charged has been forgotten since: then there is none.
    const Locked locked(*this, found->parts);
    return is_there(*id, *found, now) ? refuse(request, *std::move(why)) : void();
  }
  if (found->moment > now) return;
  const auto record = take_record(*id, now);
  if (!record) return;
  const Locked locked(*this, record->parts);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Part& part = record->parts[i];
    if (free_slot(part, *id, record->until)) asked.wait = std::max(asked.wait, nanoseconds{0});
    settle(part, costs[i], *id, *record, asked, now);
    if (asked.tells_changes && part.settles && !part.is_slot && !part.shadow)
      asked.changes.push_back(
          {part.limit,
           part.hash,
           {},
           static_cast<std::int64_t>(costs[i]) - static_cast<std::int64_t>(part.own.units)});
  }
}

// What each part cost; or why nothing is settled.
std::optional<std::string> Reservations::settle_parts(const Record& record, const ReservationTerms& asked,
                                                      std::vector<std::uint64_t>& costs) {
  if (record.parts.empty()) return std::nullopt;  // it was charged nothing
  if (!record.held) return without_hold();
  std::vector<SettledCharge> charges;
  for (const Part& part : record.parts)
    charges.push_back({part.limit, part.own.units, part.settles, part.by_actual});
  auto why = settle_each(asked, charges);
  for (const SettledCharge& each : charges) costs.push_back(each.cost);
  return why;
}

void Reservations::settle(const Part& part, std::uint64_t actual, ReservationId id, const Record& record,
                          ReservationTerms& asked, nanoseconds now) {
  if (part.is_window) return settle_window(part, actual, asked, now);
  if (part.is_uncharged()) return settle_uncharged(part, actual, asked, now);
  KeptLedger* const kept = find_ledger(part, now);
  if (kept == nullptr) return;
  asked.wait = std::max(asked.wait, nanoseconds{0});
  const core::Rule rule{part.quota};
  kept->holds.remove(record.until, id);
  const std::uint64_t cost = part.settles ? actual : part.own.units;
  asked.dropped += kept->ledger.settle(rule, part.own, cost, now, asked.overdraft);
  if (part.settles && !part.shadow) {
    const Decision one = kept->ledger.decide(rule, now, Cost{1}).decision();
    asked.wait = std::max(asked.wait, one.retry_after.value_or(nanoseconds{0}));
  }
  put_state(part.hash, *kept, now);
  if (cost != part.own.units) owed_changed_(place_of(part.hash));
}

// It has no place in a ledger: what it cost is owed from now on.
void Reservations::settle_uncharged(const Part& part, std::uint64_t actual, ReservationTerms& asked,
                                    nanoseconds now) {
  asked.wait = std::max(asked.wait, nanoseconds{0});
  const Limit limit{.rule = core::Rule{part.quota}};
  Check one{.limit = &limit, .cost = Cost{std::max(actual, std::uint64_t{1})}, .hash = part.hash};
  if (actual == 0) {
    look_all({&one, 1}, now);
    asked.wait = std::max(asked.wait, one.decision.retry_after.value_or(nanoseconds{0}));
    return;
  }
  ChargeTerms terms{.outside = {Outside::Form::cost, actual, asked.overdraft}};
  Charging charging{terms};
  table_.check_all({&one, 1}, now, now, find_ledgers({&one, 1}, now), &charging);
  asked.dropped += charging.told[0].dropped;
  asked.wait = std::max(asked.wait, charging.told[0].wait);
  owed_changed_(place_of(part.hash));
}

// More is charged beyond its number too, as core::overdraw() does it.
void Reservations::settle_dated(const Part& part, std::uint64_t actual, ReservationTerms& asked,
                                nanoseconds now) {
  Stripe& stripe = stripe_of(part.hash);
  stripe.mutex.assert_held();
  const auto limit = static_cast<std::uint64_t>(part.quota.rate().count);
  const bool knows = part.epoch == stripe.resets;
  const auto used = change_dated(part, now, [&](std::uint64_t before) -> std::uint64_t {
    if (!part.settles || actual == part.own.units) return before;
    if (actual < part.own.units) return knows ? before - std::min(before, part.own.units - actual) : before;
    const std::uint64_t most = std::max({before, limit, std::uint64_t{core::kMostUsedOfWindow}});
    return before + std::min(actual - part.own.units, most - before);
  });
  if (used && *used >= limit && !part.shadow)
    asked.wait =
        std::max(asked.wait, nanoseconds{static_cast<std::int64_t>(core::ahead_of(part.window_end, now))});
}

void Reservations::settle_window(const Part& part, std::uint64_t actual, ReservationTerms& asked,
                                 nanoseconds now) {
  asked.wait = std::max(asked.wait, nanoseconds{0});
  if (part.is_dated) return settle_dated(part, actual, asked, now);
  if (!runs_still(table_, part, now)) return;
  const std::uint64_t count = part.own.units;
  const core::Rule rule = core::Rule::window(part.quota);
  auto state = give_back(part, part.settles && actual < count ? count - actual : 0, now);
  if (part.settles && actual > count) {
    if (const auto told = table_.charge_in_place(Table::place_of(part.hash), rule, Cost{actual - count}, now))
      state = told->next;
  }
  if (state && !part.shadow) asked.wait = std::max(asked.wait, core::until_one_more(rule, *state, now));
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
  return {open_.load(std::memory_order_relaxed), refused_.load(std::memory_order_relaxed),
          pauses_not_kept_.load(std::memory_order_relaxed), not_restored_.load(std::memory_order_relaxed),
          holds_expired_.load(std::memory_order_relaxed)};
}

}  // namespace weir::store
