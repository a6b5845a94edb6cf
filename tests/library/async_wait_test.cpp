// Waiting for moments in an event loop, by a clock that the test moves.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "weir/asio_acquire.hpp"
#include "weir/limiter.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// One limit of one an hour whose first unit is spent.
struct World {
  World() { EXPECT_TRUE(limiter.check().allowed()); }
  ManualClock clock{1s};
  Limiter limiter{Quota::per_hour(1), clock};
  asio::io_context context;
};

TEST(AsyncWait, ends_when_its_clock_comes_to_the_moment) {
  World world;
  asio::steady_timer timer{world.context};
  std::optional<bool> granted;
  async_wait(timer, world.limiter.reserve({.max_wait = 2h}),
             [&](Reservation mine) { granted = mine.granted(); });
  EXPECT_EQ(world.clock.waiting(), 1U);
  world.context.poll();
  world.clock.advance(59min);
  world.context.poll();
  EXPECT_FALSE(granted);
  world.clock.advance(1min);
  EXPECT_FALSE(granted) << "the handler runs in the loop, not in advance()";
  world.context.run();
  EXPECT_EQ(granted, true);
}

TEST(AsyncWait, that_is_cancelled_leaves_no_alarm_and_no_charge) {
  World world;
  asio::steady_timer timer{world.context};
  std::optional<bool> granted;
  async_wait(timer, world.limiter.reserve({.max_wait = 2h}),
             [&](Reservation mine) { granted = mine.granted(); });
  timer.cancel();
  world.context.run();
  EXPECT_EQ(granted, false);
  EXPECT_EQ(world.clock.waiting(), 0U);
  EXPECT_EQ(world.limiter.check(Cost{0}).reset_after, 1h);
}

TEST(AsyncWait, whose_loop_is_gone_leaves_no_alarm_and_no_charge) {
  ManualClock clock{1s};
  Limiter limiter{Quota::per_hour(1), clock};
  EXPECT_TRUE(limiter.check().allowed());
  for (const bool rung : {false, true}) {
    asio::io_context context;
    asio::steady_timer timer{context};
    async_wait(timer, limiter.reserve({.max_wait = 2h}), [](Reservation) { FAIL(); });
    EXPECT_EQ(clock.waiting(), 1U);
    if (rung) clock.advance(1h);
  }
  EXPECT_EQ(clock.waiting(), 0U);
  EXPECT_EQ(limiter.check(Cost{0}).reset_after, 1h) << "the first came back, the second had its moment";
}

TEST(AsyncWait, many_in_a_loop_of_another_thread_wake_in_the_order_of_their_moments) {
  ManualClock clock{1s};
  RedisStore store{"memory:", {.clock = &clock}};
  SharedLimiter limiter{Quota::per_hour(1), store};
  EXPECT_TRUE(limiter.check("key").allowed());
  asio::io_context context;
  auto work = asio::make_work_guard(context);
  constexpr std::size_t kWaiters = 50;
  std::vector<std::size_t> woken;
  std::vector<asio::steady_timer> timers;
  timers.reserve(kWaiters);
  std::thread loop([&] { context.run(); });
  for (std::size_t i = 0; i < kWaiters; ++i) {
    async_wait(timers.emplace_back(context), limiter.reserve("key", {.max_wait = 24h * kWaiters}),
               [&woken, i](Reservation mine) {
                 EXPECT_TRUE(mine.granted());
                 woken.push_back(i);
               });
  }
  while (clock.waiting() != kWaiters) std::this_thread::yield();
  for (std::size_t i = 0; i < kWaiters; ++i) clock.advance(1h);
  work.reset();
  loop.join();
  ASSERT_EQ(woken.size(), kWaiters);
  for (std::size_t i = 0; i < kWaiters; ++i) EXPECT_EQ(woken[i], i);
}

}  // namespace
}  // namespace weir
