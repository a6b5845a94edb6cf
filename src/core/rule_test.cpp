#include "core/rule.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "core/chance_test.hpp"
#include "core/time_zones_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(Rule, from_text_and_back) {
  use_time_zones(test_zones());
  struct Row {
    std::string text;
    Rate rate;
    std::int64_t burst;
    Algorithm algorithm;
    std::string shortest;
  };
  using enum Algorithm;
  for (const Row& row : std::vector<Row>{
           {"100/min", {100, 1min}, 100, Algorithm::gcra, "100/min"},
           {"10/s burst 50", {10, 1s}, 50, Algorithm::gcra, "10/s burst 50"},
           {"10/s burst 10", {10, 1s}, 10, Algorithm::gcra, "10/s"},
           {"10/60s algorithm=gcra", {10, 1min}, 10, Algorithm::gcra, "10/min"},
           {"10/s algorithm=token_bucket burst 5", {10, 1s}, 5, Algorithm::gcra, "10/s burst 5"},
           {" 10/s  burst  5  algorithm=leaky_bucket ", {10, 1s}, 5, Algorithm::gcra, "10/s burst 5"},
           {"5/1.5h algorithm=fixed_window", {5, 90min}, 5, fixed_window, "5/90min algorithm=fixed_window"},
           {"1000/h algorithm=fixed_window align=clock", {1000, 1h}, 1000, fixed_window_clock, ""},
           {"2/7d align=clock algorithm=fixed_window",
            {2, 168h},
            2,
            fixed_window_clock,
            "2/7d algorithm=fixed_window align=clock"},
           {"2/1500ms algorithm=sliding_window_log", {2, 1500ms}, 2, sliding_window_log, ""},
           {"1/1000001ns algorithm=sliding_window_counter", {1, 1000001ns}, 1, sliding_window_counter, ""},
           {"1/us", {1, 1us}, 1, Algorithm::gcra, ""},
           {"in_flight=5", {5, 1s}, 5, Algorithm::in_flight, ""},
           {" in_flight=1000000000 ",
            {1'000'000'000, 1s},
            1'000'000'000,
            Algorithm::in_flight,
            "in_flight=1000000000"},
           {"1/d", {1, 24h}, 1, Algorithm::gcra, ""},
           {"5/month align=calendar", {5, std::chrono::months{1}}, 5, calendar, ""},
           {"5/h tz=UTC algorithm=fixed_window align=calendar",
            {5, 1h},
            5,
            calendar,
            "5/hour align=calendar"},
           {"68719476735/d align=calendar",
            {68719476735, 24h},
            68719476735,
            calendar,
            "68719476735/day align=calendar"},
           {"7/week align=calendar tz=Middle/Nowhere", {7, 168h}, 7, calendar, ""},
       }) {
    const auto rule = Rule::parse(row.text);
    ASSERT_TRUE(rule) << rule.error();
    EXPECT_EQ(rule->quota.rate(), row.rate) << row.text;
    EXPECT_EQ(rule->quota.burst(), row.burst) << row.text;
    EXPECT_EQ(rule->algorithm, row.algorithm) << row.text;
    EXPECT_EQ(to_text(*rule), row.shortest.empty() ? row.text : row.shortest);
  }
}

TEST(Rule, text_says_all_of_it) {
  Chance random;
  int made = 0;
  while (made < 10'000) {
    const auto period = static_cast<std::int64_t>(random() >> (1 + random() % 62));
    const auto count = static_cast<std::int64_t>(random() >> (1 + random() % 62));
    const auto algorithm = static_cast<Algorithm>(random() % 5);
    const std::int64_t burst =
        algorithm == Algorithm::gcra ? 1 + static_cast<std::int64_t>(random() % 100) : count;
    const auto quota = Quota::make({count, nanoseconds{period}}, burst);
    if (!quota) continue;
    const auto rule = Rule::make(*quota, algorithm);
    if (!rule) continue;
    const auto again = Rule::parse(to_text(*rule));
    ASSERT_TRUE(again) << again.error();
    ASSERT_EQ(*again, *rule) << to_text(*rule);
    ++made;
  }
}

