// What is charged afterwards, whether there was room or not, at each limit of a request: one rule for every
// store.
//
// Pure, any thread. Not for: where a state lies, and what one charge comes to (core/overdraft.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/overdraft.hpp"
#include "core/rule.hpp"
#include "core/step.hpp"
#include "store/key_ledger.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store {

// One of no length pauses nothing.
inline bool pauses(const Outside& outside) {
  return outside.form == Outside::Form::pause && outside.length.count() > 0;
}

// What is told of the outside at a check.
inline Outside outside_of(const ChargeTerms& terms, const Check& check) {
  Outside outside = terms.outside;
  if (outside.form == Outside::Form::pause && !pauses(outside)) return Outside(Cost{0});
  if (outside.form == Outside::Form::cost || outside.form == Outside::Form::refund)
    outside.units = check.cost.units;
  return outside;
}

struct Charging {
  ChargeTerms& terms;
  std::array<Charged, kMostChecks> told{};  // by check; nothing of a guarantee
  std::uint16_t over{};                     // one bit for each check, of OthersFree
  std::uint16_t changed{};                  // and of those in a ledger

  // Of OthersFree, for each check before the first is charged; what it would be told.
  Decision find_whether_over(std::size_t which, const core::Rule& rule, core::TwoWords state,
                             std::chrono::nanoseconds now, const Check& check);
  // The same of one in a ledger.
  Decision find_whether_over(std::size_t which, const core::Rule& rule, const KeyLedger& ledger,
                             std::chrono::nanoseconds now, const Check& check);
  // The same of one of which that is known.
  Decision find_whether_over(std::size_t which, const Decision& found) {
    if (is_over(which, found)) over |= static_cast<std::uint16_t>(1U << which);
    return found;
  }
  // The same of one for whose key there is no room, which is over where it would be charged.
  void find_over_for_room(std::size_t which, const Check& check) {
    if (check.cost.units != 0) over |= static_cast<std::uint16_t>(1U << which);
  }
  // Of OthersFree, once that is found: what charge() charges.
  bool charges(std::size_t which) const { return over == 0 || has(over, which); }
  // Of OthersFree: whether what is told says that it is over.
  bool is_over(std::size_t which, const Decision& told_of) const {
    return !told_of.allowed() ||
           (terms.others_free && has(terms.others_free->leaves_one, which) && told_of.remaining == 0);
  }
  // `lost`: there is no room for what is charged.
  core::Step charge(std::size_t which, const core::Rule& rule, core::TwoWords state,
                    std::chrono::nanoseconds now, const Check& check, bool lost) {
    if (terms.asks()) return charge_for(which, rule, state, now, charges(which) ? check.cost : Cost{0}, lost);
    const Outside outside = outside_of(terms, check);
    core::Overdrawn each = outside.form == Outside::Form::refund
                               ? core::refund(rule, state, now, outside.units, 0)
                               : core::overdraw(rule, state, now, outside);
    if (lost) lose(each, state);
    told[which] = each;
    const core::Step found = core::decide(rule, each.next, now, Cost{0});
    return {Verdict::allowed, found.limit, found.remaining, 0, found.reset_after, each.next, each.changes};
  }
  // The same of one in a ledger; and what that would tell.
  Decision charge(std::size_t which, const core::Rule& rule, KeyLedger& ledger, std::chrono::nanoseconds now,
                  const Check& check);
  // Once it is charged there.
  bool has_changed(std::size_t which, const Check& check) const;
  Decision find(std::size_t which, const core::Rule& rule, const KeyLedger& ledger,
                std::chrono::nanoseconds now, const Check& check);
  // A guarantee is charged as by a check inside it; what was charged to it is not known, so it stays.
  bool refunds() const { return terms.outside.form == Outside::Form::refund; }
  // There is no room for what was charged.
  void lose(std::size_t which, core::TwoWords state) {
    core::Overdrawn each{told[which]};
    lose(each, state);
    told[which] = each;
  }
  // The request has its answer.
  void tell(Request& request) const;

  // Where it asks: charges that much, whether it is over or not.
  core::Step charge_for(std::size_t which, const core::Rule& rule, core::TwoWords state,
                        std::chrono::nanoseconds now, Cost cost, bool lost);
  Decision charge_for(std::size_t which, const core::Rule& rule, KeyLedger& ledger,
                      std::chrono::nanoseconds now, Cost cost);

 private:
  void keep(std::size_t which, const core::Overdrawn& each) {
    told[which] = each;
    if (each.changes) changed |= static_cast<std::uint16_t>(1U << which);
  }
  static bool has(std::uint16_t bits, std::size_t which) { return (bits >> which & 1U) != 0; }
  static void lose(core::Overdrawn& each, core::TwoWords state) {
    const std::uint64_t dropped = each.charged + each.dropped;
    each = {};
    each.next = state;
    each.dropped = dropped;
  }
};

// What a charge came to, as of one that asked for its cost: denied when more is owed than the limit admits.
// No time helps what cost more than it ever admits.
Decision decision_of(const Charged& told, const core::Rule& rule, const Outside& outside);

// Why no store charges such checks; nothing when it does.
std::optional<std::string> cannot_charge(std::span<const Check> checks, const Outside& outside);
std::optional<std::string> cannot_charge(std::span<const Check> checks, const ChargeTerms& terms);

}  // namespace weir::store
