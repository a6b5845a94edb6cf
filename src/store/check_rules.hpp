// What every store asks of a request's checks before it decides them, and the rule by which it decides each.
//
// Pure functions, any thread. Not for: what only one store cannot do.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/reservation.hpp"
#include "core/rule.hpp"
#include "core/severity.hpp"
#include "core/step.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store {

// Of a request that the store cannot decide.
inline void refuse(Request& request, std::string why) {
  request.fault = Fault::unsuitable;
  request.why = std::move(why);
}

// Whether a check is inside none, or inside an earlier shadow check.
inline bool is_inside_well(std::span<const Check> checks, std::size_t which) {
  const std::size_t inside = checks[which].inside;
  return inside == Check::kNoGuarantee || (inside < which && checks[inside].shadow);
}

// Whether an enforced one costs more than its limit ever admits, but perhaps in a guarantee.
inline bool may_be_never(std::span<const Check> checks) {
  return std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return !check.shadow && check.cost.units > core::most_units(check.limit->rule);
  });
}

// Whether a later check is inside it.
inline bool is_guarantee(std::span<const Check> checks, std::size_t which) {
  return std::any_of(checks.begin(), checks.end(),
                     [which](const Check& other) { return other.inside == which; });
}

// Why no store decides such checks; nothing when they are well formed.
inline std::optional<std::string> malformed(std::span<const Check> checks) {
  if (checks.empty() || checks.size() > kMostChecks) {
    return "a request has 1 to " + std::to_string(kMostChecks) + " checks, not " +
           std::to_string(checks.size());
  }
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (is_inside_well(checks, i)) continue;
    return "check " + std::to_string(i) + " is inside check " + std::to_string(checks[i].inside) +
           "; expected an earlier shadow check";
  }
  return std::nullopt;
}

inline bool can_be_reserved(Algorithm algorithm) {
  return core::can_reserve(algorithm) || core::counts_at_grant(algorithm) || core::counts_slots(algorithm);
}
inline std::string cannot_be_reserved(Algorithm algorithm) {
  return core::name_of(algorithm) + " cannot be reserved: gcra and fixed windows can";
}

inline bool has_slots(std::span<const Check> checks) {
  return std::any_of(checks.begin(), checks.end(),
                     [](const Check& each) { return core::counts_slots(each.limit->rule.algorithm); });
}
// Of its states it is known which holds are open.
inline bool lists_holds(const Limit& limit) {
  const Algorithm algorithm = limit.rule.algorithm;
  return core::counts_slots(algorithm) || (core::can_reserve(algorithm) && limit.holding.settles);
}
// One that costs nothing looks.
inline bool takes_slot(const Check& check) {
  return check.cost.units != 0 && core::counts_slots(check.limit->rule.algorithm);
}
inline bool takes_slots(std::span<const Check> checks) {
  return std::any_of(checks.begin(), checks.end(), takes_slot);
}

// Why only a reservation that is held can meet one of the checks; nothing when all can be met without.
inline std::optional<std::string> needs_hold(std::span<const Check> checks) {
  for (const Check& check : checks) {
    const core::Rule& rule = check.limit->rule;
    if (!core::counts_slots(rule.algorithm)) continue;
    return core::to_text(rule) +
           " is met by WEIR.RESERVE and WEIR.ACQUIRE alone (/v1/reserve, /v1/acquire), with a hold: a slot "
           "is "
           "taken until the hold's end";
  }
  return std::nullopt;
}

// The rule of a check once those before it have been decided: inside its guarantee it keeps nothing free.
class DecidingRule {
 public:
  DecidingRule(std::span<const Check> checks, std::size_t which) : rule_(&checks[which].limit->rule) {
    const std::size_t inside = checks[which].inside;
    if (inside == Check::kNoGuarantee || !checks[inside].decision.allowed()) return;
    core::Rule& rule = at_best_.emplace(*rule_);
    rule.kept = std::chrono::nanoseconds{0};
    rule_ = &rule;
  }
  DecidingRule(const DecidingRule&) = delete;
  DecidingRule& operator=(const DecidingRule&) = delete;

  const core::Rule& operator*() const { return *rule_; }

 private:
  const core::Rule* rule_;  // that of the limit, which is not copied for most
  std::optional<core::Rule> at_best_;
};

// Of a check that would have allowed a request that others deny: what is there without it.
template <class Look>
void tell_without(Check& check, const Look& look) {
  if (!check.decision.allowed() || check.cost.units == 0) return;
  const Decision found = look();
  check.decision.remaining = found.remaining;
  check.decision.reset_after = found.reset_after;
}
inline void tell_without(Check& check, const core::Rule& rule, core::TwoWords state,
                         std::chrono::nanoseconds now) {
  tell_without(check, [&] { return core::decide(rule, state, now, Cost{0}).decision(); });
}

// The check that decides (Request::by).
inline std::uint8_t deciding(std::span<const Check> checks) {
  return static_cast<std::uint8_t>(core::deciding(
      checks.size(), [&](std::size_t i) { return checks[i].shadow ? nullptr : &checks[i].decision; }));
}

}  // namespace weir::store
