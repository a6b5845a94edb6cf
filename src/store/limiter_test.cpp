#include "weir/limiter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::store {
namespace {

using namespace std::chrono_literals;

TEST(Limiter, admits_the_burst_and_then_says_when) {
  Limiter limiter{Quota::per_minute(100).with_burst(20)};
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(limiter.check_at(1s).allowed());
  const Decision denied = limiter.check_at(1s);
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.retry_after, 600ms);
  EXPECT_TRUE(limiter.check_at(1600ms).allowed());
  limiter.reset();
  EXPECT_EQ(limiter.check_at(1600ms).remaining, 19);
}

TEST(Limiter, uses_the_steady_clock) {
  Limiter limiter{Quota::per_hour(1)};
  EXPECT_TRUE(limiter.check().allowed());
  EXPECT_FALSE(limiter.check().allowed());
  EXPECT_EQ(limiter.check(Cost{2}).verdict, Verdict::never);
}

TEST(KeyedLimiter, counts_each_key_for_itself) {
  KeyedLimiter limiter{Quota::per_second(2), {.memory = 1_MiB}};
  EXPECT_EQ(limiter.check_at(1s, "a", Cost{2}).remaining, 0);
  EXPECT_FALSE(limiter.check_at(1s, "a").allowed());
  EXPECT_EQ(limiter.check_at(1s, "b").remaining, 1);
  EXPECT_TRUE(limiter.check_at(1s, "").allowed());
}

TEST(KeyedLimiter, a_key_is_any_bytes) {
  KeyedLimiter limiter{Quota::per_hour(1), {.memory = 1_MiB}};
  const std::vector<std::string> keys = {std::string("a\0b", 3),   std::string("a\0c", 3),
                                         std::string("a"),         "\xff\xfe",
                                         std::string("\0", 1),     "\r\n",
                                         std::string(1 << 20, 'x')};
  for (const std::string& key : keys) {
    EXPECT_TRUE(limiter.check(key).allowed());
    EXPECT_FALSE(limiter.check(key).allowed());
  }
  EXPECT_EQ(limiter.live(), keys.size());
}

TEST(KeyedLimiter, a_batch_decides_as_one_by_one_does) {
  constexpr Quota quota = Quota::per_hour(3);
  KeyedLimiter one{quota, {.memory = 1_MiB}};
  KeyedLimiter many{quota, {.memory = 1_MiB}};
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back("key " + std::to_string(i % 120));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<Decision> decisions(keys.size());
  many.check(keys, decisions);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Decision expected = one.check(keys[i]);
    EXPECT_EQ(decisions[i].verdict, expected.verdict) << i;
    EXPECT_EQ(decisions[i].remaining, expected.remaining) << i;
  }
}

TEST(KeyedLimiter, a_batch_does_as_many_as_there_is_place_for) {
  KeyedLimiter limiter{Quota::per_hour(1), {.memory = 1_MiB}};
  const std::array<std::string_view, 3> keys = {"a", "b", "c"};
  std::array<Decision, 2> decisions;
  limiter.check(keys, decisions);
  EXPECT_FALSE(limiter.check("b").allowed());
  EXPECT_TRUE(limiter.check("c").allowed());
  limiter.check({}, decisions);
}

TEST(KeyedLimiter, reset_forgets) {
  KeyedLimiter limiter{Quota::per_hour(1), {.memory = 1_MiB}};
  EXPECT_FALSE(limiter.reset("a"));
  EXPECT_TRUE(limiter.check("a").allowed());
  EXPECT_TRUE(limiter.reset("a"));
  EXPECT_FALSE(limiter.reset("a"));
  EXPECT_TRUE(limiter.check("a").allowed());
}

TEST(KeyedLimiter, too_little_memory_is_an_error) {
  try {
    KeyedLimiter limiter(Quota::per_second(1), {.memory = 1000});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "memory: 1000 bytes is below the minimum (1048576)");
  }
}

