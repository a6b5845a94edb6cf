#include "core/duration.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

TEST(Duration, text_to_time) {
  struct Row {
    std::string text;
    nanoseconds time;
  };
  const std::vector<Row> rows = {{"1ns", 1ns},
                                 {"5us", 5us},
                                 {"250ms", 250ms},
                                 {"10s", 10s},
                                 {"s", 1s},
                                 {"sec", 1s},
                                 {"min", 1min},
                                 {"2m", 2min},
                                 {"1.5h", 90min},
                                 {"day", 24h},
                                 {"2days", 48h},
                                 {"w", 168h},
                                 {"0.5ns", 1ns},
                                 {"1.0000000001s", 1'000'000'001ns},
                                 {"0s", 0s},
                                 {".5s", 500ms},
                                 {"5.s", 5s},
                                 {"9223372036s", 9'223'372'036s},
                                 {"106751d", 106'751 * 24h},
                                 {"1h30m", 90min},
                                 {"1hour30minutes", 90min},
                                 {"2w1d1h1m1s1ms1us1.5ns", 15 * 24h + 1h + 1min + 1'001'001'002ns},
                                 {"1m.5s", 60'500ms},
                                 {"0h0s", 0s},
                                 {"-1s", -1s},
                                 {"-1h30m", -90min},
                                 {"-0.5ns", -1ns}};
  for (const Row& row : rows) EXPECT_EQ(parse_duration(row.text), row.time) << row.text;
}

TEST(Duration, what_is_not_a_time) {
  for (const std::string text : {"",
                                 "10",
                                 "s10",
                                 "+1s",
                                 "1 s",
                                 "1e3s",
                                 "0x10s",
                                 "1..5s",
                                 "fortnight",
                                 "1.5.5h",
                                 "1sx",
                                 "\0s",
                                 "month",
                                 "y",
                                 ".",
                                 ".s",
                                 "-",
                                 "--1s",
                                 "1h-30m",
                                 "30m1h",
                                 "1h1h",
                                 "1m1min",
                                 "h30m",
                                 "1hm",
                                 "1.5h30m",
                                 "1h30",
                                 "1h 30m",
                                 "1h30m ",
                                 "1d1",
                                 "1ms1s",
                                 "9223372037s",
                                 "106752d",
                                 "1d106751d23h47m16.854775807s",
                                 "106751d23h47m16.854775808s",
                                 "-106751d23h47m16.854775809s"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Duration, decimal_seconds_are_exact_and_rounded_up) {
  struct Row {
    std::string digits;
    NumberFault fault;
    std::int64_t ns;
  };
  using enum NumberFault;
  const std::vector<Row> rows = {
      {"1", none, 1'000'000'000},
      {"0.1", none, 100'000'000},
      {"1e3", none, 1'000'000'000'000},
      {"1E-3", none, 1'000'000},
      {"1.000000000000000000000000000001", none, 1'000'000'001},
      {"1e-30", none, 1},
      {"123456789.123456789", none, 123'456'789'123'456'789},
      {"0000000000000000000000000000000000001", none, 1'000'000'000},
      {"0.000", none, 0},
      {"-0.5", none, -500'000'000},
      {"9223372036.854775807", none, 9'223'372'036'854'775'807},
      {"9223372036.854775808", out_of_range, 0},
      {"1e12", out_of_range, 0},
      {"1e999999999999999999999", out_of_range, 0},
      {"x", not_a_number, 0},
      {"", not_a_number, 0},
      {"nan", not_a_number, 0},
      {"1e", not_a_number, 0},
      {"0x10", not_a_number, 0},
      {" 1", not_a_number, 0},
      {"1 ", not_a_number, 0},
      {"--1", not_a_number, 0},
  };
  for (const Row& row : rows) {
    const ScaledNumber number = parse_scaled(row.digits, 1s);
    EXPECT_EQ(number.fault, row.fault) << row.digits;
    EXPECT_EQ(number.value.count(), row.ns) << row.digits;
  }
}

TEST(Duration, every_digit_counts_when_it_is_rounded_up) {
  EXPECT_EQ(parse_duration("0.00000000000000165w"), 1ns);   // 0.99792
  EXPECT_EQ(parse_duration("0.000000000000001659w"), 2ns);  // 1.0033632
}

TEST(Duration, time_to_text_and_back) {
  const std::vector<std::pair<nanoseconds, std::string>> rows = {
      {0s, "0s"},
      {1ns, "1ns"},
      {1500ns, "1.5us"},
      {250ms, "250ms"},
      {1500ms, "1.5s"},
      {90min, "1h30m"},
      {24h, "1d"},
      {90'061s, "1d1h1m1s"},
      {60s, "1m"},
      {60s + 1ms, "1m0.001s"},
      {-5s, "-5s"},
      {nanoseconds::max(), "106751d23h47m16.854775807s"},
      {nanoseconds::min(), "-106751d23h47m16.854775808s"}};
  for (const auto& [time, text] : rows) {
    EXPECT_EQ(to_text(time), text);
    EXPECT_EQ(parse_duration(text), time) << text;
  }
}

TEST(Duration, what_to_text_writes_is_read_back_exactly) {
  Chance chance;
  constexpr std::int64_t kUnits[] = {1,
                                     1'000,
                                     1'000'000,
                                     1'000'000'000,
                                     60'000'000'000,
                                     3'600'000'000'000,
                                     86'400'000'000'000,
                                     7 * 86'400'000'000'000};
  for (int i = 0; i < 200'000; ++i) {
    // Of every magnitude, and near whole numbers of every unit.
    auto ns = static_cast<std::int64_t>(chance()) >> chance.up_to(63);
    if (i % 2 == 0) {
      const std::int64_t unit = kUnits[chance.up_to(7)];
      const std::int64_t most = nanoseconds::max().count() / unit - 1;
      ns = (ns % most) * unit + (i % 4 == 0 ? chance.up_to(2) - 1 : 0);
    }
    const std::string text = to_text(nanoseconds{ns});
    ASSERT_EQ(parse_duration(text), nanoseconds{ns}) << text;
  }
}

TEST(Duration, too_long_is_told_from_not_a_time) {
  EXPECT_EQ(read_duration("106752d").fault, NumberFault::out_of_range);
  EXPECT_EQ(read_duration("106751d24h").fault, NumberFault::out_of_range);
  EXPECT_EQ(read_duration("106752d1x").fault, NumberFault::not_a_number);
  EXPECT_EQ(read_duration("month").fault, NumberFault::not_a_number);
}

TEST(Duration, whole_seconds_are_rounded_up) {
  EXPECT_EQ(ceil_to_seconds(0ns), 0);
  EXPECT_EQ(ceil_to_seconds(1ns), 1);
  EXPECT_EQ(ceil_to_seconds(1s), 1);
  EXPECT_EQ(ceil_to_seconds(1s + 1ns), 2);
  EXPECT_EQ(ceil_to_seconds(nanoseconds::max()), 9'223'372'037);
}

TEST(AppendWindow, a_whole_number_of_the_largest_unit) {
  const auto told = [](std::int64_t ns) {
    std::string text;
    append_window(std::chrono::nanoseconds{ns}, text);
    return text;
  };
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(told(kSecond), "1s");
  EXPECT_EQ(told(60 * kSecond), "1min");
  EXPECT_EQ(told(90 * kSecond), "90s");
  EXPECT_EQ(told(3600 * kSecond), "1h");
  EXPECT_EQ(told(86400 * kSecond), "1d");
  EXPECT_EQ(told(36 * 3600 * kSecond), "36h");
  EXPECT_EQ(told(7 * 86400 * kSecond), "7d");
  EXPECT_EQ(told(kSecond / 4), "250ms");
  EXPECT_EQ(told(1), "1ns");
  EXPECT_EQ(told(INT64_MAX), "9223372036854775807ns");
}

}  // namespace
}  // namespace weir::core
