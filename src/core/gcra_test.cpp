// Examples that can be read aloud. That the rule holds everywhere is tested in tests/agreement.
#include "core/gcra.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core::gcra {
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

constexpr Quota kThree = Quota::per_second(1).with_burst(3);

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
        {1s, kThousandASecond, 0, allowed, 990, kNone, 24h - 1s},  // 10 units are still owed
        {1s, kThousandASecond, 1, allowed, 989, kNone, 11ms}});
}

// More is owed than the new burst has room for: until there is room, the debt drains as it was counted.
TEST(Gcra, a_raised_limit_with_a_small_burst_keeps_its_word) {
  constexpr Quota kThreeASecond = Quota::per_second(3);
  play({{0s, kTenADay, 10, allowed, 0, kNone, 24h},
        {1s, kThreeASecond, 1, denied, 0, 8 * 8640s - 1s, 24h - 1s},
        {8 * 8640s - 1ns, kThreeASecond, 1, denied, 0, 1ns, 2 * 8640s + 1ns},
        {8 * 8640s, kThreeASecond, 1, allowed, 0, kNone, 3 * kThreeASecond.emission_interval()}});
}

// 1/s beside refused requests of 1000/s, and beside looks and costs that never pass.
TEST(Gcra, what_is_not_admitted_changes_nothing_that_another_quota_could_use) {
  constexpr Quota kNarrow = Quota::per_second(1);
  constexpr Quota kWide = Quota::per_second(1000);
  for (const std::uint64_t cost : {1000U, 0U, 1001U}) {
    std::vector<Row> rows = {{0s, kNarrow, 1, allowed, 0, kNone, 1s}};
    for (nanoseconds at = 1ms; at < 1s; at += 1ms) {
      const Verdict verdict = cost == 1000 ? denied : cost == 0 ? allowed : never;
      rows.push_back({at, kWide, cost, verdict, 999, verdict == denied ? 1s - at : kNone, 1s - at});
      rows.push_back({at, kNarrow, 1, denied, 0, 1s - at, 1s - at});
    }
    rows.push_back({1s, kNarrow, 1, allowed, 0, kNone, 1s});
    play(rows);
  }
}

TEST(Gcra, a_lowered_burst_leaves_nothing_and_an_honest_wait) {
  constexpr Quota kTwo = Quota::per_second(1).with_burst(2);
  play({{0s, kThree, 3, allowed, 0, kNone, 3s},
        {0s, kTwo, 1, denied, 0, 2s, 3s},
        {2s, kTwo, 1, allowed, 0, kNone, 2s}});
}

TEST(Gcra, a_lowered_rate_counts_what_is_owed_at_the_new_pace) {
  constexpr Quota kSlow = Quota::per_minute(1).with_burst(3);
  play({{0s, kThree, 2, allowed, 1, kNone, 2s},
        {500ms, kSlow, 1, allowed, 0, kNone, 3min},  // 1.5 units owed count as 2
        {500ms, kSlow, 1, denied, 0, 1min, 3min}});
}

