#include "sim/words.hpp"

#include <gtest/gtest.h>

namespace weir::sim {
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
  EXPECT_EQ(counted(1, "client"), "1 client");
  EXPECT_EQ(counted(1753, "client"), "1,753 clients");
}

}  // namespace
}  // namespace weir::sim
