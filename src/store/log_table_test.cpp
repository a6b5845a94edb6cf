#include "store/log_table.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace weir::inline v0_1::store::log_table_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr Quota kThree = Quota::per(3, 10s);
constexpr core::HashKey kSeed{1, 2};

std::string key(int i) { return "user:" + std::to_string(i); }

Decision ask(LogTable& table, std::string_view name, nanoseconds now, Cost cost = {}) {
  return table.check(table.locate(name), cost, now);
}

// Fills until the first refusal; returns how many keys went in.
int fill(LogTable& table, nanoseconds now) {
  int count = 0;
  while (table.refused() == 0) ask(table, key(count++), now);
  return count - 1;
}

TEST(LogTable, fills_most_of_its_bound) {
  LogTable table(kThree, 1_MiB, WhenFull::deny, kSeed);
  const int filled = fill(table, 1s);
  std::printf("%d of %d slots\n", filled, static_cast<int>(table.capacity()));
  EXPECT_GT(filled, static_cast<int>(table.capacity()) * 3 / 4);
  EXPECT_EQ(table.live(1s), static_cast<std::uint64_t>(filled));
  EXPECT_EQ(table.live(11s), 0U);
}

TEST(LogTable, the_two_buckets_of_a_key_differ_and_all_are_used) {
  for (const std::size_t bytes : {1408U, 2112U, 70'400U}) {
    LogTable table(kThree, bytes, WhenFull::deny, kSeed);
    std::set<std::uint64_t> first;
    std::set<std::uint64_t> second;
    for (int i = 0; i < 10'000; ++i) {
      const LogTable::Place place = table.locate(key(i));
      ASSERT_NE(place.bucket[0], place.bucket[1]);
      first.insert(place.bucket[0]);
      second.insert(place.bucket[1]);
    }
    EXPECT_EQ(first.size() * 8, table.capacity());
    EXPECT_EQ(second.size() * 8, table.capacity());
  }
}

TEST(LogTable, a_flood_of_fresh_keys_makes_no_drained_key_forget) {
  LogTable table(kThree, 1_MiB, WhenFull::deny, kSeed);
  for (int i = 0; i < 5'000; ++i) EXPECT_TRUE(ask(table, key(i), 1s, Cost{3}).allowed());
  for (int i = 0; i < 200'000; ++i) ask(table, "flood:" + std::to_string(i), 2s);
  EXPECT_GT(table.refused(), 180'000U);
  for (int i = 0; i < 5'000; ++i) EXPECT_FALSE(ask(table, key(i), 3s).allowed()) << i;
}

TEST(LogTable, a_key_without_room_is_told_when_there_may_be_some) {
  LogTable table(kThree, 1'408, WhenFull::deny, kSeed);
  ASSERT_EQ(table.capacity(), 16U);
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(ask(table, key(i), (16 - i) * 1s).allowed());
  const Decision decision = ask(table, "new", 10s);
  EXPECT_EQ(decision.verdict, Verdict::denied);
  EXPECT_EQ(decision.limit, 3);
  EXPECT_EQ(decision.remaining, 0);
  EXPECT_EQ(decision.retry_after, 1s);
  EXPECT_EQ(decision.reset_after, 0s);
  EXPECT_EQ(table.refused(), 1U);
  // A look needs no room, and a key that is in goes on.
  EXPECT_TRUE(ask(table, "new", 10s, Cost{0}).allowed());
  EXPECT_EQ(ask(table, "new", 10s, Cost{4}).verdict, Verdict::never);
  EXPECT_TRUE(ask(table, key(3), 10s).allowed());
  EXPECT_EQ(table.refused(), 1U);
  EXPECT_EQ(ask(table, "new", 11s - 1ns).retry_after, 1ns);
  EXPECT_TRUE(ask(table, "new", 11s).allowed());
}

TEST(LogTable, when_full_may_allow) {
  LogTable table(kThree, 1'408, WhenFull::allow, kSeed);
  for (int i = 0; i < 16; ++i) ask(table, key(i), 1s);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(table, "new", 1s).remaining, 2);
  EXPECT_EQ(table.refused(), 10U);
}

TEST(LogTable, a_look_takes_no_slot) {
  LogTable table(kThree, 1_MiB, WhenFull::deny, kSeed);
  for (int i = 0; i < 100; ++i) ask(table, key(i), 1s, Cost{0});
  EXPECT_EQ(table.live(1s), 0U);
}

// A log that was overwritten by a thread whose clock was ahead: what it had admitted still counts for one
// whose clock lags, because that one is decided no earlier than the log was live.
TEST(LogTable, a_lagging_clock_gets_no_second_helping) {
  LogTable table(Quota::per(1, 10s), std::size_t{2} * (320 + 8 * 16), WhenFull::deny, kSeed);
  ASSERT_EQ(table.capacity(), 16U);
  EXPECT_TRUE(ask(table, "key", 1s).allowed());
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(ask(table, key(i), 11s).allowed());
  EXPECT_TRUE(table.reset(table.locate(key(0)), 11s));
  EXPECT_TRUE(ask(table, "key", 9s).allowed());  // decided at 11s
  EXPECT_EQ(ask(table, "key", 19s).retry_after, 2s);
  EXPECT_TRUE(ask(table, "key", 21s).allowed());
}

// A slot that nobody used was live until no time at all: keys in a new table are decided when they come.
TEST(LogTable, a_fresh_slot_delays_nobody) {
  LogTable table(kThree, 1_MiB, WhenFull::deny, kSeed);
  EXPECT_TRUE(ask(table, "key", 0s, Cost{3}).allowed());
  EXPECT_EQ(ask(table, "key", 1s).retry_after, 9s);
}

TEST(LogTable, reset_forgets) {
  LogTable table(kThree, 1_MiB, WhenFull::deny, kSeed);
  EXPECT_FALSE(table.reset(table.locate("key"), 1s));
  ask(table, "key", 1s, Cost{3});
  EXPECT_TRUE(table.reset(table.locate("key"), 1s));
  EXPECT_FALSE(table.reset(table.locate("key"), 1s));
  EXPECT_EQ(ask(table, "key", 1s).remaining, 2);
  EXPECT_FALSE(table.reset(table.locate("key"), 11s));  // it has left
}

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

TEST(LogTable, takes_memory_only_as_it_is_used) {
  const std::size_t before = resident_kib();
  LogTable table(Quota::per_day(100'000), 4096_MiB, WhenFull::deny, kSeed);
  ask(table, "key", 1s, Cost{100'000});
  EXPECT_EQ(table.live(1s), 1U);
  EXPECT_LT(resident_kib(), before + 4096);
}

// Its own test, because ThreadSanitizer keeps a memory of its own of every address that is read.
TEST(LogTable, counting_does_not_fill_the_buckets_with_memory) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP();
#endif
#endif
  LogTable table(Quota::per_day(1), 256_MiB, WhenFull::deny, kSeed);
  const std::size_t before = resident_kib();
  EXPECT_EQ(table.live(1s), 0U);
  EXPECT_LT(resident_kib(), before + 4096);
}

TEST(LogTable, too_little_memory_is_an_error) {
  try {
    LogTable table(Quota::per_day(1'000'000), 64_MiB, WhenFull::deny, kSeed);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "memory: 67108864 bytes is below the minimum for logs of 1000000 admissions (256000640)");
  }
}

}  // namespace
}  // namespace weir::store::log_table_test
