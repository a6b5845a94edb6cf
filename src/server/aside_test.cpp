#include "server/aside.hpp"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace weir::inline v0_1::server {
namespace {

TEST(Aside, runs_one_at_a_time_and_of_those_that_wait_the_latest) {
  std::vector<int> ran;
  std::promise<void> begun;
  std::promise<void> may_end;
  std::promise<void> last;
  Aside aside;
  aside.run([&] {
    ran.push_back(1);
    begun.set_value();
    may_end.get_future().wait();
  });
  begun.get_future().wait();
  aside.run([&] { ran.push_back(2); });
  aside.run([&] {
    ran.push_back(3);
    last.set_value();
  });
  may_end.set_value();
  last.get_future().wait();
  EXPECT_EQ(ran, (std::vector<int>{1, 3}));
}

}  // namespace
}  // namespace weir::server
