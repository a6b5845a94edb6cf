#include "store/charging.hpp"

#include "core/reservation.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::store {

using std::chrono::nanoseconds;

namespace {

bool is_longer(const Charged& a, const Charged& b) {
  return a.wait != b.wait ? a.wait > b.wait : a.overdraft > b.overdraft;
}

Verdict verdict_of(const Charged& told, const core::Rule& rule, const Outside& outside) {
  if (told.overdraft == 0) return Verdict::allowed;
  const bool too_much =
      outside.form == Outside::Form::cost && outside.units > static_cast<std::uint64_t>(rule.quota.burst());
  return too_much ? Verdict::never : Verdict::denied;
}

}  // namespace

Decision decision_of(const Charged& told, const core::Rule& rule, const Outside& outside) {
  const Verdict verdict = verdict_of(told, rule, outside);
  return {.verdict = verdict,
          .limit = rule.quota.burst(),
          .remaining = static_cast<std::int64_t>(told.remaining),
          .retry_after = verdict == Verdict::denied ? std::optional(told.wait) : std::nullopt,
          .reset_after = told.reset_after,
          .source = told.source};
}

core::Step Charging::charge_for(std::size_t which, const core::Rule& rule, core::TwoWords state,
                                nanoseconds now, Cost cost, bool lost) {
  if (cost.units != 0 && terms.others_free && has(terms.others_free->if_it_fits, which))
    return core::decide(rule, state, now, cost);
  Outside outside = terms.outside;
  outside.units = cost.units;
  core::Overdrawn each = outside.form == Outside::Form::refund
                             ? core::refund(rule, state, now, outside.units, 0)
                             : core::overdraw(rule, state, now, outside);
  if (lost) lose(each, state);
  told[which] = each;
  return {verdict_of(each, rule, outside),
          rule.quota.burst(),
          each.remaining,
          static_cast<std::uint64_t>(each.wait.count()),
          static_cast<std::uint64_t>(each.reset_after.count()),
          each.next,
          each.changes};
}

Decision Charging::charge_for(std::size_t which, const core::Rule& rule, KeyLedger& ledger, nanoseconds now,
                              Cost cost) {
  if (cost.units != 0 && terms.others_free && has(terms.others_free->if_it_fits, which)) {
    const core::Step step = ledger.decide(rule, now, cost);
    if (step.changes) ledger.charge(rule, now, cost);
    return step.decision();
  }
  Outside outside = terms.outside;
  outside.units = cost.units;
  keep(which, ledger.charge(rule, now, outside));
  return decision_of(told[which], rule, outside);
}

Decision Charging::charge(std::size_t which, const core::Rule& rule, KeyLedger& ledger, nanoseconds now,
                          const Check& check) {
  if (terms.asks()) return charge_for(which, rule, ledger, now, charges(which) ? check.cost : Cost{0});
  keep(which, ledger.charge(rule, now, outside_of(terms, check)));
  Decision found = ledger.decide(rule, now, Cost{0}).decision();
  found.verdict = Verdict::allowed;
  return found;
}

bool Charging::has_changed(std::size_t which, const Check& check) const {
  if (terms.others_free && has(terms.others_free->if_it_fits, which))
    return charges(which) && check.cost.units != 0 && check.decision.allowed();
  return has(changed, which);
}

// Of a report it is not asked before it is charged. A copy costs as much as what is open.
Decision Charging::find(std::size_t which, const core::Rule& rule, const KeyLedger& ledger, nanoseconds now,
                        const Check& check) {
  if (!terms.asks()) return ledger.decide(rule, now, Cost{0}).decision();
  KeyLedger copy = ledger;
  return charge(which, rule, copy, now, check);
}

Decision Charging::find_whether_over(std::size_t which, const core::Rule& rule, const KeyLedger& ledger,
                                     nanoseconds now, const Check& check) {
  KeyLedger copy = ledger;
  return find_whether_over(which, charge_for(which, rule, copy, now, check.cost));
}

Decision Charging::find_whether_over(std::size_t which, const core::Rule& rule, core::TwoWords state,
                                     nanoseconds now, const Check& check) {
  return find_whether_over(which, charge_for(which, rule, state, now, check.cost, false).decision());
}

void Charging::tell(Request& request) const {
  request.charged = true;
  if (terms.others_free) {
    request.by = deciding(request.checks);
    return;
  }
  std::uint64_t dropped = 0;
  const Charged* longest = nullptr;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const Charged& each = told[i];
    dropped += each.dropped;
    if (request.checks[i].shadow) continue;
    if (longest != nullptr && !(refunds() ? each.charged < longest->charged : is_longer(each, *longest)))
      continue;
    longest = &each;
    request.by = static_cast<std::uint8_t>(i);
  }
  terms.told = longest != nullptr ? *longest : Charged{};
  terms.told.dropped = dropped;
  terms.told.source = request.source;
  if (terms.decides) request.by = deciding(request.checks);
}

std::optional<std::string> cannot_charge(std::span<const Check> checks, const Outside& outside) {
  for (const Check& check : checks) {
    const Algorithm algorithm = check.limit->rule.algorithm;
    if (core::counts_slots(algorithm))
      return core::to_text(check.limit->rule) + " cannot be charged: a slot is taken by a hold";
    if (outside.form == Outside::Form::pause && !core::can_pause(algorithm, outside.afresh))
      return core::name_of(algorithm) + (outside.afresh
                                             ? " cannot be paused afresh: gcra and fixed windows can"
                                             : " cannot be paused: only gcra can");
    if (core::can_overdraw(algorithm)) continue;
    const bool refunds = outside.form == Outside::Form::refund;
    return core::name_of(algorithm) + (refunds ? " cannot be refunded" : " cannot be charged afterwards") +
           ": gcra and fixed windows can";
  }
  return std::nullopt;
}

std::optional<std::string> cannot_charge(std::span<const Check> checks, const ChargeTerms& terms) {
  const auto is_plain = [](const Check& each) {
    return each.is_plain() && each.limit->rule.kept.count() == 0;
  };
  if (terms.others_free &&
      (terms.outside.form != Outside::Form::cost || !std::all_of(checks.begin(), checks.end(), is_plain)))
    return "only costs can leave others free, and no shadow, guarantee or class";
  return cannot_charge(checks, terms.outside);
}

}  // namespace weir::store
