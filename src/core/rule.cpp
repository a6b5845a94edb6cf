#include "core/rule.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <optional>

#include "core/calendar_window.hpp"
#include "core/duration.hpp"
#include "core/fixed_window.hpp"
#include "core/number.hpp"
#include "core/sliding_window_counter.hpp"
#include "core/word.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::nanoseconds;

struct Name {
  std::string_view text;
  Algorithm algorithm;
};

// The first name of each is the one that is printed.
constexpr std::array kNames = {
    Name{"gcra", Algorithm::gcra},
    Name{"token_bucket", Algorithm::gcra},
    Name{"leaky_bucket", Algorithm::gcra},
    Name{"fixed_window", Algorithm::fixed_window},
    Name{"sliding_window_log", Algorithm::sliding_window_log},
    Name{"sliding_window_counter", Algorithm::sliding_window_counter},
};

constexpr std::string_view kInFlight = "in_flight";
constexpr std::string_view kForm =
    "the form is COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock], as in 10/s burst 50 or 1000/h "
    "algorithm=fixed_window";

std::optional<Algorithm> algorithm_named(std::string_view text) {
  for (const Name& name : kNames) {
    if (name.text == text) return name.algorithm;
  }
  return std::nullopt;
}

}  // namespace

std::string name_of(Algorithm algorithm) {
  if (algorithm == Algorithm::in_flight) return std::string(kInFlight);
  for (const Name& name : kNames) {
    if (name.algorithm == algorithm) return std::string(name.text);
  }
  return algorithm == Algorithm::calendar ? "calendar" : "fixed_window align=clock";
}

