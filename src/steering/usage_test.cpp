#include "steering/usage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/chance_test.hpp"
#include "core/rule.hpp"
#include "core/time_zones_test.hpp"

namespace weir::inline v0_1::steering {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

UsageWindow window_of(std::string_view rule) {
  core::use_time_zones(core::test_zones());
  return UsageWindow::of(*core::Rule::parse(rule));
}

TEST(UsageWindow, is_aligned_and_no_shorter_than_a_minute) {
  struct Row {
    const char* rule;
    std::int64_t at;
    std::int64_t began;
    std::int64_t ends;
  };
  // Seconds since 1970; 1774742400 is Sunday, 29 March 2026, 00:00 UTC, when the clocks of the first go
  // forward.
  for (const Row& row : {Row{"10/s", 125, 120, 180}, Row{"10/90s", 125, 90, 180},
                         Row{"10/h", 7300, 7200, 10800}, Row{"10/day", 90000, 86400, 172800},
                         Row{"9/day align=calendar tz=Middle/Nowhere", 1774742400, 1774738800, 1774821600},
                         Row{"9/hour align=calendar tz=Half/Hour", 1774742400, 1774740600, 1774744200}}) {
    const UsagePeriod period = window_of(row.rule).at(seconds{row.at});
    EXPECT_EQ(period.began, seconds{row.began}) << row.rule;
    EXPECT_EQ(period.ends, seconds{row.ends}) << row.rule;
  }
}

// Every step kept with its time, and added up when somebody asks.
class NaiveUsage {
 public:
  void book(std::int64_t units, nanoseconds utc) { steps_.emplace_back(utc, units); }
  std::uint64_t within(nanoseconds began, nanoseconds ends) const {
    std::int64_t used = 0;
    for (const auto& [utc, units] : steps_)
      if (utc >= began && utc < ends) used = std::max<std::int64_t>(used + units, 0);
    return static_cast<std::uint64_t>(used);
  }

 private:
  std::vector<std::pair<nanoseconds, std::int64_t>> steps_;
};

TEST(Usage, is_what_its_steps_add_up_to_over_a_change_of_the_clocks) {
  core::Chance chance;
  const std::vector<UsageWindow> windows = {window_of("9/s"), window_of("9/90s"), window_of("9/h"),
                                            window_of("9/day align=calendar tz=Middle/Nowhere"),
                                            window_of("9/month align=calendar")};
  for (int round = 0; round < 20; ++round) {
    nanoseconds now = seconds{1774742400} - hours{chance.up_to(60)};
    Usage usage;
    NaiveUsage exact;
    for (int i = 0; i < 300; ++i) {
      now += chance.up_to(9) == 0 ? nanoseconds{hours{chance.up_to(9)}}
                                  : nanoseconds{seconds{chance.up_to(100)}};
      const std::int64_t units = chance.up_to(30) - 8;  // what is settled for less, or taken back
      UnitChange change;
      change.add(units);
      usage.book(windows, change, now);
      exact.book(units, now);
      if (i % 10 != 0) continue;
      now += seconds{chance.up_to(4000)};
      for (const UsageWindow& window : windows) {
        const Usage::OfWindow told = usage.of(window, now);
        const UsagePeriod before = window.before(told.period);
        ASSERT_EQ(told.period, window.at(now));
        ASSERT_EQ(told.used, exact.within(told.period.began, told.period.ends));
        ASSERT_EQ(told.last, exact.within(before.began, before.ends));
      }
      const auto hourly = usage.hours_at(now);
      for (std::size_t hour = 0; hour < Usage::kHours; ++hour) {
        const nanoseconds began = (now / hours{1} - 23 + static_cast<std::int64_t>(hour)) * hours{1};
        ASSERT_EQ(hourly[hour], exact.within(began, began + hours{1}));
      }
    }
  }
}

TEST(Usage, what_comes_late_is_of_its_own_period) {
  const std::vector<UsageWindow> windows = {window_of("9/min")};
  Usage usage;
  UnitChange five;
  five.add(5);
  usage.book(windows, five, minutes{61});
  usage.book(windows, five, minutes{60});  // of another loop
  usage.book(windows, five, minutes{59});  // nobody is told of that minute any more
  const Usage::OfWindow told = usage.of(windows[0], minutes{61});
  EXPECT_EQ(told.used, 5U);
  EXPECT_EQ(told.last, 5U);
  EXPECT_EQ(usage.hours_at(minutes{61})[22], 5U);
  EXPECT_EQ(usage.hours_at(minutes{61})[23], 10U);
}

TEST(Usage, is_over_when_nothing_of_it_is_told) {
  const std::vector<UsageWindow> windows = {window_of("9/min"), window_of("9/2day")};
  Usage usage;
  UnitChange one;
  one.add(1);
  const nanoseconds now = hours{48} * 100 + minutes{5};
  usage.book(windows, one, now);
  EXPECT_EQ(usage.over(), hours{48} * 102);
  EXPECT_EQ(usage.of(windows[1], usage.over() - nanoseconds{1}).last, 1U);
  EXPECT_EQ(usage.of(windows[1], usage.over()).last, 0U);
  EXPECT_EQ(next_end(windows, now), hours{48} * 100 + minutes{6});
}

}  // namespace
}  // namespace weir::steering
