// What each window algorithm promises, for any arrival pattern and with clocks that lag by different amounts;
// and that the promise cannot be tighter, by a trace that reaches it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "agreement/subject.hpp"

namespace weir::inline v0_1::window_promise_test {
namespace {

using std::chrono::nanoseconds;

struct Admitted {
  std::int64_t at;
  std::int64_t units;
};

std::int64_t sum(const std::vector<Admitted>& admitted, std::int64_t first, std::int64_t last) {
  std::int64_t units = 0;
  for (const Admitted& each : admitted) units += each.at >= first && each.at <= last ? each.units : 0;
  return units;
}

// The most in any (t - period, t], or in any [t - period, t]. It is enough to end at admissions.
std::int64_t most_in_half_open(const std::vector<Admitted>& admitted, std::int64_t period) {
  std::int64_t most = 0;
  for (const Admitted& each : admitted) most = std::max(most, sum(admitted, each.at - period + 1, each.at));
  return most;
}
std::int64_t most_in_closed(const std::vector<Admitted>& admitted, std::int64_t period) {
  std::int64_t most = 0;
  for (const Admitted& each : admitted) most = std::max(most, sum(admitted, each.at - period, each.at));
  return most;
}

core::Rule rule_of(Algorithm algorithm, std::int64_t limit, std::int64_t period) {
  return core::Rule::make(Quota::make({limit, nanoseconds{period}}).value(), algorithm).value();
}

struct Trace {
  std::int64_t limit;
  std::int64_t period;
  std::vector<Admitted> admitted;
};

// A random one, mostly pressing hard. A lagging clock's admission is stamped as the algorithms decide it: no
// earlier than the one before.
Trace trace_of(Algorithm algorithm, Chance& chance) {
  const std::int64_t limit = 1 + chance.up_to(9);
  const std::int64_t period = limit * (1 + chance.up_to(20));
  Trace trace{limit, period, {}};
  Subject subject(rule_of(algorithm, limit, period));
  std::int64_t now = 100 * period + chance.up_to(period);
  std::int64_t stamp = 0;
  for (int step = 0; step < 300; ++step) {
    const std::int64_t gaps[] = {0, 0, 1, period - 1, chance.up_to(period), period - 1 - now % period};
    now += gaps[chance.up_to(5)];
    const std::int64_t seen = chance.up_to(9) == 0 ? now - chance.up_to(2 * period) : now;
    const std::int64_t cost = 1 + chance.up_to(limit / 2);
    if (!subject.ask(seen, static_cast<std::uint64_t>(cost)).allowed()) continue;
    stamp = std::max(stamp, seen);
    trace.admitted.push_back({stamp, cost});
  }
  return trace;
}

constexpr int kTraces = 2'000;

TEST(WindowPromise, the_check_can_fail) {
  const std::vector<Admitted> admitted = {{0, 3}, {10, 2}, {11, 4}};
  EXPECT_EQ(most_in_half_open(admitted, 10), 6);
  EXPECT_EQ(most_in_closed(admitted, 10), 6);
  EXPECT_EQ(most_in_closed(admitted, 11), 9);
  EXPECT_EQ(sum(admitted, 0, 10), 5);
}

TEST(WindowPromise, log_admits_at_most_the_limit_in_any_period) {
  Chance chance;
  for (int i = 0; i < kTraces; ++i) {
    const Trace trace = trace_of(Algorithm::sliding_window_log, chance);
    ASSERT_LE(most_in_half_open(trace.admitted, trace.period), trace.limit) << i;
  }
}

TEST(WindowPromise, fixed_window_admits_at_most_twice_the_limit_in_any_period) {
  Chance chance;
  for (int i = 0; i < kTraces; ++i) {
    const Trace first = trace_of(Algorithm::fixed_window, chance);
    ASSERT_LE(most_in_closed(first.admitted, first.period), 2 * first.limit) << i;
    ASSERT_LE(most_in_half_open(first.admitted, first.period), 2 * first.limit - 1) << i;
    const Trace clock = trace_of(Algorithm::fixed_window_clock, chance);
    ASSERT_LE(most_in_closed(clock.admitted, clock.period), 2 * clock.limit) << i;
    std::map<std::int64_t, std::int64_t> windows;
    for (const Admitted& each : clock.admitted) windows[each.at / clock.period] += each.units;
    for (const auto& [window, units] : windows) ASSERT_LE(units, clock.limit) << i;
  }
}

TEST(WindowPromise, counter_admits_at_most_the_limit_and_the_part_that_it_took_for_evenly_spread) {
  Chance chance;
  for (int i = 0; i < kTraces; ++i) {
    const auto [limit, period, admitted] = trace_of(Algorithm::sliding_window_counter, chance);
    std::map<std::int64_t, std::int64_t> windows;
    for (const Admitted& each : admitted) windows[each.at / period] += each.units;
    for (const auto& [window, units] : windows) ASSERT_LE(units, limit) << i;
    for (const Admitted& each : admitted) {
      const std::int64_t before = windows[each.at / period - 1];
      const std::int64_t in_span = sum(admitted, each.at - period + 1, each.at);
      ASSERT_LT((in_span - limit - 1) * period, before * (each.at % period)) << i;
      ASSERT_LE(in_span, 2 * limit) << i;
    }
  }
}

// Asks for one unit at each time, as often as the limit; returns what was admitted.
std::vector<Admitted> press(Algorithm algorithm, std::int64_t limit, std::int64_t period,
                            const std::vector<std::int64_t>& times) {
  Subject subject(rule_of(algorithm, limit, period));
  std::vector<Admitted> admitted;
  for (const std::int64_t at : times) {
    for (std::int64_t i = 0; i < limit; ++i) {
      if (subject.ask(at, 1).allowed()) admitted.push_back({at, 1});
    }
  }
  return admitted;
}

TEST(WindowPromise, traces_that_reach_it) {
  using enum Algorithm;
  // All at the end of one window by the clock, all at the beginning of the next.
  EXPECT_EQ(most_in_half_open(press(fixed_window_clock, 10, 100, {999, 1000}), 100), 20);

  // One opens the window, the rest come at its end, and the next is opened at once.
  Subject subject(rule_of(fixed_window, 10, 100));
  std::vector<Admitted> admitted;
  for (const auto& [at, units] : {Admitted{950, 1}, Admitted{1049, 9}, Admitted{1050, 10}}) {
    ASSERT_TRUE(subject.ask(at, static_cast<std::uint64_t>(units)).allowed());
    admitted.push_back({at, units});
  }
  EXPECT_EQ(most_in_half_open(admitted, 100), 19);
  EXPECT_EQ(most_in_closed(admitted, 100), 20);

  // The last nanosecond of one window, and the next as soon as the last whole unit of it has faded.
  EXPECT_EQ(most_in_half_open(press(sliding_window_counter, 10, 100, {999, 1091}), 100), 20);

  EXPECT_EQ(most_in_half_open(press(sliding_window_log, 10, 100, {999, 1000, 1098, 1099, 1198}), 100), 10);
}

}  // namespace
}  // namespace weir::window_promise_test
