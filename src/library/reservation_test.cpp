#include "weir/reservation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/limiter.hpp"

namespace weir::inline v0_1::store {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

static_assert(!std::is_copy_constructible_v<weir::Reservation>);
static_assert(std::is_nothrow_move_constructible_v<weir::Reservation>);

// Each kind of limiter as something that reserves and checks: what they have in common is tested of all.
struct OneLimit {
  OneLimit(Quota quota, const Clock& clock) : limiter(quota, clock) {}
  weir::Reservation reserve(ReserveOptions options, Cost cost = {}) { return limiter.reserve(options, cost); }
  Decision check(Cost cost = {}) { return limiter.check(cost); }
  void reset() { limiter.reset(); }
  Limiter limiter;
};
struct OneKey {
  OneKey(Quota quota, const Clock& clock) : limiter(quota, {.memory = 1_MiB, .clock = &clock}) {}
  weir::Reservation reserve(ReserveOptions options, Cost cost = {}) {
    return limiter.reserve("key", options, cost);
  }
  Decision check(Cost cost = {}) { return limiter.check("key", cost); }
  void reset() { limiter.reset("key"); }
  KeyedLimiter limiter;
};
// The limiter's own quota is another one.
struct OneKeyByAQuota {
  OneKeyByAQuota(Quota of_calls, const Clock& clock)
      : quota(of_calls), limiter(Quota::per_hour(1), {.memory = 1_MiB, .clock = &clock}) {}
  weir::Reservation reserve(ReserveOptions options, Cost cost = {}) {
    return limiter.reserve("key", quota, options, cost);
  }
  Decision check(Cost cost = {}) { return limiter.check("key", quota, cost); }
  void reset() { limiter.reset("key"); }
  Quota quota;
  KeyedLimiter limiter;
};
struct OneOfAStore {
  OneOfAStore(Quota quota, const Clock& clock)
      : store({.memory = 1_MiB, .clock = &clock}), limiter(quota, store) {}
  weir::Reservation reserve(ReserveOptions options, Cost cost = {}) {
    return store.reserve({{limiter, "key", cost}}, options);
  }
  Decision check(Cost cost = {}) { return limiter.check("key", cost); }
  void reset() { limiter.reset("key"); }
  LocalStore store;
  KeyedLimiter limiter;
};

template <class Kind>
class EachReservation : public testing::Test {
 protected:
  ManualClock clock{100s};
  Kind kind{Quota::per_second(1).with_burst(2), clock};
};
using Kinds = testing::Types<OneLimit, OneKey, OneKeyByAQuota, OneOfAStore>;
TYPED_TEST_SUITE(EachReservation, Kinds);

TYPED_TEST(EachReservation, gives_each_a_moment_of_its_own_in_their_order) {
  std::vector<weir::Reservation> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(this->kind.reserve({.max_wait = 3s}));
    EXPECT_TRUE(all.back().granted());
    EXPECT_TRUE(all.back().decision().allowed());
    EXPECT_EQ(all.back().wait(), i < 2 ? 0s : (i - 1) * 1s);
    EXPECT_EQ(all.back().at(), 100s + all.back().wait());
    EXPECT_EQ(all.back().left(), all.back().wait());
    EXPECT_EQ(all.back().decision().remaining, std::max(0, 1 - i));
    EXPECT_FALSE(all.back().decision().retry_after);
  }
  EXPECT_EQ(all.back().decision().reset_after, 5s);
  this->clock.advance(3s);  // nobody passes those who wait
  EXPECT_FALSE(this->kind.check().allowed());
  EXPECT_EQ(all.back().left(), 0s);
}

TYPED_TEST(EachReservation, is_denied_at_once_and_uncharged_when_its_moment_is_too_far) {
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  const weir::Reservation late = this->kind.reserve({.max_wait = 700ms});
  EXPECT_FALSE(late.granted());
  EXPECT_EQ(late.decision().verdict, Verdict::denied);
  EXPECT_EQ(late.decision().retry_after, 300ms);  // then the same call is granted
  const weir::Reservation by_default = this->kind.reserve({});
  EXPECT_EQ(by_default.decision().retry_after, 1s);
  EXPECT_EQ(this->kind.reserve({.max_wait = -5s}).decision().retry_after, 1s);
  const weir::Reservation never = this->kind.reserve({.max_wait = nanoseconds::max()}, Cost{3});
  EXPECT_EQ(never.decision().verdict, Verdict::never);
  this->clock.advance(300ms);
  EXPECT_EQ(this->kind.reserve({.max_wait = 700ms}).wait(), 700ms);
}

