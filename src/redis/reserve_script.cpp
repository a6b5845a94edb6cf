#include "redis/reserve_script.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/reservation.hpp"
#include "core/severity.hpp"
#include "redis/reservation_id.hpp"
#include "resp/writer.hpp"

namespace weir::inline v0_1::redis {

extern const char* const kReserveScript;  // reserve.lua, put into a string by CMake

namespace {

using resp::Value;
using std::chrono::nanoseconds;

// 92 days: with a wait and a hold beside it a time stays within the 104 days that a number in Lua counts in
// ns.
constexpr std::int64_t kMostToDrain = 8'000'000'000'000'000;

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<nanoseconds> time_in(const Value& value) {
  if (value.type != Value::Type::string) return std::nullopt;
  const auto ns = number_in<std::int64_t>(value.text);
  return ns ? std::optional(nanoseconds{*ns}) : std::nullopt;
}

void append_when(resp::Writer& to, std::optional<nanoseconds> now) {
  const std::int64_t us = now.value_or(nanoseconds{0}).count() / 1000;
  to.bulk(now ? std::to_string(us / 1'000'000) + " " + std::to_string(us % 1'000'000) : "");
}

void append_record_call(std::string& out, std::string_view verb, std::string_view prefix,
                        std::string_view record, std::span<const RecordPart> parts,
                        std::optional<nanoseconds> now, bool with_costs) {
  resp::Writer to(out);
  const std::size_t keys = 1 + 2 * parts.size();
  to.array(5 + keys + (with_costs ? parts.size() : 0));
  to.bulk("EVALSHA");
  to.bulk(reserve_sha());
  to.number(keys);
  to.bulk(record);
  for (const RecordPart& part : parts) {
    to.bulk(part.name);
    to.bulk(line_in_redis(prefix, part.name));
  }
  to.bulk(verb);
  append_when(to, now);
  for (const RecordPart& part : parts)
    if (with_costs) to.number(part.cost);
}

}  // namespace

std::string_view reserve_script() { return kReserveScript; }

const std::string& reserve_sha() {
  static const std::string kSha = sha_of(reserve_script());
  return kSha;
}

std::optional<std::string> cannot_reserve(const core::Rule& rule, Format format) {
  if (!core::can_reserve(rule.algorithm))
    return core::name_of(rule.algorithm) + " cannot be reserved: only gcra can";
  if (format == Format::redis_cell)
    return "the format of redis-cell has no room for reservations: they would not see each other";
  const Quota& quota = rule.quota;
  if (quota.burst() <= kMostToDrain / quota.emission_interval().count()) return std::nullopt;
  return "burst: " + std::to_string(quota.burst()) +
         " takes longer than 92 days to drain at this rate, which is the most that can be reserved from in "
         "Redis";
}

void append_reserve(std::string& out, std::span<const ReserveAsk> asks, const ReserveWords& words,
                    std::optional<nanoseconds> now) {
  resp::Writer to(out);
  const std::size_t keys = 1 + 2 * asks.size();
  to.array(8 + keys + 6 * asks.size());
  to.bulk("EVALSHA");
  to.bulk(reserve_sha());
  to.number(keys);
  to.bulk(words.record);
  for (const ReserveAsk& each : asks) {
    to.bulk(each.ask.key);
    to.bulk(each.line);
  }
  to.bulk("reserve");
  append_when(to, now);
  to.bulk(words.id);
  to.number(static_cast<std::uint64_t>(std::min(words.max_wait, kLongestWait).count()));
  to.number(static_cast<std::uint64_t>(std::min(words.hold, kLongestHold).count()));
  for (const ReserveAsk& each : asks) {
    const core::Rule& rule = *each.ask.rule;
    const auto interval = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
    to.bulk(marks_of(each.ask, false));
    to.number(interval);
    to.number(burst * interval - static_cast<std::uint64_t>(rule.kept.count()));
    to.number(std::min(each.ask.cost.units, burst + 1) * interval);
    to.number(burst);
    const store::Holding& holding = each.holding;
    std::string more;
    if (holding.settles && holding.at_most == ~std::uint64_t{0}) {
      more = "any";
    } else if (holding.settles) {
      more = std::to_string(std::min(holding.at_most, static_cast<std::uint64_t>(kMostToDrain)));
    }
    for (const std::uint64_t number :
         {std::uint64_t{each.key_size}, each.limit_id,
          burst * interval - static_cast<std::uint64_t>(each.lowest_kept.count()),
          std::uint64_t{each.waits_with}, std::uint64_t{holding.by_actual}})
      more += " " + std::to_string(number);
    to.bulk(more);
  }
}

Record read_record(std::string_view text) {
  Record record;
  std::vector<RecordPart>& parts = record.parts;
  const auto line = [&] {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    return one;
  };
  const auto word = [](std::string_view& rest) {
    const std::string_view one = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    return one;
  };
  constexpr std::string_view kMark = "weir1r ";
  std::string_view first = line();
  if (!first.starts_with(kMark)) return {};
  first.remove_prefix(kMark.size());
  const std::string_view moment = word(first);
  record.is_held = word(first) != moment;
  const auto count = number_in<std::size_t>(first);
  if (!count || *count > store::kMostChecks) return {};
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < *count; ++i) {
    std::string_view rest = line();
    const auto limit = number_in<std::uint64_t>(word(rest));
    const auto key_size = number_in<std::size_t>(word(rest));
    const auto size = number_in<std::size_t>(word(rest));
    if (!limit || !key_size || !size || *key_size > *size) return {};
    word(rest);  // T
    const auto burst = number_in<std::uint64_t>(word(rest));
    const auto units = number_in<std::uint64_t>(word(rest));
    for (int left = 6; left > 0; --left) word(rest);
    const std::string_view settles = word(rest);
    if (!burst || !units || settles.empty()) return {};
    parts.push_back({.limit_id = *limit,
                     .key_size = *key_size,
                     .name = {},
                     .burst = *burst,
                     .units = *units,
                     .settles = settles != "0",
                     .by_actual = settles == "1",
                     .cost = *units});
    sizes.push_back(*size);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (text.size() < sizes[i]) return {};
    parts[i].name = text.substr(0, sizes[i]);
    text.remove_prefix(sizes[i]);
  }
  return record;
}

