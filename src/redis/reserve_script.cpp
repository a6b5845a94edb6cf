#include "redis/reserve_script.hpp"

#include <algorithm>
#include <array>

#include "core/number.hpp"
#include "core/reservation.hpp"
#include "core/severity.hpp"
#include "redis/charge_script.hpp"
#include "redis/reservation_id.hpp"
#include "redis/slot.hpp"
#include "resp/writer.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::redis {

extern const char* const kReserveScript;  // reserve.lua, put into a string by CMake

namespace {

using core::number_in;
using resp::Value;
using std::chrono::nanoseconds;

// 92 days: with a wait and a hold beside it a time stays within the 104 days that a number in Lua counts in
// ns.
constexpr std::int64_t kMostToDrain = 8'000'000'000'000'000;
constexpr std::uint64_t kMostCost = 9'000'000'000'000'000;

std::int64_t most_slots(const core::Rule& rule) {
  return std::max<std::int64_t>(rule.quota.burst() - core::kept_slots(rule), 0);
}

std::optional<nanoseconds> time_in(const Value& value) {
  if (value.type != Value::Type::string) return std::nullopt;
  const auto ns = number_in<std::int64_t>(value.text);
  return ns ? std::optional(nanoseconds{*ns}) : std::nullopt;
}

void append_when(resp::Writer& to, std::optional<nanoseconds> now) { to.bulk(now ? time_word(*now) : ""); }

void append_record_call(std::string& out, std::string_view verb, std::string_view prefix,
                        std::string_view record, std::span<const RecordPart> parts,
                        std::optional<nanoseconds> now, std::optional<nanoseconds> settles = {},
                        bool with_costs = false) {
  resp::Writer to(out);
  const std::size_t keys = 1 + 2 * parts.size();
  to.array(5 + keys + (settles ? 1 + (with_costs ? parts.size() : 0) : 0));
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
  if (!settles) return;
  to.number(static_cast<std::uint64_t>(settles->count()));
  // A number in Lua has 53 bits: a cost beyond that is beyond any overdraft.
  for (const RecordPart& part : parts)
    if (with_costs) to.number(std::min(part.cost, kMostCost));
}

}  // namespace

std::string_view reserve_script() { return kReserveScript; }

const std::string& reserve_sha() {
  static const std::string kSha = sha_of(reserve_script());
  return kSha;
}

std::optional<std::string> cannot_reserve(const core::Rule& rule) {
  if (!store::can_be_reserved(rule.algorithm)) return store::cannot_be_reserved(rule.algorithm);
  const Quota& quota = rule.quota;
  if (!core::can_reserve(rule.algorithm)) return std::nullopt;
  if (quota.burst() <= kMostToDrain / quota.emission_interval().count()) return std::nullopt;
  return "burst: " + std::to_string(quota.burst()) +
         " takes longer than 92 days to drain at this rate, which is the most that can be reserved from in "
         "Redis";
}

namespace {

// What a settlement has to know, whose it is, and who stands in line.
std::string numbers_of(const ReserveAsk& each) {
  std::string text;
  for (const std::uint64_t number :
       {std::uint64_t{each.key_size}, each.limit_id, std::uint64_t{each.holding.by_actual},
        static_cast<std::uint64_t>(each.line.from.count()),
        static_cast<std::uint64_t>(each.line.end.count())})
    text += " " + std::to_string(number);
  return text;
}

void append_window(resp::Writer& to, const ReserveAsk& each) {
  const core::Rule& rule = *each.ask.rule;
  const auto limit = static_cast<std::uint64_t>(rule.quota.rate().count);
  const bool is_dated = rule.calendar != nullptr;
  to.bulk(marks_of(each.ask, false) + (is_dated                                  ? "calendar "
                                       : core::goes_by_the_clock(rule.algorithm) ? "clock "
                                                                                 : "window "));
  to.bulk(is_dated ? window_word(rule, each.ask.utc) : std::to_string(rule.quota.rate().period.count()));
  to.number(limit);
  to.number(std::min(each.ask.cost.units, limit + 1));
  to.number(limit);
  to.bulk((each.holding.settles ? "any" : "") + numbers_of(each));
}

}  // namespace

