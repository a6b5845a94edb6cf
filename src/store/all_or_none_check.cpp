#include "store/all_or_none_check.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/rule.hpp"
#include "core/severity.hpp"
#include "store/check_rules.hpp"
#include "store/in_ledger.hpp"
#include "store/taking.hpp"

namespace weir::inline v0_1::store {

using std::chrono::nanoseconds;

AllOrNoneCheck::AllOrNoneCheck(Segments& segments, WhenFull when_full, std::span<Check> checks,
                               nanoseconds arrived, nanoseconds now, const Ledgers* ledgers,
                               JointReservation* reserving, Charging* charging, TakeTerms* taking)
    : segments_(segments),
      when_full_(when_full),
      checks_(checks),
      arrived_(arrived),
      now_(now),
      ledgers_(ledgers),
      reserving_(reserving),
      charging_(charging),
      taking_(taking) {
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const KeyPlace place = Segments::place_of(checks[i].hash);
    const auto same = [&](const Key& key) {
      return key.place.tag == place.tag && key.place.bucket == place.bucket;
    };
    const auto found = std::find_if(keys().begin(), keys().end(), same);
    key_of_[i] = static_cast<std::uint8_t>(found - keys().begin());
    if (checks[i].inside != Check::kNoGuarantee) guarantees_ |= 1U << checks[i].inside;
    if (found != keys().end()) continue;
    segments.prefetch(place);
    new (&keys_[count_++]) Key{.place = place, .first_check = i};
  }
}

std::span<Bucket*> AllOrNoneCheck::find_homes(std::span<Bucket*> buckets) {
  std::size_t homes = 0;
  for (Key& key : keys()) {
    key.homes = segments_.homes(key.place);
    for (const Segments::Owner& owner : key.homes) {
      if (owner.bucket == nullptr) return {};  // a split that another thread has just finished
      buckets[homes++] = owner.bucket;
    }
  }
  return buckets.first(homes);
}

bool AllOrNoneCheck::look() {
  std::array<Bucket*, 2 * kMostChecks> room;
  const std::span<Bucket*> buckets = find_homes(room);
  if (buckets.empty()) return false;
  {
    const HeldAll held(buckets);
    if (!homes_still_hold()) return false;
    find_keys();
    needs_ledgers_ = lacks_ledgers();
    if (needs_ledgers_) return true;
    bool passes = false;
    if (taking_ != nullptr) {
      taking_->granted = find_units(checks_, *taking_, [this] { return look_at_all(); });
      passes = taking_->granted != 0;
    } else {
      passes = look_at_all();
    }
    // Charging it needs a slot for each new key, and so does saying that it would pass.
    if (!passes || find_slots()) return true;
  }
  return make_room();
}

// Whether nothing would stop the request.
bool AllOrNoneCheck::look_at_all() {
  bool all = true;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    Check& check = checks_[i];
    Key& key = keys_[key_of_[i]];
    const DecidingRule rule(checks_, i);
    found_[i] = key.state;
    if (key.ledger != nullptr) {
      new (&check.decision) Decision(core::look(key.ledger->decide(*rule, now_, Cost{0}).decision(),
                                                key.ledger->decide(*rule, now_, check.cost).decision()));
    } else {
      const bool late = !key.known || core::counted_by_another_quota(*rule, key.state);
      new (&check.decision)
          Decision(core::look(*rule, key.state, late ? key.no_earlier(now_) : now_, check.cost));
    }
    const bool charges = check.decision.allowed() && check.cost.units != 0;
    if (charges && key.shut_out) check.decision = without_room(check, key);
    key.charged = key.charged || charges;
    all = all && (check.shadow || check.decision.allowed());
  }
  return all;
}

bool AllOrNoneCheck::round() {
  std::array<Bucket*, 2 * kMostChecks> room;
  const std::span<Bucket*> buckets = find_homes(room);
  if (buckets.empty()) return false;
  {
    const HeldAll held(buckets);
    if (!homes_still_hold()) return false;
    find_keys();
    needs_ledgers_ = lacks_ledgers();
    if (needs_ledgers_) return true;
    if (taking_ != nullptr) [[unlikely]] {
      taking_->granted = find_units(checks_, *taking_, [this] { return decide(now_); });
      charged_ = taking_->granted != 0;
    } else {
      charged_ = reserving_ != nullptr ? reserve() : decide(now_) || charging_ != nullptr;
    }
    if (!charged_) {
      tell_uncharged();
      return true;
    }
    if (find_slots()) {
      write();
      return true;
    }
  }
  return make_room();
}

