#include "sim/number_text.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::sim {
namespace {

TEST(Words, rates_in_the_shortest_period_with_at_least_one) {
  EXPECT_EQ(rate_in_words(10), "10 a second");
  EXPECT_EQ(rate_in_words(1), "1 a second");
  EXPECT_EQ(rate_in_words(1.0 / 60), "1 a minute");
  EXPECT_EQ(rate_in_words(56.0 / 60), "56 a minute");
  EXPECT_EQ(rate_in_words(1.0 / 3600), "1 an hour");
  EXPECT_EQ(rate_in_words(0.5 / 86400), "0.5 a day");
  EXPECT_EQ(rate_in_words(1'000'000), "1,000,000 a second");
}

TEST(Words, spans_in_the_greatest_unit_that_divides_them) {
  EXPECT_EQ(span_in_words(1), "a second");
  EXPECT_EQ(span_in_words(90), "90 seconds");
  EXPECT_EQ(span_in_words(120), "2 minutes");
  EXPECT_EQ(span_in_words(3600), "an hour");
  EXPECT_EQ(span_in_words(172'800), "2 days");
  EXPECT_EQ(span_in_words(604'800), "a week");
}

TEST(Words, about_has_three_digits) {
  EXPECT_EQ(about(0), "0s");
  EXPECT_EQ(about(142'857'143), "143ms");
  EXPECT_EQ(about(8'571'428'572), "8.57s");
  EXPECT_EQ(about(12'345'678'901), "12.3s");
  EXPECT_EQ(about(83 * 60'000'000'000), "1h23m");
}

TEST(Words, the_middle_of_a_long_name_is_cut) {
  EXPECT_EQ(cut_middle("short", 5), "short");
  EXPECT_EQ(cut_middle("abcdefghij", 5), "ab\u2026ij");
  EXPECT_EQ(cut_middle("abcdefghij", 6), "abc\u2026ij");
  EXPECT_EQ(cut_middle("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 5), "\u00e4\u00f6\u2026\u00f6\u00fc");
  EXPECT_EQ(cut("abcdefghij", 6), "abc...");
}

TEST(Words, few_are_not_none_and_nearly_all_not_all) {
  EXPECT_EQ(percent(0, 10), "0 %");
  EXPECT_EQ(percent(1, 1'000'000), "< 0.01 %");
  EXPECT_EQ(percent(999'999, 1'000'000), "> 99.99 %");
  EXPECT_EQ(percent(10, 10), "100 %");
  EXPECT_EQ(percent(996, 1000), "99.6 %");
  EXPECT_EQ(percent(99'952, 100'000), "99.95 %");
  EXPECT_EQ(percent(985, 1000), "98 %");
  EXPECT_EQ(percent(52, 10'000), "0.52 %");
  EXPECT_EQ(counted(1, "client"), "1 client");
  EXPECT_EQ(counted(1753, "client"), "1,753 clients");
}

}  // namespace
}  // namespace weir::sim
