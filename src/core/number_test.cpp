#include "core/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Number, reads_what_redis_reads) {
  const struct {
    std::string_view text;
    std::int64_t value;
  } rows[] = {
      {"0", 0},
      {"1", 1},
      {"-1", -1},
      {"60", 60},
      {"86400", 86400},
      {"-10", -10},
      {"999999999999999999", 999999999999999999},
      {"-99999999999999999", -99999999999999999},
      {"1000000000000000000", 1000000000000000000},
      {"-999999999999999999", -999999999999999999},
      {"9223372036854775807", kMax},
      {"-9223372036854775807", -kMax},
      {"-9223372036854775808", kMin},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_integer(row.text), row.value) << row.text;
}

TEST(Number, refuses_everything_else) {
  using namespace std::string_view_literals;
  const std::string_view rows[] = {
      ""sv,
      "-"sv,
      "--1"sv,
      "+1"sv,
      "01"sv,
      "00"sv,
      "-0"sv,
      "-01"sv,
      " 1"sv,
      "1 "sv,
      "1\n"sv,
      "1\0"sv,
      "\0"sv,
      "1.5"sv,
      "1e3"sv,
      "0x10"sv,
      "1_000"sv,
      "1,000"sv,
      "NaN"sv,
      "inf"sv,
      "/"sv,
      ":"sv,
      "1/"sv,
      "1:"sv,
      "\xd9\xa1"sv,  // ARABIC-INDIC DIGIT ONE
      "9223372036854775808"sv,
      "-9223372036854775809"sv,
      "9999999999999999999"sv,
      "-9999999999999999999"sv,
      "18446744073709551616"sv,
      "18446744073709551617"sv,
      "-18446744073709551617"sv,
      "0000000000000000001"sv,
      "-000000000000000001"sv,
      "+100000000000000000"sv,
      "100000000000000000x"sv,
      "100000000000000000000000000000000000000000"sv,
  };
  for (const std::string_view row : rows) EXPECT_FALSE(parse_integer(row)) << row;
}

TEST(Number, every_printed_number_is_read_back) {
  for (std::int64_t value = -1200; value <= 1200; ++value)
    EXPECT_EQ(parse_integer(std::to_string(value)), value);
  core::Chance random;
  for (int i = 0; i < 100000; ++i) {
    // Shifting makes every length equally likely, not only 19 digits.
    const auto value = static_cast<std::int64_t>(random()) >> (random() % 64);
    ASSERT_EQ(parse_integer(std::to_string(value)), value);
  }
}

}  // namespace
}  // namespace weir::core