bool AllOrNoneCheck::homes_still_hold() const {
  return std::all_of(keys_, keys_ + count_,
                     [&](const Key& key) { return segments_.homes(key.place) == key.homes; });
}

bool AllOrNoneCheck::lacks_ledgers() const {
  return ledgers_ == nullptr &&
         std::any_of(keys_, keys_ + count_, [](const Key& key) { return key.in_ledger; });
}

void AllOrNoneCheck::find_keys() {
  in_ledgers_ = 0;
  for (Key& key : keys()) {
    const core::Rule& rule = checks_[key.first_check].limit->rule;
    key.find(core::can_reserve(rule.algorithm), now_);
    key.ledger = ledgers_ != nullptr ? (*ledgers_)[key.first_check] : nullptr;
    key.charges = 0;
    if (key.ledger == nullptr || key.in_ledger) continue;
    *key.ledger = ledger_of(key, key.state, rule);
  }
}

KeyLedger AllOrNoneCheck::ledger_of(const Key& key, core::TwoWords state, const core::Rule& rule) const {
  const bool late = !key.known || core::counted_by_another_quota(rule, state);
  return KeyLedger::of(state, rule, now_, late ? key.no_earlier(now_) : nanoseconds{0});
}

void AllOrNoneCheck::Key::find(bool can_be_in_ledger, nanoseconds now) {
  known = false;
  claims = false;
  charged = false;
  in_ledger = false;
  recounted = false;
  state = {};
  slot = -1;
  for (std::size_t which = 0; which < homes.size() && !known; ++which) {
    Bucket& candidate = *homes[which].bucket;
    candidate.assert_held();
    const int found = candidate.find(place.tag);
    if (found < 0) continue;
    known = true;
    home = which;
    slot = found;
    claims = candidate.is_free(found, now);
    state = candidate.state(found);
    if (!can_be_in_ledger) continue;
    in_ledger = is_in_ledger(state, now);
    state = without_ledger_bit(state);
  }
}

nanoseconds AllOrNoneCheck::Key::no_earlier(nanoseconds now) const {
  std::uint64_t least = 0;
  for (const Segments::Owner& owner : homes) {
    least = std::max(least, owner.segment->forgotten.load(std::memory_order_relaxed));
  }
  return std::max(now, nanoseconds{static_cast<std::int64_t>(least)});
}

// Whether nothing stops the request at that time.
bool AllOrNoneCheck::decide(nanoseconds at) {
  find_keys();
  if (charging_ != nullptr && charging_->terms.others_free) find_those_over(at);
  bool all = true;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    charge(i, keys_[key_of_[i]], at);
    all = all && (checks_[i].shadow || checks_[i].decision.allowed());
  }
  return all;
}

void AllOrNoneCheck::find_those_over(nanoseconds at) {
  charging_->over = 0;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const Key& key = keys_[key_of_[i]];
    const core::Rule& rule = checks_[i].limit->rule;
    if (key.shut_out) {
      charging_->find_over_for_room(i, checks_[i]);
      continue;
    }
    if (key.ledger != nullptr) {
      charging_->find_whether_over(i, rule, *key.ledger, at, checks_[i]);
      continue;
    }
    const bool late = !key.known || core::counted_by_another_quota(rule, key.state);
    charging_->find_whether_over(i, rule, key.state, late ? key.no_earlier(at) : at, checks_[i]);
  }
}

// Whether nothing stops it at a moment that is soon enough; it is charged as of that.
bool AllOrNoneCheck::reserve() {
  reserving_->wait = nanoseconds{0};
  reserving_->would_wait = false;
  const bool allowed = decide(now_);
  reserving_->by = deciding(checks_);
  const auto is_ahead = [this](const Line& line) { return line.end > now_; };
  if (allowed && std::none_of(reserving_->lines.begin(), reserving_->lines.end(), is_ahead)) return true;

  const JointMoment moment = find_moment();
  if (const auto full = full_window()) {
    tell_full(*full, moment);
    tell_uncharged();
    return false;
  }
  reserving_->wait = moment.wait;
  reserving_->would_wait = moment.granted && !reserving_->keeps;
  if (moment.granted && reserving_->keeps) {
    take_moment(moment);
    return true;
  }
  tell_uncharged();
  if (moment.wait < nanoseconds{0}) return false;
  Decision& decides = checks_[reserving_->by].decision;
  decides.verdict = Verdict::denied;
  decides.retry_after = moment.wait;
  return false;
}

