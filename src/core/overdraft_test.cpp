#include "core/overdraft.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>

#include "core/rule.hpp"

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr std::uint64_t kT = 1'000'000'000;  // 1/s
constexpr nanoseconds kNow = 1h;
constexpr auto kN = static_cast<std::uint64_t>(kNow.count());

Rule rule(std::string_view text) {
  const auto parsed = Rule::parse(text);
  EXPECT_TRUE(parsed) << parsed.error();
  return parsed.value();
}

Outside cost(std::uint64_t units, nanoseconds overdraft = 24h) {
  return {Outside::Form::cost, units, overdraft};
}
Outside remaining(std::uint64_t units) { return {Outside::Form::remaining, units, 24h}; }

TEST(Overdraft, charges_whether_there_is_room_or_not) {
  const Rule each_second = rule("1/s burst 5");
  const Overdrawn first = overdraw(each_second, {}, kNow, cost(3));
  EXPECT_EQ(first.next, (TwoWords{kN + 3 * kT, kT}));
  EXPECT_EQ(first.charged, 3U);
  EXPECT_EQ(first.overdraft, 0U);
  EXPECT_EQ(first.wait, 0s);
  EXPECT_EQ(first.reset_after, 3s);

  const Overdrawn second = overdraw(each_second, first.next, kNow, cost(4));
  EXPECT_EQ(second.next, (TwoWords{kN + 7 * kT, kT}));
  EXPECT_EQ(second.charged, 4U);
  EXPECT_EQ(second.dropped, 0U);
  EXPECT_EQ(second.overdraft, 2U);
  EXPECT_EQ(second.wait, 3s);
  EXPECT_EQ(second.reset_after, 7s);
}

TEST(Overdraft, a_part_of_a_unit_beyond_the_burst_is_told_as_one) {
  const Overdrawn told = overdraw(rule("1/s burst 5"), {kN + kT / 2, kT}, kNow, cost(5));
  EXPECT_EQ(told.charged, 5U);
  EXPECT_EQ(told.overdraft, 1U);
  EXPECT_EQ(told.wait, 1500ms);
}

TEST(Overdraft, what_lies_beyond_the_bound_is_dropped) {
  const Rule each_second = rule("1/s burst 5");
  const Overdrawn told = overdraw(each_second, {kN + kT / 2, kT}, kNow, cost(20, 10s));
  EXPECT_EQ(told.next.until, kN + 15 * kT);
  EXPECT_EQ(told.charged, 14U);  // and a half
  EXPECT_EQ(told.dropped, 6U);
  const Overdrawn more = overdraw(each_second, told.next, kNow, cost(1, 10s));
  EXPECT_FALSE(more.changes);
  EXPECT_EQ(more.charged, 0U);
  EXPECT_EQ(more.dropped, 1U);
  EXPECT_EQ(more.overdraft, 10U);
}

TEST(Overdraft, a_lower_bound_than_before_takes_nothing_away) {
  const TwoWords owes{kN + 40 * kT, kT};
  const Overdrawn told = overdraw(rule("1/s burst 5"), owes, kNow, cost(1, 10s));
  EXPECT_EQ(told.next, owes);
  EXPECT_EQ(told.overdraft, 35U);
}

TEST(Overdraft, the_most_that_can_be_said_wraps_nothing) {
  for (const char* text : {"1/s burst 5", "1/d burst 100000", "1000000000/s burst 9000000000000000000"}) {
    const Overdrawn told = overdraw(rule(text), {}, kNow, cost(std::uint64_t{1} << 62, nanoseconds::max()));
    EXPECT_GT(told.next.until, kN) << text;
    EXPECT_EQ(told.charged + told.dropped, std::uint64_t{1} << 62) << text;
    EXPECT_GE(told.wait, 0s) << text;
    EXPECT_EQ(told.reset_after.count(), static_cast<std::int64_t>(told.next.until - kN)) << text;
  }
}

TEST(Overdraft, what_is_left_elsewhere_raises_what_is_owed_and_never_lowers_it) {
  const Rule each_second = rule("1/s burst 5");
  const Overdrawn told = overdraw(each_second, {kN + kT / 2, kT}, kNow, remaining(2));
  EXPECT_EQ(told.next, (TwoWords{kN + 3 * kT, kT}));
  EXPECT_EQ(told.charged, 2U);  // 3 are owed, and 1 was, in part
  EXPECT_EQ(told.wait, 0s);
  const Overdrawn again = overdraw(each_second, told.next, kNow, remaining(3));
  EXPECT_FALSE(again.changes);
  EXPECT_EQ(again.charged, 0U);
  const Overdrawn none = overdraw(each_second, told.next, kNow, remaining(0));
  EXPECT_EQ(none.next, (TwoWords{kN + 5 * kT, kT}));
  EXPECT_EQ(none.wait, 1s);
}

