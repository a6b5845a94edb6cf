// Examples that can be read aloud. That every zone of the system's is counted so is in tests/calendar.
#include "core/calendar.hpp"

#include <gtest/gtest.h>

#include "core/time_zones_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using enum Calendar::Unit;

struct Case {
  std::string zone;
  Calendar::Unit unit;
  seconds at;
  seconds begin;
  seconds end;
};

void expect_windows(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    const Calendar& calendar = calendar_of(each.unit, each.zone);
    const CalendarWindow window = calendar.at(each.at);
    const std::string shown = each.zone + " " + std::string(Calendar::name_of(each.unit)) + " at " +
                              std::to_string(each.at.count());
    EXPECT_EQ(window.begin, each.begin) << shown;
    EXPECT_EQ(window.end, each.end) << shown;
    EXPECT_EQ(calendar.of(window.id), window) << shown;
    EXPECT_EQ(calendar.at(window.begin), window) << shown;
    EXPECT_EQ(calendar.at(window.end - 1ns), window) << shown;
    EXPECT_GT(calendar.at(window.end).id, window.id) << shown;
    EXPECT_EQ(calendar.at(window.end).begin, window.end) << shown;
  }
}

TEST(Calendar, begins_at_midnight_on_monday_on_the_first_and_in_january) {
  expect_windows({
      {"UTC", hour, utc(2026, 11, 24, 13h + 59min), utc(2026, 11, 24, 13h), utc(2026, 11, 24, 14h)},
      {"UTC", day, utc(2026, 11, 24, 13h), utc(2026, 11, 24), utc(2026, 11, 25)},
      {"UTC", week, utc(2026, 11, 29, 23h), utc(2026, 11, 23), utc(2026, 11, 30)},
      {"UTC", week, utc(2026, 11, 30), utc(2026, 11, 30), utc(2026, 12, 7)},
      {"UTC", month, utc(2026, 11, 24), utc(2026, 11, 1), utc(2026, 12, 1)},
      {"UTC", month, utc(2024, 2, 29), utc(2024, 2, 1), utc(2024, 3, 1)},
      {"UTC", month, utc(2026, 2, 28), utc(2026, 2, 1), utc(2026, 3, 1)},
      {"UTC", year, utc(2024, 12, 31), utc(2024, 1, 1), utc(2025, 1, 1)},
      {"UTC", year, utc(1970, 1, 1), utc(1970, 1, 1), utc(1971, 1, 1)},
      {"Middle/Nowhere", day, utc(2026, 1, 1), utc(2025, 12, 31, 23h), utc(2026, 1, 1, 23h)},
      {"Middle/Nowhere", month, utc(2026, 6, 30, 22h), utc(2026, 6, 30, 22h), utc(2026, 7, 31, 22h)},
      {"Middle/Nowhere", month, utc(2026, 3, 1), utc(2026, 2, 28, 23h), utc(2026, 3, 31, 22h)},
      {"East/Most", year, utc(1970, 1, 1), utc(1969, 12, 31, 10h), utc(1970, 12, 31, 10h)},
      {"West/Most", year, utc(1970, 1, 1), utc(1969, 1, 1, 12h), utc(1970, 1, 1, 12h)},
  });
}

TEST(Calendar, days_have_23_and_25_hours_where_clocks_shift) {
  expect_windows({
      {"Middle/Nowhere", day, utc(2026, 3, 29, 5h), utc(2026, 3, 28, 23h), utc(2026, 3, 29, 22h)},
      {"Middle/Nowhere", day, utc(2026, 10, 25), utc(2026, 10, 24, 22h), utc(2026, 10, 25, 23h)},
      {"Half/Hour", day, utc(2026, 4, 4, 20h), utc(2026, 4, 4, 13h + 30min), utc(2026, 4, 5, 13h)},
      {"Half/Hour", day, utc(2026, 10, 3, 20h), utc(2026, 10, 3, 13h), utc(2026, 10, 4, 13h + 30min)},
  });
}