// Of the windows that count at the grant and have no room, the one that ends last. Nobody waits for it.
std::optional<std::uint8_t> AllOrNoneCheck::full_window() const {
  std::optional<std::uint8_t> full;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const Check& check = checks_[i];
    if (check.shadow || check.decision.allowed() || !core::counts_at_grant(check.limit->rule.algorithm))
      continue;
    if (!full || core::decides(check.decision, checks_[*full].decision)) full = static_cast<std::uint8_t>(i);
  }
  return full;
}

// It waits for the window's end, or for its rates where they ask for more; no time helps where one says so.
void AllOrNoneCheck::tell_full(std::size_t window, const JointMoment& rates) {
  const auto end = checks_[window].decision.retry_after;
  reserving_->by = static_cast<std::uint8_t>(window);
  reserving_->wait = end.value_or(nanoseconds{-1});
  if (rates.granted || (rates.wait >= nanoseconds{0} && (!end || rates.wait <= *end))) return;
  // A rate decides: of several the one that a check would name.
  std::optional<std::size_t> by;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const Check& each = checks_[i];
    if (each.shadow || each.decision.allowed() || core::counts_at_grant(each.limit->rule.algorithm)) continue;
    if (!by || core::decides(each.decision, checks_[*by].decision)) by = i;
  }
  if (!end && (!by || *by > window)) return;
  if (by) reserving_->by = static_cast<std::uint8_t>(*by);
  reserving_->wait = rates.wait;
  if (rates.wait >= nanoseconds{0}) checks_[reserving_->by].decision.retry_after = rates.wait;
}

// When every check has been decided as of now.
JointMoment AllOrNoneCheck::find_moment() const {
  std::array<std::optional<KeyLedger>, kMostChecks> alone;  // of keys whose states are all
  std::array<LedgerDemand, kMostChecks> demands;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const Check& check = checks_[i];
    const Key& key = keys_[key_of_[i]];
    const core::Rule& rule = check.limit->rule;
    demands[i] = {.rule = &rule, .cost = check.cost, .shadow = check.shadow};
    if (i < reserving_->lines.size()) demands[i].line = reserving_->lines[i];
    if (!core::can_reserve(rule.algorithm)) continue;  // a slot is there, or it is not
    // A guarantee for which there is no room guarantees nothing.
    if (check.inside != Check::kNoGuarantee && !keys_[key_of_[check.inside]].shut_out)
      demands[i].inside = check.inside;
    demands[i].ledger =
        key.ledger != nullptr ? key.ledger : &alone[i].emplace(ledger_of(key, found_[i], rule));
  }
  return joint_moment(std::span(demands).first(checks_.size()), now_, reserving_->max_wait,
                      reserving_->sooner_by);
}

// It is charged at that moment.
void AllOrNoneCheck::take_moment(const JointMoment& moment) {
  find_keys();
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    Check& check = checks_[i];
    Key& key = keys_[key_of_[i]];
    found_[i] = key.state;
    if (key.ledger == nullptr) {
      charge(i, key, now_);
      continue;
    }
    if ((moment.fits >> i & 1U) == 0) continue;
    check.decision.verdict = Verdict::allowed;
    check.decision.retry_after.reset();
    if (check.cost.units == 0) continue;
    in_ledgers_ |= 1U << i;
    key.charges += check.cost.units;
    key.charged = true;
  }
}

// The request is denied: of the checks that would have allowed it, what is there without it.
void AllOrNoneCheck::tell_uncharged() {
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const Key& key = keys_[key_of_[i]];
    const DecidingRule rule(checks_, i);
    if (key.ledger != nullptr) {
      tell_without(checks_[i], [&] { return key.ledger->decide(*rule, now_, Cost{0}).decision(); });
      continue;
    }
    const core::TwoWords state = found_[key.first_check];
    const bool late = !key.known || core::counted_by_another_quota(*rule, state);
    tell_without(checks_[i], *rule, state, late ? key.no_earlier(now_) : now_);
  }
}

