#include "redis/script.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "core/calendar_window.hpp"
#include "core/fixed_window.hpp"
#include "core/sliding_window_log.hpp"
#include "resp/writer.hpp"

namespace weir::inline v0_1::redis {

extern const char* const kCheckScript;  // check.lua, put into a string by CMake

namespace {

using resp::Value;
using std::chrono::nanoseconds;

constexpr std::uint64_t kSecond = 1'000'000'000;

constexpr std::uint64_t kMostAhead = std::uint64_t{1} << 63;

std::uint64_t limit_of(const core::Rule& rule) {
  const Quota& quota = rule.quota;
  return static_cast<std::uint64_t>(rule.algorithm == Algorithm::gcra ? quota.burst() : quota.rate().count);
}

std::string_view word_for(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::gcra:
      return "gcra";
    case Algorithm::fixed_window:
      return "fixed_window";
    case Algorithm::fixed_window_clock:
      return "fixed_window_clock";
    case Algorithm::sliding_window_log:
      return "sliding_window_log";
    case Algorithm::sliding_window_counter:
      return "sliding_window_counter";
    case Algorithm::calendar:
      return "calendar";
    case Algorithm::in_flight:
      break;
  }
  std::abort();  // a mistake in our code
}

// What a state in Redis begins with: weir, the number of this form, the algorithm.
std::string_view mark_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::gcra:
      return "weir1g ";
    case Algorithm::fixed_window:
    case Algorithm::fixed_window_clock:
      return "weir1f ";
    case Algorithm::sliding_window_log:
      return "weir2l ";
    case Algorithm::sliding_window_counter:
      return "weir1c ";
    case Algorithm::calendar:
      return "weir1d ";
    case Algorithm::in_flight:
      break;
  }
  std::abort();  // a mistake in our code
}

}  // namespace

std::string marks_of(const ScriptCheck& ask, bool look) {
  std::string marks;
  if (look) marks += "look ";
  if (ask.shadow) marks += "shadow ";
  if (ask.inside != ScriptCheck::kAlone && ask.rule->kept.count() != 0) {
    const Quota& quota = ask.rule->quota;
    marks += "inside " + std::to_string(ask.inside + 1) + " " +
             std::to_string(quota.burst() * quota.emission_interval().count()) + " ";
  }
  return marks;
}

void append_limit(resp::Writer& to, const ScriptCheck& ask, bool look) {
  const core::Rule& rule = *ask.rule;
  // Above the limit one cost is as good as another, and this one the script can count.
  const std::uint64_t limit = limit_of(rule);
  const std::uint64_t cost = std::min(ask.cost.units, limit + 1);
  const std::string_view word = word_for(rule.algorithm);
  std::string text = marks_of(ask, look);
  if (rule.algorithm == Algorithm::gcra && rule.kept.count() != 0)
    text += "burst " + std::to_string(limit) + " ";
  if (text.empty()) {
    to.bulk(word);
  } else {
    to.bulk(text.append(word));
  }
  if (rule.algorithm == Algorithm::gcra) {
    // burst x T is below 2^63, and T is no more than that.
    const auto interval = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    to.number(interval);
    to.number(limit * interval - static_cast<std::uint64_t>(rule.kept.count()));
    to.number(cost * interval);
  } else {
    to.number(cost);
    to.number(limit);
    if (rule.calendar != nullptr) return to.bulk(window_word(rule, ask.utc));
    to.number(static_cast<std::uint64_t>(rule.quota.rate().period.count()));
  }
}

namespace {

// Whole numbers between single spaces, filled in order; how many there were, and 0 for anything else.
template <std::size_t N>
std::size_t read_numbers(std::string_view text, std::array<std::uint64_t, N>& numbers) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < N; ++i) {
    const auto [tail, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc()) return 0;
    if (tail == end) return i + 1;
    if (*tail != ' ') return 0;
    at = tail + 1;
  }
  return 0;
}

std::optional<std::uint64_t> read_number(const Value& value) {
  std::array<std::uint64_t, 1> number{};
  if (value.type != Value::Type::string || read_numbers(value.text, number) != 1) return std::nullopt;
  return number[0];
}