void append_cancel(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, std::optional<nanoseconds> now) {
  append_record_call(out, "cancel", prefix, record, parts, now, false);
}

void append_settle(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, bool with_costs, std::optional<nanoseconds> now) {
  append_record_call(out, "settle", prefix, record, parts, now, with_costs);
}

namespace {

// What store::JointCheck makes of the same states.
class Decided {
 public:
  Decided(std::span<const ReserveAsk> asks, std::vector<core::TwoWords> states, nanoseconds now)
      : asks_(asks), states_(std::move(states)), now_(now), next_(states_), decisions(asks.size()) {
    for (const ReserveAsk& each : asks) plain_.push_back(each.ask);
  }

  // Whether nothing stops it at that time.
  bool at(nanoseconds time) {
    bool all = true;
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      const core::Step step = core::decide(rule(i), states_[i], time, asks_[i].ask.cost);
      decisions[i] = step.decision();
      next_[i] = step.next;
      all = all && (asks_[i].ask.shadow || decisions[i].allowed());
    }
    return all;
  }
  void look() {
    for (std::size_t i = 0; i < asks_.size(); ++i)
      decisions[i] = core::look(rule(i), states_[i], now_, asks_[i].ask.cost);
  }
  // It is denied: of those that allow it, what is there without it.
  void tell_uncharged() {
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      if (!decisions[i].allowed() || asks_[i].ask.cost.units == 0) continue;
      const Decision found = core::decide(rule(i), states_[i], now_, Cost{0}).decision();
      decisions[i].remaining = found.remaining;
      decisions[i].reset_after = found.reset_after;
    }
  }
  std::uint8_t by() const {
    return static_cast<std::uint8_t>(core::deciding(
        asks_.size(), [&](std::size_t i) { return asks_[i].ask.shadow ? nullptr : &decisions[i]; }));
  }
  bool may_wait() const {
    for (std::size_t i = 0; i < asks_.size(); ++i)
      if (!asks_[i].ask.shadow && !core::may_wait(rule(i))) return false;
    return true;
  }
  std::pair<nanoseconds, std::uint8_t> longest_lift(nanoseconds moment, std::uint8_t awaited) const {
    std::pair<nanoseconds, std::uint8_t> longest{0, 0};
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      const Ask& ask = asks_[i].ask;
      if (ask.shadow) continue;
      nanoseconds rest = lift(i, moment, awaited);
      if (ask.inside != Ask::kAlone && ask.rule->kept.count() != 0 && decisions[ask.inside].allowed())
        rest = std::max(rest, lift(ask.inside, moment, awaited));
      if (rest > longest.first) longest = {rest, static_cast<std::uint8_t>(i)};
    }
    return longest;
  }
  // What was decided for a later moment, in times from now.
  void tell_as_of_now(nanoseconds wait) {
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      const Decision now = core::decide(*asks_[i].ask.rule, next_[i], now_, Cost{0}).decision();
      Decision& decision = decisions[i];
      decision.remaining = now.remaining;
      decision.reset_after = now.reset_after;
      if (decision.retry_after) *decision.retry_after += wait;
    }
  }

 private:
  core::Rule rule(std::size_t i) const { return rule_of(plain_, decisions, i); }
  nanoseconds lift(std::size_t i, nanoseconds moment, std::uint8_t awaited) const {
    const ReserveAsk& its = asks_[i];
    const bool is_lifted = states_[i].until < static_cast<std::uint64_t>(moment.count());
    if (its.ask.cost.units == 0 || !is_lifted || (its.waits_with >> awaited & 1) != 0) return nanoseconds{0};
    return core::earliest_lift(its.ask.rule->quota, its.lowest_kept, its.ask.cost, moment) - now_;
  }

  std::span<const ReserveAsk> asks_;
  std::vector<Ask> plain_;
  std::vector<core::TwoWords> states_;
  nanoseconds now_;
  std::vector<core::TwoWords> next_;

 public:
  std::vector<Decision> decisions;
};