// It is charged when all have a place (write_in_ledger()).
void AllOrNoneCheck::charge_in_ledger(std::size_t which, Key& key) {
  Check& check = checks_[which];
  const DecidingRule rule(checks_, which);
  found_[which] = key.state;
  if (charging_ != nullptr && !is_guarantee(which)) {
    new (&check.decision) Decision(charging_->find(which, *rule, *key.ledger, now_, check));
    key.charged = true;
    in_ledgers_ |= 1U << which;
    return;
  }
  const bool looks = check.cost.units == 0 || (charging_ != nullptr && charging_->refunds());
  const Cost cost{looks ? 0 : key.charges + check.cost.units};
  const core::Step step = key.ledger->decide(*rule, now_, cost);
  if (key.shut_out && step.changes) {
    check.decision = without_room(check, key);
    return;
  }
  new (&check.decision) Decision(step.decision());
  if (!step.changes) return;
  key.charges += check.cost.units;
  key.charged = true;
  in_ledgers_ |= 1U << which;
}

void AllOrNoneCheck::charge(std::size_t which, Key& key, nanoseconds at) {
  if (key.ledger != nullptr) return charge_in_ledger(which, key);
  Check& check = checks_[which];
  if (core::counts_at_grant(check.limit->rule.algorithm)) at = now_;
  found_[which] = key.state;
  const DecidingRule rule(checks_, which);
  const bool recounts = core::counted_by_another_quota(*rule, key.state);
  const bool late = recounts || (!key.known && !key.charged);
  const nanoseconds arrived = at != now_ || is_guarantee(which) ? at : arrived_;
  const nanoseconds as_of = late ? key.no_earlier(at) : at;
  const core::Step step =
      charging_ != nullptr && is_guarantee(which) && charging_->refunds()
          ? core::decide(*rule, key.state, as_of, Cost{0}, arrived)
      : charging_ != nullptr && !is_guarantee(which)
          ? charging_->charge(which, *rule, key.state, as_of, check, key.unstored)
          : core::decide(*rule, key.state, as_of, check.cost, late ? key.no_earlier(arrived) : arrived);
  if (reserving_ != nullptr) reserving_->states[which] = step.next;
  if (key.shut_out && step.changes) {
    if (charging_ != nullptr) charging_->lose(which, key.state);
    check.decision = without_room(check, key);
    return;
  }
  new (&check.decision) Decision(step.decision());
  if (!step.changes) return;
  key.state = step.next;
  key.charged = true;
  key.recounted = key.recounted || recounts;
}

// Whether every new key that is charged has a slot.
bool AllOrNoneCheck::find_slots() {
  bool all = true;
  for (Key& key : keys()) {
    if (!key.known && key.charged && !key.unstored) all = find_slot(key) && all;
  }
  return all;
}

// In the bucket that is claimed for the key, or else in its other one: a free slot that no other key has.
bool AllOrNoneCheck::find_slot(Key& key) {
  key.soonest = ~std::uint64_t{0};
  for (const std::size_t which : {key.home, 1 - key.home}) {
    Bucket& bucket = *key.homes[which].bucket;
    bucket.assert_held();
    for (int slot = 0; slot < Bucket::kSlots; ++slot) {
      const auto taken = std::find_if(keys().begin(), keys().end(), [&](const Key& other) {
        return other.slot == slot && &other.bucket() == &bucket;
      });
      const bool is_taken = taken != keys().end();
      const std::uint64_t ahead =
          std::max(bucket.ahead(slot, now_), is_taken ? core::ahead_of(taken->state.until, now_) : 0);
      if (is_taken || ahead != 0) {
        key.soonest = std::min(key.soonest, std::max<std::uint64_t>(ahead, 1));
        continue;
      }
      key.home = which;
      key.slot = slot;
      key.claims = true;
      return true;
    }
  }
  return false;
}

void AllOrNoneCheck::write() {
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    Key& key = keys_[key_of_[i]];
    if (reserving_ != nullptr && (key.slot < 0 || !checks_[i].decision.allowed())) reserving_->states[i] = {};
    if (key.slot >= 0 && (in_ledgers_ >> i & 1U) != 0) write_in_ledger(i, key);
  }
  for (Key& key : keys()) {
    if (key.slot < 0 || !key.charged || (key.ledger != nullptr && !key.ledger_changed)) continue;
    Bucket& bucket = key.bucket();
    bucket.assert_held();
    bool recounts = key.recounted;
    if (key.ledger != nullptr) recounts = put_state_of_ledger(key);
    if (key.known) {
      // As of now, even what was decided for a later moment: any new key of the segment would be decided no
      // earlier, and have to wait for that moment too.
      if (recounts) key.homes[key.home].segment->forget(static_cast<std::uint64_t>(now_.count()));
      bucket.set(key.slot, key.state);
      continue;
    }
    key.homes[key.home].segment->put(bucket, key.slot, key.place.tag, key.state);
    if (key.home == 1) {
      Bucket& first = *key.homes[0].bucket;
      first.assert_held();
      first.mark_overflowed();
    }
  }
}

