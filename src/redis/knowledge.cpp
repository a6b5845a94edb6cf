#include "redis/knowledge.hpp"

#include <algorithm>

#include "redis/ledger_view.hpp"
#include "redis/script.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

void Knowledge::forget(std::uint64_t hash) {
  memory_.resets.of(hash).fetch_add(1);
  memory_.denials.forget(hash);
}

bool Knowledge::remembers(const core::Rule& rule) const {
  return options_.remember_denials && core::can_remember_denials(rule.algorithm);
}

std::optional<Decision> Knowledge::recall(const core::Rule& rule, std::uint64_t hash, Cost cost,
                                          nanoseconds now) const {
  if (!remembers(rule)) return std::nullopt;
  return memory_.denials.recall(hash, rule, cost, now);
}

// ------------------------------------------------------------------------------------- the store's clock

void Knowledge::hear_clock(const resp::Value& answer, nanoseconds asked, nanoseconds now) {
  if (const auto theirs = decided_at(answer)) memory_.store_clock.heard(*theirs, asked, now);
}

namespace {

// Of windows and logs, one of which may have begun just before a step that is too small to be seen. Slots end
// when their holders said, and a window of the calendar is that of its date.
std::optional<nanoseconds> furthest_window(const core::Rule& rule) {
  if (core::counts_slots(rule.algorithm) || rule.calendar != nullptr) return std::nullopt;
  const nanoseconds period = rule.quota.rate().period;
  constexpr nanoseconds kFar = nanoseconds::max() / 4;
  return period < kFar ? std::optional(2 * period + StoreClock::kSmallest) : std::nullopt;
}

}  // namespace

// What has been admitted in a window of after the step is known to nobody, as it is after any restart.
std::optional<nanoseconds> Knowledge::cut_window(const KeptCheck& check, const core::Rule& rule,
                                                 std::span<Decision> told, nanoseconds now) {
  const auto most = furthest_window(rule);
  const bool denies = most && !told.empty() && told.back().verdict == Verdict::denied;
  if (!denies || told.back().reset_after <= *most) return std::nullopt;
  // One that ends later than the step explains was longer under other numbers.
  const nanoseconds back = memory_.store_clock.suspect_for(now);
  if (back.count() == 0 || told.back().reset_after - *most > back) return std::nullopt;
  const nanoseconds period = rule.quota.rate().period;
  for (Decision& each : told) {
    if (each.retry_after) each.retry_after = std::min(*each.retry_after, period);
    each.reset_after = std::min(each.reset_after, period);
  }
  owe(check, rule, told.back(), now);
  return most;
}

std::optional<nanoseconds> Knowledge::cut(const KeptCheck& check, const core::Rule& rule, Cost cost,
                                          const resp::Value& state, std::span<Decision> told,
                                          nanoseconds now) {
  if (!core::has_burst(rule.algorithm)) return cut_window(check, rule, told, now);
  const nanoseconds most = rule.quota.emission_interval() * rule.quota.burst();
  if (told.empty() || told.back().reset_after <= most) return std::nullopt;
  // What lies further ahead than the step explains was charged so.
  if (told.back().reset_after - most > memory_.store_clock.suspect_for(now)) return std::nullopt;
  // A ledger goes on from where its time was, but what was owed before it was made lies ahead.
  const auto ledger = LedgerView::read(state.text);
  if (ledger && ledger->owed() <= static_cast<std::uint64_t>(most.count())) return std::nullopt;
  const auto interval = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
  const auto ahead = static_cast<std::uint64_t>(most.count());
  for (Decision& each : told) each = core::decide(rule, {ahead, interval}, nanoseconds{0}, cost).decision();
  owe(check, rule, told.back(), now);
  return most;
}

// ----------------------------------------------------------------------------------- what is asked there

namespace {

bool can_charge(const KeptCheck& check, Cost cost) {
  return cost.units > 0 && cost.units <= core::most_units(check.at_best());
}

}  // namespace

// One that cannot charge changes nothing that a denial under way could say.
void Knowledge::leaves(KeptCheck& check, Cost cost) {
  if (!can_charge(check, cost) || !remembers(check.limit.rule)) return;
  check.stamp = memory_.denials.ask(check.hash, check.at_best(), cost, this);
}

// The fallback continues from it; but what was asked before a reset tells of what is forgotten.
void Knowledge::owe(const KeptCheck& check, const core::Rule& rule, const Decision& told, nanoseconds now) {
  if (check.resets != resets_of(check.hash)) return;
  fallback_.owe(check.limit, rule, check.key(), told, now);
}

// It tells newer numbers than a remembered denial has.
void Knowledge::learn_of_look(const core::Rule& rule, const Decision& seen, const KeptCheck& check,
                              nanoseconds now) {
  owe(check, rule, seen, now);
  if (remembers(rule)) memory_.denials.forget(check.hash);
}

// What leaves() said has been answered, or will not be.
void Knowledge::learn(const Answered& answer, const KeptCheck& check, Cost cost, nanoseconds asked,
                      nanoseconds now) {
  const core::Rule& rule = answer.rule;
  // Allowed and not charged, because another check of its request was denied: that is not what is owed.
  const bool owed = answer.last != nullptr && (answer.charged || !answer.last->allowed() || cost.units == 0);
  if (owed) owe(check, rule, *answer.last, now);
  const bool denied = answer.last != nullptr && answer.last->verdict == Verdict::denied;
  if (denied) pressed_.denied(check.hash, now);
  if (!remembers(rule)) return;
  // A look tells newer numbers than a remembered denial has.
  if (!can_charge(check, cost)) return cost.units == 0 ? memory_.denials.forget(check.hash) : void();
  // One that is remembered takes no penalty: it has to be of a key that rests.
  const bool may_breach = check.limit.penalty && !answer.rests;
  if (!denied || may_breach) return memory_.denials.charged(check.hash);
  using enum DenialMemory::Holds;
  const auto holds = LedgerView::has_later(answer.state)        ? for_as_much
                     : check.limit.sharing.remembers_to_the_end ? to_the_end
                                                                : by_what_is_owed;
  memory_.denials.denied(check.hash, rule, cost, *answer.last, asked, now, check.stamp, holds);
}

// ---------------------------------------------------------------------------------------------------- leases

// They are GCRA's, for those who spend, and not for a class that keeps something free: what it took ahead it
// would have when others need it.
bool Knowledge::wants_lease(const store::Limit& limit, Cost cost) const {
  return limit.sharing.lease / options_.lease_parts > 1 && core::can_give_back(limit.rule.algorithm) &&
         limit.rule.kept.count() == 0 && cost.units > 0 &&
         cost.units <= static_cast<std::uint64_t>(limit.rule.quota.burst());
}

std::uint64_t Knowledge::units_to_lease(const store::Limit& limit, Cost cost) const {
  return std::min(std::max(limit.sharing.lease / options_.lease_parts, cost.units),
                  static_cast<std::uint64_t>(limit.rule.quota.burst()));
}

}  // namespace weir::redis
