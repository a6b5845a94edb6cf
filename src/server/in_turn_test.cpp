#include "server/in_turn.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::inline v0_1::server {
namespace {

TEST(InTurn, runs_all_of_it_in_order_before_it_ends) {
  std::vector<int> ran;
  {
    InTurn thread;
    for (int i = 0; i < 1000; ++i) thread.run([&ran, i] { ran.push_back(i); });
  }
  ASSERT_EQ(ran.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace weir::server
