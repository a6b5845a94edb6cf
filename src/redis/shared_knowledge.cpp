// What former answers still say: remembered denials, leases, and what the fallback is to continue from.
#include "redis/shared_store.hpp"

#include <algorithm>

#include "core/rule.hpp"
#include "redis/script.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

bool SharedStore::remembers(const core::Rule& rule) const {
  return options_.remember_denials && core::can_remember_denials(rule.algorithm);
}

std::optional<Decision> SharedStore::recall(const core::Rule& rule, std::uint64_t hash, Cost cost,
                                            nanoseconds now) const {
  if (!remembers(rule)) return std::nullopt;
  return memory_.denials.recall(hash, rule, cost, now);
}

// Then no remembered denial is the answer, since that would say when to come again.
bool SharedStore::may_be_never(std::span<const store::Check> checks) {
  return std::any_of(checks.begin(), checks.end(), [](const store::Check& check) {
    return !check.shadow && check.cost.units > core::most_units(check.limit->rule);
  });
}

// What a former answer still says.
std::optional<SharedStore::Answer> SharedStore::without_asking(const core::Rule& rule, std::uint64_t hash,
                                                               Cost cost, std::uint32_t resets,
                                                               bool may_lease, nanoseconds now) {
  if (const auto denial = recall(rule, hash, cost, now)) {
    counters_.remembered.fetch_add(1, std::memory_order_relaxed);
    return Answer{.decision = *denial, .source = Source::remembered};
  }
  if (!may_lease) return std::nullopt;
  const auto allowance = leases_.spend(hash, rule.quota, cost, now, resets);
  if (!allowance) return std::nullopt;
  counters_.leased.fetch_add(1, std::memory_order_relaxed);
  return Answer{
      .decision = allowance->decision, .source = Source::leased, .charged_at = allowance->charged_at};
}

// When the store said that it was that time, if it said any.
void SharedStore::hear_clock(const resp::Value& answer, nanoseconds asked, nanoseconds now) {
  if (const auto theirs = decided_at(answer)) memory_.store_clock.heard(*theirs, asked, now);
}

// What anybody can owe of such a limit, as far as it matters: anything, unless the store's clock has stepped.
nanoseconds SharedStore::most_owed(const core::Rule& rule, nanoseconds now) const {
  if (!memory_.store_clock.is_suspect(now)) return nanoseconds::max();
  const nanoseconds full = rule.quota.emission_interval() * rule.quota.burst();
  return full + std::min(options_.longest_wait, nanoseconds::max() - full);
}

// What was charged while the store's clock was ahead denies the key until that time has come: it is cut in
// the store, and told here as the store will say it then. Whether it was.
bool SharedStore::mend(const KeptCheck& check, const core::Rule& rule, Cost cost, std::span<Decision> told,
                       nanoseconds now) {
  const nanoseconds most = most_owed(rule, now);
  if (rule.algorithm != Algorithm::gcra || told.empty() || told.back().reset_after <= most) return false;
  const auto interval = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
  const auto ahead = static_cast<std::uint64_t>(most.count());
  for (Decision& each : told) each = core::decide(rule, {ahead, interval}, nanoseconds{0}, cost).decision();
  if (check.resets == memory_.resets.of(check.hash).load())
    fallback_.owe(check.limit, rule, check.key(), told.back(), now, most);
  std::string command;
  append_cap(command, check.ask(), line_of(check.name), rule.quota.emission_interval() * rule.quota.burst(),
             most, {});
  ask(GiveBackCall{check.hash}, slot(check.name), std::move(command), now + options_.deadline, now,
      Rank::first);
  return true;
}

namespace {

bool can_charge(const KeptCheck& check, Cost cost) {
  return cost.units > 0 && cost.units <= core::most_units(check.at_best());
}

}  // namespace

// A check goes to the store. One that cannot charge changes nothing that a denial under way could say.
void SharedStore::leaves(KeptCheck& check, Cost cost) {
  if (!can_charge(check, cost) || !remembers(check.limit.rule)) return;
  check.stamp = memory_.denials.ask(check.hash, check.at_best(), cost, this);
}

// A look has been answered: it tells newer numbers than a remembered denial has.
void SharedStore::learn_of_look(const core::Rule& rule, const Decision& seen, const KeptCheck& check,
                                nanoseconds now) {
  if (check.resets == memory_.resets.of(check.hash).load())
    fallback_.owe(check.limit, rule, check.key(), seen, now, most_owed(rule, now));
  if (remembers(rule)) memory_.denials.forget(check.hash);
}

// What leaves() said has been answered, or will not be.
void SharedStore::learn(const Answered& answer, const KeptCheck& check, Cost cost, nanoseconds asked,
                        nanoseconds now) {
  const core::Rule& rule = answer.rule;
  // Allowed and not charged, because another check of its request was denied: that is not what is owed.
  const bool owed = answer.last != nullptr && (answer.charged || !answer.last->allowed() || cost.units == 0);
  // What was asked before a reset tells of what is forgotten.
  if (owed && check.resets == memory_.resets.of(check.hash).load())
    fallback_.owe(check.limit, rule, check.key(), *answer.last, now, most_owed(rule, now));
  const bool denied = answer.last != nullptr && answer.last->verdict == Verdict::denied;
  if (denied) pressed_.denied(check.hash, now);
  if (!remembers(rule)) return;
  // A look tells newer numbers than a remembered denial has.
  if (!can_charge(check, cost)) return cost.units == 0 ? memory_.denials.forget(check.hash) : void();
  if (!denied) return memory_.denials.charged(check.hash);
  memory_.denials.denied(check.hash, rule, cost, *answer.last, asked, now, check.stamp);
}

void SharedStore::grant_lease(const KeyCall& call, nanoseconds charged_at, nanoseconds now) {
  const KeyCheck& check = call.check;
  const auto rest = leases_.grant(
      check.hash, Lease{check.name, check.limit.rule.quota, call.lease, call.ahead ? 0 : check.cost.units,
                        call.at, charged_at, call.at + check.limit.sharing.lease_for, check.resets});
  if (rest) give_back(check.hash, *rest, now);
}

bool SharedStore::end_leases(bool all) {
  const nanoseconds now = clock_();
  for (const auto& [hash, lease] : leases_.end(now, all)) give_back(hash, lease, now);
  wake();
  return !leases_.empty();
}

}  // namespace weir::redis