TEST(Calendar, an_hour_ends_at_the_next_full_one_or_where_clocks_shift) {
  expect_windows({
      {"Half/Hour", hour, utc(2026, 1, 1, 0h), utc(2025, 12, 31, 23h + 30min), utc(2026, 1, 1, 0h + 30min)},
      // From 1:30 to 2:00, which the clocks then show as 2:30.
      {"Half/Hour", hour, utc(2026, 4, 4, 14h + 40min), utc(2026, 4, 4, 14h + 30min), utc(2026, 4, 4, 15h)},
      {"Half/Hour", hour, utc(2026, 4, 4, 15h), utc(2026, 4, 4, 15h), utc(2026, 4, 4, 16h)},
      // 2:00 becomes 1:30: a short hour until 2:00.
      {"Half/Hour", hour, utc(2026, 10, 3, 15h), utc(2026, 10, 3, 15h), utc(2026, 10, 3, 15h + 30min)},
      // Both hours that the clocks call 2 are hours, and a shift by nothing does not end one.
      {"Middle/Nowhere", hour, utc(2026, 10, 25, 0h), utc(2026, 10, 25, 0h), utc(2026, 10, 25, 1h)},
      {"Middle/Nowhere", hour, utc(2026, 10, 25, 1h + 30min), utc(2026, 10, 25, 1h), utc(2026, 10, 25, 2h)},
      {"Middle/Nowhere", hour, utc(2026, 10, 25, 1h), utc(2026, 10, 25, 1h), utc(2026, 10, 25, 2h)},
  });
}

TEST(Calendar, a_day_begins_at_the_first_instant_of_its_date) {
  expect_windows({
      {"No/Midnight", day, utc(2026, 11, 1, 12h), utc(2026, 11, 1, 3h), utc(2026, 11, 2, 2h)},
      {"No/Midnight", month, utc(2026, 11, 1, 12h), utc(2026, 11, 1, 3h), utc(2026, 12, 1, 2h)},
      // The clocks go back to the day before, and the day that has begun goes on.
      {"Minute/Past", day, utc(2026, 11, 1, 2h), utc(2026, 11, 1, 2h), utc(2026, 11, 2, 3h)},
      {"Minute/Past", day, utc(2026, 11, 1, 2h + 30min), utc(2026, 11, 1, 2h), utc(2026, 11, 2, 3h)},
      {"Minute/Past", month, utc(2026, 11, 1, 2h + 30min), utc(2026, 11, 1, 2h), utc(2026, 12, 1, 3h)},
      {"No/Thirtieth", day, utc(2026, 12, 30, 9h), utc(2026, 12, 29, 10h), utc(2026, 12, 30, 10h)},
      {"No/Thirtieth", day, utc(2026, 12, 30, 10h), utc(2026, 12, 30, 10h), utc(2026, 12, 31, 10h)},
      {"No/Thirtieth", month, utc(2026, 12, 30, 10h), utc(2026, 12, 1, 10h), utc(2026, 12, 31, 10h)},
  });
}

TEST(Calendar, a_date_is_the_same_window_in_every_zone) {
  const std::uint64_t here = calendar_of(month, "East/Most").at(utc(2026, 11, 24)).id;
  EXPECT_EQ(calendar_of(month, "West/Most").at(utc(2026, 11, 24)).id, here);
  EXPECT_EQ(calendar_of(month, "West/Most").of(here).begin, utc(2026, 11, 1, 12h));
  EXPECT_EQ(calendar_of(month, "East/Most").of(here).begin, utc(2026, 10, 31, 10h));
}

TEST(Calendar, an_hour_of_another_zone_is_the_one_that_holds_its_beginning) {
  const std::uint64_t at_ten = calendar_of(hour, "UTC").at(utc(2026, 11, 24, 10h)).id;
  EXPECT_EQ(calendar_of(hour, "Half/Hour").of(at_ten).begin, utc(2026, 11, 24, 9h + 30min));
}

TEST(Calendar, the_ends_of_the_range) {
  const Calendar& years = calendar_of(year, "East/Most");
  EXPECT_LT(years.at(utc(2221, 12, 31)).id, std::uint64_t{1} << 27);
  EXPECT_LT(calendar_of(hour, "West/Most").at(utc(2222, 1, 1)).id, std::uint64_t{1} << 27);
  EXPECT_GT(years.at(nanoseconds::max()).end, years.at(utc(2221, 1, 1)).begin);
  EXPECT_EQ(years.at(nanoseconds{-1}).begin, utc(1969, 12, 31, 10h));
}

TEST(Calendar, is_made_once_for_each_unit_and_zone) {
  EXPECT_EQ(&calendar_of(day, "UTC"), &calendar_of(day, "UTC"));
  EXPECT_NE(&calendar_of(day, "UTC"), &calendar_of(week, "UTC"));
}

}  // namespace
}  // namespace weir::core