TYPED_TEST(EachReservation, a_cost_of_0_looks) {
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  const weir::Reservation look = this->kind.reserve({.max_wait = 9s, .hold = 1s}, Cost{0});
  EXPECT_TRUE(look.granted());
  EXPECT_EQ(look.wait(), 0s);
  EXPECT_EQ(this->kind.reserve({.max_wait = 9s}).wait(), 1s);
}

TYPED_TEST(EachReservation, cancelled_before_its_moment_gives_its_units_back_once) {
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  weir::Reservation two = this->kind.reserve({.max_wait = 9s}, Cost{2});
  EXPECT_EQ(two.wait(), 2s);
  EXPECT_EQ(two.cancel(), 2U);
  EXPECT_FALSE(two.granted());
  EXPECT_EQ(two.cancel(), 0U);
  EXPECT_EQ(two.settle(1), std::nullopt);
  weir::Reservation next = this->kind.reserve({.max_wait = 9s});
  EXPECT_EQ(next.wait(), 1s);
  this->clock.advance(1s);  // its moment has come
  EXPECT_EQ(next.cancel(), 0U);
  EXPECT_TRUE(next.granted());
  EXPECT_EQ(this->kind.reserve({.max_wait = 9s}).wait(), 1s);
}

TYPED_TEST(EachReservation, destroyed_before_its_moment_it_is_cancelled_and_after_it_stands) {
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  {
    const weir::Reservation before = this->kind.reserve({.max_wait = 9s});
  }
  {
    const weir::Reservation after = this->kind.reserve({.max_wait = 9s});
    EXPECT_EQ(after.wait(), 1s);
    this->clock.advance(1s);
  }
  EXPECT_EQ(this->kind.reserve({.max_wait = 9s}).wait(), 1s);
}

TYPED_TEST(EachReservation, moved_from_it_is_not_granted_and_cancels_nothing) {
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  weir::Reservation first = this->kind.reserve({.max_wait = 9s});
  weir::Reservation second = std::move(first);
  EXPECT_FALSE(first.granted());  // NOLINT(bugprone-use-after-move): what is left is what is tested
  EXPECT_EQ(first.cancel(), 0U);
  EXPECT_TRUE(second.granted());
  weir::Reservation third = this->kind.reserve({.max_wait = 9s});
  EXPECT_EQ(third.wait(), 2s);
  third = weir::Reservation();  // what it was is cancelled
  EXPECT_FALSE(third.granted());
  third = this->kind.reserve({.max_wait = 9s});
  EXPECT_EQ(third.wait(), 2s);
  EXPECT_EQ(third.cancel(), 1U);
  EXPECT_EQ(second.cancel(), 1U);
}

TYPED_TEST(EachReservation, what_cancels_give_back_mints_nothing_while_others_wait) {
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  weir::Reservation first = this->kind.reserve({.max_wait = 9s});
  const weir::Reservation second = this->kind.reserve({.max_wait = 9s});
  first.cancel();
  EXPECT_EQ(second.at(), 102s);
  EXPECT_FALSE(this->kind.check().allowed());
  this->clock.advance(2s);  // second acts: what the first one gave up is left, where that is a moment
  EXPECT_TRUE(this->kind.check().allowed());
  EXPECT_FALSE(this->kind.check().allowed());
  this->clock.advance(1s);
  EXPECT_TRUE(this->kind.check().allowed());
}

TYPED_TEST(EachReservation, a_reset_ends_what_was_reserved) {
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  weir::Reservation dead = this->kind.reserve({.max_wait = 9s, .hold = 9s});
  this->kind.reset();
  // Others charge as much as it had left.
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  const weir::Reservation others = this->kind.reserve({.max_wait = 9s});
  EXPECT_EQ(others.wait(), 1s);
  EXPECT_EQ(dead.cancel(), 0U);
  EXPECT_EQ(this->kind.reserve({.max_wait = 9s}).wait(), 2s);
  weir::Reservation held = this->kind.reserve({.max_wait = 9s, .hold = 9s});
  this->kind.reset();
  EXPECT_EQ(held.settle(0), std::nullopt);
}

