#include "steering/unit_change.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::steering {
namespace {

TEST(UnitChange, is_what_its_steps_come_to_wherever_they_are_cut) {
  core::Chance chance;
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t start = chance.up_to(20);
    std::int64_t exact = start;
    UnitChange whole;
    UnitChange first;
    UnitChange second;
    const std::int64_t steps = chance.up_to(12);
    const std::int64_t cut = chance.up_to(steps);
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t units = chance.up_to(20) - 10;
      exact = std::max<std::int64_t>(exact + units, 0);
      whole.add(units);
      (i < cut ? first : second).add(units);
    }
    ASSERT_EQ(whole.applied_to(start), exact);
    ASSERT_EQ(second.applied_to(first.applied_to(start)), exact);
    first.then(second);
    ASSERT_EQ(first.applied_to(start), exact);
  }
}

TEST(UnitChange, never_wraps) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  UnitChange change;
  for (int i = 0; i < 5; ++i) change.add(kAll);
  EXPECT_EQ(change.applied_to(kAll), UnitChange::kMost);
  for (int i = 0; i < 5; ++i) change.add(-kAll);
  EXPECT_EQ(change.applied_to(7), 0);
}

}  // namespace
}  // namespace weir::steering