// By the rule alone: no hole, and what is to be held fits.
ReserveAnswer by_rule(Decided& decided, std::span<const ReserveAsk> asks, nanoseconds now,
                      nanoseconds max_wait, nanoseconds hold) {
  ReserveAnswer told;
  const bool looks =
      std::all_of(asks.begin(), asks.end(), [](const ReserveAsk& each) { return each.ask.cost.units == 0; });
  const bool is_plain = hold.count() == 0 || looks;
  told.granted = decided.at(now);
  told.by = decided.by();
  told.has_id = told.granted && !is_plain;
  told.at_once = decided.decisions;
  const Decision& decision = told.at_once[told.by];
  if (told.granted) return told;
  told.wait = decision.retry_after.value_or(nanoseconds{-1});
  if (!decision.retry_after || (is_plain && max_wait.count() == 0)) {
    decided.tell_uncharged();
    return told;
  }
  if (!decided.may_wait()) max_wait = nanoseconds{0};
  const nanoseconds moment = now + *decision.retry_after;
  decided.at(moment);
  const auto [late, by] =
      std::max(std::pair{moment - now - max_wait, told.by}, decided.longest_lift(moment, told.by),
               [](const auto& a, const auto& b) { return a.first < b.first; });
  told.granted = late <= nanoseconds{0};
  told.has_id = told.granted;
  told.wait = told.granted ? moment - now : late;
  if (told.granted) {
    decided.tell_as_of_now(told.wait);
    return told;
  }
  told.by = by;
  decided.decisions = told.at_once;
  decided.tell_uncharged();
  decided.decisions[by].verdict = Verdict::denied;
  decided.decisions[by].retry_after = late;
  return told;
}

