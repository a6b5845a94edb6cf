#include "core/time_zone_rule.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/chance_test.hpp"
#include "core/time_zones_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

struct RuleCase {
  const char* text;
  seconds before;  // how far it is ahead until `shift`
  seconds shift;
  seconds from_then;
};

TEST(TimeZoneRule, says_when_the_clocks_shift) {
  const hours h{1};
  const minutes min{1};
  for (const RuleCase& each : {
           RuleCase{"CET-1CEST,M3.5.0,M10.5.0/3", 1 * h, utc(2040, 3, 25, 1 * h), 2 * h},
           RuleCase{"CET-1CEST,M3.5.0,M10.5.0/3", 2 * h, utc(2040, 10, 28, 1 * h), 1 * h},
           // In Dublin the summer is the standard, and the winter an hour less.
           RuleCase{"IST-1GMT0,M10.5.0,M3.5.0/1", 0 * h, utc(2040, 3, 25, 1 * h), 1 * h},
           RuleCase{"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 11 * h, utc(2040, 3, 31, 15 * h),
                    10 * h + 30 * min},
           RuleCase{"<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", 0 * h, utc(2040, 3, 25, 1 * h), 2 * h},
           RuleCase{"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -2 * h, utc(2040, 3, 25, 1 * h), -1 * h},
           RuleCase{"IST-2IDT,M3.4.4/26,M10.5.0", 2 * h, utc(2040, 3, 23, 0 * h), 3 * h},
           RuleCase{"AAA0BBB,J60/0,J300/0", 0 * h, utc(2040, 3, 1), 1 * h},  // not counting February 29
           RuleCase{"AAA0BBB,60/0,300/0", 0 * h, utc(2040, 3, 1), 1 * h},    // counting it
           RuleCase{"AAA0BBB,60/0,300/0", 0 * h, utc(2041, 3, 2), 1 * h},
           RuleCase{"AAA0BBB,365/167,J100", 0 * h, utc(2041, 1, 6, 23 * h), 1 * h},  // of 2040
       }) {
    const auto rule = TimeZoneRule::parse(each.text);
    ASSERT_TRUE(rule) << each.text;
    const TimeZone::Span span = rule->at(each.shift - seconds{1});
    EXPECT_EQ(span.to, each.shift) << each.text;
    EXPECT_EQ(span.east, each.before) << each.text;
    EXPECT_EQ(rule->at(each.shift).from, each.shift) << each.text;
    EXPECT_EQ(rule->at(each.shift).east, each.from_then) << each.text;
  }
}

TEST(TimeZoneRule, is_one_offset_always_or_summer_all_year) {
  const auto one = TimeZoneRule::parse("<+0545>-5:45");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->at(utc(2500, 1, 1)).east, hours{5} + minutes{45});
  EXPECT_GT(one->at(utc(2500, 1, 1)).to, utc(9999, 1, 1));
  const auto summer = TimeZoneRule::parse("XXX3EDT4,0/0,J365/23");
  ASSERT_TRUE(summer);
  for (int day = 0; day < 3000; ++day)
    EXPECT_EQ(summer->at(utc(2040, 1, 1) + std::chrono::days{day}).east, -hours{4}) << day;
}

TEST(TimeZoneRule, anything_else_is_refused) {
  for (const char* text : {"",
                           "CET",
                           "CE-1",
                           "-1",
                           "CET-1CEST",
                           "CET-1CEST,",
                           "CET-1CEST,M3.5.0",
                           "CET-1CEST,M3.5.0,M10.5.0/3x",
                           "CET-1CEST,M0.5.0,M10.5.0",
                           "CET-1CEST,M13.5.0,M10.5.0",
                           "CET-1CEST,M3.6.0,M10.5.0",
                           "CET-1CEST,M3.0.0,M10.5.0",
                           "CET-1CEST,M3.5.7,M10.5.0",
                           "CET-1CEST,J0,J9",
                           "CET-1CEST,J366,J9",
                           "CET-1CEST,366,9",
                           "CET-1CEST,M3.5.0/168,M10.5.0",
                           "CET-25",
                           "CET-1:60",
                           "CET-1:00:60",
                           "<+01-1",
                           "<>-1",
                           "C1T-1",
                           "CET--1",
                           "CET-1 ",
                           "CET-1CEST,M3.5.0/,M10.5.0",
                           "CET-99999999999999999999"})
    EXPECT_FALSE(TimeZoneRule::parse(text)) << text;
}

std::string moment_by_chance(Chance& chance) {
  const auto text = [&](std::int64_t least, std::int64_t most) {
    return std::to_string(least + chance.up_to(most - least));
  };
  const std::string time = "/" + text(-167, 167) + ":" + text(0, 59);
  switch (chance.up_to(2)) {
    case 0:
      return ",J" + text(1, 365) + time;
    case 1:
      return "," + text(0, 365) + time;
    default:
      return ",M" + text(1, 12) + "." + text(1, 5) + "." + text(0, 6) + time;
  }
}

TEST(TimeZoneRule, its_spans_hold_what_is_asked_and_follow_one_another) {
  Chance chance;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = "AAA" + std::to_string(chance.up_to(48) - 24) + "BBB" +
                             std::to_string(chance.up_to(48) - 24) + moment_by_chance(chance) +
                             moment_by_chance(chance);
    const auto rule = TimeZoneRule::parse(text);
    ASSERT_TRUE(rule) << text;
    seconds at{chance.up_to(8'000'000'000) - 4'000'000'000};
    for (int step = 0; step < 6; ++step) {
      const TimeZone::Span span = rule->at(at);
      ASSERT_LE(span.from, at) << text;
      ASSERT_GT(span.to, at) << text;
      ASSERT_EQ(rule->at(span.to - seconds{1}).east, span.east) << text;
      ASSERT_EQ(rule->at(span.to).from, span.to) << text;
      at = span.to;
    }
  }
}

TEST(TimeZoneRule, at_any_time_is_of_some_offset) {
  const auto rule = TimeZoneRule::parse("CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(rule);
  for (const seconds at : {seconds::min() / 2, -seconds{1} * (std::int64_t{1} << 40U), seconds{0},
                           seconds{1} * (std::int64_t{1} << 40U), seconds::max() / 2 - seconds{1}}) {
    const TimeZone::Span span = rule->at(at);
    EXPECT_LE(span.from, at);
    EXPECT_GT(span.to, at);
  }
}

}  // namespace
}  // namespace weir::core
