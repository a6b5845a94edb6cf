#include "server/every.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>

namespace weir::inline v0_1::server {
namespace {

using namespace std::chrono_literals;

TEST(Every, does_it_until_it_is_stopped) {
  boost::asio::io_context loop;
  Every every(*net::asio_timers(loop));
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
  Every every(*net::asio_timers(loop));
  int done = 0;
  every.start(1ns, [&] { ++done; });
  const auto first = net::asio_timer(loop, [&] { every.stop(); });
  first->set(-1s);
  loop.run_for(10s);
  EXPECT_TRUE(loop.stopped());
  EXPECT_EQ(done, 0);
}

TEST(Every, started_again_it_does_the_new_alone) {
  boost::asio::io_context loop;
  Every every(*net::asio_timers(loop));
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
