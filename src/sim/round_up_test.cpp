#include "sim/round_up.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace weir::inline v0_1::sim {
namespace {

TEST(RoundUp, to_what_people_write) {
  const std::pair<std::int64_t, std::int64_t> rows[] = {
      {1, 1},
      {7, 7},
      {10, 10},
      {11, 12},
      {13, 15},
      {16, 20},
      {21, 25},
      {56, 60},
      {99, 100},
      {100, 100},
      {101, 120},
      {181, 200},
      {541, 600},
      {641, 700},
      {1001, 1200},
      {2500, 2500},
      {1'000'001, 1'200'000},
      {1'000'000'000'000'000'001, 1'200'000'000'000'000'000},
      {4'611'686'018'427'387'903, 5'000'000'000'000'000'000}};
  for (const auto& [number, expected] : rows) EXPECT_EQ(rounded_up(number), expected) << number;
}

TEST(RoundUp, never_down_and_at_most_a_third_up) {
  std::int64_t before = 0;
  for (std::int64_t number = 1; number < 200'000; ++number) {
    const std::int64_t rounded = rounded_up(number);
    EXPECT_GE(rounded, number);
    EXPECT_LE((rounded - number) * 3, number);
    EXPECT_GE(rounded, before);
    EXPECT_EQ(rounded_up(rounded), rounded);
    before = rounded;
  }
}

}  // namespace
}  // namespace weir::sim