TYPED_TEST(EachReservation, settles_what_it_cost) {
  weir::Reservation less = this->kind.reserve({.hold = 10s}, Cost{2});
  EXPECT_EQ(less.wait(), 0s);
  EXPECT_FALSE(this->kind.check().allowed());
  EXPECT_EQ(less.settle(1), 0ns);  // one is free again
  EXPECT_EQ(less.settle(0), std::nullopt);
  EXPECT_TRUE(this->kind.check().allowed());
  EXPECT_FALSE(this->kind.check().allowed());
  this->clock.advance(2s);
  weir::Reservation more = this->kind.reserve({.hold = 10s});
  EXPECT_EQ(more.settle(8), 7s);  // 8 are owed of 2
  this->clock.advance(7s);
  EXPECT_TRUE(this->kind.check().allowed());
}

TYPED_TEST(EachReservation, gives_its_hold_another_end) {
  weir::Reservation held = this->kind.reserve({.hold = 10s}, Cost{2});
  EXPECT_EQ(held.extend(20s), 20s);
  this->clock.advance(19s);
  EXPECT_EQ(held.extend(-1s), 0s);
  EXPECT_EQ(held.extend(5s), 0s) << "what has ended stays ended";
  EXPECT_EQ(held.settle(0), std::nullopt);

  weir::Reservation later = this->kind.reserve({.max_wait = 9s, .hold = 10s}, Cost{2});
  EXPECT_EQ(later.wait(), 0s);
  weir::Reservation waits = this->kind.reserve({.max_wait = 9s, .hold = 10s}, Cost{2});
  EXPECT_EQ(waits.wait(), 2s);
  EXPECT_EQ(waits.extend(3s), 5s) << "from its moment";
  EXPECT_EQ(later.extend(48h), 24h);
  this->clock.advance(4s);
  EXPECT_EQ(waits.extend(0s), 0s);
  EXPECT_EQ(later.settle(0), 0s) << "less goes back as far as it has not drained";
  weir::Reservation without = this->kind.reserve({.max_wait = 90s}, Cost{2});
  EXPECT_EQ(without.extend(9s), 0s);
  EXPECT_EQ(weir::Reservation().extend(9s), 0s);
  weir::Reservation again = this->kind.reserve({.max_wait = 90s, .hold = 9s});
  nanoseconds told{-1};
  std::optional<nanoseconds> at;
  again.extend(8s, [&](const auto& has) { told = *has; });
  again.moment([&](const auto& moment) { at = *moment; });
  EXPECT_EQ(told, again.left() + 8s);
  EXPECT_EQ(at, again.at());
  this->kind.reset();
  EXPECT_EQ(again.extend(9s), 0s);
}

TYPED_TEST(EachReservation, settles_nothing_once_its_hold_is_over) {
  weir::Reservation late = this->kind.reserve({.hold = 1s}, Cost{2});
  this->clock.advance(1s);
  EXPECT_EQ(late.settle(0), std::nullopt);
  EXPECT_FALSE(this->kind.check(Cost{2}).allowed());
}

TYPED_TEST(EachReservation, makes_nobody_late_by_what_it_gives_back_while_others_wait) {
  weir::Reservation held = this->kind.reserve({.hold = 9s}, Cost{2});
  const weir::Reservation waits = this->kind.reserve({.max_wait = 9s});
  EXPECT_EQ(waits.wait(), 1s);
  EXPECT_EQ(held.settle(0), 0s);
  EXPECT_TRUE(this->kind.check().allowed());
  EXPECT_TRUE(this->kind.check().allowed()) << "by the moment of the other it has drained";
  EXPECT_FALSE(this->kind.check().allowed());
}

TYPED_TEST(EachReservation, gives_back_in_settling_what_those_who_gave_up_waited_for) {
  weir::Reservation held = this->kind.reserve({.hold = 9s}, Cost{2});
  EXPECT_EQ(this->kind.reserve({.max_wait = 9s}).cancel(), 1U);
  EXPECT_EQ(held.settle(0), 0s);
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
}

TYPED_TEST(EachReservation, waits_and_is_held_for_as_long_as_anybody_asks) {
  weir::Reservation held = this->kind.reserve({.max_wait = nanoseconds::max(), .hold = nanoseconds::max()});
  EXPECT_EQ(held.settle(0), 0s);
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  EXPECT_EQ(this->kind.reserve({.max_wait = nanoseconds::max()}).wait(), 1s);
}

