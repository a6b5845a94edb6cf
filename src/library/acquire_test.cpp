#include "weir/acquire.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace weir::inline v0_1::store {
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
  Limiter limiter{Quota::per_hour(1), clock};
  EXPECT_TRUE(limiter.check().allowed());
  std::atomic<bool> returned{false};
  std::jthread waits([&] {
    EXPECT_TRUE(acquire(limiter, {.max_wait = 1h}).granted());
    returned = true;
  });
  while (clock.waiting() == 0) std::this_thread::yield();
  EXPECT_EQ(clock.next(), 1s + 1h);
  clock.advance(59min);
  EXPECT_EQ(clock.waiting(), 1U);
  EXPECT_FALSE(returned);
  clock.advance(1min);
  waits.join();
  EXPECT_TRUE(returned);
  EXPECT_EQ(clock.waiting(), 0U);
}

// How each limiter acquires, pauses and looks: a unit an hour of one key.
struct Hourly {
  explicit Hourly(Limiter& limiter)
      : acquire([&](ReserveOptions options) { return weir::acquire(limiter, options); }),
        charge([&](Outside outside) { limiter.charge(outside); }),
        check([&](Cost cost) { return limiter.check(cost); }) {}
  explicit Hourly(KeyedLimiter& limiter)
      : acquire([&](ReserveOptions options) { return weir::acquire(limiter, "key", options); }),
        charge([&](Outside outside) { limiter.charge("key", outside); }),
        check([&](Cost cost) { return limiter.check("key", cost); }) {}
  Hourly(KeyedLimiter& limiter, LocalStore& store) : Hourly(limiter) {
    acquire = [&](ReserveOptions options) { return weir::acquire(store, {{limiter, "key"}}, options); };
  }
  std::function<weir::Reservation(ReserveOptions)> acquire;
  std::function<void(Outside)> charge;
  std::function<Decision(Cost)> check;
};

void with_each(const std::function<void(Hourly, ManualClock&)>& test) {
  for (int which = 0; which < 3; ++which) {
    SCOPED_TRACE(which);
    ManualClock clock{1s};
    Limiter alone{Quota::per_hour(1), clock};
    LocalStore store{{.memory = 1_MiB, .clock = &clock}};
    KeyedLimiter keyed{Quota::per_hour(1), store};
    test(which == 0 ? Hourly(alone) : which == 1 ? Hourly(keyed) : Hourly(keyed, store), clock);
  }
}

TEST(Acquire, asks_for_another_moment_when_a_pause_has_come_over_its_own) {
  with_each([](const Hourly& limiter, ManualClock& clock) {
    EXPECT_TRUE(limiter.check({}).allowed());
    std::atomic<bool> acted{false};
    std::jthread waits([&] {
      EXPECT_TRUE(limiter.acquire({.max_wait = 5h}).granted());
      acted = true;
    });
    while (clock.waiting() == 0) std::this_thread::yield();
    EXPECT_EQ(clock.next(), 1s + 1h);
    limiter.charge(Pause{3h});
    clock.advance(1h);
    while (clock.next() != 1s + 3h && !acted) std::this_thread::yield();
    EXPECT_FALSE(acted);
    clock.advance(2h);
    waits.join();
    EXPECT_TRUE(acted);
    EXPECT_EQ(limiter.check({}).retry_after, 1h);
  });
}

TEST(Acquire, is_denied_where_a_pause_lasts_longer_than_it_may_wait) {
  with_each([](const Hourly& limiter, ManualClock& clock) {
    EXPECT_TRUE(limiter.check({}).allowed());
    std::jthread waits([&] {
      const weir::Reservation denied = limiter.acquire({.max_wait = 2h});
      EXPECT_FALSE(denied.granted());
      EXPECT_EQ(denied.decision().retry_after, 1h);
    });
    while (clock.waiting() == 0) std::this_thread::yield();
    limiter.charge(Pause{3h});
    clock.advance(1h);
    waits.join();
    EXPECT_EQ(limiter.check(Cost{0}).reset_after, 2h) << "nothing is owed for it";
  });
}

TEST(Acquire, wakes_each_at_its_own_moment) {
  ManualClock clock{1s};
  KeyedLimiter limiter{Quota::per_hour(1), {.memory = 1_MiB, .clock = &clock}};
  EXPECT_TRUE(limiter.check("key").allowed());
  constexpr std::size_t kThreads = 8;
  std::atomic<std::size_t> acted{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(acquire(limiter, "key", {.max_wait = 24h}).granted());
      ++acted;
    });
  }
  while (clock.waiting() != kThreads) std::this_thread::yield();
  for (std::size_t i = 1; i <= kThreads; ++i) {
    clock.advance(1h);
    while (acted != i) std::this_thread::yield();
    EXPECT_EQ(clock.waiting(), kThreads - i);
  }
}

// Its own clock, which runs as the steady clock does, an hour ahead.
TEST(Acquire, sleeps_by_the_steady_clock_where_a_clock_does_not_ring) {
  struct Ahead final : Clock {
    std::chrono::nanoseconds now() const noexcept override {
      return std::chrono::steady_clock::now().time_since_epoch() + 1h;
    }
  };
  const Ahead clock;
  Limiter limiter{Quota::per_second(50).with_burst(1), clock};
  EXPECT_TRUE(limiter.check().allowed());
  EXPECT_TRUE(acquire(limiter, {.max_wait = 1min}).granted());
}

TEST(Alarm, rings_once_at_its_time_and_at_once_after_it) {
  ManualClock clock{1s};
  int rung = 0;
  Alarm alarm([&] { ++rung; });
  EXPECT_TRUE(clock.ring_at(2s, alarm));
  clock.advance(999ms);
  EXPECT_EQ(rung, 0);
  clock.advance(1ms);
  clock.advance(1h);
  EXPECT_EQ(rung, 1);
  EXPECT_TRUE(clock.ring_at(2s, alarm));
  EXPECT_EQ(rung, 2);
  EXPECT_TRUE(clock.ring_at(24h, alarm));
  EXPECT_TRUE(clock.ring_at(25h, alarm));  // in place of the earlier
  EXPECT_EQ(clock.next(), 25h);
  {
    Alarm gone([&] { ++rung; });
    EXPECT_TRUE(clock.ring_at(24h, gone));
    EXPECT_EQ(clock.waiting(), 2U);
  }
  EXPECT_EQ(clock.waiting(), 1U);
  clock.advance(48h);
  EXPECT_EQ(rung, 3);
  EXPECT_EQ(clock.next(), std::nullopt);
}

TEST(Alarm, that_goes_while_another_thread_advances_is_not_touched) {
  ManualClock clock;
  std::jthread advances([&](std::stop_token stop) {
    while (!stop.stop_requested()) clock.advance(1ns);
  });
  for (int i = 0; i < 20'000; ++i) {
    auto rung = std::make_unique<int>(0);
    Alarm alarm([&] { ++*rung; });
    EXPECT_TRUE(clock.ring_at(clock.now() + std::chrono::nanoseconds{i % 3}, alarm));
  }
}

TEST(Acquire, many_threads_that_are_stopped_leave_nothing) {
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
