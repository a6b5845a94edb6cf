// What charges from outside, pauses, penalties and resets do to keys, some of which are in ledgers.
#include <algorithm>
#include <array>
#include <utility>

#include "core/fixed_window.hpp"
#include "core/reservation.hpp"
#include "store/check_rules.hpp"
#include "store/in_ledger.hpp"
#include "store/penalty.hpp"
#include "store/reservations.hpp"
#include "store/reservations_locked.hpp"

namespace weir::inline v0_1::store {

using std::chrono::nanoseconds;

void Reservations::pause(Request& request, nanoseconds now) {
  constexpr auto kPause = ReservationMemory::Kind::pause;
  ChargeTerms& terms = *request.charge;
  make_room(terms.client, request.checks.size() * kLedgerBytes, kPause, now);
  Charging charging{terms};
  Locked locked(*this, request.checks);
  locked.clear_away(now);
  Shares shares;
  const auto full =
      take_ledgers(request.checks, now + terms.outside.length, now, terms.client, kPause, shares);
  if (full != ReservationMemory::Full::no) return refuse_full(request, full, kPause);
  pause(request.checks, charging, shares, now);
  charging.tell(request);
}

// Under the locks of their stripes. Of each key there is a ledger, or the share for one.
void Reservations::pause(std::span<Check> checks, Charging& charging, Shares& shares, nanoseconds now) {
  const nanoseconds end = now + charging.terms.outside.length;
  Ledgers ledgers = find_ledgers(checks, now);
  std::array<std::optional<KeyLedger>, kMostChecks> made;
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (ledgers[i] == nullptr && core::can_reserve(checks[i].limit->rule.algorithm) &&
        KeyLedger::can_count(checks[i].limit->rule.quota))
      ledgers[i] = &made[i].emplace(core::TwoWords{0, 1});
  table_.check_all(checks, now, now, ledgers, &charging);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    if (std::optional<KeyLedger>& one = made[i]) {
      Stripe& stripe = stripe_of(check.hash);
      stripe.mutex.assert_held();
      if (is_in_ledger(table_.state_of(Table::place_of(check.hash)), now))
        keep_ledger(stripe, check.hash, *std::move(one), check.limit->rule, end, std::move(shares[i]));
    } else if (!core::can_reserve(check.limit->rule.algorithm)) {
      // What was counted before gives nothing back. One on the clock may end when the one before would have.
      Stripe& stripe = stripe_of(check.hash);
      stripe.mutex.assert_held();
      if (core::goes_by_the_clock(check.limit->rule.algorithm)) ++stripe.resets;
    } else if (KeptLedger* const kept = find_ledger(check.hash, now)) {
      if (shares[i] && kept->until < end) kept->share = std::move(shares[i]);
      kept->until = std::max(kept->until, end);
    }
    paused_(place_of(check.hash), end, charging.terms.outside.afresh);
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
  make_room(ReservationMemory::kPenalties, kLedgerBytes, ReservationMemory::Kind::pause, now);
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
  if (take_ledgers({&alone, 1}, now + std::max(penalty.time, penalty.most), now,
                   ReservationMemory::kPenalties, ReservationMemory::Kind::pause,
                   shares) != ReservationMemory::Full::no) {
    pauses_not_kept_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  ChargeTerms terms{.outside = Pause{penalties_.breach(place_of(check.hash), penalty, now), penalty.afresh}};
  Charging charging{terms};
  pause({&alone, 1}, charging, shares, now);
  return true;
}

// Whether what is owed denies it, and the key does not rest.
bool Reservations::is_breached(const Check& check, nanoseconds now) {
  if (core::can_reserve(check.limit->rule.algorithm)) {
    const KeptLedger* const kept = find_ledger(check.hash, now);
    if (kept != nullptr && kept->ledger.is_paused(now)) return false;
  } else {
    const core::TwoWords state = table_.state_of(Table::place_of(check.hash));
    if (core::fixed_window::is_paused({state.until, state.word}, now)) return false;
  }
  Limit whole = *check.limit;
  whole.rule.kept = nanoseconds{0};
  Check alone{.limit = &whole, .key = check.key, .cost = check.cost, .hash = check.hash};
  look_all({&alone, 1}, now);
  return alone.decision.verdict == Verdict::denied && alone.decision.retry_after;
}

void Reservations::refund(Request& request, nanoseconds now) {
  Charging charging{*request.charge};
  check_all(request.checks, now, now, &charging, nullptr);
  charging.tell(request);
}

bool Reservations::raise(std::uint64_t hash, const Quota& quota, std::uint64_t tat, nanoseconds now) {
  Stripe& stripe = stripe_of(hash);
  const Held lock(stripe.mutex);
  KeptLedger* const kept = find_ledger(stripe, hash, now);
  if (kept == nullptr) return table_.raise(Table::place_of(hash), quota, tat, now);
  kept->rule = core::Rule{quota};
  kept->ledger.raise(kept->rule, tat, now);
  put_state(hash, *kept, now);
  return true;
}

void Reservations::give_back(const Check& charged, nanoseconds charged_at, nanoseconds now) {
  Stripe& stripe = stripe_of(charged.hash);
  const Held lock(stripe.mutex);
  if (find_ledger(stripe, charged.hash, now) != nullptr) return;
  table_.give_back(Table::place_of(charged.hash), charged.limit->rule.quota, charged.cost, charged_at, now);
}

bool Reservations::reset(std::uint64_t hash, nanoseconds now) {
  penalties_.forget(place_of(hash));
  Stripe& stripe = stripe_of(hash);
  const Held lock(stripe.mutex);
  if (stripe.ledgers.erase(place_of(hash)) != 0 && stripe.left) stripe.left->push_back({place_of(hash), {}});
  ++stripe.resets;
  const bool had_slots = stripe.slots.erase(place_of(hash)) != 0;
  if (had_slots) freed_(place_of(hash));
  owed_changed_(place_of(hash));
  return table_.reset(Table::place_of(hash), now) || had_slots;
}

}  // namespace weir::store