void append_reserve(std::string& out, std::string_view prefix, std::span<const ReserveAsk> asks,
                    const ReserveWords& words, std::optional<nanoseconds> now) {
  resp::Writer to(out);
  const std::size_t keys = 1 + 2 * asks.size();
  const bool plans = words.stood && !words.looks;
  to.array(9 + keys + 6 * asks.size() + (plans ? 1 : 0) + (plans && words.follows ? 1 : 0));
  to.bulk("EVALSHA");
  to.bulk(reserve_sha());
  to.number(keys);
  to.bulk(words.record);
  for (const ReserveAsk& each : asks) {
    to.bulk(each.ask.key);
    to.bulk(line_in_redis(prefix, each.ask.key));
  }
  to.bulk(words.looks ? "look" : plans ? "plan" : "reserve");
  append_when(to, now);
  to.bulk(words.id);
  to.number(static_cast<std::uint64_t>(std::min(words.max_wait, kLongestWait).count()));
  to.number(static_cast<std::uint64_t>(std::min(words.hold, kLongestHold).count()));
  nanoseconds longest = store::kLongestExtension;
  for (const ReserveAsk& each : asks)
    if (each.holding.settles && !each.ask.shadow) longest = std::min(longest, each.holding.longest);
  to.number(static_cast<std::uint64_t>(longest.count()));
  for (const ReserveAsk& each : asks) {
    const core::Rule& rule = *each.ask.rule;
    if (core::counts_at_grant(rule.algorithm)) {
      append_window(to, each);
      continue;
    }
    const bool is_slots = core::counts_slots(rule.algorithm);
    const auto interval = is_slots ? 1 : static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
    const std::uint64_t units = std::min(each.ask.cost.units, burst + 1);
    to.bulk(marks_of(each.ask, false) + (is_slots ? "slots " : ""));
    to.number(interval);
    to.number(is_slots ? static_cast<std::uint64_t>(most_slots(rule))
                       : burst * interval - static_cast<std::uint64_t>(rule.kept.count()));
    to.number(units * interval);
    to.number(burst);
    const store::Holding& holding = each.holding;
    const auto most = std::min(holding.at_most, static_cast<std::uint64_t>(kMostToDrain));
    const std::string bound = holding.at_most == ~std::uint64_t{0} ? "any" : std::to_string(most);
    to.bulk((holding.settles ? bound : "") + numbers_of(each));
  }
  if (!plans) return;
  to.number(static_cast<std::uint64_t>(std::clamp(*words.stood, nanoseconds{0}, kLongestWait).count()));
  if (words.follows) to.bulk("follows");
}

std::optional<ReservationRecord> read_record(std::string_view text) {
  ReservationRecord record;
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
  constexpr std::string_view kMark = "weir2r ";
  std::string_view first = line();
  if (!first.starts_with(kMark)) return std::nullopt;
  first.remove_prefix(kMark.size());
  word(first);  // its moment
  word(first);  // until when
  const auto count = number_in<std::size_t>(word(first));
  record.is_held = word(first) != "0";
  if (!count || *count > store::kMostChecks) return std::nullopt;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < *count; ++i) {
    std::string_view rest = line();
    const auto limit = number_in<std::uint64_t>(word(rest));
    const auto key_size = number_in<std::size_t>(word(rest));
    const auto size = number_in<std::size_t>(word(rest));
    if (!limit || !key_size || !size || *key_size > *size) return std::nullopt;
    word(rest);  // T
    word(rest);  // burst
    const auto units = number_in<std::uint64_t>(word(rest));
    const std::string_view settles = word(rest);
    if (!units || settles.empty()) return std::nullopt;
    parts.push_back({.limit_id = *limit,
                     .key_size = *key_size,
                     .name = {},
                     .units = *units,
                     .settles = settles != "0",
                     .by_actual = settles == "1",
                     .cost = *units});
    sizes.push_back(*size);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (text.size() < sizes[i]) return std::nullopt;
    parts[i].name = text.substr(0, sizes[i]);
    text.remove_prefix(sizes[i]);
  }
  return record;
}

void append_cancel(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, std::optional<nanoseconds> now) {
  append_record_call(out, "cancel", prefix, record, parts, now);
}

void append_settle(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, bool with_costs, nanoseconds overdraft,
                   std::optional<nanoseconds> now) {
  append_record_call(out, "settle", prefix, record, parts, now, overdraft, with_costs);
}

void append_extend(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, nanoseconds hold, std::optional<nanoseconds> now) {
  append_record_call(out, "extend", prefix, record, parts, now, hold);
}