TEST(Overdraft, more_left_than_the_burst_says_nothing) {
  const Overdrawn told = overdraw(rule("1/s burst 5"), {}, kNow, remaining(1000));
  EXPECT_FALSE(told.changes);
  EXPECT_EQ(told.charged, 0U);
  EXPECT_EQ(told.reset_after, 0s);
}

TEST(Overdraft, a_debt_in_another_interval_is_counted_in_this_one_first) {
  // 2.5 units of 2 s each: 3 of 1 s.
  const Overdrawn told = overdraw(rule("1/s burst 5"), {kN + 5 * kT, 2 * kT}, kNow, cost(4));
  EXPECT_EQ(told.next, (TwoWords{kN + 7 * kT, kT}));
  EXPECT_EQ(told.charged, 4U);
  EXPECT_EQ(told.overdraft, 2U);
  const Overdrawn left = overdraw(rule("1/s burst 5"), {kN + 5 * kT, 2 * kT}, kNow, remaining(2));
  EXPECT_FALSE(left.changes) << "3 are owed already";
}

TEST(Overdraft, a_pause_after_more_was_owed_in_another_interval_charges_nothing) {
  // 100 units of 10 ms are owed, and in 100 ms each they are more than may be owed.
  Outside pause = Pause{1s};
  pause.overdraft = 0s;
  const Overdrawn told = overdraw(rule("10/s burst 5"), {kN + kT, kT / 100}, kNow, pause);
  EXPECT_EQ(told.next, (TwoWords{kN + kT + 4 * kT / 10, kT / 10}));
  EXPECT_EQ(told.charged, 0U);
}

TEST(Overdraft, a_charge_of_nothing_changes_nothing) {
  const TwoWords owes{kN + 2 * kT, 2 * kT};
  EXPECT_FALSE(overdraw(rule("1/s burst 5"), owes, kNow, cost(0)).changes);
  EXPECT_FALSE(overdraw(rule("5/h algorithm=fixed_window"), {}, kNow, cost(0)).changes);
}

TEST(Overdraft, a_window_that_is_paused_has_used_all_and_counts_nothing) {
  const Rule window = rule("5/min algorithm=fixed_window");
  const auto end = static_cast<std::uint64_t>((kNow + 10s).count());
  const TwoWords paused = overdraw(window, {}, kNow, Pause{10s, true}).next;
  EXPECT_EQ(paused, (TwoWords{end, fixed_window::kPaused}));
  EXPECT_FALSE(overdraw(window, paused, kNow, cost(7)).changes);
  EXPECT_EQ(overdraw(window, paused, kNow, cost(7)).dropped, 7U);
  EXPECT_FALSE(refund(window, paused, kNow, 7, 0).changes);
  EXPECT_EQ(overdraw(window, paused, kNow, Pause{5s, true}).next, paused);
  EXPECT_EQ(overdraw(window, paused, kNow, remaining(5)).wait, 10s);
  EXPECT_EQ(overdraw(window, paused, kNow + 10s, cost(2)).next.word, 2U);
}

