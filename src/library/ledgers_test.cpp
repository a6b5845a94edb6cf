// What may be taken back of reservations, in each form of limiter alike: nothing that others have been
// charged beyond, nothing that has drained by any reading of the clock, nothing that was counted by other
// numbers.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/set_clock_test.hpp"
#include "store/embedded_store.hpp"
#include "store/key_holds.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::store {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// One key of one limiter, in one of its forms, under a time of the caller's.
struct Form {
  std::string name;
  std::function<std::uint64_t(nanoseconds, std::uint64_t)> check;  // the units admitted
  std::function<weir::Reservation(nanoseconds, ReserveOptions, std::uint64_t)> reserve;
};

std::vector<Form> forms(Quota quota) {
  auto limiter = std::make_shared<Limiter>(quota, kSetClock);
  auto keyed =
      std::make_shared<KeyedLimiter>(quota, KeyedLimiter::Options{.memory = 1_MiB, .clock = &kSetClock});
  auto store = std::make_shared<LocalStore>(LocalStore::Options{.memory = 1_MiB, .clock = &kSetClock});
  auto inside = std::make_shared<KeyedLimiter>(quota, *store);
  auto wide = std::make_shared<KeyedLimiter>(Quota::per_second(1'000'000).with_burst(1'000'000), *store);
  return {
      {"Limiter",
       [=](nanoseconds now, std::uint64_t cost) {
         return at_time(now, *limiter).check(Cost{cost}).allowed() ? cost : 0;
       },
       [=](nanoseconds now, ReserveOptions options, std::uint64_t cost) {
         return at_time(now, *limiter).reserve(options, Cost{cost});
       }},
      {"KeyedLimiter",
       [=](nanoseconds now, std::uint64_t cost) {
         return at_time(now, *keyed).check("k", Cost{cost}).allowed() ? cost : 0;
       },
       [=](nanoseconds now, ReserveOptions options, std::uint64_t cost) {
         return at_time(now, *keyed).reserve("k", options, Cost{cost});
       }},
      {"LocalStore",
       [=](nanoseconds now, std::uint64_t cost) {
         const std::vector<KeyedCheck> both = {{*wide, "k", Cost{1}}, {*inside, "k", Cost{cost}}};
         return at_time(now, *store).check_all(both).allowed() ? cost : 0;
       },
       [=](nanoseconds now, ReserveOptions options, std::uint64_t cost) {
         const std::vector<KeyedCheck> both = {{*wide, "k", Cost{1}}, {*inside, "k", Cost{cost}}};
         return at_time(now, *store).reserve(both, options);
       }},
  };
}

std::uint64_t most_at(const Form& form, nanoseconds now, std::uint64_t tries) {
  std::uint64_t admitted = 0;
  for (std::uint64_t i = 0; i < tries; ++i) admitted += form.check(now, 1);
  return admitted;
}

TEST(InLedgers, an_earlier_settlement_moves_what_a_later_one_gives_back) {
  for (const Form& form : forms(Quota::per_second(1).with_burst(15))) {
    SCOPED_TRACE(form.name);
    weir::Reservation first = form.reserve(0s, {.hold = 60s}, 10);
    weir::Reservation second = form.reserve(0s, {.hold = 60s}, 5);
    EXPECT_EQ(at_time(5s, first).settle(0), 0s);
    EXPECT_EQ(form.check(10s, 15), 15U);
    // All of the second has drained by then, and nothing of it goes back.
    EXPECT_EQ(at_time(10s, second).settle(0), 1s);
    EXPECT_EQ(most_at(form, 10s, 20), 0U);
  }
}

TEST(InLedgers, a_settlement_by_a_clock_that_lags_gives_back_nothing_that_has_drained) {
  for (const Form& form : forms(Quota::per_second(1).with_burst(10))) {
    SCOPED_TRACE(form.name);
    weir::Reservation held = form.reserve(100s, {.hold = 60s}, 10);
    EXPECT_EQ(form.check(110s, 10), 10U);
    EXPECT_EQ(at_time(101s, held).settle(0), 10s);
    EXPECT_EQ(most_at(form, 110s, 20), 0U);
  }
  for (const Form& form : forms(Quota::per_second(1).with_burst(10))) {
    SCOPED_TRACE(form.name);
    weir::Reservation held = form.reserve(100s, {.hold = 60s}, 10);
    EXPECT_EQ(form.check(109s, 1), 1U);
    EXPECT_TRUE(at_time(101s, held).settle(0).has_value());
    EXPECT_EQ(most_at(form, 109s, 20), 9U);
  }
}

TEST(InLedgers, what_a_settlement_frees_is_there_for_those_who_make_nobody_late) {
  for (const Form& form : forms(Quota::per_second(1).with_burst(10))) {
    SCOPED_TRACE(form.name);
    weir::Reservation held = form.reserve(0s, {.hold = 60s}, 10);
    weir::Reservation waits = form.reserve(0s, {.max_wait = 60s}, 5);
    EXPECT_EQ(waits.at(), 5s);
    EXPECT_TRUE(at_time(2s, held).settle(4).has_value());
    EXPECT_EQ(most_at(form, 2s, 20), 6U);
  }
}

