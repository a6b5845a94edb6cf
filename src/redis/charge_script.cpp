#include "redis/charge_script.hpp"

#include <algorithm>

#include "resp/writer.hpp"

namespace weir::inline v0_1::redis {

extern const char* const kChargeScript;  // charge.lua, put into a string by CMake

namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kFirstBefore = 3;
constexpr std::size_t kWordsOfCharge = 4;
// A window counts no further than this anyway.
constexpr auto kMostCounted = static_cast<std::uint64_t>(kMostUnits);

std::string free_word(const ScriptCharge& charge) {
  return charge.beyond ? "free " + std::to_string(*charge.beyond) + " " : "";
}

void append_gcra(resp::Writer& to, const ScriptCharge& charge) {
  const core::Rule& rule = *charge.ask.rule;
  const auto interval = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
  const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
  const std::string of = free_word(charge) + "burst " + std::to_string(burst) + " kept " +
                         std::to_string(rule.kept.count()) + " ";
  if (!charge.outside) {
    to.bulk(of + "gcra");
    to.number(interval);
    to.number(burst * interval);
    return to.number(std::min(charge.ask.cost.units, burst + 1) * interval);
  }
  const Outside& outside = *charge.outside;
  if (outside.form == Outside::Form::remaining) {
    to.bulk(of + "left");
    to.number(interval);
    to.number((burst - std::min(outside.units, burst)) * interval);
    return to.number(0);
  }
  const std::uint64_t most = core::most_owed(rule, outside.overdraft);
  const auto need = static_cast<unsigned __int128>(outside.units) * interval;
  to.bulk(of + "charge");
  to.number(interval);
  to.number(most);
  to.number(static_cast<std::uint64_t>(std::min<unsigned __int128>(need, most)));
}

void append_window(resp::Writer& to, const ScriptCharge& charge) {
  const ScriptCheck& ask = charge.ask;
  const Outside outside = charge.outside.value_or(Outside{Cost{0}});
  const core::Rule& rule = *ask.rule;
  const auto limit = static_cast<std::uint64_t>(rule.quota.rate().count);
  const bool cost = outside.form != Outside::Form::remaining;
  const bool refunds = outside.form == Outside::Form::refund;
  const std::string word = rule.calendar != nullptr                  ? " calendar"
                           : core::goes_by_the_clock(rule.algorithm) ? " fixed_window_clock"
                                                                     : " fixed_window";
  to.bulk(free_word(charge) + (refunds ? "refund" : cost ? "charge" : "left") + word);
  to.number(cost ? std::min(outside.units, kMostCounted) : limit - std::min(outside.units, limit));
  to.number(limit);
  if (rule.calendar != nullptr) return to.bulk(window_word(rule, ask.utc));
  to.number(static_cast<std::uint64_t>(rule.quota.rate().period.count()));
}

}  // namespace

std::string_view charge_script() { return kChargeScript; }

const std::string& charge_sha() {
  static const std::string kSha = sha_of(charge_script());
  return kSha;
}

void append_charge(std::string& out, std::span<const ScriptCharge> charges, std::optional<nanoseconds> now) {
  resp::Writer to(out);
  to.array(3 + charges.size() * (1 + kWordsOfCharge) + (now ? 1 : 0));
  to.bulk("EVALSHA");
  to.bulk(charge_sha());
  to.number(charges.size());
  for (const ScriptCharge& each : charges) to.bulk(each.ask.key);
  for (const ScriptCharge& each : charges)
    core::has_burst(each.ask.rule->algorithm) ? append_gcra(to, each) : append_window(to, each);
  if (now) to.bulk(time_word(*now));
}

core::Overdrawn overdrawn(const core::Rule& rule, const KeyState& state, nanoseconds now,
                          const Outside& outside) {
  if (!state.ledger) return core::overdraw(rule, state.words, now, outside);
  core::Overdrawn told{state.ledger->told(rule, state.ledger->charged())};
  if (outside.form == Outside::Form::cost)
    told.dropped = outside.units - std::min(told.charged, outside.units);
  told.changes = told.charged != 0;
  return told;
}

std::optional<std::string> read_states(const resp::Value& reply, std::span<const ScriptCharge> charges,
                                       ChargedStates& into) {
  const std::optional<nanoseconds> now = decided_at(reply);
  if (!now || reply.items.size() != kFirstBefore + charges.size()) return not_ours(reply).value();
  into.now = *now;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const auto state = read_state(reply.items[kFirstBefore + i], charges[i].ask, *now);
    if (!state) return not_ours(reply).value();
    into.before[i] = *state;
  }
  return std::nullopt;
}

std::optional<std::string> read_charge(const resp::Value& reply, std::span<const ScriptCharge> charges,
                                       std::span<Decision> decisions, std::span<Charged> told) {
  ChargedStates states;
  if (auto why = read_states(reply, charges, states)) return why;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const ScriptCheck& ask = charges[i].ask;
    KeyState after = states.before[i];
    if (const auto& outside = charges[i].outside) {
      const core::Overdrawn charged = overdrawn(*ask.rule, after, states.now, *outside);
      told[i] = charged;
      after.words = charged.next;
    } else {
      after.words = after.decide(*ask.rule, states.now, ask.cost).next;
    }
    decisions[i] = after.decide(*ask.rule, states.now, Cost{0}).decision();
  }
  return std::nullopt;
}

}  // namespace weir::redis