std::optional<nanoseconds> read_time(const Value& seconds, const Value& microseconds) {
  const auto s = read_number(seconds);
  const auto us = read_number(microseconds);
  if (!s || !us || *s > kMostAhead / kSecond || *us >= 1'000'000) return std::nullopt;
  const std::uint64_t now = *s * kSecond + *us * 1000;
  if (now >= kMostAhead) return std::nullopt;
  return nanoseconds{static_cast<std::int64_t>(now)};
}

// A former build has marked states of gcra that had a line.
constexpr std::string_view kFormerMark = " @";

// What follows the mark of the algorithm's states; nothing when there is another.
std::optional<std::string_view> after_mark(std::string_view text, Algorithm algorithm) {
  const std::string_view mark = mark_of(algorithm);
  if (!text.starts_with(mark)) return std::nullopt;
  return text.substr(mark.size());
}

}  // namespace

bool tells_former_state(const Value& reply) {
  return std::any_of(reply.items.begin(), reply.items.end(), [](const Value& each) {
    const auto text = after_mark(each.text, Algorithm::gcra);
    return text && text->find(kFormerMark) != text->npos;
  });
}

std::optional<KeyState> read_state(const Value& value, const ScriptCheck& ask, nanoseconds now) {
  const core::Rule& rule = *ask.rule;
  if (value.type == Value::Type::null) return KeyState{};
  if (value.type != Value::Type::string) return std::nullopt;
  if (value.text.starts_with(LedgerView::kMark) && rule.algorithm == Algorithm::gcra) {
    const std::size_t end = value.text.find('|');
    KeyState found{{}, LedgerView::read(value.text.substr(0, end)), {}};
    if (end != value.text.npos) found.then = LedgerView::read(value.text.substr(end + 1));
    return found.ledger ? std::optional(found) : std::nullopt;
  }
  const std::optional<std::string_view> text = after_mark(value.text, rule.algorithm);
  if (!text) return std::nullopt;
  std::array<std::uint64_t, 3> numbers{};
  const std::size_t count = read_numbers(text->substr(0, text->find(kFormerMark)), numbers);
  core::TwoWords words{numbers[0], numbers[1]};
  switch (rule.algorithm) {
    case Algorithm::gcra:
      if (count != 2) return std::nullopt;
      if (core::ahead_of(words.until, now) == 0) break;
      if (words.word == 0) return std::nullopt;
      break;
    case Algorithm::fixed_window:
    case Algorithm::fixed_window_clock:
      if (count != 2) return std::nullopt;
      break;
    case Algorithm::sliding_window_counter:
      if (count != 3 || std::max(numbers[1], numbers[2]) > 0xffff'ffff) return std::nullopt;
      words.word = numbers[1] << 32 | numbers[2];
      break;
    case Algorithm::calendar:
      if (count != 3 || numbers[1] >= core::calendar_window::kMostId ||
          numbers[2] > core::calendar_window::kMostUsed)
        return std::nullopt;
      words.word = core::calendar_window::word_of(numbers[1], numbers[2]);
      break;
    case Algorithm::sliding_window_log:
    case Algorithm::in_flight:
      std::abort();  // a mistake in our code: it has no words
  }
  if (core::ahead_of(words.until, now) >= kMostAhead) return std::nullopt;
  return KeyState{words, {}, {}};
}

namespace {

// The script says of a log what is used of it, its newest admission, and the one that has to leave before the
// request fits. A log in which everything used was admitted then is decided in the same way.
std::optional<Decision> decide_log(const Value& value, const core::Rule& rule, nanoseconds now, Cost cost,
                                   bool look) {
  namespace swl = core::sliding_window_log;
  swl::State log;
  std::array<swl::Entry, 2> ring{};
  if (value.type == Value::Type::array && value.items.size() == 3) {
    const auto used = value.items[0].integer;
    const auto newest = read_number(value.items[1]);
    const auto leaves = read_number(value.items[2]);
    const auto period = static_cast<std::uint64_t>(rule.quota.rate().period.count());
    if (used < 1 || used > 0xffff'ffff || !newest || !leaves || *leaves > *newest) return std::nullopt;
    if (*newest >= kMostAhead || core::ahead_of(*leaves + period, now) == 0) return std::nullopt;
    if (core::ahead_of(*newest + period, now) >= kMostAhead) return std::nullopt;
    ring[0] = {*leaves, static_cast<std::uint64_t>(used)};
    log = {*newest, static_cast<std::uint32_t>(used), 0, 1};
  } else if (value.type != Value::Type::null) {
    return std::nullopt;
  }
  const Decision found = swl::decide(rule.quota, log, ring, now, Cost{0});
  const Decision decision = swl::decide(rule.quota, log, ring, now, cost);
  return look ? core::look(found, decision) : decision;
}

std::optional<Decision> decide_as_core(const Value& state, const ScriptCheck& ask, const core::Rule& rule,
                                       nanoseconds now, bool look) {
  if (rule.algorithm == Algorithm::sliding_window_log) return decide_log(state, rule, now, ask.cost, look);
  const std::optional<KeyState> found = read_state(state, ask, now);
  if (!found) return std::nullopt;
  return look ? found->look(rule, now, ask.cost) : found->decide(rule, now, ask.cost).decision();
}

}  // namespace

std::string sha_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) std::abort();
  std::string hex;
  for (std::size_t i = 0; i < size; ++i) {
    constexpr std::string_view kHex = "0123456789abcdef";
    hex += kHex[digest[i] >> 4];
    hex += kHex[digest[i] & 15U];
  }
  return hex;
}

