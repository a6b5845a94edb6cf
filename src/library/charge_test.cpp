// What happened outside: the limiters of one process answer alike.
#include "weir/charge.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/chance_test.hpp"
#include "core/overdraft.hpp"
#include "core/rule.hpp"
#include "weir/clock.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::store {
namespace {

using namespace std::chrono_literals;

std::string text_of(const Charged& told) {
  return std::to_string(told.charged) + " charged, " + std::to_string(told.overdraft) + " over, wait " +
         std::to_string(told.wait.count()) + ", reset " + std::to_string(told.reset_after.count()) + ", " +
         std::to_string(told.dropped) + " dropped";
}

TEST(Charge, raises_what_is_owed_whether_there_was_room_or_not) {
  ManualClock clock;
  Limiter limiter{Quota::per_second(1).with_burst(4), clock};
  EXPECT_EQ(text_of(limiter.charge()), "1 charged, 0 over, wait 0, reset 1000000000, 0 dropped");
  EXPECT_EQ(text_of(limiter.charge(Cost{6})),
            "6 charged, 3 over, wait 4000000000, reset 7000000000, 0 dropped");
  clock.advance(4s - 1ns);
  EXPECT_FALSE(limiter.check().allowed());
  clock.advance(1ns);
  EXPECT_TRUE(limiter.check().allowed());
}

TEST(Charge, takes_what_the_other_side_says_is_left) {
  ManualClock clock;
  KeyedLimiter limiter{Quota::per_second(1).with_burst(4), {.memory = 1_MiB, .clock = &clock}};
  EXPECT_EQ(limiter.charge("k", Remaining{1}).charged, 3U);
  EXPECT_EQ(limiter.charge("k", Remaining{3}).charged, 0U);
  EXPECT_EQ(limiter.check("k", Cost{0}).remaining, 1);
}

TEST(Charge, an_overdraft_has_a_bound) {
  ManualClock clock;
  Limiter limiter{Quota::per_second(1).with_burst(4), clock};
  EXPECT_EQ(limiter.charge(Outside{Outside::Form::cost, 100, 6s}).dropped, 90U);
  EXPECT_EQ(limiter.charge(Outside{Outside::Form::cost, 100, -6s}).charged, 0U);
  EXPECT_EQ(limiter.charge(Cost{std::uint64_t{1} << 62}).reset_after, 24h + 4s);
}

TEST(Refund, the_last_units_go_back_and_no_more) {
  ManualClock clock;
  Limiter limiter{Quota::per_second(1).with_burst(5), clock};
  KeyedLimiter keyed{Quota::per_second(1).with_burst(5), {.memory = 1_MiB, .clock = &clock}};
  EXPECT_TRUE(limiter.check(Cost{4}).allowed());
  EXPECT_TRUE(keyed.check("k", Cost{4}).allowed());
  EXPECT_EQ(limiter.refund(), 1U);
  EXPECT_EQ(keyed.refund("k"), 1U);
  clock.advance(1500ms);
  EXPECT_EQ(limiter.refund(Cost{9}), 2U) << "the rest of 1.5 that have not drained";
  EXPECT_EQ(keyed.refund("k", Cost{9}), 2U);
  EXPECT_EQ(limiter.check(Cost{0}).remaining, 5);
  EXPECT_EQ(keyed.check("k", Cost{0}).remaining, 5);
}

TEST(Refund, what_is_held_stays) {
  ManualClock clock;
  Limiter limiter{Quota::per_second(1).with_burst(10), clock};
  Reservation held = limiter.reserve({.hold = 1min}, Cost{6});
  EXPECT_TRUE(limiter.check(Cost{2}).allowed());
  EXPECT_EQ(limiter.refund(Cost{8}), 0U) << "what came after it stays too";
  held.settle(1);
  EXPECT_EQ(limiter.check(Cost{0}).remaining, 7);
  EXPECT_EQ(limiter.refund(Cost{8}), 3U);
}

TEST(Refund, a_pause_stays) {
  ManualClock clock;
  Limiter limiter{Quota::per_second(1).with_burst(5), clock};
  limiter.charge(Pause{20s});
  limiter.charge(Cost{3});
  EXPECT_EQ(limiter.refund(Cost{100}), 0U) << "until what it asked for has drained";
  EXPECT_EQ(limiter.check().retry_after, 20s);
}

// A cancel, a settlement and other numbers used to end it.
TEST(Pause, of_a_limiter_outlives_what_gives_back) {
  ManualClock clock{1h};
  Limiter limiter{Quota::per_second(1).with_burst(5), clock};
  Reservation held = limiter.reserve({.hold = 1h}, Cost{5});
  Reservation waits = limiter.reserve({.max_wait = 1min}, Cost{2});
  EXPECT_EQ(waits.wait(), 2s);
  limiter.charge(Pause{30s});
  EXPECT_EQ(waits.moment(), std::nullopt) << "it would act in the pause";
  EXPECT_FALSE(waits.granted());
  EXPECT_EQ(waits.cancel(), 0U);
  EXPECT_EQ(held.settle(0), 30s);
  EXPECT_EQ(limiter.check().retry_after, 30s);
  limiter.set_quota(Quota::per_second(100).with_burst(50));
  EXPECT_EQ(limiter.check().retry_after, 30s);
  limiter.charge(Pause{10s});
  EXPECT_EQ(limiter.check().retry_after, 30s) << "of two pauses the later end stands";
  clock.advance(30s);
  EXPECT_TRUE(limiter.check().allowed());
  EXPECT_EQ(limiter.check().retry_after, 10ms) << "and then the pace";
  limiter.charge(Pause{10s});
  limiter.reset();
  EXPECT_EQ(limiter.check(Cost{0}).remaining, 50);
}

TEST(Pause, of_a_limiter_leaves_what_acts_at_its_end_or_later) {
  ManualClock clock{1h};
  Limiter limiter{Quota::per_second(1), clock};
  EXPECT_TRUE(limiter.check().allowed());
  Reservation early = limiter.reserve({.max_wait = 1min});
  Reservation late = limiter.reserve({.max_wait = 1min});
  limiter.charge(Pause{2s});
  EXPECT_EQ(late.moment(), clock.now() + 2s);
  clock.advance(1s);
  EXPECT_EQ(early.moment(), std::nullopt);
  clock.advance(1s);
  EXPECT_EQ(late.moment(), clock.now());
  EXPECT_EQ(limiter.check().retry_after, 1s);
}

TEST(Charge, sliding_windows_cannot_say_it) {
  for (const Algorithm algorithm : {Algorithm::sliding_window_log, Algorithm::sliding_window_counter}) {
    KeyedLimiter limiter{Quota::per_second(2), {.memory = 1_MiB, .algorithm = algorithm}};
    EXPECT_THROW(limiter.charge("k"), std::invalid_argument);
  }
  KeyedLimiter window{Quota::per_second(2), {.memory = 1_MiB, .algorithm = Algorithm::fixed_window}};
  EXPECT_EQ(window.charge("k", Cost{5}).overdraft, 3U);
}

// A limiter with one word, one with keys, and core, under quotas that change, beside reservations that come
// and go.
TEST(Charge, one_limiter_answers_as_the_other_and_as_core) {
  core::Chance random;
  for (int trace = 0; trace < 300; ++trace) {
    ManualClock clock;
    Quota quota = Quota::per_second(1).with_burst(5);
    Limiter one{quota, clock};
    KeyedLimiter keyed{quota, {.memory = 1_MiB, .clock = &clock}};
    core::TwoWords state{};
    for (int step = 0; step < 60; ++step) {
      clock.advance(1ms * (random() % 1'500));
      const auto now = clock.now();
      switch (random() % 4) {
        case 0: {
          const Cost cost{random() % 4};
          const Decision should = core::decide(core::Rule{quota}, state, now, cost).decision();
          state = core::decide(core::Rule{quota}, state, now, cost).next;
          ASSERT_EQ(one.check(cost), should) << trace << " " << step;
          ASSERT_EQ(keyed.check("k", cost), should) << trace << " " << step;
          break;
        }
        case 1:
          quota = Quota::make({static_cast<std::int64_t>(1 + random() % 3), 1s},
                              static_cast<std::int64_t>(1 + random() % 6))
                      .value();
          one.set_quota(quota);
          keyed.set_quota(quota);
          break;
        default: {
          const Outside outside(random() % 2 == 0 ? Outside::Form::cost : Outside::Form::remaining,
                                random() % 8, std::chrono::seconds{random() % 10});
          const core::Overdrawn should = core::overdraw(core::Rule{quota}, state, now, outside);
          state = should.next;
          const std::string text = text_of(should);
          ASSERT_EQ(text_of(one.charge(outside)), text) << trace << " " << step;
          ASSERT_EQ(text_of(keyed.charge("k", outside)), text) << trace << " " << step;
        }
      }
    }
  }
}

TEST(Charge, a_hold_gives_back_what_it_has_left_after_a_charge) {
  ManualClock clock;
  Limiter one{Quota::per_second(1).with_burst(10), clock};
  Reservation held = one.reserve({.hold = 1min}, Cost{6});
  EXPECT_EQ(one.charge(Cost{7}).overdraft, 3U);
  EXPECT_EQ(held.settle(1), std::chrono::nanoseconds{0});
  EXPECT_EQ(one.check(Cost{0}).remaining, 2);
}

}  // namespace
}  // namespace weir::store