void append_moment(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, std::optional<nanoseconds> now) {
  append_record_call(out, "moment", prefix, record, parts, now);
}

namespace {

// Up to the name of what is asked, which has `words` after it. Nobody reads the first of its keys, unless it
// is said.
void append_keys(resp::Writer& to, std::string_view prefix, std::span<const ScriptCheck> asks,
                 std::string_view what, std::size_t words, std::string_view first = {}) {
  const std::size_t keys = 1 + 2 * asks.size();
  to.array(3 + keys + 1 + words);
  to.bulk("EVALSHA");
  to.bulk(reserve_sha());
  to.number(keys);
  to.bulk(first.empty() ? std::string_view(asks[0].key) : first);
  for (const ScriptCheck& each : asks) {
    to.bulk(each.key);
    to.bulk(line_in_redis(prefix, each.key));
  }
  to.bulk(what);
}

// The words of a pause and of a rest, after its name; of each ask T, burst and what its class leaves follow.
void append_pausing(resp::Writer& to, std::span<const ScriptCheck> asks, std::string_view id,
                    const Pause& pause, std::optional<nanoseconds> now) {
  append_when(to, now);
  to.bulk(id);
  to.number(static_cast<std::uint64_t>(pause.length.count()));
  to.bulk(pause.afresh ? "afresh" : "paced");
  for (const ScriptCheck& each : asks) {
    to.bulk(core::can_reserve(each.rule->algorithm) ? std::to_string(each.unit()) : "window");
    to.number(static_cast<std::uint64_t>(each.rule->quota.burst()));
    to.number(static_cast<std::uint64_t>(each.rule->kept.count()));
  }
}

}  // namespace

void append_pause(std::string& out, std::string_view prefix, std::span<const ScriptCheck> asks,
                  std::string_view id, const Pause& pause, std::optional<nanoseconds> now) {
  resp::Writer to(out);
  append_keys(to, prefix, asks, "pause", 4 + 3 * asks.size());
  append_pausing(to, asks, id, pause, now);
}

void append_refund(std::string& out, std::string_view prefix, std::span<const ScriptCheck> asks,
                   std::optional<nanoseconds> now) {
  resp::Writer to(out);
  append_keys(to, prefix, asks, "refund", 1 + 4 * asks.size());
  append_when(to, now);
  for (const ScriptCheck& each : asks) {
    const auto interval = static_cast<std::uint64_t>(each.rule->quota.emission_interval().count());
    constexpr std::uint64_t kAll = std::numeric_limits<std::int64_t>::max();  // that anybody may owe
    to.number(interval);
    to.number(static_cast<std::uint64_t>(each.rule->quota.burst()));
    to.number(each.cost.units > kAll / interval ? kAll : each.cost.units * interval);
    to.number(static_cast<std::uint64_t>(each.rule->kept.count()));
  }
}

void append_rest(std::string& out, std::string_view prefix, const ScriptCheck& ask, std::string_view id,
                 const core::PenaltyTerms& penalty, std::optional<nanoseconds> now) {
  resp::Writer to(out);
  append_keys(to, prefix, {&ask, 1}, "rest", 10, penalty.grows() ? breaches_in_redis(prefix, ask.key) : "");
  append_pausing(to, {&ask, 1}, id, {penalty.time, penalty.afresh}, now);
  to.number(ask.cost.units * ask.unit());
  to.number(penalty.growing);
  to.number(static_cast<std::uint64_t>(penalty.most.count()));
}

void append_holds(std::string& out, std::string_view prefix, std::span<const ScriptCheck> asks,
                  std::size_t most, std::optional<nanoseconds> now) {
  resp::Writer to(out);
  append_keys(to, prefix, asks, "holds", 3 + asks.size());
  append_when(to, now);
  to.number(std::uint64_t{most});
  to.bulk(record_in_redis(prefix, "", slot_of(asks[0].key)));
  for (const ScriptCheck& each : asks) to.bulk(core::counts_slots(each.rule->algorithm) ? "slots" : "rate");
}

