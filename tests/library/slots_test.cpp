// Slots in C++: of a store, and of a limits file.
#include "weir/slots.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>

#include "weir/acquire.hpp"
#include "weir/clock.hpp"
#include "weir/limits.hpp"
#include "weir/redis.hpp"

namespace weir::inline v0_1 {
namespace {

using namespace std::chrono_literals;

TEST(SlotsOfAStore, are_taken_until_they_are_settled_or_their_time_is_over) {
  ManualClock clock{100s};
  RedisStore store("memory:", {.clock = &clock});
  SharedLimiter calls{Slots{2}, store};
  Reservation first = calls.reserve("vendor", {.hold = 60s}, Cost{9});
  Reservation second = calls.reserve("vendor", {.hold = 30s});
  EXPECT_TRUE(first.granted() && second.granted());
  EXPECT_EQ(first.decision().remaining, 1) << "one slot, whatever it costs";
  const Reservation third = calls.reserve("vendor", {.hold = 30s});
  EXPECT_EQ(third.decision().verdict, Verdict::busy);
  EXPECT_EQ(third.decision().limit, 2);
  EXPECT_EQ(third.decision().retry_after, 30s);
  EXPECT_TRUE(calls.reserve("another", {.hold = 30s}).granted());
  EXPECT_TRUE(first.settle());
  EXPECT_FALSE(first.settle()) << "once";
  first = calls.reserve("vendor", {.hold = 60s});
  EXPECT_TRUE(first.granted());
  clock.advance(30s);
  EXPECT_TRUE(calls.reserve("vendor", {.hold = 1s}).granted()) << "the second is over";
  EXPECT_EQ(second.extend(30s), 0s);
  EXPECT_EQ(first.extend(90s), 90s);
  EXPECT_EQ(first.extend(48h), 24h);
  EXPECT_TRUE(calls.reset("vendor"));
  EXPECT_EQ(first.extend(1s), 0s);
}

TEST(SlotsOfAStore, are_counted_here_while_the_store_is_away) {
  RedisStore store("redis://127.0.0.1:1");  // nobody listens there
  SharedLimiter calls{Slots{1}, store};
  Reservation held = calls.reserve("vendor", {.hold = 60s});
  EXPECT_TRUE(held.granted());
  EXPECT_EQ(calls.reserve("vendor", {.hold = 60s}).decision().verdict, Verdict::busy);
  EXPECT_GT(held.extend(1h), 59min);
  EXPECT_TRUE(held.settle());
  EXPECT_TRUE(calls.reserve("vendor", {.hold = 60s}).granted());
}

TEST(SlotsOfAStore, are_for_reservations_with_a_hold_alone) {
  RedisStore store("memory:");
  SharedLimiter calls{Slots{1}, store};
  const auto refusal = [](const auto& ask) -> std::string {
    try {
      ask();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const std::string no_rate = ": a limiter of slots has no rate; reserve() takes a slot";
  EXPECT_EQ(refusal([&] { std::ignore = calls.check("k"); }), "weir::SharedLimiter::check" + no_rate);
  EXPECT_EQ(refusal([&] { calls.charge("k"); }), "weir::SharedLimiter::charge" + no_rate);
  EXPECT_EQ(refusal([&] { std::ignore = calls.take_up_to("k", Cost{3}); }),
            "weir::SharedLimiter::take_up_to" + no_rate);
  EXPECT_EQ(refusal([&] { std::ignore = store.check_all({{calls, "k"}}); }),
            "weir::RedisStore::check_all: limit 0 has slots, which reserve() takes");
  EXPECT_EQ(refusal([&] { std::ignore = calls.reserve("k", {.max_wait = 1s}); }),
            "weir::SharedLimiter::reserve: a slot needs a hold");
  EXPECT_EQ(refusal([&] { SharedLimiter(Slots{0}, store); }),
            "weir::SharedLimiter: in_flight: to refuse everybody: deny, in the limits file; to limit nobody: "
            "leave the limit out");
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{1'000'000'001}}) {
    EXPECT_EQ(refusal([&] { SharedLimiter(Slots{count}, store); }),
              "weir::SharedLimiter: in_flight: '" + std::to_string(count) +
                  "' is not an integer from 1 to 1000000000");
  }
  EXPECT_EQ(calls.reserve("k", {}, Cost{0}).decision().remaining, 1) << "a look";
}

TEST(SlotsOfAStore, are_waited_for) {
  RedisStore store("memory:");
  SharedLimiter calls{Slots{1}, store};
  Reservation held = calls.reserve("vendor", {.hold = 1h});
  EXPECT_EQ(acquire(calls, "vendor", {.max_wait = 60ms, .hold = 1h}).decision().verdict, Verdict::busy);
  auto waits = std::async(std::launch::async,
                          [&] { return acquire(calls, "vendor", {.max_wait = 1h, .hold = 1h}).granted(); });
  EXPECT_EQ(waits.wait_for(120ms), std::future_status::timeout);
  held.settle();
  EXPECT_TRUE(waits.get());
  std::jthread stopped([&](const std::stop_token& stop) {
    EXPECT_FALSE(acquire(calls, "vendor", {.max_wait = 1h, .hold = 1h}, stop).granted());
  });
  std::this_thread::sleep_for(60ms);
}

constexpr const char* kFile = R"(version: 1
limits:
  vendor: { by: [account], rate: 60/min burst 3, in_flight: 2, hold: { estimate: 1, ttl: 60s } }
  jobs: { by: [job], in_flight: 1, hold: { ttl: 30s } }
routes:
  - { when: { job: "*" }, limits: [jobs] }
  - { limits: [vendor] }
)";

TEST(SlotsOfAFile, are_taken_with_the_rates_all_or_none) {
  ManualClock clock{100s};
  for (const bool shared : {false, true}) {
    RedisStore store("memory:", {.clock = &clock});
    const Limits::Options options{.clock = &clock};
    Limits limits = shared ? Limits::from_text(kFile, store, options) : Limits::from_text(kFile, options);
    const Attribute account[] = {{"account", "a"}};
    LimitsReservation one = limits.reserve({account}), two = limits.reserve({account});
    EXPECT_TRUE(one.granted() && two.granted());
    const LimitsReservation three = limits.reserve({account});
    EXPECT_EQ(three.reservation.decision().verdict, Verdict::busy);
    EXPECT_EQ(three.by, "vendor");
    EXPECT_EQ(three.reservation.decision().limit, 2);
    EXPECT_EQ(limits.look({.attributes = account}).decision.remaining, 0);
    EXPECT_EQ(one.reservation.extend(1h), 60s) << "the ttl is the most";
    EXPECT_TRUE(one.reservation.settle());
    EXPECT_EQ(limits.look({.attributes = account}).decision.remaining, 1) << "of the rate and of the slots";
    EXPECT_NE(limits.explain({.attributes = account}).find("in_flight=2"), std::string::npos);
    EXPECT_THROW(std::ignore = limits.check({{"account", "a"}}), StoreFault);
    EXPECT_GT(limits.reset(account), 0U);
    EXPECT_EQ(two.reservation.extend(1s), 0s);
  }
}

TEST(SlotsOfAFile, are_waited_for) {
  Limits limits = Limits::from_text(kFile);
  const Attribute job[] = {{"job", "a"}};
  const LimitsRequest asks{.attributes = job};
  LimitsReservation held = limits.reserve(asks);
  EXPECT_FALSE(acquire(limits, asks, {.max_wait = 60ms}).granted());
  auto waits =
      std::async(std::launch::async, [&] { return acquire(limits, asks, {.max_wait = 1h}).granted(); });
  EXPECT_EQ(waits.wait_for(120ms), std::future_status::timeout);
  held.reservation.settle();
  EXPECT_TRUE(waits.get());
}

// By a callback, what is told as by the calls that wait.
TEST(WithoutWaiting, a_moment_an_extension_and_as_much_as_there_is) {
  ManualClock clock{100s};
  RedisStore store("memory:", {.clock = &clock});
  SharedLimiter limiter{Quota::per_minute(60).with_burst(3), store};
  Taken taken;
  limiter.take_up_to("k", Cost{2}, [&](const StoreResult<Taken>& told) { taken = *told; });
  EXPECT_EQ(taken.granted, 2U);
  limiter.take_up_to("k", Cost{3}, Cost{2}, [&](const StoreResult<Taken>& told) { taken = *told; });
  EXPECT_EQ(taken.granted, 0U);
  limiter.take_up_to("k", Quota::per_minute(60).with_burst(4), Cost{3}, Cost{2},
                     [&](const StoreResult<Taken>& told) { taken = *told; });
  EXPECT_EQ(taken.granted, 2U);
  EXPECT_THROW(limiter.take_up_to("k", Cost{1}, Cost{2}, [](const StoreResult<Taken>&) { FAIL(); }),
               std::invalid_argument);

  Reservation mine = limiter.reserve("m", {.max_wait = 9s, .hold = 20s}, Cost{3});
  limiter.charge("m", Pause{10s});
  std::optional<std::optional<std::chrono::nanoseconds>> at;
  mine.moment([&](const auto& told) { at = *told; });
  EXPECT_EQ(at, std::optional<std::chrono::nanoseconds>(100s)) << "it acted before the pause";
  Reservation later = limiter.reserve("m", {.max_wait = 30s, .hold = 20s});
  EXPECT_EQ(later.at(), 110s);
  limiter.charge("m", Pause{20s});
  later.moment([&](const auto& told) { at = *told; });
  EXPECT_TRUE(at && !*at) << "the pause has ended it";
  EXPECT_TRUE(later.granted()) << "as it was";
  EXPECT_EQ(later.moment(), std::nullopt);
  EXPECT_FALSE(later.granted());
  later = limiter.reserve("m", {.max_wait = 30s, .hold = 20s});
  EXPECT_EQ(later.at(), 120s);

  std::chrono::nanoseconds has{-1};
  later.extend(5s, [&](const auto& told) { has = *told; });
  EXPECT_EQ(has, 25s) << "from its moment";
  mine.extend(7s, [&](const auto& told) { has = *told; });
  EXPECT_EQ(has, 7s);
  mine = Reservation();
  mine.extend(7s, [&](const auto& told) { has = *told; });
  EXPECT_EQ(has, 0s);
  mine.moment([&](const auto& told) { at = *told; });
  EXPECT_TRUE(at && !*at) << "it was not granted";

  Limits limits = Limits::from_text("version: 1\nlimits: { mails: { by: [user], rate: 10/h } }\n", store);
  const Attribute user[] = {{"user", "a"}};
  LimitsTaken some;
  limits.take_up_to({.attributes = user, .cost = Cost{7}},
                    [&](const LimitsTakeResult& told) { some = *told; });
  EXPECT_EQ(some.granted, 7U);
  limits.take_up_to({.attributes = user, .cost = Cost{7}}, Cost{2},
                    [&](const LimitsTakeResult& told) { some = *told; });
  EXPECT_EQ(some.granted, 3U);
  EXPECT_EQ(some.by, "mails");
  limits.take_up_to({.cost = Cost{7}}, [&](const LimitsTakeResult& told) { some = *told; });
  EXPECT_EQ(some.granted, 7U) << "no limit applies";
}

TEST(WithoutWaiting, what_a_store_that_is_away_does_not_know_is_a_fault_or_nothing) {
  RedisStore store("redis://127.0.0.1:1");  // nobody listens there
  SharedLimiter limiter{Quota::per_hour(4), store};
  std::promise<Taken> taken;
  limiter.take_up_to("k", Cost{6}, [&](const StoreResult<Taken>& told) { taken.set_value(*told); });
  EXPECT_EQ(taken.get_future().get().granted, 4U);
  Reservation held = limiter.reserve("m", {.hold = 1h});
  std::promise<std::chrono::nanoseconds> has;
  held.extend(2h, [&](const StoreResult<std::chrono::nanoseconds>& told) { has.set_value(*told); });
  const auto now_has = has.get_future().get();
  EXPECT_GT(now_has, 119min);
  EXPECT_LE(now_has, 120min);
}

}  // namespace
}  // namespace weir
