#include "store/table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "store/together_test.hpp"

namespace weir::inline v0_1::store::table_test {
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

TEST(Table, a_size_that_is_not_a_power_of_two_is_used_whole) {
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

// As a check by another quota: what has drained by then, has drained once.
TEST(Table, an_older_now_recounts_no_earlier_than_the_last_who_did) {
  constexpr Quota kSeconds = Quota::per_second(1).with_burst(10);
  constexpr Quota kTens = Quota::per(1, 10s).with_burst(10);
  Table table(1_MiB, WhenFull::deny, kSeed);
  const auto place = table.locate("key");
  EXPECT_TRUE(table.check(place, kSeconds, Cost{5}, 100s).allowed());  // owes 5 units, until 105 s
  EXPECT_TRUE(table.check(place, kTens, Cost{1}, 104s).allowed());     // owes 1 and 1 more, until 124 s
  EXPECT_TRUE(table.raise(place, kSeconds, 0, 100s));
  EXPECT_EQ(nanoseconds{table.state_of(place).until}, 106s);  // still 2 units, as of 104 s
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
    EXPECT_EQ(table.check(Table::place_of(both[0].hash), ten, Cost{0}, 1h, 1h).remaining, 6);
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

// What a limit says of a full table holds for it, whatever the table's own way.
TEST(Table, a_limit_may_say_what_happens_to_its_new_keys_when_there_is_no_room) {
  for (const WhenFull of_table : {WhenFull::deny, WhenFull::allow}) {
    Table table(1_MiB, of_table, kSeed);
    fill(table, 1s);
    int refused = 0;
    for (int i = 0; i < 100; ++i) {
      for (const WhenFull of_limit : {WhenFull::deny, WhenFull::allow}) {
        const Limit limit{.rule = core::Rule{kTen}, .when_full = of_limit};
        const auto fresh = table.locate("new:" + std::to_string(i));
        const std::uint64_t before = table.refused();
        const bool allowed = table.check(fresh, limit, {}, 1s, 1s).allowed();
        if (table.refused() == before) break;  // it found room
        ++refused;
        EXPECT_EQ(allowed, of_limit == WhenFull::allow);
        const std::uint64_t hash = table.hash("new:" + std::to_string(i), Algorithm::gcra, 0);
        Check both[] = {
            {.limit = &limit, .key = "a", .hash = hash},
            {.limit = &limit, .key = "b", .cost = Cost{0}, .hash = table.hash("b", Algorithm::gcra, 0)}};
        EXPECT_EQ(table.check_all(both, 1s, 1s), of_limit == WhenFull::allow);
      }
    }
    EXPECT_GT(refused, 10);
  }
}

// A shadow check without room answers that it would have denied, and the others are charged without it; a
// guarantee without room leaves what is inside it to borrow.
TEST(Table, a_shadow_check_without_room_stops_nobody) {
  Table table(1_MiB, WhenFull::deny, kSeed);
  fill(table, 1s);
  table.reset(table.locate(key(0)), 1s);
  const Limit ten{.rule = core::Rule{kTen}};
  Limit bulk = ten;
  bulk.rule.kept = kTen.emission_interval() * 10;
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t fresh = table.hash("new:" + std::to_string(i), Algorithm::gcra, 0);
    const std::uint64_t known = table.hash(key(0), Algorithm::gcra, 0);
    const std::uint64_t before = table.refused();
    Check checks[] = {{.limit = &ten, .key = "a", .hash = fresh, .shadow = true},
                      {.limit = &ten, .key = "b", .hash = known}};
    EXPECT_TRUE(table.check_all(checks, 1s, 1s));
    EXPECT_TRUE(checks[1].decision.allowed());
    EXPECT_EQ(table.check(Table::place_of(known), kTen, Cost{0}, 1s).remaining, 9);
    if (table.refused() != before) {
      ++refused;
      EXPECT_EQ(checks[0].decision.verdict, Verdict::denied);
      EXPECT_GT(*checks[0].decision.retry_after, 0s);
      checks[1].limit = &bulk;
      checks[1].inside = 0;
      EXPECT_FALSE(table.check_all(checks, 1s, 1s));
      EXPECT_EQ(checks[1].decision.verdict, Verdict::never);
    }
    table.reset(Table::place_of(known), 1s);
    table.reset(Table::place_of(fresh), 1s);
  }
  EXPECT_GT(refused, 10);
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

// Hashes with one tag and the same two buckets, each first of one of them: 42 bits of tag, 8 that do not
// count, 14 of bucket.
struct Twins {
  std::uint64_t one;
  std::uint64_t two;
};
Twins twins(std::uint64_t tag, std::uint32_t bucket) {
  return {tag << 22 | bucket, tag << 22 | Segments::other(bucket, tag)};
}

TEST(Table, two_keys_that_meet_share_one_limit) {
  for (const std::uint64_t tag : {0x123'4567'89abUL, 0x123'4567'89aaUL, 0UL, 0x3ff'ffff'ffffUL}) {
    for (const std::uint32_t bucket : {0U, 1U, 7777U, Segments::kBucketMask}) {
      const auto [one, two] = twins(tag, bucket);
      ASSERT_NE(one, two);
      Table table(1_MiB, WhenFull::deny, kSeed);
      EXPECT_TRUE(table.check(Table::place_of(one), kOnce, {}, 1s).allowed());
      EXPECT_FALSE(table.check(Table::place_of(two), kOnce, {}, 1s).allowed());
      EXPECT_EQ(table.live(1s), 1U);
      EXPECT_TRUE(table.reset(Table::place_of(two), 1s));
      EXPECT_FALSE(table.reset(Table::place_of(one), 1s));
    }
  }
}

// Where the entry lies must not matter: whichever of the two keys made it, both find it when it has been
// moved to its other bucket, and when it has been moved back.
TEST(Table, two_keys_that_meet_share_one_limit_wherever_their_entry_is_moved) {
  constexpr std::uint64_t kTag = 0x155'5555'5555U;
  const std::uint32_t home = Segments::place(kTag, 500).bucket;
  const std::uint32_t away = Segments::other(home, kTag);
  // Keys of these two buckets, and of a third one that is full.
  const auto key_of = [](std::uint32_t from, std::uint32_t to, std::uint64_t number) {
    return Segments::place(number << 20 | ((from ^ to) & ~1U) | (from & 1U), from);
  };
  const std::uint32_t third = away ^ 0x246;
  for (const bool one_is_first : {true, false}) {
    const auto [one, two] = twins(kTag, home);
    Table table(1_MiB, WhenFull::deny, kSeed);
    const auto both_are_denied_and_it_lies_in = [&](std::uint32_t bucket) {
      EXPECT_FALSE(table.check(Table::place_of(one), kOnce, {}, 1s).allowed());
      EXPECT_FALSE(table.check(Table::place_of(two), kOnce, {}, 1s).allowed());
      std::vector<Table::Entry> entries;
      table.copy_segment(0, 1s, entries);
      for (const Table::Entry& entry : entries) {
        if (entry.tag == kTag) {
          EXPECT_EQ(entry.bucket, bucket);
        }
      }
    };
    const auto charge = [&](KeyPlace place) { EXPECT_TRUE(table.check(place, kOnce, {}, 1s).allowed()); };
    charge(Table::place_of(one_is_first ? one : two));
    for (std::uint64_t number : {1U, 2U, 3U}) charge(key_of(third, home, number));
    for (std::uint64_t number : {4U, 5U}) charge(key_of(home, third, number));
    both_are_denied_and_it_lies_in(home);
    charge(key_of(home, third, 6));
    both_are_denied_and_it_lies_in(away);
    table.reset(key_of(home, third, 4), 1s);
    const std::uint32_t fourth = away ^ 0x481;
    for (std::uint64_t number : {1U, 2U, 3U}) charge(key_of(fourth, away, number));
    for (std::uint64_t number : {4U, 5U, 6U}) charge(key_of(away, fourth, number));
    both_are_denied_and_it_lies_in(home);
  }
}

TEST(Table, two_keys_that_meet_are_charged_together_in_one_request) {
  const auto [one, two] = twins(0x123'4567'89abU, 42);
  Table table(1_MiB, WhenFull::deny, kSeed);
  std::array<Decision, 2> decisions;
  const std::array<Charge, 2> both = {
      {{Table::place_of(one), &kTen, Cost{6}}, {Table::place_of(two), &kTen, Cost{4}}}};
  EXPECT_TRUE(check_all(table, both, 1s, decisions));
  EXPECT_EQ(decisions[1].remaining, 0);
  EXPECT_EQ(table.live(1s), 1U);
}

TEST(Table, a_restored_key_is_found_from_its_home_wherever_it_lay) {
  for (const std::uint32_t lay : {0U, 1U}) {
    const KeyPlace key = Segments::place(0x123'4567'89abU, 42);
    const std::uint32_t bucket = lay == 0 ? key.bucket : Segments::other(key.bucket, key.tag);
    for (const bool in_place : {false, true}) {
      Table table(1_MiB, WhenFull::deny, kSeed);
      const Table::Entry entry{key.tag, bucket, 3'600'000'000'000, 3'600'000'000'000};
      EXPECT_TRUE(in_place ? table.restore_in_place(entry, 1s) : table.restore(entry, 1s));
      EXPECT_FALSE(table.check(key, kOnce, {}, 1s).allowed());
      std::vector<Table::Entry> entries;
      table.copy_segment(0, 1s, entries);
      ASSERT_EQ(entries.size(), 1U);
      EXPECT_EQ(entries[0].bucket, in_place ? bucket : key.bucket);
    }
  }
}

TEST(Table, more_than_can_be_addressed_is_refused_by_name) {
  const auto refusal = [](std::size_t bytes) -> std::string {
    try {
      const Table table(bytes, WhenFull::deny, kSeed);
    } catch (const std::invalid_argument& error) {
      return error.what();
    } catch (const std::system_error& error) {
      return error.code().message();
    }
    return "";
  };
  constexpr std::size_t kMost = std::size_t{1} << 48;
  EXPECT_EQ(refusal(kMost + 1), "memory: 281474976710657 bytes is above the maximum (2^48)");
  EXPECT_EQ(refusal(~std::size_t{0}), "memory: 18446744073709551615 bytes is above the maximum (2^48)");
  EXPECT_EQ(refusal(kMost), "Cannot allocate memory");  // as much as there are addresses
}

// Space that is reserved is not memory that is taken.
TEST(Table, a_huge_bound_costs_nothing_until_it_is_used) {
  Table table(std::size_t{1} << 37, WhenFull::deny, kSeed);
  EXPECT_TRUE(ask(table, "key", 1s).allowed());
  EXPECT_FALSE(ask(table, "key", 1s).allowed());
  EXPECT_EQ(table.allocated_bytes(), 1_MiB);
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

// A debt that somebody else counts is owed here too, and no debt is ever made smaller by it.
TEST(Table, a_raised_debt_is_the_greater_one) {
  constexpr Quota slow = Quota::per(1, 100s).with_burst(20);
  const auto tat = [](std::chrono::seconds after) {
    return static_cast<std::uint64_t>((1000s + after).count()) * 1'000'000'000;
  };
  const auto left = [](Table& table, const Quota& quota) {
    return table.check(table.locate("k"), quota, Cost{0}, 1000s).remaining;
  };
  Table table(1_MiB, WhenFull::deny, kSeed);
  const Table::Place place = table.locate("k");
  EXPECT_TRUE(table.raise(place, slow, tat(550s), 1000s));
  EXPECT_EQ(left(table, slow), 14);
  EXPECT_TRUE(table.raise(place, slow, tat(400s), 1000s));
  EXPECT_EQ(left(table, slow), 14);
  EXPECT_TRUE(table.raise(place, slow, tat(2000s), 1000s));
  EXPECT_EQ(left(table, slow), 0);
  EXPECT_EQ(table.live(1000s), 1U);
  // In units: of 6 that drain in 100 s each come 6 that drain in 10 s each.
  Table other(1_MiB, WhenFull::deny, kSeed);
  constexpr Quota fast = Quota::per(1, 10s).with_burst(20);
  EXPECT_TRUE(other.raise(place, slow, tat(550s), 1000s));
  EXPECT_TRUE(other.raise(place, fast, tat(30s), 1000s));
  EXPECT_EQ(left(other, fast), 14);
  EXPECT_TRUE(other.raise(place, fast, tat(70s), 1000s));
  EXPECT_EQ(left(other, fast), 13);
}

// A thread whose clock is late does not count a debt by how it drains only since it was recounted.
TEST(Table, a_debt_that_was_recounted_is_never_decided_earlier) {
  constexpr Quota slow = Quota::per(1, 100s).with_burst(20);
  constexpr Quota fast = Quota::per(1, 10s).with_burst(20);
  Table table(1_MiB, WhenFull::deny, kSeed);
  const Table::Place place = table.locate("k");
  EXPECT_TRUE(table.raise(place, slow, 1'600'000'000'000, 1000s));
  EXPECT_TRUE(table.raise(place, fast, 1'030'000'000'000, 1000s));
  EXPECT_EQ(table.check(place, slow, Cost{0}, 900s).remaining, 14);
}

TEST(Table, a_raised_debt_that_finds_no_room_is_left_out) {
  constexpr Quota slow = Quota::per(1, 100s).with_burst(20);
  Table table(Table::kLeastBytes, WhenFull::deny);
  const std::uint64_t tat = 2'000'000'000'000;
  std::size_t kept = 0;
  std::size_t i = 0;
  for (; i < Table::kSlotsPerSegment; ++i) {
    if (!table.raise(table.locate("k" + std::to_string(i)), slow, tat, 1000s)) break;
    ++kept;
  }
  EXPECT_GT(kept, Table::kSlotsPerSegment * 9 / 10);
  EXPECT_EQ(table.live(1000s), kept);
  EXPECT_EQ(table.refused(), 0U);
  for (std::size_t j = 0; j < kept; ++j)
    ASSERT_EQ(table.check(table.locate("k" + std::to_string(j)), slow, Cost{0}, 1000s).remaining, 10);
}

}  // namespace
}  // namespace weir::store::table_test