void AllOrNoneCheck::write_in_ledger(std::size_t which, Key& key) {
  Check& check = checks_[which];
  const DecidingRule deciding(checks_, which);
  const core::Rule& rule = *deciding;
  if (charging_ != nullptr && !is_guarantee(which)) {
    new (&check.decision) Decision(charging_->charge(which, rule, *key.ledger, now_, check));
    key.ledger_changed = key.ledger_changed || charging_->has_changed(which, check);
    return;
  }
  key.ledger_changed = true;
  if (reserving_ == nullptr || !reserving_->is_kept()) return key.ledger->charge(rule, now_, check.cost);
  const nanoseconds at = now_ + reserving_->wait;
  reserving_->owns[which] = key.ledger->reserve(rule, now_, at, check.cost.units, at + reserving_->open());
  const Decision told = key.ledger->decide(rule, now_, Cost{0}).decision();
  check.decision.remaining = told.remaining;
  check.decision.reset_after = told.reset_after;
}

// Whether it is counted by other numbers than it was.
bool AllOrNoneCheck::put_state_of_ledger(Key& key) const {
  const std::uint64_t interval = key.state.word;
  key.state = state_of(*key.ledger, checks_[key.first_check].limit->rule, now_);
  return without_ledger_bit(key.state).word != interval;
}

// For every key without a slot. True when that decides the request.
bool AllOrNoneCheck::make_room() {
  if (had_room_) ++missed_;
  had_room_ = false;
  std::array<const Bucket*, kMostChecks> claimed;
  std::size_t claims = 0;
  for (const Key& key : keys()) {
    if (key.claims) claimed[claims++] = &key.bucket();
  }
  for (Key& key : keys()) {
    if (key.known || !key.charged || key.unstored || key.slot >= 0) continue;
    const Segments::Room room = missed_ > Segments::kMostMissed
                                    ? Segments::Room::none
                                    : segments_.make_room(key.place, now_, std::span(claimed).first(claims));
    switch (room) {
      case Segments::Room::first:
      case Segments::Room::second:
        key.home = room == Segments::Room::first ? 0 : 1;
        claimed[claims++] = &key.bucket();
        break;
      case Segments::Room::split:
        return false;  // the claims are looked for again, in the segments as they are then
      case Segments::Room::missed:
        ++missed_;
        return false;
      case Segments::Room::none:
        if (refuse(key)) return true;
    }
  }
  had_room_ = true;
  return false;
}

// True when the whole request is refused: charging the others alone would not be all or none.
bool AllOrNoneCheck::refuse(Key& key) {
  ++refused_;
  const bool reports = charging_ != nullptr && !charging_->terms.asks();
  if (reports || checks_[key.first_check].limit->when_full.value_or(when_full_) == WhenFull::allow) {
    key.unstored = true;
    return false;
  }
  // Nothing else is stopped by that.
  if (charging_ != nullptr || only_shadow(key)) {
    key.shut_out = true;
    return false;
  }
  charged_ = false;
  if (taking_ != nullptr) {
    taking_->granted = 0;
    set_costs(checks_, *taking_, taking_->least);
  }
  for (Check& check : checks_.subspan(key.first_check)) {
    if (!check.shadow) check.decision = without_room(check, key);
  }
  tell_uncharged();
  if (reserving_ != nullptr) {
    reserving_->by = static_cast<std::uint8_t>(key.first_check);
    reserving_->wait = nanoseconds{static_cast<std::int64_t>(key.soonest)};
  }
  return true;
}

bool AllOrNoneCheck::only_shadow(const Key& key) const {
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    if (&keys_[key_of_[i]] == &key && !checks_[i].shadow) return false;
  }
  return true;
}

Decision AllOrNoneCheck::without_room(const Check& check, const Key& key) {
  const std::int64_t burst = check.limit->rule.quota.burst();
  if (check.cost.units > static_cast<std::uint64_t>(burst))
    return {Verdict::never, burst, 0, std::nullopt, nanoseconds{0}};
  return {Verdict::denied, burst, 0, nanoseconds{static_cast<std::int64_t>(key.soonest)}, nanoseconds{0}};
}

}  // namespace weir::store
