#include "sim/fewer_bins.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace weir::inline v0_1::sim {
namespace {

constexpr std::int64_t kDay = 86'400;

TEST(FewerBins, widths_that_a_person_would_choose) {
  struct Row {
    std::int64_t bin_s;
    std::size_t count;
    std::int64_t expected_s;
  };
  for (const auto& [bin_s, count, expected_s] : std::initializer_list<Row>{
           {1, 1, 1},
           {1, 120, 1},
           {1, 121, 2},
           {5, 400, 30},   // 10 s and 15 s are too narrow
           {10, 130, 30},  // 15 s is not a multiple
           {30, 360, 120},
           {300, 288, 900},
           {600, 500, 3600},
           {3600, 168, 7200},
           {kDay, 512, 7 * kDay},
           {336 * kDay, 130, 2 * 336 * kDay},
           {336 * kDay, 300, 4 * 336 * kDay},
           {7, 120, 7},  // they are few enough
       }) {
    EXPECT_EQ(fewer_bins({0, bin_s}, count, 120).bin_s, expected_s) << bin_s << " " << count;
  }
}

TEST(FewerBins, nothing_is_lost_and_nothing_moves_to_another_bin) {
  for (std::int64_t bin_s : {1, 5, 10, 30, 300, 1800, 86'400, 604'800, 29'030'400}) {
    for (std::int64_t first = 0; first < 50; first += 7) {
      const Bins fine{first * bin_s, bin_s};
      std::vector<std::uint64_t> counts(400);
      std::iota(counts.begin(), counts.end(), 1U);
      const Bins wide = fewer_bins(fine, counts.size(), 60);
      const std::vector<std::uint64_t> sums = added_up(counts, fine, wide);
      EXPECT_LE(sums.size(), 60U);
      EXPECT_GE(sums.size(), 12U) << "not much wider than has to be";
      EXPECT_EQ(wide.from_s % wide.bin_s, 0);
      EXPECT_LE(wide.from_s, fine.from_s);
      EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}), 400U * 401 / 2);
      // The first bin holds what begins before the second one.
      const auto first_ones = (wide.from_s + wide.bin_s - fine.from_s) / fine.bin_s;
      EXPECT_EQ(sums[0], static_cast<std::uint64_t>(first_ones * (first_ones + 1) / 2));
    }
  }
}

TEST(FewerBins, of_a_timeline) {
  const Timeline wide = in_fewer_bins({120, 60, {1, 2, 3, 4, 5}, {0, 1, 0, 0, 5}}, 3);
  EXPECT_EQ(wide.from_s, 120);
  EXPECT_EQ(wide.bin_s, 120);
  EXPECT_EQ(wide.requests, (std::vector<std::uint64_t>{3, 7, 5}));
  EXPECT_EQ(wide.denied, (std::vector<std::uint64_t>{1, 0, 5}));
}

TEST(FewerBins, of_none) {
  EXPECT_EQ(fewer_bins({0, 1}, 0, 120).bin_s, 1);
  EXPECT_TRUE(added_up({}, {0, 1}, {0, 60}).empty());
}

}  // namespace
}  // namespace weir::sim