namespace {

// 'slots OPEN LACKING LAST'
std::optional<store::FreeSlots> read_slots(const Value& value) {
  constexpr std::string_view kMark = "slots ";
  std::string_view rest = value.text;
  if (value.type != Value::Type::string || !rest.starts_with(kMark)) return std::nullopt;
  rest.remove_prefix(kMark.size());
  std::array<std::int64_t, 3> numbers{};
  for (std::int64_t& each : numbers) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    const auto number = number_in<std::int64_t>(word);
    if (!number) return std::nullopt;
    each = *number;
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return store::FreeSlots{numbers[0], nanoseconds{numbers[1]}, nanoseconds{numbers[2]}};
}

// What the script says of a limit by more than its rule.
void tell_denied(Decision& decision, nanoseconds wait) {
  const bool never = wait < nanoseconds{0};
  decision.verdict = never ? Verdict::never : Verdict::denied;
  decision.retry_after = never ? std::nullopt : std::optional(wait);
}

// What each limit says of the states that the script found, as store::AllOrNoneCheck tells it.
class Verdicts {
 public:
  Verdicts(std::span<const ReserveAsk> asks, nanoseconds now)
      : states_(asks.size()), slots_(asks.size()), now_(now), decisions(asks.size()) {
    for (const ReserveAsk& each : asks) asks_.push_back(each.ask);
  }

  // False: one of the items is not a state.
  bool read(std::span<const Value> items) {
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      if (core::counts_slots(asks_[i].rule->algorithm)) {
        const auto slots = read_slots(items[i]);
        if (!slots) return false;
        slots_[i] = *slots;
      } else {
        const auto state = read_state(items[i], asks_[i], now_);
        if (!state) return false;
        states_[i] = *state;
      }
    }
    return true;
  }
  // What those that were charged have left, for whatever moment; null: it was not.
  bool read_charged(std::span<const Value> items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].type == Value::Type::null) continue;
      const auto after = read_state(items[i], asks_[i], now_);
      if (!after) return false;
      decisions[i].verdict = Verdict::allowed;
      decisions[i].retry_after.reset();
      tell_owed(i, *after);
    }
    return true;
  }

  // What there is of slots, after the rates have been told; `until`: and one is taken until then. Whether
  // there are any.
  bool tell_slots(std::optional<nanoseconds> until = {}) {
    bool any = false;
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      const core::Rule& its = *asks_[i].rule;
      if (!core::counts_slots(its.algorithm)) continue;
      any = true;
      const bool takes = asks_[i].cost.units != 0;
      Decision& decision = decisions[i] = slots_[i].decide(its.quota.burst(), most_slots(its), takes);
      if (!until || !takes || !decision.allowed()) continue;
      --decision.remaining;
      decision.reset_after = std::max(decision.reset_after, *until);
    }
    return any;
  }

  void decide() {
    for (std::size_t i = 0; i < asks_.size(); ++i)
      decisions[i] = states_[i].decide(rule(i), now_, asks_[i].cost).decision();
  }
  void look() {
    for (std::size_t i = 0; i < asks_.size(); ++i)
      decisions[i] = states_[i].look(rule(i), now_, asks_[i].cost);
  }
  // It is denied: of those that allow it, what is there without it.
  void tell_uncharged() {
    for (std::size_t i = 0; i < asks_.size(); ++i)
      if (decisions[i].allowed() && asks_[i].cost.units != 0) tell_owed(i, states_[i]);
  }
  // By what is held or asked for already; `than` says how long that is at least.
  void tell_longest(ReserveAnswer& told, nanoseconds max_wait, store::Busy than = {}) {
    const store::Busy longest = store::longest_of(
        asks_.size(), max_wait, [&](std::size_t i) -> auto& { return *asks_[i].rule; },
        [&](std::size_t i) { return asks_[i].shadow ? nullptr : &decisions[i]; }, than);
    told.wait = longest.wait;
    told.by = longest.by;
  }
  // A window is full, and for so long its rates alone deny it: store::AllOrNoneCheck::tell_full().
  void tell_full(ReserveAnswer& told, nanoseconds rates) {
    const auto of = [&](bool windows) {
      std::optional<std::size_t> by;
      for (std::size_t i = 0; i < asks_.size(); ++i) {
        if (asks_[i].shadow || decisions[i].allowed() ||
            core::counts_at_grant(asks_[i].rule->algorithm) != windows)
          continue;
        if (!by || core::decides(decisions[i], decisions[*by])) by = i;
      }
      return by;
    };
    const std::size_t window = of(true).value_or(0);
    const auto end = decisions[window].retry_after;
    told.by = static_cast<std::uint8_t>(window);
    told.wait = end.value_or(nanoseconds{-1});
    if (rates >= nanoseconds{0} && (!end || rates <= *end)) return;
    const auto by = of(false);
    if (!by || (!end && *by > window)) return;
    told.by = static_cast<std::uint8_t>(*by);
    told.wait = rates;
    if (rates >= nanoseconds{0}) decisions[*by].retry_after = rates;
  }
  std::uint8_t by() const {
    return static_cast<std::uint8_t>(core::deciding(
        asks_.size(), [&](std::size_t i) { return asks_[i].shadow ? nullptr : &decisions[i]; }));
  }

 private:
  core::Rule rule(std::size_t i) const { return rule_of(asks_, decisions, i); }
  void tell_owed(std::size_t i, const KeyState& state) {
    const Decision owed = state.decide(rule(i), now_, Cost{0}).decision();
    decisions[i].remaining = owed.remaining;
    decisions[i].reset_after = owed.reset_after;
  }

  std::vector<ScriptCheck> asks_;
  std::vector<KeyState> states_;
  std::vector<store::FreeSlots> slots_;
  nanoseconds now_;

 public:
  std::vector<Decision> decisions;
};

