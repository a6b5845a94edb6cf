#include "steering/unit_sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::steering {
namespace {

std::uint64_t units_drawn(core::Chance& chance, std::uint64_t least, std::uint64_t most) {
  return least + static_cast<std::uint64_t>(chance.up_to(static_cast<std::int64_t>(most - least)));
}

std::uint64_t taken(UnitSample& sample, std::uint64_t units) {
  return sample.misses(units) ? 0 : sample.take(units);
}

// Whatever it is divided into, a stream has one of each block: the count is off by less than one at each end.
TEST(UnitSample, has_one_unit_of_each_block) {
  core::Chance chance;
  for (const std::uint64_t every : {1U, 2U, 3U, 16U, 1000U}) {
    UnitSample sample(every, chance() | 1);
    std::uint64_t units = 0;
    std::uint64_t found = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t cost =
          units_drawn(chance, 0, 9) == 0 ? units_drawn(chance, 0, 100 * every) : units_drawn(chance, 0, 3);
      const std::uint64_t these = taken(sample, cost);
      units += cost;
      found += these;
      ASSERT_GE(found, units / every);
      ASSERT_LE(found, units / every + 1);
      ASSERT_LT(these * every, cost + 2 * every);
      ASSERT_GT(these * every + 2 * every, cost);
    }
  }
}

TEST(UnitSample, takes_the_largest_cost_at_once) {
  UnitSample sample(16, 7);
  const std::uint64_t most = ~std::uint64_t{0} >> 1;
  for (int i = 0; i < 100; ++i)
    EXPECT_NEAR(static_cast<double>(taken(sample, most)), static_cast<double>(most / 16), 2);
}

// A request of each cost beside one that fills up the rest of a period of the traffic: on average it has what
// it cost, for all costs. Six deviations of the mean, by the variance that the header states.
TEST(UnitSample, is_on_average_what_it_costs_even_in_step_with_the_blocks) {
  core::Chance chance;
  constexpr std::uint64_t kEvery = 16;
  constexpr int kTimes = 40'000;
  for (const std::uint64_t cost : {1U, 2U, 5U, 8U, 15U, 16U, 17U, 40U}) {
    UnitSample sample(kEvery, chance() | 1);
    double sum = 0;
    for (int i = 0; i < kTimes; ++i) {
      sum += static_cast<double>(taken(sample, cost) * kEvery);
      taken(sample, kEvery - cost % kEvery);
    }
    const double units = static_cast<double>(cost) * kTimes;
    const double deviation = std::sqrt(units * (kEvery - 1));
    EXPECT_LT(std::abs(sum - units), 6 * deviation) << cost;
  }
}

}  // namespace
}  // namespace weir::steering