std::string time_word(nanoseconds now) {
  const std::int64_t us = now.count() / 1000;
  return std::to_string(us / 1'000'000) + " " + std::to_string(us % 1'000'000);
}

std::string_view check_script() { return kCheckScript; }

const std::string& check_sha() {
  static const std::string kSha = sha_of(check_script());
  return kSha;
}

std::optional<std::string> unsuitable(const core::Rule& rule) {
  const auto above = [&](std::string_view field, std::int64_t value, std::int64_t most) {
    return std::string(field) + ": " + std::to_string(value) + " is above the most that " +
           core::name_of(rule.algorithm) + " counts in Redis (" + std::to_string(most) + ")";
  };
  const auto [count, period] = rule.quota.rate();
  if (core::counts_slots(rule.algorithm)) return std::nullopt;
  if (rule.algorithm == Algorithm::gcra) {
    if (rule.quota.burst() > kMostUnits) return above("burst", rule.quota.burst(), kMostUnits);
    return std::nullopt;
  }
  if (count > kMostUnits) return above("count", count, kMostUnits);
  if (rule.algorithm == Algorithm::fixed_window || rule.algorithm == Algorithm::sliding_window_log ||
      rule.algorithm == Algorithm::calendar) {
    return std::nullopt;
  }
  // The number of a window is a quotient too: 2^63 ns / 2 us is below 2^53.
  constexpr nanoseconds kLeastPeriod{2'000};
  if (period < kLeastPeriod) {
    return "period: " + std::to_string(period.count()) + " ns is below the least that " +
           core::name_of(rule.algorithm) + " has in Redis (" + std::to_string(kLeastPeriod.count()) + " ns)";
  }
  // prev x (P - e) and its bound are compared in seconds and nanoseconds.
  const std::int64_t seconds = period.count() / static_cast<std::int64_t>(kSecond) + 1;
  if (rule.algorithm == Algorithm::sliding_window_counter && count > kMostUnits / seconds) {
    return above("count", count, kMostUnits / seconds) + " with a period of " + std::to_string(seconds) +
           " s";
  }
  return std::nullopt;
}

namespace {

resp::Writer begin(std::string& out, std::span<const ScriptCheck> asks, std::size_t more_words) {
  resp::Writer to(out);
  to.array(3 + asks.size() * (1 + kWordsOfLimit) + more_words);
  to.bulk("EVALSHA");
  to.bulk(check_sha());
  to.number(asks.size());
  for (const ScriptCheck& ask : asks) to.bulk(ask.key);
  return to;
}

void append_time(resp::Writer& to, std::optional<nanoseconds> now) {
  if (now) to.bulk(time_word(*now));
}

constexpr std::size_t kFirstState = 3;

}  // namespace

tl::unexpected<std::string> disagree(const std::string& how) {
  return tl::unexpected("weir's script and weir disagree: it " + how);
}

tl::unexpected<std::string> not_ours(const Value& reply) {
  if (reply.type == Value::Type::error) return tl::unexpected(std::string(reply.text));
  return tl::unexpected(std::string("the store's answer is not that of weir's script"));
}

void append_check(std::string& out, std::span<const ScriptCheck> asks, std::optional<nanoseconds> now) {
  resp::Writer to = begin(out, asks, now ? 1 : 0);
  for (const ScriptCheck& ask : asks) append_limit(to, ask);
  append_time(to, now);
}

void append_look(std::string& out, std::span<const ScriptCheck> asks, std::optional<nanoseconds> now) {
  resp::Writer to = begin(out, asks, now ? 1 : 0);
  for (const ScriptCheck& ask : asks) append_limit(to, ask, true);
  append_time(to, now);
}

void append_times(std::string& out, const ScriptCheck& ask, std::size_t times,
                  std::optional<nanoseconds> now) {
  resp::Writer to = begin(out, {&ask, 1}, now ? 3 : 2);
  append_limit(to, ask);
  to.bulk("times");
  to.number(times);
  append_time(to, now);
}

namespace {

// What changes the state of gcra of one key.
void append_change(std::string& out, const char* what, const ScriptCheck& ask, std::string_view line,
                   std::uint64_t first, std::uint64_t second, std::optional<nanoseconds> now) {
  resp::Writer to(out);
  const std::uint64_t keys = line.empty() ? 1 : 2;
  to.array(3 + keys + kWordsOfLimit + (now ? 1 : 0));
  to.bulk("EVALSHA");
  to.bulk(check_sha());
  to.number(keys);
  to.bulk(ask.key);
  if (!line.empty()) to.bulk(line);
  to.bulk(what);
  to.number(static_cast<std::uint64_t>(ask.rule->quota.emission_interval().count()));
  to.number(first);
  to.number(second);
  append_time(to, now);
}

}  // namespace

void append_give_back(std::string& out, const ScriptCheck& ask, nanoseconds charged_at,
                      std::optional<nanoseconds> now) {
  const auto interval = static_cast<std::uint64_t>(ask.rule->quota.emission_interval().count());
  append_change(out, "give_back", ask, {}, ask.cost.units * interval,
                static_cast<std::uint64_t>(charged_at.count()), now);
}

void append_cap(std::string& out, const ScriptCheck& ask, std::string_view line, nanoseconds full,
                std::optional<nanoseconds> now) {
  append_change(out, "cap", ask, line, static_cast<std::uint64_t>(full.count()),
                static_cast<std::uint64_t>(ask.rule->quota.rate().period.count()), now);
}

void append_reset(std::string& out, std::span<const std::string> keys, std::span<const std::string> lines) {
  resp::Writer to(out);
  to.array(5 + keys.size() + lines.size());
  to.bulk("EVALSHA");
  to.bulk(check_sha());
  to.number(keys.size() + lines.size());
  for (const std::string& key : keys) to.bulk(key);
  for (const std::string& line : lines) to.bulk(line);
  to.bulk("reset");
  to.number(lines.size());
}

const Value& state_in(const Value& reply, std::size_t which) { return reply.items[kFirstState + which]; }

bool tells_pause(const Value& state) {
  const auto text = after_mark(state.text, Algorithm::fixed_window);
  std::array<std::uint64_t, 2> end_and_used{};
  return text && read_numbers(*text, end_and_used) == 2 && end_and_used[1] >= core::fixed_window::kPaused;
}

bool asks_again(const Value& reply) {
  return reply.type == Value::Type::array && reply.items.size() == kFirstState &&
         reply.items[0].type == Value::Type::integer && reply.items[0].integer == -1;
}

std::string window_word(const core::Rule& rule, nanoseconds utc) {
  const core::CalendarWindow window = rule.calendar->at(utc);
  const nanoseconds kept = window.end + core::calendar_window::kept_for(rule.calendar->unit());
  return std::to_string(std::max(window.begin, nanoseconds{0}).count()) + " " +
         std::to_string(window.end.count()) + " " + std::to_string(kept.count()) + " " +
         std::to_string(window.id);
}

std::optional<nanoseconds> decided_at(const Value& reply) {
  if (reply.type != Value::Type::array || reply.items.size() < kFirstState ||
      reply.items[0].type != Value::Type::integer) {
    return std::nullopt;
  }
  return read_time(reply.items[1], reply.items[2]);
}

core::Rule rule_of(std::span<const ScriptCheck> asks, std::span<const Decision> decisions,
                   std::size_t which) {
  core::Rule rule = *asks[which].rule;
  const std::size_t inside = asks[which].inside;
  if (inside != ScriptCheck::kAlone && decisions[inside].allowed()) rule.kept = nanoseconds{0};
  return rule;
}

tl::expected<bool, std::string> decide_all(const Value& reply, std::span<const ScriptCheck> asks,
                                           std::span<Decision> decisions, bool look) {
  const std::optional<nanoseconds> now = decided_at(reply);
  if (!now || reply.items.size() != kFirstState + asks.size() || decisions.size() < asks.size()) {
    return not_ours(reply);
  }
  bool all = true;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const std::optional<Decision> decision =
        decide_as_core(reply.items[kFirstState + i], asks[i], rule_of(asks, decisions, i), *now, look);
    if (!decision) return not_ours(reply);
    decisions[i] = *decision;
    all = all && (decision->allowed() || asks[i].shadow);
  }
  if (!look && !all) tell_uncharged(reply, asks, decisions);
  return all;
}