constexpr std::array kWindows = {Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                 Algorithm::sliding_window_log, Algorithm::sliding_window_counter};

TEST(KeyedLimiter, counts_by_any_algorithm) {
  for (const Algorithm algorithm : kWindows) {
    KeyedLimiter limiter{Quota::per_hour(3), {.memory = 1_MiB, .algorithm = algorithm}};
    const std::array<std::string_view, 5> keys = {"a", "a", "b", "a", "a"};
    std::array<Decision, 5> decisions;
    limiter.check(keys, decisions);
    // A window by the clock may have ended within the test, once in an hour.
    if (!decisions[4].allowed()) {
      EXPECT_EQ(decisions[0].remaining, 2);
      EXPECT_EQ(decisions[2].remaining, 2);
      EXPECT_EQ(decisions[3].remaining, 0);
      EXPECT_EQ(limiter.check("a").verdict, Verdict::denied);
    }
    EXPECT_EQ(limiter.check("a", Cost{4}).verdict, Verdict::never);
    EXPECT_EQ(limiter.live(), 2U);
    EXPECT_TRUE(limiter.reset("b"));
    EXPECT_FALSE(limiter.reset("b"));
    EXPECT_FALSE(limiter.reset("c"));
    EXPECT_EQ(limiter.live(), 1U);
    EXPECT_EQ(limiter.check("b").remaining, 2);
    EXPECT_GT(limiter.capacity(), 1000U);
    EXPECT_EQ(limiter.refused(), 0U);
  }
}

// The window of a day ends at midnight in UTC, and not a day after the first request.
TEST(KeyedLimiter, windows_by_the_clock_go_by_the_wall_clock) {
  for (const Algorithm algorithm : {Algorithm::fixed_window_clock, Algorithm::sliding_window_counter}) {
    KeyedLimiter limiter{Quota::per_day(1), {.memory = 1_MiB, .algorithm = algorithm}};
    const auto wall_now = [] { return std::chrono::system_clock::now().time_since_epoch(); };
    const auto before = wall_now();
    const auto end = limiter.check("key").reset_after + before;
    const auto slack = wall_now() - before;
    const auto past_midnight = end % 24h;
    EXPECT_TRUE(past_midnight <= slack + 1s || past_midnight >= 24h - slack - 1s) << past_midnight.count();
  }
}

TEST(KeyedLimiter, what_options_are_refused_and_what_they_say) {
  struct Row {
    Quota quota;
    KeyedLimiter::Options options;
    std::string error;
  };
  const Quota far_apart = Quota::make({1, 60'000 * 24h}).value();
  for (const Row& row : std::vector<Row>{
           {Quota::per_second(10).with_burst(20),
            {.algorithm = Algorithm::fixed_window},
            "burst: 20 does not apply to fixed_window, which admits the count (10); only gcra has a burst"},
           {Quota::per_day(4'294'967'296),
            {.algorithm = Algorithm::sliding_window_counter},
            "count: 4294967296 is above the maximum for sliding_window_counter (4294967295)"},
           {far_apart,
            {.algorithm = Algorithm::sliding_window_counter},
            "period: 60000d is above the maximum for sliding_window_counter "
            "(53375d23h53m38.427387903s)"},
           {Quota::per_day(10'000),
            {.memory = 1_MiB, .algorithm = Algorithm::sliding_window_log},
            "memory: 1048576 bytes is below the minimum for logs of 10000 admissions (2560640)"},
           {Quota::per_day(10'000),
            {.memory = 1000, .algorithm = Algorithm::fixed_window},
            "memory: 1000 bytes is below the minimum (1048576)"},
       }) {
    try {
      KeyedLimiter limiter(row.quota, row.options);
      FAIL() << row.error;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), row.error);
    }
  }
  KeyedLimiter just_enough(Quota::per_day(10'000),
                           {.memory = 2'560'640, .algorithm = Algorithm::sliding_window_log});
  EXPECT_EQ(just_enough.capacity(), 16U);
}

}  // namespace
}  // namespace weir::store