constexpr std::size_t kFirstOfPause = 3;

}  // namespace

tl::expected<ReserveAnswer, std::string> read_reserve(const Value& reply, std::span<const ReserveAsk> asks,
                                                      const ReserveWords& words) {
  const std::optional<nanoseconds> now = decided_at(reply);
  const std::size_t states = kFirstStateOfReserve + asks.size();
  const std::size_t given = reply.items.size();
  if (!now || (given != states && given != states + asks.size())) return not_ours(reply);
  const bool granted = reply.items[0].integer == 1;
  const std::string_view how = reply.items[3].text;
  const std::optional<nanoseconds> wait = time_in(reply.items[4]);
  const auto by = static_cast<std::size_t>(reply.items[5].integer);
  const bool may_be_sooner = how == "sooner";
  Verdicts each(asks, *now);
  const std::span<const Value> rest = std::span(reply.items).subspan(kFirstStateOfReserve);
  if (!wait || (by >= asks.size() && !may_be_sooner) || !each.read(rest)) return not_ours(reply);
  if (words.looks) {
    each.look();
    each.tell_slots();
    return ReserveAnswer{.by = each.by(), .decisions = std::move(each.decisions)};
  }
  each.decide();
  const bool by_rule = how != "held" && how != "busy";
  ReserveAnswer told{.granted = granted, .by_rule = by_rule, .wait = *wait, .by = each.by()};
  if (may_be_sooner) told.sooner_by = nanoseconds{static_cast<std::int64_t>(by)};
  told.at_once = each.decisions;
  if (!by_rule) {
    each.look();
  } else if (!granted) {
    each.tell_uncharged();
  }
  if (!each.read_charged(rest.subspan(asks.size()))) return not_ours(reply);
  const bool has_slots = each.tell_slots(granted ? std::optional(*wait + words.hold) : std::nullopt);
  if (has_slots && granted && wait->count() == 0) told.by = each.by();
  if (how == "busy") {
    each.tell_longest(told, words.max_wait);
    if (told.wait.count() > 0) each.decisions[told.by].retry_after = told.wait;
  } else if (how == "held") {
    told.full_for = *wait;
    told.full_by = static_cast<std::uint8_t>(by);
    if (*wait < nanoseconds{0}) tell_denied(each.decisions[by], *wait);
    each.tell_longest(told, words.max_wait, {*wait, told.full_by});
    tell_denied(each.decisions[told.by], told.wait);
  } else if (how == "window") {
    each.tell_full(told, *wait);
  } else if (!granted && how == "later") {
    tell_denied(each.decisions[told.by], *wait);
  } else if (!granted) {
    told.wait = each.decisions[told.by].retry_after.value_or(nanoseconds{-1});
  }
  told.decisions = std::move(each.decisions);
  const bool looks =
      std::all_of(asks.begin(), asks.end(), [](const ReserveAsk& ask) { return ask.ask.cost.units == 0; });
  told.has_id = granted && (told.wait.count() > 0 || (words.hold.count() > 0 && !looks));
  return told;
}

tl::expected<std::uint64_t, std::string> read_cancel(const Value& reply) {
  if (!decided_at(reply) || reply.items.size() != 3 || reply.items[0].integer < 0) return not_ours(reply);
  return static_cast<std::uint64_t>(reply.items[0].integer);
}