namespace {

tl::expected<bool, std::string> read_decisions(const Value& reply, std::span<const ScriptCheck> asks,
                                               std::span<Decision> decisions, bool look) {
  const tl::expected<bool, std::string> all = decide_all(reply, asks, decisions, look);
  if (!all) return all;
  const bool charged = reply.items[0].integer == 1;
  if (look && charged) return disagree("charged for a look");
  if (!look && *all != charged) {
    return disagree(charged ? "charged what is denied" : "did not charge what is allowed");
  }
  return all;
}

}  // namespace

void tell_uncharged(const Value& reply, std::span<const ScriptCheck> asks, std::span<Decision> decisions) {
  const nanoseconds now = decided_at(reply).value_or(nanoseconds{0});
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (!decisions[i].allowed() || asks[i].cost.units == 0) continue;
    // Of a key that is asked for twice the second answer counts the first.
    std::size_t first = 0;
    while (asks[first].key != asks[i].key) ++first;
    ScriptCheck looks = asks[i];
    looks.cost = Cost{0};
    const auto found =
        decide_as_core(reply.items[kFirstState + first], looks, rule_of(asks, decisions, i), now, true);
    if (found) decisions[i] = core::look(*found, decisions[i]);
  }
}

tl::expected<bool, std::string> read_check(const Value& reply, std::span<const ScriptCheck> asks,
                                           std::span<Decision> decisions) {
  return read_decisions(reply, asks, decisions, false);
}

tl::expected<bool, std::string> read_look(const Value& reply, std::span<const ScriptCheck> asks,
                                          std::span<Decision> decisions) {
  return read_decisions(reply, asks, decisions, true);
}

tl::expected<std::size_t, std::string> read_times(const Value& reply, const ScriptCheck& ask,
                                                  std::span<Decision> decisions) {
  const std::optional<nanoseconds> now = decided_at(reply);
  if (!now || reply.items.size() != kFirstState + 1) return not_ours(reply);
  std::optional<KeyState> found = read_state(reply.items[kFirstState], ask, *now);
  if (!found) return not_ours(reply);
  std::size_t allowed = 0;
  for (Decision& each : decisions) {
    const core::Step step = found->decide(*ask.rule, *now, ask.cost);
    each = step.decision();
    if (step.changes && found->ledger) found->ledger->charge(ask.cost);
    if (step.changes) found->words = step.next;
    allowed += each.allowed() ? 1 : 0;
  }
  if (reply.items[0].integer != static_cast<std::int64_t>(allowed)) {
    return disagree("charged " + std::to_string(reply.items[0].integer) + " times where " +
                    std::to_string(allowed) + " are allowed");
  }
  return allowed;
}

}  // namespace weir::redis