TYPED_TEST(EachReservation, can_be_cancelled_until_its_moment_and_says_so) {
  EXPECT_FALSE(this->kind.reserve({}).can_cancel()) << "it acts now";
  EXPECT_TRUE(this->kind.check().allowed());
  weir::Reservation first = this->kind.reserve({.max_wait = 9s});
  weir::Reservation second = this->kind.reserve({.max_wait = 9s});
  EXPECT_TRUE(first.can_cancel());
  EXPECT_TRUE(second.can_cancel());
  EXPECT_EQ(second.cancel(), 1U);
  EXPECT_FALSE(second.can_cancel());
  this->clock.advance(1s);
  EXPECT_FALSE(first.can_cancel());
  EXPECT_EQ(first.cancel(), 0U);
  EXPECT_TRUE(first.granted());
}

TYPED_TEST(EachReservation, tells_a_callback_at_once_what_came_back) {
  EXPECT_TRUE(this->kind.check(Cost{2}).allowed());
  weir::Reservation waits = this->kind.reserve({.max_wait = 9s, .hold = 9s}, Cost{2});
  std::vector<std::uint64_t> told;
  const auto tell = [&](const StoreResult<std::uint64_t>& units) { told.push_back(*units); };
  waits.cancel(tell);
  EXPECT_FALSE(waits.granted());
  waits.cancel(tell);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{2, 0}));

  weir::Reservation held = this->kind.reserve({.max_wait = 9s, .hold = 9s}, Cost{2});
  this->clock.advance(2s);
  std::vector<std::optional<nanoseconds>> settled;
  held.settle(1, [&](const auto& next) { settled.push_back(*next); });
  held.settle(1, [&](const auto& next) { settled.push_back(*next); });
  EXPECT_EQ(settled, (std::vector<std::optional<nanoseconds>>{0ns, std::nullopt}));

  std::string why;
  weir::Reservation before = this->kind.reserve({.max_wait = 9s, .hold = 9s}, Cost{2});
  this->kind.reserve({.max_wait = 9s}).settle(9, [&](const auto& refused) {
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().fault(), Fault::unsuitable);
    why = refused.error().what();
  });
  EXPECT_EQ(
      why,
      "weir::Reservation::settle: the reservation was granted without a hold, so there is nothing to settle");
}

