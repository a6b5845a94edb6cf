#include "core/histogram.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;

TEST(Histogram, counts_by_bucket) {
  Histogram histogram;
  histogram.count(1us);
  histogram.count(1001ns, 3);
  histogram.count(1s, 2);
  histogram.count(-1ns);
  Histogram::Total total;
  histogram.add_to(total);
  EXPECT_EQ(total.buckets.front(), 2U);
  EXPECT_EQ(total.buckets[1], 3U);
  EXPECT_EQ(total.buckets.back(), 2U);
  EXPECT_EQ(total.count(), 7U);
  EXPECT_EQ(total.sum, 2s + 3003ns + 1us);
}

}  // namespace
}  // namespace weir::core
