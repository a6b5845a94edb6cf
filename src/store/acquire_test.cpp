#include "weir/acquire.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace weir::store {
namespace {

using namespace std::chrono_literals;

TEST(Acquire, returns_at_its_moment_and_not_before) {
  Limiter limiter{Quota::per_second(50).with_burst(1)};
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(acquire(limiter, {.max_wait = 1min}).granted());
  EXPECT_GE(std::chrono::steady_clock::now() - before, 60ms);
}

// Slept through, this would take an hour.
TEST(Acquire, denies_at_once_what_cannot_be_met) {
  KeyedLimiter limiter{Quota::per_hour(1), {.memory = 1_MiB}};
  EXPECT_TRUE(acquire(limiter, "key", {}).granted());
  const weir::Reservation denied = acquire(limiter, "key", {.max_wait = 59min});
  EXPECT_FALSE(denied.granted());
  EXPECT_LE(denied.decision().retry_after, 1min);
}

TEST(Acquire, a_stop_wakes_it_and_cancels_exactly) {
  const ManualClock clock{1s};  // nothing drains
  Limiter limiter{Quota::per_hour(1), clock};
  EXPECT_TRUE(limiter.check().allowed());
  std::atomic<bool> granted{true};
  std::jthread waits(
      [&](std::stop_token stop) { granted = acquire(limiter, {.max_wait = 2h}, stop).granted(); });
  while (limiter.check(Cost{0}).reset_after != 2h) std::this_thread::yield();
  waits.request_stop();
  waits.join();
  EXPECT_FALSE(granted);
  EXPECT_EQ(limiter.check(Cost{0}).reset_after, 1h);  // all of it, and once
}

TEST(Acquire, one_that_is_stopped_already_does_not_wait) {
  LocalStore store{{.memory = 1_MiB}};
  KeyedLimiter limiter{Quota::per_hour(1), store};
  std::stop_source source;
  source.request_stop();
  // What needs no waiting is granted all the same: it has been charged.
  EXPECT_TRUE(acquire(store, {{limiter, "key"}}, {.max_wait = 2h}, source.get_token()).granted());
  EXPECT_FALSE(acquire(store, {{limiter, "key"}}, {.max_wait = 2h}, source.get_token()).granted());
  EXPECT_EQ(store.reserve({{limiter, "key"}}, {.max_wait = 1h}).granted(), true);
}

TEST(Acquire, goes_by_the_clock_of_the_limiter) {
  ManualClock clock{1s};
  Limiter limiter{Quota::per_second(100).with_burst(1), clock};
  EXPECT_TRUE(limiter.check().allowed());
  std::atomic<bool> returned{false};
  std::jthread waits([&] {
    EXPECT_TRUE(acquire(limiter, {.max_wait = 1s}).granted());
    returned = true;
  });
  std::this_thread::sleep_for(30ms);  // more than its wait, by a clock that it does not go by
  EXPECT_FALSE(returned);
  clock.advance(10ms);
  waits.join();
}

TEST(Acquire, many_threads_that_are_stopped_leave_nothing_behind) {
  const ManualClock clock{1s};
  KeyedLimiter limiter{Quota::per_second(1), {.memory = 1_MiB, .clock = &clock}};
  EXPECT_TRUE(limiter.check("key").allowed());
  constexpr int kThreads = 16;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&](std::stop_token stop) {
        EXPECT_FALSE(acquire(limiter, "key", {.max_wait = 1h}, stop).granted());
      });
    }
    while (limiter.check("key", Cost{0}).reset_after != (kThreads + 1) * 1s) std::this_thread::yield();
  }  // each is told to stop, and joined
  EXPECT_EQ(limiter.check("key", Cost{0}).reset_after, 1s);
}

}  // namespace
}  // namespace weir::store