// More is owed than the new burst holds, and the new pace is slower: no wait becomes longer.
TEST(Gcra, a_lowered_limit_locks_nobody_for_longer_than_before) {
  constexpr Quota kMillion = Quota::per_second(1000).with_burst(1'000'000);
  constexpr Quota kFiveADay = Quota::per_day(5);
  play({{0s, kMillion, 1'000'000, allowed, 0, kNone, 1000s},
        {0s, kFiveADay, 1, denied, 0, 999'996ms, 1000s},
        {999'996ms, kFiveADay, 1, allowed, 0, kNone, 24h}});
}

TEST(Gcra, asking_again_too_early_makes_nobody_wait_longer) {
  constexpr Quota kWide = Quota::per_second(10).with_burst(10);
  constexpr Quota kNarrow = Quota::per_second(5).with_burst(5);
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

// A reading of the clock that lags sees a tat that is further ahead than nanoseconds can say: the longest
// that they can is answered, and a verdict and what is left never depend on it.
TEST(Gcra, near_the_end_of_the_range_a_lagging_clock_gets_no_negative_time) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto as_wide = [](const Quota& quota, State state, std::int64_t now, std::uint64_t cost) {
    using Wide = __int128;
    const Wide interval = quota.emission_interval().count();
    const Wide burst = quota.burst();
    const Wide ahead = std::max<Wide>(0, Wide{state.tat} - now);
    const bool other = ahead > 0 && state.interval != static_cast<std::uint64_t>(interval);
    // Under another quota whole units are owed; with the quota's own, exact fractions of them.
    const Wide drains = other ? Wide{state.interval} : interval;
    const Wide owed = other ? (ahead + drains - 1) / drains * interval : ahead;
    const bool fits = Wide{cost} <= burst && owed + Wide{cost} * interval <= burst * interval;
    Decision decision{allowed, quota.burst(), 0, std::nullopt, 0ns};
    Wide after = ahead;
    Wide taken = owed;
    if (cost != 0 && fits) {
      after = taken = owed + Wide{cost} * interval;
    } else if (Wide{cost} > burst) {
      decision.verdict = never;
    } else if (cost != 0) {
      decision.verdict = denied;
      decision.retry_after = nanoseconds{
          static_cast<std::int64_t>(std::min<Wide>(kMost, ahead - (burst - Wide{cost}) * drains))};
    }
    decision.remaining = static_cast<std::int64_t>(std::max<Wide>(0, (burst * interval - taken) / interval));
    decision.reset_after = nanoseconds{static_cast<std::int64_t>(std::min<Wide>(kMost, after))};
    return decision;
  };
  Chance chance;
  const std::int64_t edges[] = {0, 1, 2, kMost / 2, kMost / 2 + 1, kMost - 2, kMost - 1, kMost};
  const std::int64_t intervals[] = {1, 2, 3, 1'000'000'007, kMost / 3, kMost / 2, kMost - 1, kMost};
  int saturated = 0;
  for (int i = 0; i < 300'000; ++i) {
    const auto any = [&](const auto& values) {
      return values[static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(std::size(values)) - 1))];
    };
    const auto quota = [&] {
      const std::int64_t interval = any(intervals);
      const std::int64_t most = kMost / interval;
      return Quota::make({1, nanoseconds{interval}},
                         chance.up_to(1) == 0 ? most : 1 + chance.up_to(most - 1));
    };
    const Quota first = quota().value();
    const Quota second = chance.up_to(1) == 0 ? first : quota().value();
    const std::int64_t burst = first.burst();
    const std::int64_t at = any(edges);
    const State state =
        decide(first, {}, nanoseconds{at}, Cost{static_cast<std::uint64_t>(chance.up_to(1) == 0 ? burst : 1)})
            .next;
    const std::int64_t now = chance.up_to(1) == 0 ? any(edges) : chance.up_to(kMost);
    const std::uint64_t costs[] = {0,
                                   1,
                                   static_cast<std::uint64_t>(second.burst()),
                                   static_cast<std::uint64_t>(second.burst()) + 1,
                                   ~std::uint64_t{0},
                                   static_cast<std::uint64_t>(1 + chance.up_to(second.burst() - 1))};
    for (const std::uint64_t cost : costs) {
      const Step step = decide(second, state, nanoseconds{now}, Cost{cost});
      ASSERT_EQ(step.decision(), as_wide(second, state, now, cost))
          << "tat " << state.tat << " in " << state.interval << " at " << now << " burst " << second.burst()
          << " T " << second.emission_interval().count() << " cost " << cost;
      ASSERT_GE(step.decision().reset_after, 0ns);
      saturated += step.decision().reset_after == nanoseconds::max() ? 1 : 0;
    }
  }
  EXPECT_GT(saturated, 1'000);
}

TEST(Gcra, more_than_one_a_millisecond_counts_units_and_not_milliseconds) {
  constexpr Quota kFast = Quota::per_second(1500).with_burst(1'000'000);
  EXPECT_EQ(decide(kFast, {}, 1s, Cost{1}).decision().remaining, 999'999);
  constexpr Quota kFastest = Quota::per_second(1'000'000'000).with_burst(5);
  EXPECT_EQ(decide(kFastest, {}, 1s, Cost{5}).decision().reset_after, 5ns);
}

TEST(Gcra, is_constexpr) {
  static_assert(decide(kThree, {}, 1s, Cost{1}).decision().remaining == 2);
  static_assert(!decide(kThree, State{20'000'000'000, 1'000'000'000}, 1s, Cost{1}).decision().allowed());
}

// Charged at 0 s: tat 3 s. What is given back at another time is what has not drained.
TEST(Gcra, gives_back_what_has_not_drained) {
  struct Return {
    nanoseconds at;
    std::uint64_t cost;
    nanoseconds tat;
  };
  for (const Return& row : {Return{0s, 3, 0s},         // all of it
                            Return{0s, 1, 2s},         // a part
                            Return{500ms, 1, 2500ms},  // half a unit has drained
                            Return{1s, 1, 3s},         // all of that unit has
                            Return{1s, 3, 1s},         // two are left
                            Return{-1s, 2, 1s},  // a reading of the clock that lags: not more than the cost
                            Return{3s, 3, 3s},   // nothing is owed
                            Return{9s, 3, 3s}, Return{0s, 0, 3s}, Return{0s, 4, 3s}}) {
    const State state{1'003'000'000'000, 1'000'000'000};
    const State left = give_back(kThree, state, 1000s + row.at, Cost{row.cost}, 1000s);
    EXPECT_EQ(left.tat, static_cast<std::uint64_t>((1000s + row.tat).count()))
        << row.cost << " at " << row.at.count();
    EXPECT_EQ(left.interval, state.interval);
  }
}

TEST(Gcra, gives_back_no_more_than_is_owed) {
  EXPECT_EQ(give_back(kThree, {}, 1000s, Cost{1}, 1000s), State{});
  const State little{1'000'500'000'000, 1'000'000'000};
  EXPECT_EQ(give_back(kThree, little, 1000s, Cost{2}, 1000s).tat, 1'000'000'000'000U);
  // A debt that has been counted in another T since.
  const State other{1'001'000'000'000, 500'000'000};
  EXPECT_EQ(give_back(kThree, other, 1000s, Cost{1}, 1000s), other);
}

// Walks all admitted units that were not given back, each with its stamp, as a meter that drains by 1 for
// each ns and may not exceed burst x T: that is the promise for every span at once.
std::uint64_t most_kept(auto give, std::uint64_t number) {
  constexpr Quota kQuota = Quota::per(1, 10ns).with_burst(6);
  struct Admitted {
    std::int64_t at;
    std::uint64_t cost;
    std::int64_t back_at;  // when it will be given back; 0: never
  };
  Chance chance(number);
  State state;
  std::vector<Admitted> open;
  std::vector<Admitted> kept;
  for (std::int64_t now = 1000; now < 4000; now += chance.up_to(12)) {
    std::erase_if(open, [&](const Admitted& each) {
      if (each.back_at > now) return false;
      state = give(kQuota, state, nanoseconds{now}, Cost{each.cost}, nanoseconds{each.at});
      return true;
    });
    const auto cost = static_cast<std::uint64_t>(1 + chance.up_to(5));
    const Step step = decide(kQuota, state, nanoseconds{now}, Cost{cost});
    if (step.changes) state = step.next;
    if (step.verdict != allowed) continue;
    if (chance.up_to(1) == 0) {
      kept.push_back({now, cost, 0});
    } else {
      open.push_back({now, cost, now + chance.up_to(80)});
    }
  }
  std::uint64_t most = 0;
  std::uint64_t meter = 0;
  std::int64_t last = 0;
  for (const Admitted& each : kept) {
    const auto passed = static_cast<std::uint64_t>(each.at - last);
    meter = (meter > passed ? meter - passed : 0) + each.cost * 10;
    last = each.at;
    most = std::max(most, meter);
  }
  return most;
}

TEST(Gcra, what_is_not_given_back_keeps_the_promise) {
  constexpr std::uint64_t kFull = 60;
  int reached = 0;
  for (std::uint64_t number = 1; number <= 3000; ++number) {
    const std::uint64_t most = most_kept(give_back, number);
    ASSERT_LE(most, kFull) << "trace " << number;
    reached += most == kFull ? 1 : 0;
  }
  EXPECT_GT(reached, 100);  // the bound is not merely far away
}

// The canary: giving back all of the cost, drained or not, breaks the promise, and the test above sees it.
TEST(Gcra, giving_back_what_has_drained_would_break_the_promise) {
  const auto give_all = [](const Quota& quota, State state, nanoseconds now, Cost cost, nanoseconds) {
    const auto need = cost.units * static_cast<std::uint64_t>(quota.emission_interval().count());
    return State{state.tat - std::min(need, ahead_of(state.tat, now)), state.interval};
  };
  int over = 0;
  for (std::uint64_t number = 1; number <= 3000; ++number) over += most_kept(give_all, number) > 60 ? 1 : 0;
  EXPECT_GT(over, 100);
}

}  // namespace
}  // namespace weir::core::gcra