namespace {

// "min", "90min", "1500ms": the longest unit that the period is whole in, its number left out when it is 1.
std::string period_text(nanoseconds period) {
  struct Period {
    std::string_view name;
    std::int64_t ns;
  };
  constexpr std::array kPeriods = {Period{"d", 86'400'000'000'000},
                                   Period{"h", 3'600'000'000'000},
                                   Period{"min", 60'000'000'000},
                                   Period{"s", 1'000'000'000},
                                   Period{"ms", 1'000'000},
                                   Period{"us", 1'000},
                                   Period{"ns", 1}};
  std::size_t i = 0;
  while (period.count() % kPeriods[i].ns != 0) ++i;
  const std::int64_t count = period.count() / kPeriods[i].ns;
  return (count == 1 ? "" : std::to_string(count)) + std::string(kPeriods[i].name);
}

template <class State>
Step in_words(const StepOf<State>& step) {
  return {step.verdict,     step.limit,       step.remaining,
          step.retry_after, step.reset_after, std::bit_cast<TwoWords>(step.next),
          step.changes};
}

}  // namespace

tl::expected<Rule, std::string> Rule::make(const Quota& quota, Algorithm algorithm) {
  if (algorithm == Algorithm::gcra) return Rule{quota, algorithm};
  if (counts_slots(algorithm))
    return tl::unexpected(std::string("in_flight: slots have no rate; the form is in_flight=N"));
  if (algorithm == Algorithm::calendar)
    return tl::unexpected(std::string("algorithm: windows of a calendar are for limits files"));
  const auto [count, period] = quota.rate();
  const std::string name = name_of(algorithm);
  if (quota.burst() != count) {
    return tl::unexpected("burst: " + std::to_string(quota.burst()) + " does not apply to " + name +
                          ", which admits the count (" + std::to_string(count) + "); only gcra has a burst");
  }
  const bool counter = algorithm == Algorithm::sliding_window_counter;
  constexpr std::int64_t kMostCount = std::numeric_limits<std::uint32_t>::max();
  if ((counter || algorithm == Algorithm::sliding_window_log) && count > kMostCount) {
    return tl::unexpected("count: " + std::to_string(count) + " is above the maximum for " + name + " (" +
                          std::to_string(kMostCount) + ")");
  }
  constexpr nanoseconds kMostPeriod{(std::int64_t{1} << 62) - 1};
  if (counter && period > kMostPeriod) {
    return tl::unexpected("period: " + to_text(period) + " is above the maximum for " + name + " (" +
                          to_text(kMostPeriod) + ")");
  }
  return Rule{quota, algorithm};
}

tl::expected<Rule, std::string> Rule::slots(std::string_view number) {
  if (number == "0") return tl::unexpected(std::string(kInFlight) + ": " + std::string(kAdmitsNothing));
  const std::int64_t count = parse_integer(number).value_or(0);
  if (count < 1 || count > kMostSlots)
    return tl::unexpected(std::string(kInFlight) + ": '" + std::string(number) +
                          "' is not an integer from 1 to " + std::to_string(kMostSlots));
  return Rule{*Quota::make({count, std::chrono::seconds{1}}, count), Algorithm::in_flight};
}

namespace {

// The words of a rule after its rate.
struct Words {
  std::string burst;  // with the word, as Quota::parse() reads it
  std::optional<Algorithm> algorithm;
  std::string_view align;
  std::string_view zone;
};

tl::expected<Words, std::string> read_words(std::string_view rest) {
  constexpr std::string_view kAlgorithm = "algorithm=";
  constexpr std::string_view kAlign = "align=";
  constexpr std::string_view kZone = "tz=";
  const auto twice = [](std::string_view what) {
    return tl::unexpected(std::string(what) + " is given twice");
  };
  Words words;
  for (;;) {
    const auto [word, after] = next_word(rest);
    if (word.empty()) return words;
    rest = after;
    if (word == "burst") {
      if (!words.burst.empty()) return twice(word);
      const auto [units, tail] = next_word(after);
      words.burst = " burst " + std::string(units);
      rest = tail;
    } else if (word.starts_with(kAlgorithm)) {
      if (words.algorithm) return twice("algorithm");
      const std::string_view name = word.substr(kAlgorithm.size());
      words.algorithm = algorithm_named(name);
      if (!words.algorithm) {
        std::string known;
        for (const Name& each : kNames) known += (known.empty() ? "" : ", ") + std::string(each.text);
        return tl::unexpected("unknown algorithm '" + std::string(name) + "'; known: " + known);
      }
    } else if (word.starts_with(kAlign)) {
      if (!words.align.empty()) return twice("align");
      words.align = word.substr(kAlign.size());
      if (words.align != "clock" && words.align != "calendar")
        return tl::unexpected("unknown alignment '" + std::string(word) +
                              "'; known: align=clock, align=calendar");
    } else if (word.starts_with(kZone)) {
      if (!words.zone.empty()) return twice("tz");
      words.zone = word.substr(kZone.size());
      if (words.zone.empty()) return tl::unexpected(std::string("tz= names no zone; write tz=Area/City"));
    } else {
      return tl::unexpected("unexpected '" + std::string(word) + "'; " + std::string(kForm));
    }
  }
}

// What a text says that only the calendar knows.
bool is_of_calendar(std::string_view period) {
  return period.find("month") != std::string_view::npos || period.find("year") != std::string_view::npos;
}

// A rate by the calendar: the count, before the nominal period of its unit.
tl::expected<Rule, std::string> by_calendar(std::string_view rate, const Words& words) {
  const auto refused = [](std::string what) { return tl::unexpected(std::move(what)); };
  if (words.algorithm && *words.algorithm != Algorithm::fixed_window)
    return refused("align=calendar requires algorithm=fixed_window; this is " + name_of(*words.algorithm));
  if (!words.burst.empty()) return refused("there is no burst with align=calendar; only gcra has one");
  const std::size_t slash = std::min(rate.find('/'), rate.size());
  const std::string_view period = rate.substr(std::min(slash + 1, rate.size()));
  const auto unit = Calendar::unit_named(period);
  if (!unit)
    return refused("'" + std::string(period) +
                   "' is not one of hour, day, week, month and year, which align=calendar counts by");
  const nanoseconds nominal = Calendar::nominal(*unit);
  if (parse_integer(rate.substr(0, slash)) == 0) return refused(std::string(kAdmitsNothing));
  auto quota =
      Quota::parse(std::string(rate.substr(0, slash)) + "/" + std::to_string(nominal.count()) + "ns");
  if (!quota)
    return refused("'" + std::string(rate.substr(0, slash)) + "' is not a count that a " +
                   std::string(Calendar::name_of(*unit)) + " can have");
  constexpr auto kMost = static_cast<std::int64_t>(calendar_window::kMostUsed);
  if (quota->rate().count > kMost)
    return refused("count: " + std::to_string(quota->rate().count) + " is above the maximum for calendar (" +
                   std::to_string(kMost) + ")");
  const auto calendar = Calendar::find(*unit, words.zone.empty() ? "UTC" : words.zone);
  if (!calendar) return refused(calendar.error());
  Rule rule{*quota, Algorithm::calendar};
  rule.calendar = *calendar;
  return rule;
}

}  // namespace

tl::expected<Rule, std::string> Rule::parse(std::string_view said) {
  const std::string shown = "limit '" + std::string(said) + "': ";
  const auto refused = [&shown](const std::string& what) { return tl::unexpected(shown + what); };
  const std::string text = with_slash(said);
  if (const auto [first, after] = next_word(text);
      first.starts_with(kInFlight) && first.substr(kInFlight.size()).starts_with('=')) {
    if (const std::string_view second = next_word(after).text; !second.empty())
      return refused("unexpected '" + std::string(second) +
                     "'; the form is in_flight=N, and a rate is another limit");
    auto rule = slots(first.substr(kInFlight.size() + 1));
    if (!rule) return refused(rule.error());
    return rule;
  }
  if (const std::string meant = rate_with_blanks(text); !meant.empty())
    return refused("write '" + meant + "', without a space");
  const auto [rate, rest] = next_word(text);
  if (rate.empty()) return refused("there is no rule; " + std::string(kForm));
  const auto words = read_words(rest);
  if (!words) return refused(words.error());
  if (words->align == "calendar") {
    auto rule = by_calendar(rate, *words);
    return rule ? std::move(rule) : refused(rule.error());
  }
  if (!words->zone.empty()) return refused("tz= requires align=calendar");
  auto quota = Quota::parse(std::string(rate) + words->burst);
  if (!quota) {
    const std::string_view period = rate.substr(std::min(rate.find('/'), rate.size() - 1) + 1);
    if (!is_of_calendar(period)) return tl::unexpected(std::move(quota.error()));
    return refused("months and years differ in length; write " +
                   std::string(rate.substr(0, rate.size() - period.size())) +
                   (period.find("month") != std::string_view::npos ? "month" : "year") +
                   " align=calendar, with tz=Area/City where it is not UTC, or a period such as 30d");
  }
  Algorithm chosen = words->algorithm.value_or(Algorithm::gcra);
  if (!words->burst.empty() && chosen != Algorithm::gcra)
    return refused("there is no burst with algorithm=" + name_of(chosen) + "; only gcra has one");
  if (!words->align.empty() && chosen != Algorithm::fixed_window)
    return refused("align=clock requires algorithm=fixed_window; this is " + name_of(chosen));
  if (!words->align.empty()) chosen = Algorithm::fixed_window_clock;
  auto rule = make(*quota, chosen);
  if (!rule) return refused(rule.error());
  return rule;
}

std::string to_text(const Rule& rule) {
  const Quota& quota = rule.quota;
  if (counts_slots(rule.algorithm)) return std::string(kInFlight) + "=" + std::to_string(quota.burst());
  if (rule.calendar != nullptr) {
    const std::string zone = rule.calendar->zone() == "UTC" ? "" : " tz=" + rule.calendar->zone();
    return std::to_string(quota.rate().count) + "/" + period_name(rule) + " align=calendar" + zone;
  }
  std::string text = std::to_string(quota.rate().count) + "/" + period_text(quota.rate().period);
  if (quota.burst() != quota.rate().count) text += " burst " + std::to_string(quota.burst());
  if (rule.algorithm != Algorithm::gcra) text += " algorithm=" + name_of(rule.algorithm);
  return text;
}

void append_window(const Rule& rule, std::string& out) {
  using Unit = Calendar::Unit;
  const bool dated =
      rule.calendar != nullptr && rule.calendar->unit() != Unit::hour && rule.calendar->unit() != Unit::day;
  if (!dated) return append_window(rule.quota.rate().period, out);
  out += '1';
  out += Calendar::name_of(rule.calendar->unit());
}

std::string period_name(const Rule& rule) {
  if (rule.calendar == nullptr) return to_text(rule.quota.rate().period);
  return std::string(Calendar::name_of(rule.calendar->unit()));
}

std::optional<nanoseconds> parse_period(std::string_view text) {
  const auto unit = Calendar::unit_named(text.starts_with('1') ? text.substr(1) : text);
  return unit ? Calendar::nominal(*unit) : parse_duration(text);
}

Step decide_window(const Rule& rule, TwoWords state, nanoseconds now, Cost cost) {
  using fixed_window::Opens;
  switch (rule.algorithm) {
    case Algorithm::fixed_window:
    case Algorithm::fixed_window_clock: {
      const Opens opens =
          rule.algorithm == Algorithm::fixed_window ? Opens::at_first_request : Opens::on_the_clock;
      return in_words(fixed_window::decide(rule.quota, std::bit_cast<fixed_window::State>(state), now, cost,
                                           opens, rule.phase));
    }
    case Algorithm::sliding_window_counter:
      return in_words(sliding_window_counter::decide(
          rule.quota, std::bit_cast<sliding_window_counter::State>(state), now, cost, rule.phase));
    case Algorithm::in_flight:
      return {Verdict::allowed,
              rule.quota.burst(),
              static_cast<std::uint64_t>(rule.quota.burst()),
              0,
              0,
              state,
              false};
    case Algorithm::calendar:
      return calendar_window::decide(rule.quota, *rule.calendar, state, now, rule.utc_at(now), cost);
    case Algorithm::gcra:
    case Algorithm::sliding_window_log:
      break;
  }
  std::abort();  // a bug of ours: neither is a window in two words
}

Step decide_class(const Rule& rule, TwoWords state, nanoseconds now, Cost cost, nanoseconds arrived) {
  const gcra::Step step = gcra::decide(rule.quota, {state.until, state.word}, now, cost, arrived, rule.kept);
  return {step.verdict,     step.limit,       step.remaining,
          step.retry_after, step.reset_after, {step.next.tat, step.next.interval},
          step.changes};
}

}  // namespace weir::core
