#include "steering/once_a_period.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace weir::inline v0_1::steering {
namespace {

using std::chrono::seconds;

TEST(OnceAPeriod, a_key_is_first_once_in_each_period) {
  OnceAPeriod seen;
  EXPECT_TRUE(seen.is_first(7, seconds{10}, seconds{60}));
  EXPECT_FALSE(seen.is_first(7, seconds{59}, seconds{60}));
  EXPECT_TRUE(seen.is_first(8, seconds{59}, seconds{60}));
  EXPECT_TRUE(seen.is_first(7, seconds{60}, seconds{120}));
  EXPECT_FALSE(seen.is_first(7, seconds{61}, seconds{120}));
}

TEST(OnceAPeriod, remembers_65536_keys_where_they_spread) {
  OnceAPeriod seen;
  for (std::uint64_t key = 0; key < OnceAPeriod::kMost; ++key)
    ASSERT_TRUE(seen.is_first(key, seconds{0}, seconds{60}));
  for (std::uint64_t key = 0; key < OnceAPeriod::kMost; ++key)
    ASSERT_FALSE(seen.is_first(key, seconds{0}, seconds{60}));
  EXPECT_TRUE(seen.is_first(OnceAPeriod::kMost, seconds{0}, seconds{60}));
}

}  // namespace
}  // namespace weir::steering
