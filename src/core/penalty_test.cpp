#include "core/penalty.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(Penalty, a_rest_is_as_much_longer_each_time_and_never_above_the_most) {
  struct Row {
    PenaltyTerms penalty;
    std::uint64_t breaches;
    nanoseconds rest;
  };
  const PenaltyTerms doubles{.time = 15min, .growing = 2000, .most = 24h};
  const PenaltyTerms by_half{.time = 1s, .growing = 1500, .most = 1h};
  for (const Row& row : {
           Row{{.time = 15min}, 0, 15min},
           Row{{.time = 15min}, 900, 15min},
           Row{doubles, 0, 15min},
           Row{doubles, 1, 30min},
           Row{doubles, 2, 1h},
           Row{doubles, 6, 16h},
           Row{doubles, 7, 24h},
           Row{doubles, 1000, 24h},
           Row{by_half, 1, 1500ms},
           Row{by_half, 3, 3375ms},
           Row{by_half, 20, 3325256730079ns},  // 1.5^20 is 3325.256730079651
           Row{{.time = 1h, .growing = 1000, .most = 2h}, 5, 1h},
           Row{{.time = 24h, .growing = 1'000'000, .most = 24h}, 1000, 24h},
       }) {
    EXPECT_EQ(row.penalty.rest(row.breaches), row.rest) << row.breaches;
  }
}

TEST(Penalty, a_breach_counts_one_more_and_each_most_since_takes_one) {
  const PenaltyTerms penalty{.time = 1s, .growing = 2000, .most = 10s};
  nanoseconds forgotten{0};
  std::uint64_t count = 0;
  const auto breach = [&](nanoseconds now) {
    count = penalty.breaches(forgotten, now);
    forgotten = penalty.forgotten(count, now);
    return count;
  };
  EXPECT_EQ(breach(100s), 0U);
  EXPECT_EQ(breach(101s), 1U);
  EXPECT_EQ(breach(103s), 2U);
  const auto now_it_is = [&](nanoseconds now) { return penalty.breaches(forgotten, now); };
  EXPECT_EQ(now_it_is(103s), 3U);
  EXPECT_EQ(now_it_is(113s - 1ns), 3U);
  EXPECT_EQ(now_it_is(113s), 2U);
  EXPECT_EQ(now_it_is(123s), 1U);
  EXPECT_EQ(now_it_is(133s - 1ns), 1U);
  EXPECT_EQ(now_it_is(133s), 0U);
  EXPECT_EQ(breach(114s), 2U);
  EXPECT_EQ(now_it_is(123s), 3U) << "from the last breach on, not from the one before";
}

TEST(Penalty, a_count_stops_before_times_overflow) {
  const PenaltyTerms penalty{.time = 1s, .growing = 1001, .most = 24h};
  const nanoseconds now = std::chrono::hours{24} * 365 * 60;
  nanoseconds forgotten{0};
  for (int i = 0; i < 2000; ++i) forgotten = penalty.forgotten(penalty.breaches(forgotten, now), now);
  EXPECT_EQ(penalty.breaches(forgotten, now), PenaltyTerms::kMostBreaches);
  EXPECT_GT(forgotten, now);
}

}  // namespace
}  // namespace weir::core
