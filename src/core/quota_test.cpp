#include "weir/quota.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace weir::core {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Quota, literals_are_checked_by_the_compiler) {
  constexpr Quota quota = Quota::per_minute(100).with_burst(20);
  static_assert(quota.rate() == Rate{100, 1min});
  static_assert(quota.burst() == 20);
  static_assert(quota.emission_interval() == 600ms);
  static_assert(quota.tolerance() == 600ms * 19);
  static_assert(Quota::per_second(50).burst() == 50);
  static_assert(Quota::per_hour(1).emission_interval() == 1h);
  static_assert(Quota::per_day(2).emission_interval() == 12h);
  static_assert(Quota::per(5, 10s).emission_interval() == 2s);
}

// T is rounded up: never early, and late by less than 1 ns a unit.
TEST(Quota, the_interval_is_rounded_up_to_the_nanosecond) {
  struct Row {
    Rate rate;
    std::int64_t interval;
  };
  for (const Row& row : std::vector<Row>{{{3, 1s}, 333'333'334},
                                         {{7, 1s}, 142'857'143},
                                         {{1500, 1s}, 666'667},
                                         {{2'000'000, 1s}, 500},
                                         {{1'000'000'000, 1s}, 1},
                                         {{1, 365 * 24h}, 31'536'000'000'000'000},
                                         {{1, nanoseconds{kMost}}, kMost}}) {
    const auto quota = Quota::make(row.rate, 1);
    ASSERT_TRUE(quota) << quota.error();
    EXPECT_EQ(quota->emission_interval().count(), row.interval);
    const __int128 late = static_cast<__int128>(row.interval) * row.rate.count - row.rate.period.count();
    EXPECT_GE(late, 0);
    EXPECT_LT(late, row.rate.count);
  }
}

TEST(Quota, what_is_refused_and_what_it_says) {
  struct Row {
    Rate rate;
    std::int64_t burst;
    std::string error;
  };
  const std::vector<Row> rows = {
      {{0, 1s}, 1, "count: 0 is below the minimum (1)"},
      {{-5, 1s}, 1, "count: -5 is below the minimum (1)"},
      {{1, 0s}, 1, "period: 0s is below the minimum (1ns)"},
      {{1, -1s}, 1, "period: -1s is below the minimum (1ns)"},
      {{1, 1s}, 0, "burst: 0 is below the minimum (1)"},
      {{1, 1s}, -1, "burst: -1 is below the minimum (1)"},
      {{10'000'000'000, 1s},
       1,
       "count: 10000000000 per 1s is more than one per nanosecond; the maximum is 1000000000"},
      {{kMost, 1s},
       1,
       "count: 9223372036854775807 per 1s is more than one per nanosecond; the maximum is 1000000000"},
      {{3'000'000, 1s},
       1,
       "count: 3000000 per 1s would be slowed by more than 0.1 %, because time is counted in whole "
       "nanoseconds; the "
       "nearest that works is 3003004"},
      {{2'999'000, 1s},
       1,
       "count: 2999000 per 1s would be slowed by more than 0.1 %, because time is counted in whole "
       "nanoseconds; the "
       "nearest that works is 3003004"},
      {{999'999'999, 1s},
       1,
       "count: 999999999 per 1s would be slowed by more than 0.1 %, because time is counted in whole "
       "nanoseconds; the "
       "nearest that works is 1000000000"},
      {{1, 1s},
       kMost,
       "burst: 9223372036854775807 at 1 per 1s would take longer than 2^63 ns to drain; the maximum is "
       "9223372036"},
      {{1, 1s},
       9'223'372'037,
       "burst: 9223372037 at 1 per 1s would take longer than 2^63 ns to drain; the maximum is "
       "9223372036"},
      {{1, 24h * 36'525},
       3,
       "burst: 3 at 1 per 36525d would take longer than 2^63 ns to drain; the maximum is 2"},
  };
  for (const Row& row : rows) {
    const auto quota = Quota::make(row.rate, row.burst);
    ASSERT_FALSE(quota);
    EXPECT_EQ(quota.error(), row.error);
  }
}

TEST(Quota, the_nearest_that_works_works) {
  const auto check = [](Rate rate) {
    const auto quota = Quota::make(rate, 1);
    if (quota) return;
    const std::size_t at = quota.error().rfind(' ');
    EXPECT_TRUE(Quota::make({std::stoll(quota.error().substr(at)), rate.period}, 1)) << quota.error();
  };
  for (std::int64_t count = 1'000'001; count < 600'000'000; count = count * 17 / 16 + 1) check({count, 1s});
  for (std::int64_t period = 1; period < 1200; ++period) {
    for (std::int64_t count = 1; count <= period; ++count) check({count, nanoseconds{period}});
  }
}

TEST(Quota, the_ends_of_the_range_are_allowed) {
  EXPECT_TRUE(Quota::make({1, 1ns}, kMost));
  EXPECT_TRUE(Quota::make({kMost, nanoseconds{kMost}}, kMost));
  EXPECT_TRUE(Quota::make({1, nanoseconds{kMost}}, 1));
  EXPECT_TRUE(Quota::make({1, 1s}, 9'223'372'036));
  EXPECT_TRUE(Quota::make({1, 1s}, (std::int64_t{1} << 32) + 1));  // not cut to 32 bits
}

TEST(Quota, from_text) {
  struct Row {
    std::string text;
    Rate rate;
    std::int64_t burst;
  };
  for (const Row& row : std::vector<Row>{{"100/min", {100, 1min}, 100},
                                         {"5/10s burst 20", {5, 10s}, 20},
                                         {"  1/1.5h   burst   2  ", {1, 90min}, 2},
                                         {"15/60s", {15, 60s}, 15},
                                         {"1/250ms", {1, 250ms}, 1}}) {
    const auto quota = Quota::parse(row.text);
    ASSERT_TRUE(quota) << quota.error();
    EXPECT_EQ(quota->rate(), row.rate);
    EXPECT_EQ(quota->burst(), row.burst);
  }
}

TEST(Quota, what_text_is_refused_and_what_it_says) {
  const std::string form = "; the form is COUNT/PERIOD [burst N], as in 100/min or 5/10s burst 20";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "quota '': missing '/' between count and period" + form},
      {"100", "quota '100': missing '/' between count and period" + form},
      {"/s", "quota '/s': the count is not a whole number below 2^63" + form},
      {"1.5/s", "quota '1.5/s': the count is not a whole number below 2^63" + form},
      {"1e3/s", "quota '1e3/s': the count is not a whole number below 2^63" + form},
      {"+1/s", "quota '+1/s': the count is not a whole number below 2^63" + form},
      {"9223372036854775808/s",
       "quota '9223372036854775808/s': the count is not a whole number below 2^63" + form},
      {"1/", "quota '1/': the period is not a time such as s, 10s, 250ms, min, h or 1.5d" + form},
      {"1/month", "quota '1/month': the period is not a time such as s, 10s, 250ms, min, h or 1.5d" + form},
      {"1/s bust 3", "quota '1/s bust 3': unexpected 'bust'" + form},
      {"1/s burst", "quota '1/s burst': the burst is not a whole number below 2^63" + form},
      {"1/s burst x", "quota '1/s burst x': the burst is not a whole number below 2^63" + form},
      {"1/s burst 3 4", "quota '1/s burst 3 4': unexpected text after the burst" + form},
      {"0/s", "quota '0/s': count: 0 is below the minimum (1)"},
      {"-1/s", "quota '-1/s': count: -1 is below the minimum (1)"},
      {"1/s burst 0", "quota '1/s burst 0': burst: 0 is below the minimum (1)"},
      {"1/0s", "quota '1/0s': period: 0s is below the minimum (1ns)"},
  };
  for (const auto& [text, error] : rows) {
    const auto quota = Quota::parse(text);
    ASSERT_FALSE(quota) << text;
    EXPECT_EQ(quota.error(), error);
  }
}

}  // namespace
}  // namespace weir::core
