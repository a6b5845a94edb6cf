// Examples that can be read aloud. That the rule holds everywhere is tested in tests/agreement.
#include "core/sliding_window_counter.hpp"

#include <limits>

#include "core/play_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;
using enum Verdict;
using std::chrono::nanoseconds;

constexpr Rule kTen{Quota::per(10, 10s), Algorithm::sliding_window_counter};

TEST(SlidingWindowCounter, the_window_before_fades) {
  Key key;
  play(key.under(kTen), {{9s, 10, allowed, 0, kNone, 11s},  // used until the end of the next window
                         {9s, 1, denied, 0, 2s, 11s},       // at 11s nine of ten count
                         {11s - 1ns, 1, denied, 0, 1ns, 9s + 1ns},
                         {11s, 1, allowed, 0, kNone, 19s},
                         {12s, 2, denied, 1, 1s, 18s},
                         {15s, 4, allowed, 0, kNone, 15s},
                         {19s, 4, allowed, 0, kNone, 11s},
                         {30s, 0, allowed, 10, kNone, 0s}});
}

TEST(SlidingWindowCounter, remaining_is_rounded_down) {
  Key key;
  play(key.under(kTen), {{9s, 10, allowed, 0, kNone, 11s},
                         {12s - 1ns, 0, allowed, 1, kNone, 8s + 1ns},
                         {12s, 0, allowed, 2, kNone, 8s},
                         {20s - 1ns, 0, allowed, 9, kNone, 1ns},
                         {20s, 0, allowed, 10, kNone, 0s}});
}

TEST(SlidingWindowCounter, a_look_takes_nothing_and_a_cost_above_the_limit_never_passes) {
  Key key;
  play(key.under(kTen), {{5s, 0, allowed, 10, kNone, 0s},
                         {5s, 11, never, 10, kNone, 0s},
                         {5s, 3, allowed, 7, kNone, 15s},
                         {5s, std::numeric_limits<std::uint64_t>::max(), never, 7, kNone, 15s},
                         {5s, 0, allowed, 7, kNone, 15s}});
}

// A cost that does not fit beside `cur` has to wait for the next window, or the one after it.
TEST(SlidingWindowCounter, a_denial_may_wait_into_the_next_windows) {
  Key key;
  play(key.under(kTen), {{2s, 5, allowed, 5, kNone, 18s},
                         {2s, 8, denied, 5, 14s, 18s},   // at 16s two of five count
                         {2s, 10, denied, 5, 18s, 18s},  // at 20s none
                         {16s - 1ns, 8, denied, 7, 1ns, 4s + 1ns},
                         {16s, 8, allowed, 0, kNone, 14s}});
}

TEST(SlidingWindowCounter, a_now_before_the_window_is_its_first_moment) {
  Key key;
  play(key.under(kTen), {{5s, 8, allowed, 2, kNone, 15s},
                         {19s, 1, allowed, 8, kNone, 11s},
                         {19s, 0, allowed, 8, kNone, 11s},
                         {9s, 0, allowed, 1, kNone, 21s},  // all eight and one
                         {9s, 3, denied, 1, 3500ms, 21s},  // until 12.5s, where six of eight count
                         {9s, 1, allowed, 0, kNone, 21s}});
}

TEST(SlidingWindowCounter, under_a_changed_quota_units_are_kept) {
  constexpr Rule kRaised{Quota::per(100, 10s), Algorithm::sliding_window_counter};
  constexpr Rule kLowered{Quota::per(5, 10s), Algorithm::sliding_window_counter};
  constexpr Rule kShort{Quota::per(20, 1s), Algorithm::sliding_window_counter};
  Key key;
  play(key.under(kTen), {{5s, 10, allowed, 0, kNone, 15s}});
  play(key.under(kRaised), {{5s, 1, allowed, 89, kNone, 15s}});
  play(key.under(kLowered), {{5s, 1, denied, 0, 5s + 6'363'636'364ns, 15s}});  // 4 of 11 count
  // Eleven count whole until one short window is left.
  play(key.under(kShort), {{5s, 10, denied, 9, 14s + 90'909'091ns, 15s}, {5s, 9, allowed, 0, kNone, 15s}});
  // And units of short windows count, for a long one, as the rest of one.
  Key fast;
  play(fast.under(kShort), {{5s, 20, allowed, 0, kNone, 2s}});
  play(fast.under(kTen), {{5s, 7, denied, 6, 500ms, 2s}, {5s, 6, allowed, 0, kNone, 12s}});
  play(fast.under(kShort), {{5s, 1, denied, 0, 10s + 350ms, 12s}});
}

TEST(SlidingWindowCounter, the_ends_of_the_range) {
  constexpr std::int64_t kMostCount = std::numeric_limits<std::uint32_t>::max();
  constexpr nanoseconds kMostPeriod{(std::int64_t{1} << 62) - 1};
  constexpr nanoseconds kLast{std::numeric_limits<std::int64_t>::max()};
  const auto rule =
      Rule::make(Quota::make({kMostCount, kMostPeriod}).value(), Algorithm::sliding_window_counter);
  ASSERT_TRUE(rule);
  for (const nanoseconds now : {nanoseconds{0}, kMostPeriod - 1ns, kMostPeriod, kLast}) {
    Key key;
    EXPECT_EQ(key.ask(*rule, now, Cost{kMostCount}).remaining, 0);
    const Decision denied_here = key.ask(*rule, now, Cost{1});
    EXPECT_EQ(denied_here.verdict, denied);
    EXPECT_GT(denied_here.retry_after, 0ns);
    EXPECT_LE(denied_here.retry_after, denied_here.reset_after);
    EXPECT_EQ(key.ask(*rule, now, Cost{kMostCount}).retry_after, denied_here.reset_after);
  }
}

}  // namespace
}  // namespace weir::core
