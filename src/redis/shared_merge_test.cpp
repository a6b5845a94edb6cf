// Checks of one key that wait for a call leave together.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "redis/one_key_test.hpp"
#include "redis/script.hpp"
#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// What waits leaves together when the answer comes: alike neighbours in one call.
TEST(SharedStore, merges_neighbours_that_are_alike) {
  SharedWorld world(kOne, merging());
  const core::Rule ten = rule("10/s"), twelve = rule("12/s");
  struct Row {
    const core::Rule& rule;
    const char* key;
    std::uint64_t cost;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {ten, "k", 1, "allowed 9"},    {ten, "k", 1, "allowed 8"}, {ten, "k", 1, "allowed 7"},
      {ten, "k", 2, "allowed 5"},    {ten, "k", 2, "allowed 3"}, {ten, "other", 1, "allowed 9"},
      {ten, "k", 0, "allowed 3"},    {ten, "k", 0, "allowed 3"}, {ten, "k", 11, "never"},
      {twelve, "k", 2, "allowed 3"}, {ten, "k", 1, "allowed 0"}, {ten, "k", 1, "denied"},
      {ten, "k", 1, "denied"},
  };
  for (const Row& row : rows) world.check(row.rule, row.key, row.cost);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | other | 2 x k | 2 x k 2 | 2 x k | k 11 | k 2 | 3 x k");
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(world.took(i + 1).starts_with(rows[i].expected)) << i << ": " << world.took(i + 1);
  EXPECT_EQ(world.store().counters().decided, rows.size());
  EXPECT_EQ(world.store().counters().merged, 5U);
  world.expect_all_told();
}

// A call takes kMostTimes at most; the others leave with it, in calls of their own.
TEST(SharedStore, merges_no_more_than_the_script_takes) {
  SharedWorld world(kOne, merging());
  for (std::size_t i = 0; i < 1 + 2 * kMostTimes + 1; ++i) world.check(rule("1000/s"), "k");
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | 256 x k | 256 x k | k");
  EXPECT_EQ(world.took(2 * kMostTimes + 2), "allowed 486");
  world.expect_all_told();
}

// What waits for a call under way leaves without its answer when one of them has no more time, in order.
TEST(SharedStore, does_not_wait_longer_than_the_most_hurried_can) {
  SharedWorld world(kOne);
  world.latency = [] { return 10ms; };
  struct Row {
    nanoseconds deadline;
    nanoseconds told;
    const char* outcome;
  };
  const std::vector<Row> rows = {
      {40ms, 20ms, "allowed 9"},  // the call that the others find
      {50ms, 24ms, "allowed 8"}, {39ms, 24ms, "allowed 7"},
      {25ms, 24ms, "allowed 6"},  // leaves after 4 ms, and takes along all
      {60ms, 24ms, "allowed 5"},
  };
  world.break_connections("a");
  world.run(1s);
  const nanoseconds start = world.now;
  for (const Row& row : rows) world.check(rule("10/s"), "k", 1, {.deadline = row.deadline, .merge = true});
  world.run(100ms);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(world.took(i + 1), rows[i].outcome) << i;
    EXPECT_EQ(std::chrono::ceil<std::chrono::milliseconds>(world.requests[i + 1].told->at - start),
              rows[i].told)
        << i;
  }
  world.expect_all_told();
}

// Who comes when several calls have left waits for the last of them.
TEST(SharedStore, waits_for_the_last_of_several_calls) {
  SharedWorld world(kOne, merging());
  nanoseconds way = 100us;
  world.latency = [&way] { return way; };
  world.fate = [&way](const Deed& deed) {
    if (deed.parts[0].cost.units == 2) way = 10ms;  // its answer
    return Fate{};
  };
  const core::Rule nine = rule("9/s");
  world.check(nine, "k");
  world.check(nine, "k", 1);
  world.check(nine, "k", 2);
  world.run(250us);
  const std::size_t last = world.check(nine, "k");
  world.run(5ms);
  EXPECT_EQ(world.took(2), "allowed 7");
  EXPECT_EQ(world.took(3), "nothing yet");
  EXPECT_EQ(world.store().client().counters().calls, 3U);
  way = 0us;
  world.run(10ms);
  EXPECT_EQ(world.asked(), "k | k | k 2 | k");
  EXPECT_EQ(world.took(last), "allowed 4");
}

// A log has no place for many at one moment; a lease merges, wished or not.
TEST(SharedStore, merges_what_is_wished_and_what_can) {
  struct Row {
    const char* rule;
    bool habits;
    Choices choices;
    const char* asked;
  };
  const std::vector<Row> rows = {
      {"9/s", false, {}, "k | k | k"},
      {"9/s", true, {}, "k | 2 x k"},
      {"9/s", false, {.merge = true}, "k | 2 x k"},
      {"9/s", false, {.lease = 5}, "k 5"},
      {"9/s", false, {.lease = 1}, "k | k | k"},
      {"9/s algorithm=fixed_window", true, {}, "k | 2 x k"},
      {"9/s algorithm=sliding_window_counter", true, {}, "k | 2 x k"},
      {"9/s algorithm=sliding_window_counter", true, {.lease = 5}, "k | 2 x k"},
      {"9/s algorithm=sliding_window_log", true, {.merge = true}, "k | k | k"},
  };
  for (const Row& row : rows) {
    Habits habits;
    habits.merge = row.habits;
    SharedWorld world(kOne, habits);
    for (int i = 0; i < 3; ++i) world.check(rule(row.rule), "k", 1, row.choices);
    world.run(1ms);
    EXPECT_EQ(world.asked(), row.asked) << row.rule;
    world.expect_all_told();
  }
}