TEST(InLedgers, holds_that_end_by_their_time_give_nothing_back) {
  for (const Form& form : forms(Quota::per_second(1).with_burst(10))) {
    SCOPED_TRACE(form.name);
    weir::Reservation held = form.reserve(0s, {.hold = 2s}, 10);
    EXPECT_EQ(at_time(2s, held).settle(0), std::nullopt);
    EXPECT_EQ(most_at(form, 2s, 20), 2U);
  }
}

// Two quotas of one key: what is held was charged under the slow one.
class OtherNumbers : public testing::Test {
 protected:
  weir::Reservation hold(nanoseconds now, std::uint64_t cost, const Quota& quota) {
    return at_time(now, limiter_).reserve("k", quota, {.hold = 60s}, Cost{cost});
  }
  std::uint64_t admitted(nanoseconds now, const Quota& quota) {
    std::uint64_t sum = 0;
    while (at_time(now, limiter_).check("k", quota).allowed()) ++sum;
    return sum;
  }
  KeyedLimiter limiter_{Quota::per_second(1), {.memory = 1_MiB, .clock = &kSetClock}};
};

TEST_F(OtherNumbers, holds_give_nothing_back_once_the_key_was_charged_by_another_t) {
  const Quota slow = Quota::per_second(1).with_burst(10);
  const Quota fast = Quota::per_second(10).with_burst(11);
  std::vector<weir::Reservation> held;
  nanoseconds now = 0s;
  for (int i = 0; i < 9; ++i, now += 1100ms) {
    held.push_back(hold(now, 10, slow));
    ASSERT_TRUE(held.back().granted()) << i;
    ASSERT_TRUE(at_time(now, limiter_).check("k", fast).allowed()) << i;
  }
  for (weir::Reservation& each : held) EXPECT_TRUE(at_time(now, each).settle(0).has_value());
  EXPECT_LE(admitted(now, slow), 11U);
}

TEST_F(OtherNumbers, a_hold_after_the_change_gives_back_what_it_was_charged) {
  const Quota slow = Quota::per_second(1).with_burst(10);
  const Quota fast = Quota::per_second(10).with_burst(20);
  weir::Reservation before = hold(0s, 5, slow);
  EXPECT_TRUE(at_time(0s, limiter_).check("k", fast).allowed());
  weir::Reservation after = hold(0s, 8, fast);
  EXPECT_TRUE(at_time(0s, before).settle(0).has_value());
  EXPECT_EQ(at_time(0s, limiter_).check("k", fast, Cost{0}).remaining, 6);
  EXPECT_TRUE(at_time(0s, after).settle(0).has_value());
  EXPECT_EQ(at_time(0s, limiter_).check("k", fast, Cost{0}).remaining, 14);
}

TEST_F(OtherNumbers, a_drained_key_that_is_charged_again_owes_nothing_to_its_old_holds) {
  const Quota slow = Quota::per_second(1).with_burst(10);
  weir::Reservation held = hold(0s, 10, slow);
  at_time(0s, limiter_).reset("k");
  EXPECT_TRUE(at_time(0s, limiter_).check("k", slow, Cost{10}).allowed());
  EXPECT_EQ(at_time(1s, held).settle(0), std::nullopt);
  EXPECT_EQ(admitted(1s, slow), 1U);
}

TEST(InLedgers, forgets_nothing_of_a_row_of_holds_that_end_in_any_order) {
  // The first one's units end where those of all that were settled before it have gone back.
  for (const int step : {1, 3, 7}) {
    Limiter limiter{Quota::per_second(1).with_burst(1000), kSetClock};
    std::vector<weir::Reservation> held;
    for (int i = 0; i < 100; ++i) held.push_back(at_time(0s, limiter).reserve({.hold = 1h}, Cost{10}));
    std::int64_t free = 0;
    for (std::size_t i = 0, which = 0; i < held.size();
         ++i, which = (which + static_cast<std::size_t>(step)) % 100) {
      EXPECT_TRUE(at_time(0s, held[which]).settle(4).has_value());
      free += 6;
      ASSERT_EQ(at_time(0s, limiter).check(Cost{0}).remaining, free);
    }
  }
}

TEST(KeyHolds, say_when_enough_of_them_will_have_ended) {
  KeyHolds holds;
  for (int i = 0; i < 100; ++i) holds.add(10s + 1s * i, {0, static_cast<std::uint64_t>(i)}, 1);
  EXPECT_EQ(holds.until_fits(1, 101, 0s), 0s);
  EXPECT_EQ(holds.until_fits(1, 100, 0s), 10s);
  EXPECT_EQ(holds.until_fits(10, 100, 0s), 19s);
  EXPECT_EQ(holds.until_fits(64, 100, 0s), 73s);
  EXPECT_EQ(holds.until_fits(90, 100, 0s), 73s) << "more than kLooked would have to end first";
  EXPECT_EQ(holds.until_fits(101, 100, 0s), -1ns);
  EXPECT_EQ(holds.until_fits(11, 100, 20s), 0s);
  holds.remove(50s, {0, 40});
  EXPECT_EQ(holds.until_fits(12, 100, 20s), 0s);
}

}  // namespace
}  // namespace weir::store
