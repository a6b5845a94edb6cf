// Examples that can be read aloud. That the rule holds everywhere is tested in tests/agreement.
#include "core/gcra.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace weir::core::gcra {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

constexpr nanoseconds kNone{-1};

struct Row {
  nanoseconds at;
  Quota quota;
  std::uint64_t cost;
  Verdict verdict;
  std::int64_t remaining;
  nanoseconds retry_after;  // kNone: absent
  nanoseconds reset_after;
};

void play(const std::vector<Row>& rows) {
  State state;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const Step step = decide(row.quota, state, 1000s + row.at, Cost{row.cost});
    if (step.changes) state = step.next;
    EXPECT_EQ(step.decision().verdict, row.verdict) << "row " << i;
    EXPECT_EQ(step.decision().limit, row.quota.burst()) << "row " << i;
    EXPECT_EQ(step.decision().remaining, row.remaining) << "row " << i;
    EXPECT_EQ(step.decision().retry_after.value_or(kNone), row.retry_after) << "row " << i;
    EXPECT_EQ(step.decision().reset_after, row.reset_after) << "row " << i;
  }
}

constexpr Quota kThree = Quota::per_second(1).burst(3);

TEST(Gcra, drains_and_refills) {
  play({{0s, kThree, 1, allowed, 2, kNone, 1s},
        {0s, kThree, 1, allowed, 1, kNone, 2s},
        {0s, kThree, 1, allowed, 0, kNone, 3s},
        {0s, kThree, 1, denied, 0, 1s, 3s},
        {999ms, kThree, 1, denied, 0, 1ms, 2001ms},
        {1s, kThree, 1, allowed, 0, kNone, 3s},
        {60s, kThree, 1, allowed, 2, kNone, 1s}});
}

TEST(Gcra, a_look_takes_nothing_and_is_always_allowed) {
  play({{0s, kThree, 0, allowed, 3, kNone, 0s},
        {0s, kThree, 3, allowed, 0, kNone, 3s},
        {0s, kThree, 0, allowed, 0, kNone, 3s},
        {1s, kThree, 0, allowed, 1, kNone, 2s}});
  EXPECT_FALSE(decide(kThree, {}, 5s, Cost{0}).changes);
}

TEST(Gcra, a_cost_above_the_burst_never_passes_and_takes_nothing) {
  play({{0s, kThree, 4, never, 3, kNone, 0s},
        {0s, kThree, 1, allowed, 2, kNone, 1s},
        {0s, kThree, 4, never, 2, kNone, 1s},
        {0s, kThree, std::numeric_limits<std::uint64_t>::max(), never, 2, kNone, 1s},
        {0s, kThree, std::uint64_t{1} << 55, never, 2, kNone, 1s},
        {0s, kThree, 2, allowed, 0, kNone, 3s}});
}

TEST(Gcra, a_cost_of_the_whole_burst_passes_on_a_fresh_key) {
  play({{0s, kThree, 3, allowed, 0, kNone, 3s},
        {2s, kThree, 3, denied, 2, 1s, 1s},
        {3s, kThree, 3, allowed, 0, kNone, 3s}});
}

TEST(Gcra, five_hundred_denials_move_nothing) {
  State state = decide(kThree, {}, 0s, Cost{3}).next;
  const State before = state;
  for (int i = 0; i < 500; ++i) {
    const Step step = decide(kThree, state, nanoseconds{i}, Cost{1});
    EXPECT_EQ(step.decision().verdict, denied);
    EXPECT_FALSE(step.changes);
    if (step.changes) state = step.next;
  }
  EXPECT_EQ(state, before);
}

constexpr Quota kTenADay = Quota::per_day(10);
constexpr Quota kThousandASecond = Quota::per_second(1000);

TEST(Gcra, a_raised_limit_acts_at_once) {
  play({{0s, kTenADay, 10, allowed, 0, kNone, 24h},
        {1s, kTenADay, 1, denied, 0, 8639s, 24h - 1s},
        {1s, kThousandASecond, 0, allowed, 990, kNone, 10ms},  // 10 units are still owed
        {1s, kThousandASecond, 1, allowed, 989, kNone, 11ms}});
}