// What the store has decided is what core decides of the same checks one after another at that moment, in the
// order in which they came.
TEST(SharedStore, merged_checks_are_decided_as_alone) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  const std::vector<std::vector<core::Rule>> rules = {
      {rule("5/10ms"), rule("20/10ms burst 7")},
      {rule("5/10ms algorithm=fixed_window"), rule("9/10ms algorithm=fixed_window")},
      {rule("5/10ms algorithm=sliding_window_counter"), rule("9/10ms algorithm=sliding_window_counter")},
      {rule("5/10ms algorithm=fixed_window align=clock"), rule("6/10ms algorithm=fixed_window align=clock")},
      {rule("1/1s")},
  };
  std::uint64_t checks = 0, merged = 0, decided = 0;
  const unsigned traces = core::Chance::runs(150);
  for (unsigned trace = 0; trace < traces; ++trace) {
    Habits habits = merging();
    habits.remember_denials = false;
    SharedWorld world(kOne, habits);
    world.redis.ahead += std::chrono::microseconds{upto(10'000'000)};
    const std::uint64_t slow = random() % 3 == 0 ? 1500 : 500;
    world.latency = [&] { return std::chrono::microseconds{upto(slow)}; };
    const bool same_deadlines = random() % 2 == 0;
    std::map<std::string, std::size_t> last_waiter;
    std::uint64_t in_others_calls = 0;
    world.on_delivered = [&](const Deed& deed, const std::vector<std::size_t>& told) {
      std::vector<std::size_t> here;
      for (const std::size_t id : told) {
        if (world.requests[id].told->outcome.cause == Cause::none) here.push_back(id);
      }
      if (here.empty()) return;  // too late
      ASSERT_EQ(here.size(), deed.decisions.size());
      ASSERT_TRUE(std::is_sorted(here.begin(), here.end()));
      in_others_calls += here.size() - 1;
      for (std::size_t i = 0; i < here.size(); ++i) {
        const SharedWorld::Request& request = world.requests[here[i]];
        ASSERT_EQ(request.key, deed.parts[0].key);
        ASSERT_EQ(request.told->outcome.decision, deed.decisions[i]);
        const core::Rule& asked = deed.parts[0].rule;
        ASSERT_EQ(request.rule.algorithm, asked.algorithm);
        ASSERT_EQ(request.rule.quota.emission_interval(), asked.quota.emission_interval());
        ASSERT_EQ(request.rule.quota.burst(), asked.quota.burst());
        const auto limit = static_cast<std::uint64_t>(request.told->outcome.decision.limit);
        ASSERT_EQ(std::min(request.cost.units, limit + 1), deed.parts[0].cost.units);
        if (!request.waited) continue;
        std::size_t& last = last_waiter[request.key];
        ASSERT_LT(last, here[i]) << "overtaken by one that came later";
        last = here[i];
      }
    };
    for (int i = 0; i < 100; ++i) {
      world.run(std::chrono::microseconds{random() % 4 == 0 ? upto(500) : 0});
      const std::size_t key = upto(rules.size() * 2 - 1) % static_cast<std::size_t>(1 + trace % 10);
      const std::vector<core::Rule>& of_key = rules[key % rules.size()];
      const std::uint64_t costs[] = {1, 1, 1, 0, 2, 50};
      const nanoseconds deadlines[] = {2ms, 5ms, 50ms};
      Choices choices;
      if (!same_deadlines) choices.deadline = deadlines[random() % 3];
      world.check(of_key[random() % of_key.size()], "k" + std::to_string(key), costs[random() % 6], choices);
    }
    world.run(100ms);
    world.expect_all_told();
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "trace " << trace;
    const SharedStore::Counters& counters = world.store().counters();
    const std::uint64_t failed =
        std::accumulate(counters.failures.begin(), counters.failures.end(), std::uint64_t{0});
    EXPECT_EQ(counters.decided + failed, 100U);
    EXPECT_EQ(counters.merged, in_others_calls);
    EXPECT_TRUE(!same_deadlines || failed == 0);
    checks += 100;
    merged += in_others_calls;
    decided += counters.decided;
  }
  EXPECT_GT(merged, checks / 25);
  EXPECT_GT(decided, checks / 2);
}

// However many ask: a call, and then one for each time that it takes to be answered.
TEST(SharedStore, a_hot_key_costs_one_call_for_each_round_trip) {
  SharedWorld world(kOne, merging());
  std::size_t written = 0;
  for (int i = 0; i < 2000; ++i) {
    world.check(rule("1000000/s"), "k");
    world.run(5us);
  }
  written = world.store().client().counters().calls;
  EXPECT_LE(written, 2000 * 5 / 200 + 1);
  EXPECT_GE(world.store().counters().merged, 1900U);
}

}  // namespace
}  // namespace weir::redis