constexpr std::size_t kFirstStateOfReserve = 6;

}  // namespace

tl::expected<ReserveAnswer, std::string> read_reserve(const Value& reply, std::span<const ReserveAsk> asks,
                                                      const ReserveWords& words) {
  const std::optional<nanoseconds> now = decided_at(reply);
  if (!now || reply.items.size() != kFirstStateOfReserve + asks.size()) return not_ours(reply);
  const std::string_view how = reply.items[3].text;
  const std::optional<nanoseconds> told_wait = time_in(reply.items[4]);
  const auto by = static_cast<std::size_t>(reply.items[5].integer);
  if (!told_wait || by >= asks.size()) return not_ours(reply);
  std::vector<core::TwoWords> states;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const auto state = read_state(reply.items[kFirstStateOfReserve + i], asks[i].ask, *now);
    if (!state) return not_ours(reply);
    states.push_back(*state);
  }
  Decided decided(asks, std::move(states), *now);
  const bool granted = reply.items[0].integer == 1;
  if (how == "hole" || how == "held") {
    decided.at(*now);
    const bool has_id = granted && (told_wait->count() != 0 || words.hold.count() != 0);
    ReserveAnswer told{.granted = granted, .has_id = has_id, .by_rule = false, .wait = *told_wait};
    told.at_once = decided.decisions;
    decided.look();
    told.by = static_cast<std::uint8_t>(by);
    Decision& decision = decided.decisions[by];
    decision.verdict = granted ? Verdict::allowed : told.wait.count() < 0 ? Verdict::never : Verdict::denied;
    decision.retry_after = granted || told.wait.count() < 0 ? std::nullopt : std::optional(told.wait);
    told.decisions = std::move(decided.decisions);
    return told;
  }
  ReserveAnswer told = by_rule(decided, asks, *now, std::min(words.max_wait, kLongestWait), words.hold);
  told.decisions = std::move(decided.decisions);
  if (told.granted != granted || (granted && told.wait != *told_wait))
    return tl::unexpected(
        "weir's script and weir disagree: it " + std::string(granted ? "reserved " : "denied ") +
        std::to_string(told_wait->count()) + " ns from then, where " +
        (told.granted ? "it is reserved " : "it is denied ") + std::to_string(told.wait.count()));
  return told;
}

tl::expected<std::uint64_t, std::string> read_cancel(const Value& reply) {
  if (!decided_at(reply) || reply.items.size() != 3 || reply.items[0].integer < 0) return not_ours(reply);
  return static_cast<std::uint64_t>(reply.items[0].integer);
}

tl::expected<nanoseconds, std::string> read_settle(const Value& reply) {
  const std::optional<nanoseconds> now = decided_at(reply);
  if (!now) return not_ours(reply);
  nanoseconds wait{-1};
  if (reply.items[0].integer == 0) return wait;
  const std::span<const Value> rest = std::span(reply.items).subspan(3);
  wait = nanoseconds{0};
  for (std::size_t i = 0; i + 2 < rest.size(); i += 3) {
    const auto interval = number_in<std::int64_t>(rest[i].text);
    const auto burst = number_in<std::int64_t>(rest[i + 1].text);
    if (!interval || !burst) return not_ours(reply);
    const auto quota = Quota::make({1, nanoseconds{*interval}}, *burst);
    if (!quota) return not_ours(reply);
    const core::Rule rule{*quota};
    const auto state = read_state(rest[i + 2], {.rule = &rule, .key = {}, .cost = {}}, *now);
    if (!state) return not_ours(reply);
    wait = std::max(wait, core::until_one_more(rule, *state, *now));
  }
  return wait;
}

}  // namespace weir::redis
