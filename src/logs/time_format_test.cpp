#include "logs/time_format.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <stdexcept>

#include "logs/log_time.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::int64_t kThen = 1795240187 * kSecond;  // 2026-11-21T05:49:47Z

struct FormatRow {
  const char* format;
  const char* text;
  std::int64_t ns;
};
constexpr FormatRow kFormatRows[] = {
    {"%d.%m.%Y %H:%M:%S", "21.11.2026 05:49:47", kThen},
    {"%d.%m.%Y %H:%M:%S", "21.11.2026 05:49:47,25", kThen + 250'000'000},
    {"%d.%m.%Y %T", "21.11.2026   05:49:47.5", kThen + 500'000'000},
    {"%a %b %d %H:%M:%S %Y", "Sat Nov 21 05:49:47.123456 2026", kThen + 123'456'000},
    {"%a %b %e %H:%M:%S %Y", "Sun Nov  1 05:49:47 2026", kThen - 20 * 86'400 * kSecond},
    {"%B %d, %Y %I:%M:%S %p", "November 21, 2026 5:49:47 AM", kThen},
    {"%m/%d/%y %I:%M:%S%p", "11/21/26 12:49:47am", kThen - 5 * 3600 * kSecond},
    {"%Y%m%dT%H%M%SZ", "20261121T054947Z", kThen},
    {"%FT%T.%fZ", "2026-11-21T05:49:47.0005Z", kThen + 500'000},
    {"%d %b %Y %T %z", "21 Nov 2026 05:49:47 +0100", kThen - 3600 * kSecond},
    {"%d %b %Y %T%z", "21 Nov 2026 05:49:47-05:30", kThen + (5 * 3600 + 1800) * kSecond},
    {"%a, %d %b %Y %T %Z", "Sat, 21 Nov 2026 05:49:47 GMT", kThen},
    {"100%% %Y-%m-%d %R", "100% 2026-11-21 05:49", kThen - 47 * kSecond},
    {"s", "1795240187.5", kThen + 500'000'000},
    {"ms", "1795240187593", kThen + 593'000'000},
    {"us", "0", 0},
    {"ns", "1795240187593000001", kThen + 593'000'001},
    {"excel", "46347.242905092592", kThen},
    {"filetime", "134397137870000000", kThen},
    {"webkit", "13439713787000000", kThen},
    {"ticks", "639308369870000000", kThen},
};

TEST(TimeFormat, is_read_as_it_says) {
  for (const FormatRow& row : kFormatRows) {
    TimeReader reader(Zone(), TimeFormat::parse(row.format));
    std::int64_t ns = -1;
    EXPECT_EQ(reader.read(row.text, ns), nullptr) << row.format << " " << row.text;
    EXPECT_EQ(ns, row.ns) << row.format << " " << row.text;
  }
}

TEST(TimeFormat, refuses_what_is_written_otherwise) {
  constexpr const char* kOther = "the time is not as --time-format says";
  constexpr const char* kNotThere = "the time does not exist";
  for (const auto& [format, text, why] : {
           std::tuple{"%d.%m.%Y %H:%M:%S", "21.11.2026 05:49", kOther},
           {"%d.%m.%Y %H:%M:%S", "21.11.2026 05:49:47 CET", kOther},
           {"%d.%m.%Y %H:%M:%S", "2026-11-21 05:49:47", kOther},
           {"%d.%m.%Y %H:%M:%S", "31.11.2026 05:49:47", kNotThere},
           {"%d.%m.%Y %H:%M:%S", "11.21.2026 05:49:47", kNotThere},
           {"%d.%m.%Y %H:%M:%S", "21.11.26 05:49:47", kOther},
           {"%d.%m.%Y %H:%M:%S", "21.11.2026 24:00:00", kNotThere},
           {"%d.%m.%Y %I:%M %p", "21.11.2026 13:00 PM", kNotThere},
           {"%d.%m.%Y %T %Z", "21.11.2026 05:49:47 CET",
            "the time names its zone in letters; --zone Area/City says which it is"},
           {"filetime", "0x1d", kOther},
           {"filetime", "", kOther},
           {"ticks", "46347", "the time is before 1970 or after 2099"},
       }) {
    TimeReader reader(Zone(), TimeFormat::parse(format));
    std::int64_t ns = 0;
    const TimeFault fault = reader.read(text, ns);
    EXPECT_STREQ(fault == nullptr ? "read" : fault, why) << format << " " << text;
  }
}

TEST(TimeFormat, a_zone_in_letters_is_the_place_s) {
  TimeReader reader(Zone::of("Europe/Berlin").value(), TimeFormat::parse("%d.%m.%Y %T %Z"));
  std::int64_t ns = 0;
  ASSERT_EQ(reader.read("21.11.2026 06:49:47 CET", ns), nullptr);
  EXPECT_EQ(ns, kThen);
}

// The newest that may be is the seventh of March 2026; what comes after it may be newer.
TEST(TimeFormat, a_year_that_is_not_said_is_the_last_that_may_be) {
  const auto read = [](std::initializer_list<const char*> texts) {
    TimeReader reader(Zone(), TimeFormat::parse("%b %d %T"));
    reader.set_newest(1'772'841'600'000'000'000);
    std::string years;
    for (const char* text : texts) {
      std::int64_t ns = 0;
      const TimeFault fault = reader.read(text, ns);
      const std::chrono::sys_days day{std::chrono::days{ns / kSecond / kDay}};
      years += (years.empty() ? "" : " ") +
               (fault != nullptr ? fault
                                 : std::to_string(static_cast<int>(std::chrono::year_month_day{day}.year())));
    }
    return years;
  };
  EXPECT_EQ(read({"Mar  7 00:00:00", "Mar  7 23:00:00"}), "2026 2026");
  EXPECT_EQ(read({"Mar  9 00:00:00"}), "2025");
  EXPECT_EQ(read({"Dec 31 23:59:59", "Jan  1 00:00:00", "Dec 31 23:59:58"}), "2025 2026 2025");
  EXPECT_EQ(read({"Jun 30 00:00:00", "Nov  1 00:00:00", "Feb  1 00:00:00", "Jul  1 00:00:00"}),
            "2025 2025 2026 2026");
  EXPECT_EQ(read({"Feb 29 00:00:00", "Feb 30 00:00:00"}), "2024 the time does not exist");
  EXPECT_EQ(read({"Mar  7 24:00:00", "x"}), "the time does not exist the time is not as --time-format says");
}

TEST(TimeFormat, says_what_a_format_lacks) {
  for (const auto& [text, why] : {
           std::pair{
               "dd.mm.yyyy",
               "time-format: 'dd.mm.yyyy': neither a pattern such as '%d.%m.%Y %H:%M:%S' nor s, ms, us, ns, "
               "excel, filetime, webkit or ticks"},
           {"%d %Y %T", "time-format: '%d %Y %T': no month (%m or %b)"},
           {"%b %Y %T", "time-format: '%b %Y %T': no day (%d)"},
           {"%F", "time-format: '%F': no hour (%H, or %I with %p)"},
           {"%F %I:%M", "time-format: '%F %I:%M': %I without %p, AM or PM"},
           {"%F %q",
            "time-format: '%F %q': %q is unknown; known are %Y %y %m %d %e %B %b %H %I %M %S %f %p %A %a %j "
            "%z %Z %T %R %F %D %%"},
       }) {
    try {
      TimeFormat::parse(text);
      ADD_FAILURE() << text;
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), why);
    }
  }
}

}  // namespace
}  // namespace weir::logs
