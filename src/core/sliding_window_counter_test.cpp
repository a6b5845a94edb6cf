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
  play(key.under(kTen), {{9s, 10, allowed, 0, kNone, 10s + 1ns},   // until less than one of ten counts
                         {9s, 1, denied, 0, 1s + 1ns, 10s + 1ns},  // just after 10s nine of ten count
                         {11s - 1ns, 1, allowed, 0, kNone, 9s + 2ns},
                         {11s, 1, denied, 0, 1ns, 9s + 1ns},
                         {12s, 2, denied, 1, 1ns, 8s + 1ns},
                         {15s, 4, allowed, 0, kNone, 13s + 1ns},
                         {19s, 4, allowed, 0, kNone, 9'888'888'889ns},
                         {30s, 0, allowed, 10, kNone, 0s}});
}

TEST(SlidingWindowCounter, what_counts_is_rounded_down) {
  Key key;
  play(key.under(kTen), {{9s, 10, allowed, 0, kNone, 10s + 1ns},
                         {12s - 1ns, 0, allowed, 2, kNone, 7s + 2ns},
                         {12s, 0, allowed, 2, kNone, 7s + 1ns},
                         {20s - 1ns, 0, allowed, 10, kNone, 0s},
                         {20s, 0, allowed, 10, kNone, 0s}});
}

TEST(SlidingWindowCounter, a_look_takes_nothing_and_a_cost_above_the_limit_never_passes) {
  Key key;
  play(key.under(kTen), {{5s, 0, allowed, 10, kNone, 0s},
                         {5s, 11, never, 10, kNone, 0s},
                         {5s, 3, allowed, 7, kNone, 11'666'666'667ns},
                         {5s, std::numeric_limits<std::uint64_t>::max(), never, 7, kNone, 11'666'666'667ns},
                         {5s, 0, allowed, 7, kNone, 11'666'666'667ns}});
}

// A cost that does not fit beside `cur` has to wait for the next window, or the one after it.
TEST(SlidingWindowCounter, a_denial_may_wait_into_the_next_windows) {
  Key key;
  play(key.under(kTen), {{2s, 5, allowed, 5, kNone, 16s + 1ns},
                         {2s, 8, denied, 5, 12s + 1ns, 16s + 1ns},   // just after 14s two of five count
                         {2s, 10, denied, 5, 16s + 1ns, 16s + 1ns},  // just after 18s none
                         {16s - 1ns, 8, allowed, 0, kNone, 12'750'000'002ns},
                         {16s, 8, denied, 0, 10'250'000'001ns, 12'750'000'001ns}});
}

TEST(SlidingWindowCounter, a_now_before_the_window_is_its_first_moment) {
  Key key;
  play(key.under(kTen),
       {{5s, 8, allowed, 2, kNone, 13'750'000'001ns},
        {19s, 1, allowed, 9, kNone, 1s + 1ns},
        {19s, 0, allowed, 9, kNone, 1s + 1ns},
        {9s, 0, allowed, 1, kNone, 11s + 1ns},           // all eight and one
        {9s, 3, denied, 1, 2'250'000'001ns, 11s + 1ns},  // where less than seven of eight count
        {9s, 1, allowed, 0, kNone, 16s + 1ns}});
}

TEST(SlidingWindowCounter, under_a_changed_quota_units_are_kept) {
  constexpr Rule kRaised{Quota::per(100, 10s), Algorithm::sliding_window_counter};
  constexpr Rule kLowered{Quota::per(5, 10s), Algorithm::sliding_window_counter};
  constexpr Rule kShort{Quota::per(20, 1s), Algorithm::sliding_window_counter};
  Key key;
  play(key.under(kTen), {{5s, 10, allowed, 0, kNone, 14s + 1ns}});
  play(key.under(kRaised), {{5s, 1, allowed, 89, kNone, 14'090'909'091ns}});
  // Less than five of eleven.
  play(key.under(kLowered), {{5s, 1, denied, 0, 10'454'545'455ns, 14'090'909'091ns}});
  // Eleven count whole until one short window is left.
  play(key.under(kShort),
       {{5s, 10, denied, 9, 14s + 1ns, 14'909'090'910ns}, {5s, 9, allowed, 0, kNone, 14'950'000'001ns}});
  // And units of short windows count, for a long one, as the rest of one.
  Key fast;
  play(fast.under(kShort), {{5s, 20, allowed, 0, kNone, 1'950'000'001ns}});
  play(fast.under(kTen),
       {{5s, 7, denied, 6, 1ns, 1'500'000'001ns}, {5s, 6, allowed, 0, kNone, 10'333'333'334ns}});
  play(fast.under(kShort), {{5s, 1, denied, 0, 10'300'000'001ns, 11'833'333'334ns}});
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
