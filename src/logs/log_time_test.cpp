#include "logs/log_time.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::logs {
namespace {

struct Row {
  const char* text;
  std::int64_t ns;
};

constexpr Row kRows[] = {
    {"21/Nov/2026:05:49:47 +0000", 1795240187 * kSecond},
    {"21/Nov/2026:05:49:47 -0500", (1795240187 + 5 * 3600) * kSecond},
    {"21/Nov/2026:05:49:47", 1795240187 * kSecond},
    {"21/Nov/2026:05:49:47.25 +0530", (1795240187 - 5 * 3600 - 30 * 60) * kSecond + 250'000'000},
    {"21/Nov/2026:05:49:47.123456 +0000", 1795240187 * kSecond + 123'456'000},
    {"21/Nov/2026:05:49:47.1234567899", 1795240187 * kSecond + 123'456'789},  // ten decimals: nine count
    {"[21/Nov/2026:05:49:47 +0000]", 1795240187 * kSecond},
    {"31/Dec/2016:23:59:60 +0000", 1483228800 * kSecond},  // a leap second
    {"29/Feb/2024:00:00:00 +0000", 1709164800 * kSecond},
    {"01/Jan/1970:00:00:00 +0000", 0},
    {"31/Dec/1969:23:00:00 -0100", 0},
    {"31/Dec/2099:23:59:59 +0000", 4102444799 * kSecond},
    {"2026-11-21T05:49:47Z", 1795240187 * kSecond},
    {"2026-11-21T05:49:47.5Z", 1795240187 * kSecond + 500'000'000},
    {"2026-11-21 05:49:47,5", 1795240187 * kSecond + 500'000'000},
    {"2026/11/21 05:49:47.25", 1795240187 * kSecond + 250'000'000},
    {"2026-11-21T05:49:47+01:00", (1795240187 - 3600) * kSecond},
    {"2026-11-21 05:49:47 +0100", (1795240187 - 3600) * kSecond},
    {"1795240187", 1795240187 * kSecond},
    {"1795240187.593", 1795240187 * kSecond + 593'000'000},
    {"1795240187593", 1795240187 * kSecond + 593'000'000},
    {"1795240187593.5", 1795240187 * kSecond + 593'500'000},
    {"1795240187593000", 1795240187 * kSecond + 593'000'000},
    {"1795240187593000001", 1795240187 * kSecond + 593'000'001},
    {"946684800", 946684800 * kSecond},
    {"3471292799.5", 3471292799 * kSecond + 500'000'000},
};

TEST(LogTime, is_read_in_every_spelling) {
  TimeReader reader;
  for (const Row& row : kRows) {
    std::int64_t ns = -1;
    EXPECT_EQ(reader.read(row.text, ns), nullptr) << row.text;
    EXPECT_EQ(ns, row.ns) << row.text;
  }
}

TEST(LogTime, without_a_zone_is_in_the_given_one) {
  std::int32_t zone = 0;
  ASSERT_TRUE(parse_zone("-05:30", zone));
  EXPECT_EQ(zone, -(5 * 3600 + 30 * 60));
  TimeReader reader{Zone(zone)};
  std::int64_t ns = 0;
  ASSERT_EQ(reader.read("2026-11-21T05:49:47", ns), nullptr);
  EXPECT_EQ(ns, (1795240187 + 5 * 3600 + 30 * 60) * kSecond);
  ASSERT_EQ(reader.read("2026-11-21T05:49:47Z", ns), nullptr);
  EXPECT_EQ(ns, 1795240187 * kSecond);
}

struct Refused {
  const char* text;
  const char* why;
};

constexpr const char* kUnknown = "the time is in no known format";
constexpr const char* kNever = "the time does not exist";
constexpr const char* kNoCount =
    "the number is not a time from 2000 to 2079 in s, ms, us or ns since 1970; --time-format reads excel, "
    "filetime, webkit and ticks";
constexpr const char* kOutside = "the time is before 1970 or after 2099";
constexpr Refused kRefused[] = {
    {"", kUnknown},
    {"-", kUnknown},
    {"yesterday", kUnknown},
    {"21/Nov/2026", kUnknown},
    {"21/Nov/2026:05:49", kUnknown},
    {"21/Nov/2026:05:49:47.", kUnknown},
    {"21/Nov/2026:05:49:47 CET", kUnknown},
    {"21/Nov/2026:05:49:47 +0000 ", kUnknown},
    {"2026-11-21", kUnknown},
    {"2026-11-21X05:49:47", kUnknown},
    {"1e9", kUnknown},
    {"12.", kUnknown},
    {"12.5x", kUnknown},
    {"21/Okt/2026:05:49:47 +0000", kNever},
    {"31/Nov/2026:05:49:47 +0000", kNever},
    {"29/Feb/2026:05:49:47 +0000", kNever},
    {"00/Jan/2026:05:49:47 +0000", kNever},
    {"21/Nov/2026:24:00:00 +0000", kNever},
    {"2026-13-01T00:00:00Z", kNever},
    {"01/Jan/1970:00:00:00 +0100", kOutside},
    {"31/Dec/1969:23:59:59 +0000", kOutside},
    {"01/Jan/2100:00:00:00 +0000", kOutside},
    {"01/Jan/0000:00:00:00 +0000", kOutside},
    {"9999-12-31T23:59:59Z", kOutside},
    {"05:49:47", "the time has no date; --time DATE,TIME names two fields"},
    {"05:49", "the time has no date; --time DATE,TIME names two fields"},
    {"-1", kNoCount},
    {"0", kNoCount},
    {"0.253", kNoCount},       // a duration
    {"812", kNoCount},         // another
    {"46347.2428", kNoCount},  // a day of Excel
    {"816932987", kNoCount},   // seconds since 2001, as Apple counts
    {"946684799", kNoCount},
    {"3471292800", kNoCount},
    {"4004228987", kNoCount},          // seconds since 1900, as NTP counts
    {"134397137870000000", kNoCount},  // a FILETIME
    {"639309377870000000", kNoCount},  // ticks
    {"13439713787000000", kNoCount},   // microseconds since 1601, as Chromium counts
    {"9223372036854775807", kNoCount},
    {"9223372036854775808", kNoCount},
};

TEST(LogTime, refuses_what_is_not_a_time) {
  TimeReader reader;
  for (const Refused& row : kRefused) {
    std::int64_t ns = 0;
    const TimeFault fault = reader.read(row.text, ns);
    EXPECT_STREQ(fault == nullptr ? "read" : fault, row.why) << row.text;
  }
}

TEST(LogTime, refuses_what_is_not_a_zone) {
  std::int32_t zone = 0;
  for (const char* text : {"", "+", "0100", "+1", "+01", "+24:00", "+0160", "+01:0", "CET", "+01-00"}) {
    EXPECT_FALSE(parse_zone(text, zone)) << text;
  }
}

}  // namespace
}  // namespace weir::logs
