// Examples that can be read aloud. That the rule holds everywhere is tested in tests/agreement.
#include "core/sliding_window_log.hpp"

#include <limits>

#include "core/play_test.hpp"

namespace weir::inline v0_1::core::sliding_window_log {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

constexpr Quota kThreeAnyTen = Quota::per(3, 10s);

struct Logged {
  State log{};
  std::vector<Entry> ring = std::vector<Entry>(3);

  auto under(const Quota& quota) {
    return [this, quota](nanoseconds now, Cost cost) {
      const State before = log;
      const Decision decision = decide(quota, log, ring, now, cost);
      EXPECT_EQ(decision.limit, quota.rate().count);
      EXPECT_EQ(log != before, decision.allowed() && cost.units != 0);
      return decision;
    };
  }
};

TEST(SlidingWindowLog, what_is_one_period_old_has_left) {
  Logged key;
  play(key.under(kThreeAnyTen), {{1s, 1, allowed, 2, kNone, 10s},
                                 {4s, 1, allowed, 1, kNone, 10s},
                                 {9s, 1, allowed, 0, kNone, 10s},
                                 {9s, 1, denied, 0, 2s, 10s},
                                 {9s, 2, denied, 0, 5s, 10s},
                                 {9s, 3, denied, 0, 10s, 10s},
                                 {11s - 1ns, 1, denied, 0, 1ns, 8s + 1ns},
                                 {11s, 1, allowed, 0, kNone, 10s},
                                 {14s, 2, denied, 1, 5s, 7s},
                                 {60s, 3, allowed, 0, kNone, 10s}});
}

TEST(SlidingWindowLog, a_look_takes_nothing_and_a_cost_above_the_limit_never_passes) {
  Logged key;
  play(key.under(kThreeAnyTen), {{1s, 0, allowed, 3, kNone, 0s},
                                 {1s, 4, never, 3, kNone, 0s},
                                 {1s, 2, allowed, 1, kNone, 10s},
                                 {2s, 0, allowed, 1, kNone, 9s},
                                 {2s, std::numeric_limits<std::uint64_t>::max(), never, 1, kNone, 9s},
                                 {11s, 0, allowed, 3, kNone, 0s}});
}

TEST(SlidingWindowLog, admissions_at_one_time_are_one_entry) {
  Logged key;
  play(key.under(kThreeAnyTen), {{1s, 1, allowed, 2, kNone, 10s}, {1s, 2, allowed, 0, kNone, 10s}});
  EXPECT_EQ(key.log.count, 1U);
  EXPECT_EQ(key.ring[0].units, 3U);
}

TEST(SlidingWindowLog, the_ring_goes_round) {
  Logged key;
  for (int i = 0; i < 100; ++i) {
    play(key.under(kThreeAnyTen), {{i * 4s, 1, allowed, i == 0 ? 2 : i == 1 ? 1 : 0, kNone, 10s}});
  }
  EXPECT_EQ(key.log.count, 3U);
}

// An admission is written down no earlier than the newest one: what was dropped for that one is past for all.
TEST(SlidingWindowLog, a_now_that_was_overtaken_counts_from_the_newest) {
  Logged key;
  play(key.under(kThreeAnyTen), {{1s, 2, allowed, 1, kNone, 10s},
                                 {11s, 1, allowed, 2, kNone, 10s},
                                 {10s, 2, allowed, 0, kNone, 11s},
                                 {10s, 1, denied, 0, 11s, 11s},
                                 {21s - 1ns, 1, denied, 0, 1ns, 1ns},
                                 {21s, 3, allowed, 0, kNone, 10s}});
}

TEST(SlidingWindowLog, under_a_changed_quota_units_are_kept) {
  constexpr Quota kOne = Quota::per(1, 10s);
  constexpr Quota kLonger = Quota::per(3, 20s);
  Logged key;
  play(key.under(kThreeAnyTen), {{1s, 1, allowed, 2, kNone, 10s}, {2s, 2, allowed, 0, kNone, 10s}});
  play(key.under(kOne), {{3s, 1, denied, 0, 9s, 9s}});
  play(key.under(kLonger), {{12s, 1, denied, 0, 9s, 10s}});
}

// A ring that grows only when it is full, as a simulation of many keys keeps one.
TEST(SlidingWindowLog, a_ring_may_grow) {
  constexpr Quota kThousand = Quota::per(1000, 1000s);
  State log;
  std::vector<Entry> ring(1);
  for (int i = 0; i < 3000; ++i) {
    if (log.count == ring.size()) {
      std::vector<Entry> longer(2 * ring.size());
      for (std::uint32_t e = 0; e < log.count; ++e) longer[e] = ring[(log.head + e) % ring.size()];
      log.head = 0;
      ring = longer;
    }
    EXPECT_TRUE(decide(kThousand, log, ring, i * 1s, Cost{1}).allowed());
  }
  EXPECT_EQ(log.count, 1000U);
  EXPECT_EQ(decide(kThousand, log, ring, 2999s, Cost{1}).retry_after, 1s);
}

TEST(SlidingWindowLog, the_ends_of_the_range) {
  constexpr std::int64_t kMostCount = std::numeric_limits<std::uint32_t>::max();
  constexpr nanoseconds kLast{std::numeric_limits<std::int64_t>::max()};
  constexpr nanoseconds kPeriod = kLast / kMostCount * kMostCount;
  const Quota quota = Quota::make({kMostCount, kPeriod}).value();
  State log;
  std::vector<Entry> ring(2);
  EXPECT_EQ(decide(quota, log, ring, kLast, Cost{kMostCount}).reset_after, kPeriod);
  EXPECT_EQ(decide(quota, log, ring, kLast, Cost{1}).retry_after, kPeriod);
  EXPECT_EQ(log.used, kMostCount);
}

}  // namespace
}  // namespace weir::core::sliding_window_log
