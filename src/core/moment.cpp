#include "core/moment.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/severity.hpp"

namespace weir::inline v0_1::core {

namespace {

using std::chrono::nanoseconds;

using Late = std::pair<nanoseconds, std::uint8_t>;  // and which limit says so

// What all limits say as of one time.
struct AsOf {
  std::uint32_t allow = 0;  // a bit for each
  std::uint8_t by = 0;      // the enforced one that decides
  Decision decision{Verdict::allowed, 0, 0, {}, {}};

  bool allows(std::size_t which) const { return (allow >> which & 1U) != 0; }
};

Rule rule_of(const Demand& demand, const AsOf& decided) {
  Rule rule = *demand.rule;
  if (demand.inside != Demand::kAlone && decided.allows(demand.inside)) rule.kept = nanoseconds{0};
  return rule;
}

AsOf as_of(std::span<const Demand> demands, nanoseconds at) {
  AsOf all;
  bool any = false;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Demand& demand = demands[i];
    const Decision its =
        decide(rule_of(demand, all), demand.state, std::max(at, demand.no_earlier), demand.cost).decision();
    if (its.allowed()) all.allow |= 1U << i;
    if (demand.shadow || (any && !decides(its, all.decision))) continue;
    any = true;
    all.by = static_cast<std::uint8_t>(i);
    all.decision = its;
  }
  return all;
}

// The time before which a limit must not be charged as of the moment, because less would be left until then
// than its burst without this cost and without what the lowest class leaves free: waiting until that time
// shortens the lift.
nanoseconds earliest_lift(const Demand& demand, nanoseconds moment) {
  const Quota& quota = demand.rule->quota;
  const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
  const std::uint64_t room = static_cast<std::uint64_t>(quota.burst()) * interval -
                             static_cast<std::uint64_t>(demand.lowest_kept.count());
  const std::uint64_t need = demand.cost.units * interval;  // the cost was allowed: it is at most the burst
  return moment - nanoseconds{static_cast<std::int64_t>(room - std::min(room, need))};
}

// For how long yet one limit has to rest, so that the moment, which `awaited` asks for, does not lift it too
// far; 0 or below: for none.
nanoseconds rest_of(const Demand& demand, nanoseconds now, nanoseconds moment, std::uint8_t awaited) {
  const bool is_lifted = demand.state.until < static_cast<std::uint64_t>(moment.count());
  const bool all_wait = (demand.waits_with >> awaited & 1) != 0;
  if (counts_slots(demand.rule->algorithm)) return nanoseconds{0};
  if (demand.cost.units == 0 || !is_lifted || all_wait) return nanoseconds{0};
  return earliest_lift(demand, moment) - now;
}

// The longest such rest. A guarantee is charged with the limit that it is inside of.
Late longest_rest(std::span<const Demand> demands, const AsOf& decided, nanoseconds now, nanoseconds moment,
                  std::uint8_t awaited) {
  Late longest{0, 0};
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Demand& demand = demands[i];
    if (demand.shadow) continue;
    nanoseconds rest = rest_of(demand, now, moment, awaited);
    if (demand.inside != Demand::kAlone && !may_wait(*demand.rule) && decided.allows(demand.inside))
      rest = std::max(rest, rest_of(demands[demand.inside], now, moment, awaited));
    if (rest > longest.first) longest = {rest, static_cast<std::uint8_t>(i)};
  }
  return longest;
}

// Until none of the limits has a debt that may not be counted in its T ahead.
nanoseconds longest_debt(std::span<const Demand> demands, nanoseconds now) {
  std::uint64_t longest = 0;
  for (const Demand& demand : demands) {
    if (demand.shadow || demand.cost.units == 0 || may_recount_ahead(*demand.rule, demand.state, now))
      continue;
    longest = std::max(longest, ahead_of(demand.state.until, now));
  }
  return nanoseconds{static_cast<std::int64_t>(at_most_the_longest(longest))};
}

}  // namespace

// One round is enough, as long as no `no_earlier` is after now.
Moment moment(std::span<const Demand> demands, nanoseconds now, nanoseconds max_wait) {
  AsOf decided = as_of(demands, now);
  const std::uint8_t by = decided.by;
  for (const Demand& demand : demands)
    if (!demand.shadow && !may_wait(rule_of(demand, decided))) max_wait = nanoseconds{0};
  nanoseconds moment = now;
  std::uint8_t awaited = by;
  for (std::size_t rounds = 0; rounds <= demands.size() && !decided.decision.allowed(); ++rounds) {
    const auto retry_after = decided.decision.retry_after;
    if (!retry_after) return {false, nanoseconds{-1}, by};
    // Some quotas drain for centuries, longer than a clock has left; who would wait that long waits in vain.
    if (*retry_after > nanoseconds::max() - moment)
      return {false, *retry_after > max_wait ? *retry_after - max_wait : nanoseconds{-1}, by};
    awaited = decided.by;
    moment += *retry_after;
    decided = as_of(demands, moment);
  }
  // How long the same request has to wait until it is allowed to wait for its moment.
  const Late late =
      std::max(Late{moment - now - max_wait, by}, longest_rest(demands, decided, now, moment, awaited),
               [](const Late& a, const Late& b) { return a.first < b.first; });
  // Until no debt is in a shorter T it may act, but not wait.
  const nanoseconds until = std::min(longest_debt(demands, now), moment - now);
  if (until > std::max(late.first, nanoseconds{0})) return {false, until, by};
  if (late.first <= nanoseconds{0}) return {true, moment - now, by};
  return {false, late.first, late.second};
}

}  // namespace weir::core
