#include "net/timer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace weir::inline v0_1::net {
namespace {

using namespace std::chrono_literals;

// Timers that are set to the past have run out when the loop looks at them first, in the order of their
// times.
struct TimerOf : testing::Test {
  std::unique_ptr<Timer> says(const char* what) {
    return timers->make([this, what] { said += what; });
  }
  std::string run() {
    context.run_for(10s);
    EXPECT_TRUE(context.stopped()) << "something is still waited for";
    context.restart();
    return std::exchange(said, {});
  }

  std::string said;
  boost::asio::io_context context;
  std::unique_ptr<Timers> timers = asio_timers(context);
};

TEST_F(TimerOf, it_calls_once_for_each_time_that_it_is_set) {
  const auto timer = says("a");
  EXPECT_EQ(run(), "");
  timer->set(1us);
  EXPECT_EQ(run(), "a");
  timer->set(0s);
  EXPECT_EQ(run(), "a");
}

TEST_F(TimerOf, set_again_it_calls_at_the_new_time_alone) {
  const auto first = says("a");
  const auto second = says("b");
  first->set(1h);
  second->set(-1s);
  first->set(-2s);
  EXPECT_EQ(run(), "ab");
}

TEST_F(TimerOf, stopped_or_destroyed_it_calls_nothing) {
  const auto stopped = says("a");
  stopped->set(1h);
  stopped->stop();
  says("b")->set(1h);
  EXPECT_EQ(run(), "");
  stopped->set(0s);
  EXPECT_EQ(run(), "a");
}

TEST_F(TimerOf, also_when_its_time_has_come_and_its_turn_has_not) {
  const auto stopped = says("a");
  auto destroyed = says("b");
  const auto first = timers->make([&] {
    stopped->stop();
    destroyed.reset();
  });
  first->set(-2s);
  stopped->set(-1s);
  destroyed->set(-1s);
  EXPECT_EQ(run(), "");
}

// A loop that sets it whenever something comes, and to whom something comes in every turn.
TEST_F(TimerOf, set_in_every_turn_it_calls_all_the_same) {
  const auto timer = says("a");
  int turns = 0;
  std::unique_ptr<Timer> busy = timers->make([&] {
    timer->set(-1s);
    if (++turns < 3) busy->set(-2s);
  });
  timer->set(-1s);
  busy->set(-2s);
  EXPECT_EQ(run(), "aaaa");
}

TEST_F(TimerOf, what_it_calls_may_destroy_it) {
  std::unique_ptr<Timer> timer;
  const std::string text = "a text that is too long to be kept in a function itself";
  timer = timers->make([&timer, this, text] {
    timer.reset();
    said += text;
  });
  timer->set(0s);
  EXPECT_EQ(run(), text);
}

}  // namespace
}  // namespace weir::net