TEST(Rule, what_text_is_refused_and_what_it_says) {
  use_time_zones(test_zones());
  const std::string form =
      "; the form is COUNT/PERIOD [burst N] [algorithm=NAME] [align=clock], as in 10/s burst 50 or 1000/h "
      "algorithm=fixed_window";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "limit '': there is no rule" + form},
      {"0/s algorithm=fixed_window",
       "quota '0/s': to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out"},
      {"0/day align=calendar",
       "limit '0/day align=calendar': to refuse everybody: deny, in the limits file; to limit nobody: leave "
       "the limit out"},
      {"1/s burst 0", "quota '1/s burst 0': burst: 0 is below the minimum (1)"},
      {"1/s burst algorithm=gcra",
       "quota '1/s burst algorithm=gcra': the burst is not a whole number below 2^63; the form is "
       "COUNT/PERIOD [burst "
       "N], as in 100/min or 5/10s burst 20"},
      {"in_flight=0",
       "limit 'in_flight=0': in_flight: to refuse everybody: deny, in the limits file; to limit nobody: "
       "leave the limit out"},
      {"in_flight=", "limit 'in_flight=': in_flight: '' is not an integer from 1 to 1000000000"},
      {"in_flight=5 burst 2",
       "limit 'in_flight=5 burst 2': unexpected 'burst'; the form is in_flight=N, and a rate is another "
       "limit"},
      {"1 /s", "limit '1 /s': write '1/s', without a space"},
      {"1/ s algorithm=gcra", "limit '1/ s algorithm=gcra': write '1/s', without a space"},
      {"1/s bust 3", "limit '1/s bust 3': unexpected 'bust'" + form},
      {"1/s burst 3 4", "limit '1/s burst 3 4': unexpected '4'" + form},
      {"1/s algorithm=gcra,",
       "limit '1/s algorithm=gcra,': unknown algorithm 'gcra,'; known: gcra, "
       "token_bucket, leaky_bucket, fixed_window, sliding_window_log, sliding_window_counter"},
      {"1/s algorithm=",
       "limit '1/s algorithm=': unknown algorithm ''; known: gcra, token_bucket, leaky_bucket, "
       "fixed_window, sliding_window_log, sliding_window_counter"},
      {"1/s algorithm=fixed_window align=utc",
       "limit '1/s algorithm=fixed_window align=utc': unknown alignment 'align=utc'; known: "
       "align=clock, align=calendar"},
      {"1/s align=clock",
       "limit '1/s align=clock': align=clock requires algorithm=fixed_window; this is gcra"},
      {"1/s align=clock algorithm=sliding_window_counter",
       "limit '1/s align=clock algorithm=sliding_window_counter': align=clock requires "
       "algorithm=fixed_window; this is sliding_window_counter"},
      {"1/s burst 1 burst 1", "limit '1/s burst 1 burst 1': burst is given twice"},
      {"1/s algorithm=gcra algorithm=gcra",
       "limit '1/s algorithm=gcra algorithm=gcra': algorithm is given twice"},
      {"1/s align=clock align=clock", "limit '1/s align=clock align=clock': align is given twice"},
      {"2/s burst 2 algorithm=fixed_window",
       "limit '2/s burst 2 algorithm=fixed_window': there is no burst with algorithm=fixed_window; only gcra "
       "has one"},
      {"4294967296/d algorithm=sliding_window_counter",
       "limit '4294967296/d algorithm=sliding_window_counter': count: 4294967296 is above the maximum for "
       "sliding_window_counter (4294967295)"},
      {"4294967296/d algorithm=sliding_window_log",
       "limit '4294967296/d algorithm=sliding_window_log': count: 4294967296 is above the maximum for "
       "sliding_window_log (4294967295)"},
      {"1/60000d algorithm=sliding_window_counter",
       "limit '1/60000d algorithm=sliding_window_counter': period: 60000d is above the maximum for "
       "sliding_window_counter (53375d23h53m38.427387903s)"},
      {"9/month",
       "limit '9/month': months and years differ in length; write 9/month align=calendar, with tz=Area/City "
       "where it is not UTC, or a period such as 30d"},
      {"9/2years burst 3",
       "limit '9/2years burst 3': months and years differ in length; write 9/year align=calendar, with "
       "tz=Area/City where it is not UTC, or a period such as 30d"},
      {"9/2months align=calendar",
       "limit '9/2months align=calendar': '2months' is not one of hour, day, week, month and year, which "
       "align=calendar counts by"},
      {"9/24h align=calendar",
       "limit '9/24h align=calendar': '24h' is not one of hour, day, week, month and year, which "
       "align=calendar counts by"},
      {"9/month align=calendar burst 3",
       "limit '9/month align=calendar burst 3': there is no burst with align=calendar; only gcra has one"},
      {"9/day align=calendar algorithm=gcra",
       "limit '9/day align=calendar algorithm=gcra': align=calendar requires algorithm=fixed_window; this is "
       "gcra"},
      {"x/day align=calendar", "limit 'x/day align=calendar': 'x' is not a count that a day can have"},
      {"68719476736/day align=calendar",
       "limit '68719476736/day align=calendar': count: 68719476736 is above the maximum for calendar "
       "(68719476735)"},
      {"9/day tz=Middle/Nowhere", "limit '9/day tz=Middle/Nowhere': tz= requires align=calendar"},
      {"9/day align=calendar tz=", "limit '9/day align=calendar tz=': tz= names no zone; write tz=Area/City"},
      {"9/day align=calendar tz=UTC tz=UTC", "limit '9/day align=calendar tz=UTC tz=UTC': tz is given twice"},
      {"9/day align=calendar tz=Middle/Nowere",
       "limit '9/day align=calendar tz=Middle/Nowere': no time zone 'Middle/Nowere' in a test; did you mean "
       "Middle/Nowhere?"},
      {"9/day align=calendar tz=Nowhere",
       "limit '9/day align=calendar tz=Nowhere': no time zone 'Nowhere' in a test; did you mean "
       "Middle/Nowhere?"},
      {"9/day align=calendar tz=Zzz/Z",
       "limit '9/day align=calendar tz=Zzz/Z': no time zone 'Zzz/Z' in a test"},
      {"9/day align=calendar tz=No/Database",
       "limit '9/day align=calendar tz=No/Database': time zone 'No/Database': no database at all"},
  };
  for (const auto& [text, error] : rows) {
    const auto rule = Rule::parse(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_EQ(rule.error(), error);
  }
}