TEST(Overdraft, a_window_counts_beyond_its_number) {
  const Rule window = rule("5/min algorithm=fixed_window");
  const auto end = static_cast<std::uint64_t>((kNow + 1min).count());
  const Overdrawn told = overdraw(window, {}, kNow, cost(7));
  EXPECT_EQ(told.next, (TwoWords{end, 7}));
  EXPECT_EQ(told.charged, 7U);
  EXPECT_EQ(told.overdraft, 2U);
  EXPECT_EQ(told.wait, 1min);
  EXPECT_EQ(decide(window, told.next, kNow, Cost{1}).verdict, Verdict::denied);
  const Overdrawn full = overdraw(window, told.next, kNow, cost(std::uint64_t{1} << 62));
  EXPECT_EQ(full.next.word, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(full.charged, std::numeric_limits<std::uint32_t>::max() - 7U);
  EXPECT_EQ(full.dropped, (std::uint64_t{1} << 62) - full.charged);
}

TEST(Overdraft, a_window_takes_what_is_left_elsewhere) {
  const Rule window = rule("5/min algorithm=fixed_window");
  const Overdrawn told = overdraw(window, {}, kNow, remaining(2));
  EXPECT_EQ(told.next.word, 3U);
  EXPECT_EQ(told.charged, 3U);
  EXPECT_EQ(told.wait, 0s);
  EXPECT_FALSE(overdraw(window, told.next, kNow, remaining(4)).changes);
  EXPECT_EQ(overdraw(window, told.next, kNow, remaining(0)).wait, 1min);
}

TEST(Overdraft, a_window_that_is_over_owes_nothing) {
  const Rule window = rule("5/min algorithm=fixed_window align=clock");
  const Overdrawn told = overdraw(window, {kN, 5}, kNow + 10s, cost(1));
  EXPECT_EQ(told.next, (TwoWords{kN + 60 * kT, 1}));
  EXPECT_EQ(told.reset_after, 50s);
}

TEST(Refund, takes_back_what_has_not_drained_and_leaves_what_has_to_stay) {
  const Rule each_second = rule("1/s burst 5");
  const TwoWords owes{kN + 4 * kT, kT};
  EXPECT_EQ(refund(each_second, owes, kNow, 3, 0).next, (TwoWords{kN + kT, kT}));
  EXPECT_EQ(refund(each_second, owes, kNow, 3, 0).charged, 3U);
  EXPECT_EQ(refund(each_second, owes, kNow + 500ms, 9, 0).charged, 4U) << "the rest of 3.5";
  EXPECT_EQ(refund(each_second, owes, kNow + 500ms, 9, 0).next.until, kN + kT / 2);
  EXPECT_EQ(refund(each_second, owes, kNow, 3, kN + 3 * kT).charged, 1U);
  EXPECT_FALSE(refund(each_second, owes, kNow, 3, std::numeric_limits<std::uint64_t>::max()).changes);
  EXPECT_FALSE(refund(each_second, owes, kNow + 4s, 3, 0).changes);
  EXPECT_EQ(refund(each_second, owes, kNow, std::numeric_limits<std::uint64_t>::max(), 0).charged, 4U);
  // 2.5 units of 2 s each: 3 of 1 s.
  EXPECT_EQ(refund(each_second, {kN + 5 * kT, 2 * kT}, kNow, 2, 0).next, (TwoWords{kN + kT, kT}));
}

TEST(Refund, a_window_falls_and_not_below_nothing) {
  const Rule window = rule("5/min algorithm=fixed_window");
  const TwoWords used{kN + 60 * kT, 4};
  const Overdrawn some = refund(window, used, kNow, 3, 0);
  EXPECT_EQ(some.next, (TwoWords{kN + 60 * kT, 1}));
  EXPECT_EQ(some.charged, 3U);
  EXPECT_EQ(refund(window, used, kNow, 9, 0).charged, 4U);
  EXPECT_FALSE(refund(window, used, kNow + 1min, 1, 0).changes);
}

// Whatever was charged before, a request that passes a check fits beside all of it.
TEST(Overdraft, what_is_admitted_after_it_keeps_the_promise) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int trace = 0; trace < 2'000; ++trace) {
    const auto burst = static_cast<std::int64_t>(1 + below(8));
    const Rule rule{Quota::make({1, 1s}, burst).value()};
    TwoWords state{};
    nanoseconds now = kNow;
    // What the promise says is owed, in nanoseconds, of all that was charged.
    std::uint64_t owed = 0;
    for (int step = 0; step < 40; ++step) {
      const nanoseconds passed{static_cast<std::int64_t>(below(3 * kT))};
      now += passed;
      owed -= std::min(owed, static_cast<std::uint64_t>(passed.count()));
      if (below(2) == 0) {
        const std::uint64_t units = below(12);
        const Overdrawn told = overdraw(rule, state, now, cost(units, 20s));
        owed += told.charged * kT;
        state = told.next;
      } else {
        const Step step_of = decide(rule, state, now, Cost{1});
        if (step_of.verdict == Verdict::allowed) owed += kT;
        state = step_of.next;
        ASSERT_TRUE(step_of.verdict != Verdict::allowed || owed <= static_cast<std::uint64_t>(burst) * kT);
      }
    }
  }
}

}  // namespace
}  // namespace weir::core
