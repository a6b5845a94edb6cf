#include "weir/limiter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(Limiter, admits_the_burst_and_then_says_when) {
  Limiter limiter{Quota::per_minute(100).burst(20)};
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
  limiter.check("a");
  EXPECT_TRUE(limiter.reset("a"));
  EXPECT_FALSE(limiter.reset("a"));
  EXPECT_TRUE(limiter.check("a").allowed());
}

TEST(KeyedLimiter, too_little_memory_is_an_error) {
  try {
    KeyedLimiter limiter(Quota::per_second(1), {.memory = 1000});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "memory: 1000 bytes is below the least allowed (1048576)");
  }
}

}  // namespace
}  // namespace weir
