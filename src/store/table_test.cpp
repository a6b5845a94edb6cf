#include "store/table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "store/together_test.hpp"

namespace weir::store {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr Quota kOnce = Quota::per_hour(1);
constexpr core::HashKey kSeed{1, 2};

std::string key(int i) { return "user:" + std::to_string(i); }

Decision ask(Table& table, std::string_view name, nanoseconds now, const Quota& quota = kOnce,
             Cost cost = {}) {
  return table.check(table.locate(name), quota, cost, now);
}

// Fills until the first refusal; returns how many keys went in.
int fill(Table& table, nanoseconds now) {
  int count = 0;
  while (table.refused() == 0) ask(table, key(count++), now);
  return count - 1;
}

TEST(Table, grows_to_its_bound_and_fills_most_of_it) {
  Table table(4_MiB, WhenFull::deny, kSeed);
  EXPECT_EQ(table.allocated_bytes(), 1_MiB);
  const int filled = fill(table, 1s);
  EXPECT_EQ(table.allocated_bytes(), 4_MiB);
  EXPECT_EQ(table.capacity(), 4 * Table::kSlotsPerSegment);
  EXPECT_GT(filled, static_cast<int>(table.capacity()) * 9 / 10) << filled;
  EXPECT_EQ(table.live(1s), static_cast<std::uint64_t>(filled));
}

TEST(Table, a_size_that_is_no_power_of_two_is_used_whole) {
  Table table(7_MiB, WhenFull::deny, kSeed);
  const int filled = fill(table, 1s);
  EXPECT_EQ(table.allocated_bytes(), 7_MiB);
  EXPECT_GT(filled, static_cast<int>(table.capacity()) * 9 / 10) << filled;
}

// Other limiters clear the table when it is full, or evict the oldest, or one at random: each lets a flood of
// fresh keys free a key that owes.
TEST(Table, a_flood_of_fresh_keys_makes_no_drained_key_forget) {
  Table table(1_MiB, WhenFull::deny, kSeed);
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(ask(table, key(i), 1s).allowed());
  for (int i = 0; i < 1'000'000; ++i) ask(table, "flood:" + std::to_string(i), 2s);
  EXPECT_GT(table.refused(), 900'000U);
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(ask(table, key(i), 3s).allowed()) << i;
  EXPECT_EQ(table.allocated_bytes(), 1_MiB);
}

TEST(Table, a_key_without_room_is_told_when_there_may_be_some) {
  Table table(1_MiB, WhenFull::deny, kSeed);
  fill(table, 1s);
  const std::uint64_t refused = table.refused();
  for (int i = 0; table.refused() == refused; ++i) {
    const Decision decision = ask(table, "new:" + std::to_string(i), 2s);
    if (table.refused() == refused) continue;
    EXPECT_EQ(decision.verdict, Verdict::denied);
    EXPECT_EQ(decision.retry_after, 1h - 1s);
    EXPECT_EQ(decision.remaining, 0);
    EXPECT_EQ(decision.reset_after, 0s);
    // A look needs no room.
    EXPECT_TRUE(ask(table, "new:" + std::to_string(i), 2s, kOnce, Cost{0}).allowed());
    EXPECT_TRUE(ask(table, "new:" + std::to_string(i), 2s + *decision.retry_after).allowed());
  }
}

TEST(Table, when_full_may_allow) {
  Table table(1_MiB, WhenFull::allow, kSeed);
  fill(table, 1s);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(ask(table, "new:" + std::to_string(i), 1s).allowed());
  EXPECT_GT(table.refused(), 100U);
}

TEST(Table, what_has_expired_is_room) {
  Table table(1_MiB, WhenFull::deny, kSeed);
  for (int round = 0; round < 20; ++round) {
    const nanoseconds now = round * 2h;
    for (int i = 0; i < 40'000; ++i) {
      ASSERT_TRUE(ask(table, std::to_string(round) + ":" + std::to_string(i), now).allowed());
    }
    EXPECT_EQ(table.live(now), 40'000U);
  }
  EXPECT_EQ(table.refused(), 0U);
  EXPECT_EQ(table.live(100h), 0U);
}

TEST(Table, neither_a_look_nor_never_makes_a_key) {
  Table table(1_MiB, WhenFull::deny, kSeed);
  for (int i = 0; i < 1000; ++i) {
    ask(table, key(i), 1s, kOnce, Cost{0});
    ask(table, key(i), 1s, kOnce, Cost{2});
  }
  EXPECT_EQ(table.live(1s), 0U);
}

// Another thread's reading of the clock may be older than what the table has seen. A key whose slot was
// reused in the meantime must not be decided at a time when it still owed something.
TEST(Table, an_older_now_forgives_nothing_that_was_forgotten) {
  constexpr Quota kQuick = Quota::per_second(1000).with_burst(1);
  Table table(1_MiB, WhenFull::deny, kSeed);
  for (int i = 0; i < 30'000; ++i) ask(table, key(i), 10s, kQuick);  // each owes until 10.001 s
  for (int i = 0; i < 40'000; ++i) ask(table, "other:" + std::to_string(i), 11s, kOnce);  // takes their slots
  int checked = 0;
  for (int i = 0; i < 30'000; ++i) {
    const Decision decision = ask(table, key(i), 10'000'500us, kQuick);
    if (!decision.allowed()) continue;  // kept its slot and still owes, or found no room
    // Counted from no earlier than 10.001 s, so at 10.0015 s it still owes.
    EXPECT_FALSE(ask(table, key(i), 10'001'500us, kQuick).allowed());
    ++checked;
  }
  EXPECT_GT(checked, 1000);
}

TEST(Table, reset_frees_the_slot) {
  Table table(1_MiB, WhenFull::deny, kSeed);
  const int filled = fill(table, 1s);
  for (int i = 0; i < filled; ++i) EXPECT_TRUE(table.reset(table.locate(key(i)), 1s));
  EXPECT_EQ(table.live(1s), 0U);
  EXPECT_FALSE(table.reset(table.locate("nobody"), 1s));
}

constexpr Quota kTen = Quota::per_hour(10);

TEST(Table, several_limits_are_charged_all_or_none) {
  Table table(1_MiB, WhenFull::deny, kSeed);
  const auto a = table.locate("a");
  const auto b = table.locate("b");
  const auto c = table.locate("c");
  std::array<Decision, 3> decisions;
  const std::array<Charge, 3> all = {{{a, &kTen, {}}, {b, &kOnce, {}}, {c, &kTen, Cost{3}}}};
  EXPECT_TRUE(check_all(table, all, 1s, decisions));
  EXPECT_EQ(decisions[0].remaining, 9);
  EXPECT_EQ(decisions[2].remaining, 7);
  EXPECT_FALSE(check_all(table, all, 1s, decisions));
  EXPECT_TRUE(decisions[0].allowed());
  EXPECT_EQ(decisions[1].verdict, Verdict::denied);
  EXPECT_EQ(decisions[1].retry_after, 1h);
  EXPECT_EQ(table.check(a, kTen, Cost{0}, 1s).remaining, 9);
  EXPECT_EQ(table.check(c, kTen, Cost{0}, 1s).remaining, 7);
  EXPECT_EQ(table.live(1s), 3U);
}

TEST(Table, several_limits_are_charged_all_or_none_in_windows_too) {
  for (const Algorithm algorithm :
       {Algorithm::fixed_window, Algorithm::fixed_window_clock, Algorithm::sliding_window_counter}) {
    Table table(1_MiB, WhenFull::deny, kSeed);
    const Limit ten{.rule = {kTen, algorithm}};
    const Limit once{.rule = {kOnce, algorithm}};
    std::array<Check, 2> both = {
        {{.limit = &ten, .key = "a", .cost = Cost{4}}, {.limit = &once, .key = "b"}}};
    for (Check& check : both) check.hash = table.hash(check.key, algorithm, 0);
    EXPECT_TRUE(table.check_all(both, 1h, 1h));
    EXPECT_FALSE(table.check_all(both, 1h, 1h));
    EXPECT_TRUE(both[0].decision.allowed());
    EXPECT_EQ(both[1].decision.verdict, Verdict::denied);
    EXPECT_EQ(table.check(Table::place_of(both[0].hash), ten.rule, Cost{0}, 1h, 1h).remaining, 6);
    EXPECT_EQ(table.live(1h), 2U);
  }
}

TEST(Table, one_key_twice_in_a_request_counts_twice) {
  Table table(1_MiB, WhenFull::deny, kSeed);
  const auto a = table.locate("a");
  std::array<Decision, 2> decisions;
  EXPECT_TRUE(
      check_all(table, std::array<Charge, 2>{{{a, &kTen, Cost{6}}, {a, &kTen, Cost{4}}}}, 1s, decisions));
  EXPECT_EQ(decisions[1].remaining, 0);
  EXPECT_TRUE(table.reset(a, 1s));
  EXPECT_FALSE(
      check_all(table, std::array<Charge, 2>{{{a, &kTen, Cost{6}}, {a, &kTen, Cost{5}}}}, 1s, decisions));
  EXPECT_EQ(table.live(1s), 0U);
}

TEST(Table, several_limits_without_room_for_one_charge_none) {
  for (const WhenFull when_full : {WhenFull::deny, WhenFull::allow}) {
    Table table(1_MiB, when_full, kSeed);
    fill(table, 1s);
    const auto kept = table.locate(key(0));
    table.reset(kept, 1s);
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t before = table.refused();
      std::array<Decision, 2> decisions;
      const auto fresh = table.locate("new:" + std::to_string(i));
      const bool all =
          check_all(table, std::array<Charge, 2>{{{kept, &kTen, {}}, {fresh, &kTen, {}}}}, 1s, decisions);
      if (table.refused() != before) ++refused;
      EXPECT_EQ(all, table.refused() == before || when_full == WhenFull::allow);
      EXPECT_EQ(table.check(kept, kTen, Cost{0}, 1s).remaining, all ? 9 : 10);
      table.reset(kept, 1s);
      table.reset(fresh, 1s);
    }
    EXPECT_GT(refused, 10);
  }
}

// Every entry must still be found when the table has been split many times over and entries have been moved
// about.
TEST(Table, nothing_is_lost_while_it_grows) {
  Table table(32_MiB, WhenFull::deny, kSeed);
  constexpr int kKeys = 1'000'000;
  for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(ask(table, key(i), 1s).allowed());
  for (int i = 0; i < kKeys; ++i) ASSERT_FALSE(ask(table, key(i), 1s).allowed()) << i;
  EXPECT_EQ(table.live(1s), static_cast<std::uint64_t>(kKeys));
}

TEST(Table, a_copy_holds_every_entry_and_can_be_put_back) {
  Table table(4_MiB, WhenFull::deny, kSeed);
  for (int i = 0; i < 120'000; ++i) ask(table, key(i), 1s);
  std::vector<Table::Entry> entries;
  for (std::uint32_t leaf = 0; leaf < table.leaves();) leaf = table.copy_segment(leaf, 1s, entries);
  EXPECT_EQ(entries.size(), 120'000U);
  // Another size, so other segments.
  Table other(3_MiB, WhenFull::deny, kSeed);
  for (const Table::Entry& entry : entries) ASSERT_TRUE(other.restore(entry, 50s));
  for (int i = 0; i < 120'000; ++i) ASSERT_FALSE(ask(other, key(i), 50s).allowed()) << i;
}

// Keys that all belong into the same two buckets would fill them, and fresh keys there would be refused.
// Nobody can find such keys without the seed.
TEST(Table, the_seed_decides_where_keys_go) {
  const Table one(1_MiB, WhenFull::deny, {1, 2});
  const Table two(1_MiB, WhenFull::deny, {1, 3});
  int same = 0;
  for (int i = 0; i < 1000; ++i) same += one.locate(key(i)).bucket == two.locate(key(i)).bucket ? 1 : 0;
  EXPECT_LT(same, 10);
}

}  // namespace
}  // namespace weir::store
