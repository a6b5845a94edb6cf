#include "sim/first_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::sim {
namespace {

TEST(FirstFit, a_request_takes_the_first_place_that_is_free) {
  FirstFit places;
  EXPECT_EQ(places.take(0, 10), 0U);
  EXPECT_EQ(places.take(1, 3), 1U);
  EXPECT_EQ(places.take(2, 20), 2U);
  EXPECT_EQ(places.free_at(2), 3);
  EXPECT_EQ(places.free_at(3), 3);
  EXPECT_EQ(places.take(3, 4), 1U);  // an end comes before a begin of the same time
  EXPECT_EQ(places.most(), 3U);
  EXPECT_EQ(places.most_at(), 2);
}

TEST(FirstFit, a_request_that_took_no_time_is_over_when_the_next_begins) {
  FirstFit places;
  EXPECT_EQ(places.take(5, 5), 0U);
  EXPECT_EQ(places.take(5, 5), 0U);
  EXPECT_EQ(places.most(), 1U);
}

// What each limit would do by itself: a list of the ends of what it let in.
TEST(FirstFit, decides_every_limit_at_once) {
  core::Chance chance;
  for (int round = 0; round < 200; ++round) {
    FirstFit places;
    constexpr std::size_t kLimits = 9;
    std::vector<std::vector<std::int64_t>> open(kLimits);
    std::int64_t now = 0;
    for (int i = 0; i < 200; ++i) {
      now += chance.up_to(3);
      const std::int64_t end = now + chance.up_to(39);
      const std::size_t place = places.take(now, end);
      for (std::size_t limit = 1; limit < kLimits; ++limit) {
        std::erase_if(open[limit], [now](std::int64_t each) { return each <= now; });
        const bool busy = open[limit].size() == limit;
        ASSERT_EQ(busy, place >= limit) << "a limit of " << limit;
        if (busy) {
          ASSERT_EQ(places.free_at(limit), *std::min_element(open[limit].begin(), open[limit].end()));
        } else {
          open[limit].push_back(end);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir::sim