TEST(Rule, only_gcra_has_a_burst) {
  constexpr Quota kQuota = Quota::per_second(10).with_burst(20);
  EXPECT_TRUE(Rule::make(kQuota, Algorithm::gcra));
  for (const Algorithm algorithm : {Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                    Algorithm::sliding_window_log, Algorithm::sliding_window_counter}) {
    EXPECT_FALSE(Rule::make(kQuota, algorithm));
  }
  EXPECT_EQ(Rule::make(kQuota, Algorithm::fixed_window_clock).error(),
            "burst: 20 does not apply to fixed_window align=clock, which admits the count (10); only gcra "
            "has a burst");
}

TEST(Rule, gcra_by_the_door_is_gcra) {
  constexpr Rule kRule{Quota::per_second(1).with_burst(2)};
  const Step step = decide(kRule, {}, 5s, Cost{2});
  EXPECT_EQ(step.next, (TwoWords{7'000'000'000, 1'000'000'000}));
  EXPECT_EQ(step.decision(), gcra::decide(kRule.quota, {}, 5s, Cost{2}).decision());
}

// The whole of a rule by a clock that is ahead equals the rule on that clock, but for the states' times,
// which stay on the clock of now.
TEST(Rule, windows_go_by_the_clock_that_the_phase_says) {
  constexpr nanoseconds kPeriod = 10s;
  for (const Algorithm algorithm : {Algorithm::fixed_window_clock, Algorithm::sliding_window_counter}) {
    const Rule plain{Quota::per(3, kPeriod), algorithm};
    for (const nanoseconds offset :
         {nanoseconds{0}, nanoseconds{1}, nanoseconds{4s}, nanoseconds{1'700'000'007s}, nanoseconds{-3s},
          nanoseconds{-1'700'000'007s}}) {
      const Rule shifted = plain.on_clock(offset);
      EXPECT_GE(shifted.phase, 0s);
      EXPECT_LT(shifted.phase, kPeriod);
      TwoWords here;
      TwoWords there;
      // Far from the clocks' ends; the other clock reads offset more, which modulo the period is the phase.
      for (nanoseconds now = 1000s; now < 1060s; now += 700ms) {
        const Step by_phase = decide(shifted, here, now, Cost{});
        const Step on_clock = decide(plain, there, now + shifted.phase, Cost{});
        EXPECT_EQ(by_phase.decision(), on_clock.decision());
        EXPECT_EQ(by_phase.next.word, on_clock.next.word);
        if (by_phase.next.until != 0) {
          EXPECT_EQ(by_phase.next.until + static_cast<std::uint64_t>(shifted.phase.count()),
                    on_clock.next.until);
        }
        here = by_phase.next;
        there = on_clock.next;
      }
    }
  }
}

TEST(Rule, rules_are_equal_when_they_decide_alike) {
  const Rule window{Quota::per(3, 10s), Algorithm::fixed_window_clock};
  EXPECT_NE(window, window.on_clock(4s));
  EXPECT_EQ(window.on_clock(4s), window.on_clock(24s));
  for (const Algorithm algorithm :
       {Algorithm::gcra, Algorithm::fixed_window, Algorithm::sliding_window_log}) {
    const Rule rule{Quota::per(3, 10s), algorithm};
    EXPECT_EQ(rule, rule.on_clock(4s));  // its decisions do not know the clock
  }
}

TEST(Rule, the_greatest_phase_stays_in_range) {
  constexpr nanoseconds last{std::numeric_limits<std::int64_t>::max()};
  const Rule window = Rule{Quota::per(1, last), Algorithm::fixed_window_clock}.on_clock(-1ns);
  EXPECT_EQ(window.phase, last - 1ns);
  const Step step = decide(window, {}, last, Cost{});
  EXPECT_GT(step.next.until, static_cast<std::uint64_t>(last.count()));
  EXPECT_EQ(step.reset_after, 1U);
}

TEST(Rule, what_an_algorithm_can_do_is_said_here) {
  struct Row {
    Algorithm algorithm;
    bool two_words, give_back, remember, clock, to_the_end, overdraw, in_any_span;
  };
  for (const Row& row :
       {Row{Algorithm::gcra, true, true, true, false, false, true, true},
        Row{Algorithm::fixed_window, true, false, true, false, true, true, false},
        Row{Algorithm::fixed_window_clock, true, false, true, true, true, true, false},
        Row{Algorithm::sliding_window_log, false, false, false, false, false, false, true},
        Row{Algorithm::sliding_window_counter, true, false, false, true, false, false, false},
        Row{Algorithm::calendar, true, false, true, true, true, true, false},
        Row{Algorithm::in_flight, false, false, false, false, false, false, false}}) {
    EXPECT_EQ(kept_in_two_words(row.algorithm), row.two_words) << name_of(row.algorithm);
    EXPECT_EQ(counts_slots(row.algorithm), row.algorithm == Algorithm::in_flight);
    EXPECT_EQ(can_give_back(row.algorithm), row.give_back) << name_of(row.algorithm);
    EXPECT_EQ(can_reserve(row.algorithm), row.give_back) << name_of(row.algorithm);
    EXPECT_EQ(has_burst(row.algorithm), row.give_back) << name_of(row.algorithm);
    EXPECT_EQ(can_remember_denials(row.algorithm), row.remember) << name_of(row.algorithm);
    EXPECT_EQ(goes_by_the_clock(row.algorithm), row.clock) << name_of(row.algorithm);
    EXPECT_EQ(denies_to_the_end(row.algorithm), row.to_the_end) << name_of(row.algorithm);
    EXPECT_EQ(counts_at_grant(row.algorithm), row.to_the_end) << name_of(row.algorithm);
    EXPECT_EQ(can_overdraw(row.algorithm), row.overdraw) << name_of(row.algorithm);
    EXPECT_EQ(traits(row.algorithm).holds_in_any_span, row.in_any_span) << name_of(row.algorithm);
  }
}

// Not a window in two words: a bug of ours, which must not pass.
TEST(RuleDeathTest, a_log_is_not_two_words) {
  constexpr Rule kRule{Quota::per_second(1), Algorithm::sliding_window_log};
  EXPECT_DEATH(decide(kRule, {}, 5s, Cost{}), "");
}

}  // namespace
}  // namespace weir::core
