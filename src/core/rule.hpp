// A quota and the algorithm that counts it; and the one entry to all algorithms whose state is two words.
//
// Plain values and pure functions, any thread. Not for: the sliding window log, whose state is a log
// (core/sliding_window_log.hpp).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/calendar.hpp"
#include "core/clock_function.hpp"
#include "core/duration.hpp"
#include "core/gcra.hpp"
#include "core/step.hpp"
#include "core/traits.hpp"
#include "weir/algorithm.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::core {

struct Rule {
  Quota quota;
  Algorithm algorithm = Algorithm::gcra;
  // For what goes_by_the_clock(): how far the clock that windows go by is ahead of the one that `now` is read
  // from, modulo the period. A state's times thus stay on the clock of `now`, whatever the rule. 0 for the
  // others, so that two rules are equal exactly when they decide alike: checks of equal rules may be merged.
  std::chrono::nanoseconds phase{0};
  // gcra's, 0 for the others: the part of burst x T that requests of this class leave free for more important
  // ones. From 0 to burst x T; which class a request has, and so this number, its asker knows. Of slots, of
  // which N are a burst: kept_slots().
  std::chrono::nanoseconds kept{0};
  // calendar's, null for the others; and the clock in UTC that it goes by, read for each decision. Without
  // one it is `phase` ahead of `now`, whole periods too. Both outlive whatever decides by the rule.
  const Calendar* calendar = nullptr;
  const ClockFunction* utc_clock = nullptr;

  // Refused, with a sentence: a burst for any algorithm but gcra (the burst then has to be the count), a
  // count of 2^32 or more for the sliding windows, a period of 2^62 ns or more for the counter, and the
  // calendar, of which a quota does not say enough.
  static tl::expected<Rule, std::string> make(const Quota& quota, Algorithm algorithm);

  // COUNT/PERIOD, then in any order [burst N] [algorithm=NAME] [align=clock], as in "100/min", "10/s burst
  // 50", "1000/h algorithm=fixed_window align=clock"; or with align=calendar [tz=Area/City], where PERIOD is
  // hour, day, week, month or year: "1000000/month align=calendar tz=Europe/Berlin"; or in_flight=N
  // alone.
  static tl::expected<Rule, std::string> parse(std::string_view text);

  // Of a window whose length its state says: one that the first request opens.
  static constexpr Rule window(const Quota& quota) { return {quota, Algorithm::fixed_window}; }

  // N slots, from 1 to kMostSlots; or why not.
  static constexpr std::int64_t kMostSlots = 1'000'000'000;
  static tl::expected<Rule, std::string> slots(std::string_view number);

  // The same rule where windows go by a clock that is `offset` ahead of the one that `now` is read from.
  // A calendar goes by `utc` instead, where there is one.
  constexpr Rule on_clock(std::chrono::nanoseconds offset, const ClockFunction* utc = nullptr) const {
    Rule rule = *this;
    if (algorithm == Algorithm::calendar) {
      rule.phase = offset;
      rule.utc_clock = utc;
    } else if (goes_by_the_clock(algorithm)) {
      const std::chrono::nanoseconds period = quota.rate().period;
      rule.phase = (offset % period + period) % period;
    }
    return rule;
  }
  // Of a calendar: what time `now` is in UTC.
  std::chrono::nanoseconds utc_at(std::chrono::nanoseconds now) const {
    return utc_clock != nullptr ? (*utc_clock)() : now + phase;
  }

  friend constexpr bool operator==(const Rule&, const Rule&) = default;
};

// The name as written after algorithm=, with align=clock where it belongs; "calendar".
std::string name_of(Algorithm algorithm);

// The name of a rule's window: "1d", "90s", "1month". Appended.
void append_window(const Rule& rule, std::string& out);
// What its period is called where a state is named: "1h30m", "month".
std::string period_name(const Rule& rule);

// A period by which somebody says which window is meant: a duration, "month" or "year", as their windows are
// called too: "1month". Empty for anything else.
std::optional<std::chrono::nanoseconds> parse_period(std::string_view text);

// The shortest text from which parse() makes the same rule.
std::string to_text(const Rule& rule);

// Whether a key's state was counted by another quota than the rule's, so that a request that passes now
// changes how fast the debt drains. Such changes must come in the order of their times: a store decides none
// earlier than the last one of the key, or else readings of the clock that lag would let the same time drain
// twice (docs/algorithm.md, "One key under two quotas").
constexpr bool counted_by_another_quota(const Rule& rule, TwoWords state) {
  return rule.algorithm == Algorithm::gcra &&
         state.word != static_cast<std::uint64_t>(rule.quota.emission_interval().count());
}

// The parts of decide() for windows, and for classes that keep something free: out of line, so that the
// common path stays small.
Step decide_window(const Rule& rule, TwoWords state, std::chrono::nanoseconds now, Cost cost);
Step decide_class(const Rule& rule, TwoWords state, std::chrono::nanoseconds now, Cost cost,
                  std::chrono::nanoseconds arrived);

// Decides one request by any algorithm that is kept_in_two_words(). `arrived` is gcra's: windows count from
// now. Slots, which are counted elsewhere, allow everything here.
// Called from more than twenty places, which is why a compiler makes a call of it; then its Step goes through
// memory (StepOf).
[[gnu::always_inline]] inline Step decide(const Rule& rule, TwoWords state, std::chrono::nanoseconds now,
                                          Cost cost, std::chrono::nanoseconds arrived) {
  if (rule.algorithm != Algorithm::gcra) [[unlikely]] {
    return decide_window(rule, state, now, cost);
  }
  if (rule.kept.count() != 0) [[unlikely]]
    return decide_class(rule, state, now, cost, arrived);
  const gcra::Step step = gcra::decide(rule.quota, {state.until, state.word}, now, cost, arrived);
  return {step.verdict,     step.limit,       step.remaining,
          step.retry_after, step.reset_after, {step.next.tat, step.next.interval},
          step.changes};
}

inline Step decide(const Rule& rule, TwoWords state, std::chrono::nanoseconds now, Cost cost) {
  return decide(rule, state, now, cost, now);
}

// A look at a cost: the verdict that it would get, and what is there before it. Of the two, the first was
// decided for a cost of 0.
inline Decision look(Decision found, const Decision& decided) {
  found.verdict = decided.verdict;
  found.retry_after = decided.retry_after;
  return found;
}
inline Decision look(const Rule& rule, TwoWords state, std::chrono::nanoseconds now, Cost cost) {
  return look(decide(rule, state, now, Cost{0}).decision(), decide(rule, state, now, cost).decision());
}

// Whole slots that requests of this class leave free.
constexpr std::int64_t kept_slots(const Rule& rule) {
  const std::int64_t interval = rule.quota.emission_interval().count();
  return (rule.kept.count() + interval - 1) / interval;
}

// What the rule admits at once from rest, in units.
constexpr std::uint64_t most_units(const Rule& rule) { return gcra::most_units(rule.quota, rule.kept); }

}  // namespace weir::core
