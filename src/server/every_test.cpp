#include "server/every.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace weir::inline v0_1::server {
namespace {

using namespace std::chrono_literals;

TEST(Every, does_it_until_it_is_stopped) {
  boost::asio::io_context loop;
  Every every(loop);
  int done = 0;
  every.start(1us, [&] {
    if (++done == 5) every.stop();
  });
  loop.run();
  EXPECT_EQ(done, 5);
}

// Both timers have run out when the loop looks at them, so both handlers wait when the first of them stops
// us.
TEST(Every, a_loop_ends_although_it_is_stopped_when_the_time_has_just_come) {
  boost::asio::io_context loop;
  boost::asio::steady_timer first(loop);
  Every every(loop);
  int done = 0;
  every.start(1ns, [&] { ++done; });
  first.expires_at(std::chrono::steady_clock::time_point::min());
  first.async_wait([&](const boost::system::error_code&) { every.stop(); });
  loop.run_for(10s);
  EXPECT_TRUE(loop.stopped());
  EXPECT_EQ(done, 0);
}

TEST(Every, started_again_it_does_the_new_alone) {
  boost::asio::io_context loop;
  Every every(loop);
  int old = 0;
  int done = 0;
  every.start(1us, [&] { ++old; });
  every.start(1us, [&] {
    if (++done == 3) every.stop();
  });
  loop.run();
  EXPECT_EQ(old, 0);
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace weir::server