tl::expected<SettleAnswer, std::string> read_settle(const Value& reply) {
  const std::optional<nanoseconds> now = decided_at(reply);
  if (!now) return not_ours(reply);
  if (reply.items[0].integer == 0) return SettleAnswer{nanoseconds{-1}};
  const std::span<const Value> rest = std::span(reply.items).subspan(3);
  SettleAnswer answer;
  for (std::size_t i = 0; i + 3 < rest.size(); i += 4) {
    const auto interval = number_in<std::int64_t>(rest[i].text);
    const auto burst = number_in<std::int64_t>(rest[i + 1].text);
    const auto dropped = number_in<std::uint64_t>(rest[i + 3].text);
    if (!interval || !burst || !dropped) return not_ours(reply);
    answer.dropped += *dropped;
    // A window, of whatever length: its end is in its state, which is told as one of a fixed window.
    const bool is_window = *interval == 0;
    const auto quota = is_window ? Quota::make({*burst, std::chrono::days{365}}, *burst)
                                 : Quota::make({1, nanoseconds{*interval}}, *burst);
    if (!quota) return not_ours(reply);
    const core::Rule rule = is_window ? core::Rule::window(*quota) : core::Rule{*quota};
    const auto state = read_state(rest[i + 2], {.rule = &rule, .key = {}, .cost = {}}, *now);
    if (!state) return not_ours(reply);
    answer.wait = std::max(answer.wait, state->ledger ? state->ledger->told(rule, 0).wait
                                                      : core::until_one_more(rule, state->words, *now));
  }
  return answer;
}

tl::expected<nanoseconds, std::string> read_moment(const Value& reply) {
  if (!decided_at(reply) || reply.items.size() != 4) return not_ours(reply);
  const auto left = number_in<std::int64_t>(reply.items[3].text);
  if (!left) return not_ours(reply);
  return nanoseconds{*left};
}

std::optional<std::string> read_changed(const Value& reply, std::span<const ScriptCheck> asks,
                                        std::span<Decision> decisions, std::span<Charged> told) {
  const std::optional<nanoseconds> now = decided_at(reply);
  if (!now || reply.items.size() != kFirstOfPause + 2 * asks.size()) return not_ours(reply).value();
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const core::Rule& rule = *asks[i].rule;
    const auto after = read_state(reply.items[kFirstOfPause + 2 * i], asks[i], *now);
    const auto units = number_in<std::uint64_t>(reply.items[kFirstOfPause + 2 * i + 1].text);
    if (!after || !units) return not_ours(reply).value();
    told[i] = overdrawn(rule, *after, *now, Outside{Cost{0}});
    told[i].charged = *units;
    decisions[i] = after->decide(rule, *now, Cost{0}).decision();
  }
  return std::nullopt;
}

tl::expected<Decision, std::string> read_rest(const Value& reply, const ScriptCheck& ask, bool& rests) {
  const std::optional<nanoseconds> now = decided_at(reply);
  if (!now || reply.items.size() != kFirstOfPause + 3) return not_ours(reply);
  const auto state = read_state(reply.items[kFirstOfPause], ask, *now);
  if (!state) return not_ours(reply);
  rests = rests || reply.items[0].integer != 0;
  return state->decide(*ask.rule, *now, ask.cost).decision();
}

tl::expected<std::vector<store::OpenHold>, std::string> read_holds(const Value& reply) {
  constexpr std::size_t kWords = 4;
  const std::size_t words = reply.items.size() - std::min(reply.items.size(), kFirstOfPause);
  if (!decided_at(reply) || words % kWords != 0) return not_ours(reply);
  std::vector<store::OpenHold> open;
  for (std::size_t at = kFirstOfPause; at < reply.items.size(); at += kWords) {
    const auto cost = number_in<std::uint64_t>(reply.items[at + 1].text);
    const auto wait = number_in<std::int64_t>(reply.items[at + 2].text);
    const auto ends = number_in<std::int64_t>(reply.items[at + 3].text);
    if (!cost || !wait || !ends) return not_ours(reply);
    open.push_back({std::string(reply.items[at].text), *cost, nanoseconds{*wait}, nanoseconds{*ends}});
  }
  return open;
}

}  // namespace weir::redis
