// What happened outside, told to a store and to a limits file.
#include "weir/charge.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "weir/acquire.hpp"
#include "weir/clock.hpp"
#include "weir/limits.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {
namespace {

using namespace std::chrono_literals;

TEST(Charge, of_a_store_in_memory) {
  RedisStore store("memory:");
  SharedLimiter limiter{Quota::per_hour(1).with_burst(4), store};
  EXPECT_EQ(limiter.charge("k", Cost{6}).overdraft, 2U);
  EXPECT_FALSE(limiter.check("k").allowed());
  EXPECT_EQ(limiter.charge("j", Remaining{1}).charged, 3U);
  SharedLimiter log{Quota::per_hour(1), store, {.algorithm = Algorithm::sliding_window_log}};
  EXPECT_THROW(static_cast<void>(log.charge("k")), std::invalid_argument);
}

// Nobody listens there.
TEST(Charge, of_a_store_that_is_away_is_kept_here_or_a_fault) {
  RedisStore store("redis://127.0.0.1:1");
  SharedLimiter local{Quota::per_hour(1).with_burst(4), store};
  const Charged told = local.charge("k", Cost{6});
  EXPECT_EQ(told.overdraft, 2U);
  EXPECT_EQ(told.source, Source::fallback);
  EXPECT_FALSE(local.check("k").allowed());
  SharedLimiter open{Quota::per_hour(1), store, {.on_store_error = OnStoreError::allow}};
  try {
    static_cast<void>(open.charge("k"));
    ADD_FAILURE() << "nobody has kept it";
  } catch (const StoreFault& fault) {
    EXPECT_EQ(fault.fault(), Fault::store_down);
  }
}

TEST(Pause, over_the_moment_of_one_that_a_store_makes_wait) {
  ManualClock clock{1s};
  RedisStore store("memory:", {.clock = &clock});
  SharedLimiter limiter{Quota::per_hour(1), store};
  EXPECT_TRUE(limiter.check("k").allowed());
  std::atomic<bool> acted{false};
  std::jthread waits([&] {
    EXPECT_TRUE(acquire(limiter, "k", {.max_wait = 5h}).granted());
    acted = true;
  });
  while (clock.waiting() == 0) std::this_thread::yield();
  limiter.charge("k", Pause{3h});
  clock.advance(1h);
  while (clock.next() != 1s + 3h && !acted) std::this_thread::yield();
  EXPECT_FALSE(acted);
  clock.advance(2h);
  waits.join();
  EXPECT_TRUE(acted);
}

TEST(Charge, by_a_limits_file) {
  Limits limits = Limits::from_text(
      "version: 1\n"
      "limits:\n"
      "  rpm: { by: [model], rate: 300/min burst 10 }\n"
      "  tpm: { by: [model], rate: [10/min burst 1000, 20000/d algorithm=fixed_window] }\n"
      "  guessed: { by: [model], rate: 1000/s burst 5000, hold: { ttl: 1min, estimate: 400 } }\n"
      "routes:\n"
      "  - { when: { model: \"*\" }, limits: [rpm, tpm, guessed] }\n");
  const Attribute model[] = {{"model", "a"}};
  EXPECT_EQ(limits.charge({.attributes = model}).charged.charged, 1U) << "no estimate";
  const LimitCost costs[] = {{"tpm", Cost{1500}}};
  const LimitsCharged told = limits.charge({.attributes = model, .costs = costs});
  EXPECT_EQ(told.by, "tpm");
  EXPECT_EQ(told.charged.overdraft, 501U);
  EXPECT_EQ(limits.charge({.attributes = model}, {.limit = "rpm", .remaining = Remaining{2}}).charged.charged,
            6U);
  EXPECT_EQ(limits.charge({.attributes = model}, {.limit = "tpm", .window = 24h, .remaining = Remaining{2}})
                .charged.wait,
            0s);
  EXPECT_THROW(limits.charge({.attributes = model}, {.remaining = Remaining{2}}), std::invalid_argument);
  EXPECT_TRUE(limits.charge({}).by.empty()) << "no limit applies";
  EXPECT_GE(limits.charge({.attributes = model}, {.limit = "rpm", .pause = Pause{30s}}).charged.wait, 30s);
  EXPECT_GT(limits.check({.attributes = model}).decision.retry_after.value_or(0s), 29s);
}

TEST(Charge, by_a_limits_file_a_denial_may_be_a_rest) {
  Limits limits = Limits::from_text(
      "version: 1\n"
      "limits: { login: { by: [account], rate: 2/min burst 2, penalty: 15min, hold: { ttl: 30s } } }\n");
  const Attribute account[] = {{"account", "a"}};
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(limits.reserve({.attributes = account}, ReserveOptions{}).granted());
  const LimitsReservation denied = limits.reserve({.attributes = account}, ReserveOptions{});
  EXPECT_FALSE(denied.granted());
  EXPECT_EQ(limits.check({.attributes = account}).decision.retry_after.value_or(0s) / 1min, 14);
}

TEST(Charge, by_a_limits_file_a_pause_may_be_afresh) {
  ManualClock clock;
  Limits limits = Limits::from_text(
      "version: 1\n"
      "limits: { login: { by: [account], rate: [5/h burst 5, 9/day algorithm=fixed_window], refunds: true } "
      "}\n",
      {.clock = &clock});
  const Attribute account[] = {{"account", "a"}};
  limits.charge({.attributes = account, .cost = Cost{9}}, {});
  EXPECT_EQ(limits.charge({.attributes = account}, {.pause = Pause{15min, true}}).charged.wait, 15min);
  EXPECT_FALSE(limits.check({.attributes = account}).decision.allowed());
  clock.advance(15min);
  EXPECT_TRUE(limits.check({.attributes = account, .cost = Cost{5}}).decision.allowed());
}

}  // namespace
}  // namespace weir