TYPED_TEST(EachReservation, many_threads_never_act_more_than_the_promise) {
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  std::mutex mutex;
  std::vector<weir::Reservation> act;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<weir::Reservation> mine;
      for (int i = 0; i < kEach; ++i) {
        weir::Reservation one = this->kind.reserve({.max_wait = 1h});
        if (!one.granted()) continue;
        // Some cancel at once, some later, the others act.
        if ((i + t) % 3 == 0) one.cancel();
        mine.push_back(std::move(one));
        if (i % 5 == 4) mine[mine.size() / 2].cancel();
      }
      const std::lock_guard lock(mutex);
      for (weir::Reservation& one : mine) {
        if (one.granted()) act.push_back(std::move(one));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<nanoseconds> moments;
  for (const weir::Reservation& one : act) moments.push_back(one.at());
  std::sort(moments.begin(), moments.end());
  EXPECT_GT(moments.size(), std::size_t{kThreads * kEach / 3});
  for (std::size_t i = 2; i < moments.size(); ++i) EXPECT_GE(moments[i] - moments[i - 2], 1s);
}

TEST(KeyedReservation, the_moment_of_a_cancelled_one_goes_to_the_next) {
  ManualClock clock{1s};
  KeyedLimiter limiter{Quota::per_second(1), {.memory = 1_MiB, .clock = &clock}};
  EXPECT_TRUE(limiter.check("key").allowed());
  weir::Reservation first = limiter.reserve("key", {.max_wait = 9s});
  const weir::Reservation second = limiter.reserve("key", {.max_wait = 9s});
  EXPECT_EQ(first.cancel(), 1U);
  EXPECT_EQ(limiter.reserve("key", {.max_wait = 9s}).wait(), 1s);
  EXPECT_EQ(limiter.reserve("other", {.max_wait = 9s}).wait(), 0s);
}

TEST(KeyedReservation, is_of_gcra_alone) {
  for (const Algorithm algorithm : {Algorithm::fixed_window, Algorithm::sliding_window_log}) {
    KeyedLimiter limiter{Quota::per_second(1), {.memory = 1_MiB, .algorithm = algorithm}};
    EXPECT_THROW(static_cast<void>(limiter.reserve("key")), std::invalid_argument);
  }
  LocalStore store{{.memory = 1_MiB}};
  KeyedLimiter windows{Quota::per_second(1), store, Algorithm::fixed_window};
  EXPECT_THROW(static_cast<void>(store.reserve({{windows, "key"}})), std::invalid_argument);
}

TEST(KeyedReservation, outlives_its_limiter) {
  ManualClock clock{1s};
  weir::Reservation left;
  {
    KeyedLimiter limiter{Quota::per_second(1), {.memory = 1_MiB, .clock = &clock}};
    EXPECT_TRUE(limiter.check("key").allowed());
    left = limiter.reserve("key", {.max_wait = 9s});
  }
  EXPECT_EQ(left.cancel(), 1U);
}

TEST(StoreReservation, charges_all_limits_as_of_one_moment_or_none) {
  ManualClock clock{1s};
  LocalStore store{{.memory = 1_MiB, .clock = &clock}};
  KeyedLimiter users{Quota::per_second(1), store};
  KeyedLimiter tenants{Quota::per_second(10).with_burst(20), store};
  EXPECT_TRUE(users.check("u").allowed());
  weir::Reservation both = store.reserve({{tenants, "t"}, {users, "u"}}, {.max_wait = 2s});
  EXPECT_EQ(both.wait(), 1s);
  EXPECT_EQ(both.by(), 1U);
  EXPECT_EQ(tenants.check("t", Cost{0}).reset_after, 1100ms);
  const weir::Reservation denied = store.reserve({{tenants, "t"}, {users, "u"}}, {.max_wait = 1s});
  EXPECT_FALSE(denied.granted());
  EXPECT_EQ(denied.by(), 1U);
  EXPECT_EQ(both.cancel(), 1U);
  EXPECT_EQ(tenants.check("t", Cost{0}).reset_after, 0s);
  EXPECT_EQ(users.check("u", Cost{0}).reset_after, 1s);
}

TEST(StoreReservation, says_what_is_wrong_with_its_limits) {
  LocalStore store{{.memory = 1_MiB}};
  LocalStore other{{.memory = 1_MiB}};
  KeyedLimiter here{Quota::per_second(1), store};
  KeyedLimiter there{Quota::per_second(1), other};
  EXPECT_THROW(static_cast<void>(store.reserve(std::span<const KeyedCheck>())), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(store.reserve({{there, "a"}})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(store.reserve({{here, "a"}, {here, "a"}}, {.max_wait = 1s})),
               std::invalid_argument);
}

TEST(LimiterReservation, leaves_its_moment_to_the_next) {
  ManualClock clock{1s};
  Limiter limiter{Quota::per_second(1), clock};
  EXPECT_TRUE(limiter.check().allowed());
  weir::Reservation first = limiter.reserve({.max_wait = 9s});
  weir::Reservation second = limiter.reserve({.max_wait = 9s});
  EXPECT_EQ(first.cancel(), 1U);
  EXPECT_FALSE(first.granted());
  weir::Reservation third = limiter.reserve({.max_wait = 9s});
  EXPECT_EQ(third.wait(), 1s);
  EXPECT_EQ(second.cancel(), 1U);
  EXPECT_EQ(limiter.reserve({.max_wait = 9s}).wait(), 2s);
}

TEST(LimiterReservation, many_that_leave_in_any_order_leave_it_free) {
  for (const bool in_order : {true, false}) {
    ManualClock clock{1s};
    Limiter limiter{Quota::per_second(1), clock};
    EXPECT_TRUE(limiter.check().allowed());
    std::vector<weir::Reservation> waiting;
    for (int i = 0; i < 50; ++i) waiting.push_back(limiter.reserve({.max_wait = 100s}));
    if (in_order) {
      for (weir::Reservation& each : waiting) each = weir::Reservation();
    } else {
      while (!waiting.empty()) waiting.pop_back();
    }
    EXPECT_EQ(limiter.check().retry_after, 1s);
  }
}

TEST(LimiterReservation, before_the_clock_began_is_at_its_beginning) {
  ManualClock clock{-5s};
  Limiter limiter{Quota::per_second(1).with_burst(3), clock};
  EXPECT_TRUE(limiter.check(Cost{3}).allowed());
  EXPECT_FALSE(limiter.check().allowed());
  EXPECT_FALSE(limiter.reserve().granted());
  KeyedLimiter keyed{Quota::per_second(1).with_burst(3), {.memory = 1_MiB, .clock = &clock}};
  EXPECT_TRUE(keyed.check("k", Cost{3}).allowed());
  EXPECT_FALSE(keyed.check("k").allowed());
  EXPECT_FALSE(keyed.reserve("k").granted());
}

}  // namespace
}  // namespace weir::store