TEST(Gcra, a_raised_limit_with_a_small_burst_keeps_its_word) {
  constexpr Quota kOneASecond = Quota::per_second(1);
  play({{0s, kTenADay, 10, allowed, 0, kNone, 24h},
        {1s, kOneASecond, 1, denied, 0, 10s, 10s},
        {10s, kOneASecond, 1, denied, 0, 1s, 1s},
        {11s, kOneASecond, 1, allowed, 0, kNone, 1s}});
}

TEST(Gcra, a_lowered_burst_leaves_nothing_and_an_honest_wait) {
  constexpr Quota kTwo = Quota::per_second(1).burst(2);
  play({{0s, kThree, 3, allowed, 0, kNone, 3s},
        {0s, kTwo, 1, denied, 0, 2s, 3s},
        {2s, kTwo, 1, allowed, 0, kNone, 2s}});
}

TEST(Gcra, a_lowered_rate_counts_what_is_owed_at_the_new_pace) {
  constexpr Quota kSlow = Quota::per_minute(1).burst(3);
  play({{0s, kThree, 2, allowed, 1, kNone, 2s},
        {500ms, kSlow, 1, allowed, 0, kNone, 3min},  // 1.5 units owed count as 2
        {500ms, kSlow, 1, denied, 0, 1min, 3min}});
}

// More is owed than the new burst holds, and the new pace is slower: nobody waits longer than he had to
// before.
TEST(Gcra, a_lowered_limit_locks_nobody_for_longer_than_before) {
  constexpr Quota kMillion = Quota::per_second(1000).burst(1'000'000);
  constexpr Quota kFiveADay = Quota::per_day(5);
  play({{0s, kMillion, 1'000'000, allowed, 0, kNone, 1000s},
        {0s, kFiveADay, 1, denied, 0, 999'996ms, 1000s},
        {999'996ms, kFiveADay, 1, allowed, 0, kNone, 24h}});
}

TEST(Gcra, asking_again_too_early_makes_nobody_wait_longer) {
  constexpr Quota kWide = Quota::per_second(10).burst(10);
  constexpr Quota kNarrow = Quota::per_second(5).burst(5);
  play({{0s, kWide, 10, allowed, 0, kNone, 1s},
        {0s, kNarrow, 1, denied, 0, 600ms, 1s},
        {500ms, kNarrow, 1, denied, 0, 100ms, 500ms},
        {600ms, kNarrow, 1, allowed, 0, kNone, 1s}});
}

TEST(Gcra, near_the_end_of_the_range_nothing_wraps) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Quota longest = Quota::make({1, nanoseconds{kMost}}, 1).value();
  const nanoseconds late{kMost};
  const Step first = decide(longest, {}, late, Cost{1});
  EXPECT_EQ(first.decision().verdict, allowed);
  EXPECT_EQ(first.decision().reset_after.count(), kMost);
  const Step second = decide(longest, first.next, late, Cost{1});
  EXPECT_EQ(second.decision().verdict, denied);
  EXPECT_EQ(second.decision().retry_after->count(), kMost);

  const Quota widest = Quota::make({1, 1ns}, kMost).value();
  EXPECT_EQ(decide(widest, {}, late, Cost{static_cast<std::uint64_t>(kMost)}).decision().remaining, 0);
  EXPECT_EQ(decide(widest, {}, late, Cost{1}).decision().remaining, kMost - 1);
}

TEST(Gcra, more_than_one_a_millisecond_counts_units_and_not_milliseconds) {
  constexpr Quota kFast = Quota::per_second(1500).burst(1'000'000);
  EXPECT_EQ(decide(kFast, {}, 1s, Cost{1}).decision().remaining, 999'999);
  constexpr Quota kFastest = Quota::per_second(1'000'000'000).burst(5);
  EXPECT_EQ(decide(kFastest, {}, 1s, Cost{5}).decision().reset_after, 5ns);
}

TEST(Gcra, is_constexpr) {
  static_assert(decide(kThree, {}, 1s, Cost{1}).decision().remaining == 2);
  static_assert(!decide(kThree, State{20'000'000'000, 1'000'000'000}, 1s, Cost{1}).decision().allowed());
}

}  // namespace
}  // namespace weir::core::gcra
