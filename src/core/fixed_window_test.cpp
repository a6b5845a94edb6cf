// Examples that can be read aloud. That the rule holds everywhere is tested in tests/agreement.
#include "core/fixed_window.hpp"

#include <limits>

#include "core/play_test.hpp"

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;
using enum Verdict;
using std::chrono::nanoseconds;

constexpr std::uint64_t kMostUnits = std::numeric_limits<std::uint64_t>::max();
constexpr Rule kThreeInTen{Quota::per(3, 10s), Algorithm::fixed_window};
constexpr Rule kThreeByTheClock{Quota::per(3, 10s), Algorithm::fixed_window_clock};

TEST(FixedWindow, the_first_request_opens_it) {
  Key key;
  play(key.under(kThreeInTen), {{7s, 1, allowed, 2, kNone, 10s},
                                {8s, 1, allowed, 1, kNone, 9s},
                                {9s, 2, denied, 1, 8s, 8s},
                                {9s, 1, allowed, 0, kNone, 8s},
                                {16s, 1, denied, 0, 1s, 1s},
                                {17s, 3, allowed, 0, kNone, 10s},
                                {27s + 5h, 1, allowed, 2, kNone, 10s}});
}

TEST(FixedWindow, by_the_clock_it_ends_at_a_multiple_of_the_period) {
  Key key;
  play(key.under(kThreeByTheClock), {{7s, 1, allowed, 2, kNone, 3s},
                                     {9s, 2, allowed, 0, kNone, 1s},
                                     {10s - 1ns, 1, denied, 0, 1ns, 1ns},
                                     {10s, 3, allowed, 0, kNone, 10s},
                                     {25s, 1, allowed, 2, kNone, 5s}});
}

TEST(FixedWindow, a_look_takes_nothing_and_opens_nothing) {
  Key key;
  play(key.under(kThreeInTen), {{7s, 0, allowed, 3, kNone, 0s},
                                {8s, 3, allowed, 0, kNone, 10s},
                                {9s, 0, allowed, 0, kNone, 9s},
                                {18s, 0, allowed, 3, kNone, 0s}});
}

TEST(FixedWindow, a_cost_above_the_limit_never_passes) {
  Key key;
  play(key.under(kThreeInTen), {{7s, 4, never, 3, kNone, 0s},
                                {7s, 2, allowed, 1, kNone, 10s},
                                {8s, 4, never, 1, kNone, 9s},
                                {8s, kMostUnits, never, 1, kNone, 9s}});
}

TEST(FixedWindow, a_now_before_the_window_is_in_it) {
  Key key;
  play(key.under(kThreeInTen),
       {{7s, 2, allowed, 1, kNone, 10s}, {6s, 1, allowed, 0, kNone, 11s}, {6s, 1, denied, 0, 11s, 11s}});
  Key by_the_clock;
  play(by_the_clock.under(kThreeByTheClock), {{10s, 2, allowed, 1, kNone, 10s},
                                              {9s, 1, allowed, 0, kNone, 11s},
                                              {9s, 1, denied, 0, 11s, 11s},
                                              {20s, 1, allowed, 2, kNone, 10s}});
}

// Units stay until the end that was stored, whatever the quota becomes.
TEST(FixedWindow, under_a_changed_quota_units_are_kept) {
  constexpr Rule kRaised{Quota::per(100, 1s), Algorithm::fixed_window};
  constexpr Rule kLowered{Quota::per(1, 1h), Algorithm::fixed_window};
  Key key;
  play(key.under(kThreeInTen), {{7s, 3, allowed, 0, kNone, 10s}});
  play(key.under(kRaised), {{8s, 1, allowed, 96, kNone, 9s}, {8s, 97, denied, 96, 9s, 9s}});
  play(key.under(kLowered), {{9s, 1, denied, 0, 8s, 8s}, {17s, 1, allowed, 0, kNone, 1h}});
}

TEST(FixedWindow, the_ends_of_the_range) {
  constexpr auto kLast = nanoseconds{std::numeric_limits<std::int64_t>::max()};
  for (const Algorithm algorithm : {Algorithm::fixed_window, Algorithm::fixed_window_clock}) {
    const Rule rule{Quota::make({kLast.count(), kLast}).value(), algorithm};
    Key key;
    const Decision decision = key.ask(rule, kLast - 1ns, Cost{1});
    EXPECT_EQ(decision.remaining, kLast.count() - 1);
    EXPECT_EQ(decision.reset_after, algorithm == Algorithm::fixed_window ? kLast : 1ns);
    EXPECT_EQ(key.ask(rule, kLast - 1ns, Cost{static_cast<std::uint64_t>(kLast.count())}).verdict, denied);
  }
}

}  // namespace
}  // namespace weir::core
