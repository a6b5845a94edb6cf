// A quota and the algorithm that counts it; and the one door to all algorithms whose state is two words.
//
// Plain values and pure functions, any thread. Not for: the sliding window log, whose state is a log
// (core/sliding_window_log.hpp).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/gcra.hpp"
#include "core/step.hpp"
#include "weir/algorithm.hpp"
#include "weir/quota.hpp"

namespace weir::core {

struct Rule {
  Quota quota;
  Algorithm algorithm = Algorithm::gcra;

  // Refused, with a sentence: a burst for any algorithm but gcra (the burst then has to be the count), a
  // count of 2^32 or more for the sliding windows, and a period of 2^62 ns or more for the counter.
  static tl::expected<Rule, std::string> make(const Quota& quota, Algorithm algorithm);

  // COUNT/PERIOD, then in any order [burst N] [algorithm=NAME] [align=clock], as in "100/min", "10/s burst
  // 50", "1000/h algorithm=fixed_window align=clock".
  static tl::expected<Rule, std::string> parse(std::string_view text);

  friend constexpr bool operator==(const Rule&, const Rule&) = default;
};

// As it is written behind algorithm=, with what belongs to it.
std::string name_of(Algorithm algorithm);

// The text that parse() makes the same rule of, without what goes without saying.
std::string to_text(const Rule& rule);

// The windows' part of decide(): out of line, so that what everybody runs stays small.
Step decide_window(const Quota& quota, Algorithm algorithm, TwoWords state, std::chrono::nanoseconds now,
                   Cost cost);

// Decides one request by any algorithm but sliding_window_log. `arrived` is gcra's: windows count from now.
inline Step decide(const Quota& quota, Algorithm algorithm, TwoWords state, std::chrono::nanoseconds now,
                   Cost cost, std::chrono::nanoseconds arrived) {
  if (algorithm != Algorithm::gcra) [[unlikely]] {
    return decide_window(quota, algorithm, state, now, cost);
  }
  const gcra::Step step = gcra::decide(quota, {state.until, state.word}, now, cost, arrived);
  return {step.verdict,     step.limit,       step.remaining,
          step.retry_after, step.reset_after, {step.next.tat, step.next.interval},
          step.changes};
}

inline Step decide(const Rule& rule, TwoWords state, std::chrono::nanoseconds now, Cost cost) {
  return decide(rule.quota, rule.algorithm, state, now, cost, now);
}

}  // namespace weir::core
