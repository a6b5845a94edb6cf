#include "weir/quota.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core {
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
       "nearest that works is 2997005"},
      {{2'999'000, 1s},
       1,
       "count: 2999000 per 1s would be slowed by more than 0.1 %, because time is counted in whole "
       "nanoseconds; the "
       "nearest that works is 2997005"},
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

// By trying every count, from the nearest on; what works is told by the definition.
TEST(Quota, the_nearest_that_works_is_the_nearest) {
  const auto works = [](std::int64_t count, std::int64_t period) {
    if (count < 1 || count > period) return false;
    const std::int64_t interval = (period + count - 1) / count;
    return interval * count - period <= period / 1000;
  };
  int refused = 0;
  const auto check = [&](std::int64_t count, std::int64_t period) {
    ASSERT_EQ(Quota::make({count, nanoseconds{period}}, 1).has_value(), works(count, period));
    if (works(count, period)) return;
    ++refused;
    const std::string error = Quota::make({count, nanoseconds{period}}, 1).error();
    std::int64_t away = 1;
    while (!works(count - away, period) && !works(count + away, period)) ++away;
    const std::int64_t named = std::stoll(error.substr(error.rfind(' ')));
    EXPECT_TRUE(works(named, period)) << error;
    EXPECT_EQ(std::abs(named - count), away) << error;
  };
  for (std::int64_t period = 1; period < 300; ++period) {
    for (std::int64_t count = 1; count <= period; ++count) check(count, period);
  }
  EXPECT_GT(refused, 10'000);
  Chance chance;
  for (int i = 0; i < 2'000; ++i) {
    const std::int64_t period = chance.from_one_to(100'000);
    check(1 + chance.up_to(period - 1), period);
  }
}

TEST(Quota, the_nearest_that_works_works_for_every_period) {
  const auto check = [](Rate rate) {
    const auto quota = Quota::make(rate, 1);
    if (quota) return;
    EXPECT_TRUE(Quota::make({std::stoll(quota.error().substr(quota.error().rfind(' '))), rate.period}, 1))
        << quota.error();
  };
  for (std::int64_t count = 1'000'001; count < 600'000'000; count = count * 17 / 16 + 1) check({count, 1s});
  for (const std::int64_t period : {kMost, kMost - 1, kMost / 2, (std::int64_t{1} << 53) + 1}) {
    for (std::int64_t interval = 1; interval < 1200; ++interval) {
      for (const std::int64_t part : {1, 2, 3}) {
        const std::int64_t gap = period / interval - period / (interval + 1);
        check({period / (interval + 1) + gap / 4 * part, nanoseconds{period}});
      }
    }
  }
}

// A message that names the most says what is accepted, and one more is not.
TEST(Quota, the_maximum_that_a_refusal_names_is_the_maximum) {
  Chance chance;
  for (int i = 0; i < 10'000; ++i) {
    const Rate rate{chance.from_one_to(kMost), nanoseconds{chance.from_one_to(kMost)}};
    const std::int64_t burst = i % 3 == 0 ? kMost : 1;
    const auto quota = Quota::make(rate, burst);
    if (quota || quota.error().find("; the maximum is ") == std::string::npos) continue;
    const std::int64_t most = std::stoll(quota.error().substr(quota.error().rfind(' ')));
    if (quota.error().starts_with("burst")) {
      EXPECT_TRUE(Quota::make(rate, most)) << quota.error();
      EXPECT_FALSE(Quota::make(rate, most + 1)) << quota.error();
    } else {
      EXPECT_TRUE(Quota::make({most, rate.period}, 1)) << quota.error();
      EXPECT_FALSE(Quota::make({most + 1, rate.period}, 1)) << quota.error();
    }
  }
}

TEST(Quota, a_period_too_long_for_nanoseconds_is_refused_and_never_wrapped) {
  using std::chrono::duration;
  const auto says = [](Rate rate) {
    const auto quota = Quota::make(rate);
    return quota ? "made" : quota.error();
  };
  const std::string too_long = "period: it is above the maximum (106751d23h47m16.854775807s)";
  EXPECT_EQ(says({100, std::chrono::years{600}}), too_long);
  EXPECT_EQ(says({100, std::chrono::years{293}}), too_long);
  EXPECT_EQ(says({100, std::chrono::years{292}}), "made");
  EXPECT_EQ(says({.count = 1, .period = std::chrono::hours::max()}), too_long);
  EXPECT_EQ(says({1, duration<std::uint64_t, std::nano>{std::uint64_t{1} << 63}}), too_long);
  EXPECT_EQ(says({1, duration<std::uint64_t, std::nano>{kMost}}), "made");
  EXPECT_EQ(says({1, duration<int, std::micro>{5}}), "made");
  const std::string below = "period: -106751d23h47m16.854775807s is below the minimum (1ns)";
  EXPECT_EQ(says({1, std::chrono::years{-600}}), below);
  EXPECT_EQ(says({1, nanoseconds::min()}), below);
  EXPECT_EQ(Quota::make({3, std::chrono::weeks{2}})->rate().period, 336h);
  static_assert(!std::is_constructible_v<Period, duration<double>>);  // as chrono: it may not be exact
  static_assert(!std::is_constructible_v<Period, duration<std::int64_t, std::pico>>);
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
                                         {"1/1h30m\tburst 2\t", {1, 90min}, 2},
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
      {"1.5/s",
       "quota '1.5/s': the count is not a whole number below 2^63; 1.5/s is 90/min: write '3/2s burst 2'" +
           form},
      {"0.0055/s burst 3",
       "quota '0.0055/s burst 3': the count is not a whole number below 2^63; 0.0055/s is 19.8/h: write "
       "'11/2000s'" +
           form},
      {"1e3/s", "quota '1e3/s': the count is not a whole number below 2^63" + form},
      {"+1/s", "quota '+1/s': the count is not a whole number below 2^63" + form},
      {"9223372036854775808/s",
       "quota '9223372036854775808/s': the count is not a whole number below 2^63" + form},
      {"1/", "quota '1/': the period is not a time such as s, 10s, 250ms, min, h or 1.5d" + form},
      {"1/month", "quota '1/month': the period is not a time such as s, 10s, 250ms, min, h or 1.5d" + form},
      {"1 /s", "quota '1 /s': write '1/s', without a space" + form},
      {"1/ s", "quota '1/ s': write '1/s', without a space" + form},
      {"5 / 10s burst 20", "quota '5 / 10s burst 20': write '5/10s', without a space" + form},
      {"1/ burst 3",
       "quota '1/ burst 3': the period is not a time such as s, 10s, 250ms, min, h or 1.5d" + form},
      {"1 burst 3", "quota '1 burst 3': missing '/' between count and period" + form},
      {"1 /", "quota '1 /': missing '/' between count and period" + form},
      {"100/60", "quota '100/60': the period has no unit, such as the s of 10s" + form},
      {"5/10 s", "quota '5/10 s': the period has no unit, such as the s of 10s" + form},
      {"1/106752d", "quota '1/106752d': the period is above the maximum (106751d23h47m16.854775807s)" + form},
      {"1/-1s", "quota '1/-1s': period: -1s is below the minimum (1ns)"},
      {"1/s bust 3", "quota '1/s bust 3': unexpected 'bust'" + form},
      {"1/s burst", "quota '1/s burst': the burst is not a whole number below 2^63" + form},
      {"1/s burst x", "quota '1/s burst x': the burst is not a whole number below 2^63" + form},
      {"1/s burst 3 4", "quota '1/s burst 3 4': unexpected text after the burst" + form},
      {"0/s",
       "quota '0/s': to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out"},
      {"0 per minute burst 3",
       "quota '0/minute burst 3': to refuse everybody: deny, in the limits file; to limit nobody: leave the "
       "limit out"},
      {"10/m", "quota '10/m': 'm' may be minutes or months: write '10/min', or '10/month align=calendar'"},
      {"10 per m",
       "quota '10/m': 'm' may be minutes or months: write '10/min', or '10/month align=calendar'"},
      {"10 per", "quota '10 per': missing '/' between count and period" + form},
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
