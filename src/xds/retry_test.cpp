#include "xds/retry.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::inline v0_1::xds {
namespace {

using namespace std::chrono_literals;
using Delays = std::vector<std::chrono::nanoseconds>;

Delays delays(Retry retry, double chance) {
  Delays all;
  for (int i = 0; i < 5; ++i) all.push_back(retry.next(chance));
  return all;
}

TEST(Retry, is_later_and_later_by_chance_and_never_beyond_its_bounds) {
  EXPECT_EQ(delays({10s, 60s}, 1), (Delays{20s, 40s, 60s, 60s, 60s}));
  EXPECT_EQ(delays({10s, 60s}, 0), Delays(5, 10s));
  EXPECT_EQ(delays({10s, 60s}, 0.5), (Delays{15s, 25s, 35s, 35s, 35s}));
  EXPECT_EQ(delays({5s, 5s}, 0.5), Delays(5, 5s)) << "without chance";
  EXPECT_EQ(delays({1ns, std::chrono::nanoseconds::max()}, 0), Delays(5, 1ns));
  Retry retry(10s, 60s);
  retry.next(1);
  retry.next(1);
  retry.succeeded();
  EXPECT_EQ(retry.next(1), 20s);
}

}  // namespace
}  // namespace weir::xds
