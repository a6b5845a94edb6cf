// What SharedStore answers when Redis does not decide.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "redis/one_key_test.hpp"
#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// A merged call fails: each of those in it, and each that waits, is decided by its own habits, and what comes
// afterwards is decided by the store.
TEST(SharedStore, everyone_in_a_call_that_fails_has_its_own_policy) {
  struct Row {
    const char* what;
    Fate fate;
    const char* cause;
  };
  const std::vector<Row> rows = {
      {"no answer", kNothing, "timeout"},
      {"an error of Redis", says("-OOM command not allowed when used memory > 'maxmemory'"), "oom"},
      {"no master", says("-READONLY You can't write against a read only replica."), "readonly"},
      {"the script is gone, again and again", says("-NOSCRIPT No matching script."), "noscript"},
      {"not the script's answer", says(":1"), "other"},
      {"not the script's states", says("*4\r\n:2\r\n$1\r\n1\r\n$1\r\n1\r\n$3\r\nxyz"), "other"},
      {"too few states", says("*3\r\n:2\r\n$1\r\n1\r\n$1\r\n1"), "other"},
      {"no RESP", says("?"), "connection"},
  };
  for (const Row& row : rows) {
    SharedWorld world(kOne, merging());
    const core::Rule two = rule("2/s");
    world.check(two, "k");
    world.fate = [&row](const Deed& deed) { return deed.times > 0 ? row.fate : Fate{}; };
    world.check(two, "k", 1, {.on_error = OnStoreError::allow});
    world.check(two, "k", 1, {.on_error = OnStoreError::deny});
    world.check(two, "k");
    world.check(two, "k");
    world.check(two, "k");
    world.run(250us);  // the call with times 5 is under way
    const std::size_t waits = world.check(two, "k", 1, {.on_error = OnStoreError::deny});
    world.run(100ms);
    const std::string why = " (" + std::string(row.cause) + ")";
    const Strings expected = {"allowed 1",       "allowed ",    "denied for ",
                              "allowed 0" + why, "denied for ", "denied for "};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string took = world.took(i + 1);
      EXPECT_TRUE(took.starts_with(expected[i])) << row.what << " " << i << ": " << took;
      EXPECT_EQ(took.ends_with(why), i > 0) << row.what << " " << i << ": " << took;
    }
    EXPECT_NE(world.took(waits), "nothing yet");
    world.expect_all_told();
    world.fate = [](const Deed&) { return Fate{}; };
    world.run(1s);
    const std::size_t after = world.check(two, "k", 1, {.on_error = OnStoreError::deny});
    world.run(1ms);
    EXPECT_EQ(world.took(after), "allowed 1") << row.what;
    EXPECT_TRUE(world.empty());
  }
}

// Of those that travel together the one with the least time says how long the call may take.
TEST(SharedStore, a_merged_call_takes_no_longer_than_any_in_it_may_wait) {
  for (const auto& [second, third] : {std::pair{40ms, 20ms}, {20ms, 40ms}}) {
    SharedWorld world(kOne);
    const nanoseconds start = world.now;
    world.fate = [](const Deed& deed) { return deed.times > 0 ? kNothing : Fate{}; };
    world.check(rule("9/s"), "k", 1, {.deadline = 10ms, .merge = true});
    world.check(rule("9/s"), "k", 1, {.deadline = second, .merge = true});
    world.check(rule("9/s"), "k", 1, {.deadline = third, .merge = true});
    world.run(50ms);
    EXPECT_EQ(world.took(2), "allowed 7 (timeout)");  // the store left 8
    EXPECT_EQ(world.took(3), "allowed 6 (timeout)");
    EXPECT_EQ(world.requests[3].told->at - start, 20ms);
    world.expect_all_told();
  }
}

TEST(SharedStore, an_answer_that_is_not_the_scripts_decides_nothing) {
  for (const char* answer : {":1", "*0", "*4\r\n:0\r\n$1\r\n1\r\n$1\r\n1\r\n$3\r\nxyz", "+OK",
                             "*4\r\n:0\r\n$1\r\n1\r\n$1\r\n1\r\n$-1"}) {
    SharedWorld world(kOne);
    world.fate = [answer](const Deed&) { return says(answer); };
    world.check(rule("2/s"), "k");
    world.check_all({{rule("2/s"), "l", Cost{1}, OnStoreError::local}});
    world.run(1ms);
    EXPECT_EQ(world.took(1), "allowed 1 (other)") << answer;
    EXPECT_EQ(world.took(2), "by 0: allowed 1 (other)") << answer;
  }
}

// What is not ours under a key is nobody's to decide, and everyone's own error.
TEST(SharedStore, a_foreign_value_is_an_error_for_each_that_asked) {
  SharedWorld world(kOne, merging());
  world.redis.put_foreign("k");
  for (int i = 0; i < 4; ++i) world.check(rule("2/s"), "k", 1, {.on_error = OnStoreError::allow});
  world.run(1ms);
  for (std::size_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(world.took(id), "WRONGTYPE key 1 of this request holds no state of gcra");
    EXPECT_EQ(world.requests[id].told->outcome.cause, Cause::wrongtype);
  }
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::wrongtype)], 4U);
  world.expect_all_told();
}

// Not even charged here, nor allowed for want of a store: who does not look at the error is denied.
TEST(SharedStore, a_foreign_value_is_decided_by_nobody) {
  for (const OnStoreError on_error : {OnStoreError::local, OnStoreError::allow}) {
    SharedWorld world(kOne);
    world.redis.put_foreign("k");
    const std::size_t one = world.check(rule("5/s"), "k", 2, {.on_error = on_error});
    const std::size_t all =
        world.check_all({{rule("5/s"), "k", Cost{1}, on_error}, {rule("9/s"), "l", Cost{1}, on_error}});
    world.run(1ms);
    EXPECT_EQ(world.requests[one].told->outcome.decision, Decision{});
    EXPECT_EQ(world.requests[all].told->outcome.decision, Decision{});
    EXPECT_EQ(world.took(all), "by 0: WRONGTYPE key 1 of this request holds no state of gcra");
    world.down = {"a"};
    world.break_connections("a");
    EXPECT_EQ(world.took(world.check(rule("5/s"), "k", 0)), "allowed 5 (connection)");
    EXPECT_EQ(world.took(world.check(rule("9/s"), "l", 0)), "allowed 9 (connection)");
  }
}

TEST(SharedStore, decides_at_once_by_the_policy_while_the_store_is_away) {
  SharedWorld world(kOne, merging());
  world.down = {"a"};
  world.break_connections("a");
  world.run(1ms);
  const core::Rule two = rule("2/s");
  struct Row {
    OnStoreError on_error;
    const char* expected;
  };
  for (const Row& row : {Row{OnStoreError::local, "allowed 1 (connection)"},
                         Row{OnStoreError::local, "allowed 0 (connection)"},
                         Row{OnStoreError::local, "denied for 500000us (connection)"},
                         Row{OnStoreError::allow, "allowed 2 (connection)"},
                         Row{OnStoreError::deny, "denied for 1000000us (connection)"}}) {
    EXPECT_EQ(world.took(world.check(two, "k", 1, {.on_error = row.on_error})), row.expected);
  }
  for (const OnStoreError on_error : {OnStoreError::local, OnStoreError::allow, OnStoreError::deny})
    EXPECT_EQ(world.took(world.check(two, "k", 3, {.on_error = on_error})), "never (connection)");
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::connection)], 8U);
  EXPECT_EQ(world.store().counters().decided, 0U);
  world.expect_all_told();
}

// Anything may happen to anybody, outcomes lead to new checks, and still: one outcome for each, in time, by
// its own habits when Redis did not decide; and when Redis is well again, so are we.
TEST(SharedStore, whatever_fails_each_check_is_told_once_and_in_time) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  const auto in_a_hundred = [&random](std::uint64_t n) { return random() % 100 < n; };
  const std::vector<Fate> fates = {kNothing,         kNothing,
                                   Fate{true, ""},   says("-NOSCRIPT No matching script."),
                                   says("-OOM no"),  says("-READONLY no"),
                                   says("-BUSY no"), says("-WRONGTYPE no"),
                                   says("$2\r\nno"), says("*0"),
                                   says("no")};
  const unsigned traces = core::Chance::runs(150);
  for (unsigned trace = 0; trace < traces; ++trace) {
    const bool cluster = in_a_hundred(40);
    Habits habits;
    habits.merge = in_a_hundred(50);
    habits.deadline = 10ms;
    SharedWorld world(cluster ? kCluster : kOne, habits);
    world.latency = [&] { return std::chrono::microseconds{upto(1000)}; };
    const std::uint64_t troubles = upto(20);
    world.fate = [&](const Deed&) {
      return in_a_hundred(troubles) ? fates[random() % fates.size()] : Fate{};
    };
    int again = 100;
    std::vector<OnStoreError> policies(1);
    const auto ask = [&] {
      Choices choices;
      if (in_a_hundred(50)) choices.deadline = std::chrono::microseconds{1 + upto(20'000)};
      choices.on_error = static_cast<OnStoreError>(random() % 3);
      choices.lease = in_a_hundred(30) ? upto(5) : 0;
      choices.merge = in_a_hundred(30);
      const std::string key = "k" + std::to_string(upto(3));
      if (in_a_hundred(10)) {
        policies.push_back(*choices.on_error);
        world.check_all({{rule("20/s"), key, Cost{1}, *choices.on_error},
                         {rule("10/s"), "other " + key, Cost{1}, *choices.on_error}},
                        10ms);
      } else {
        policies.push_back(*choices.on_error);
        world.check(rule(in_a_hundred(50) ? "20/s" : "10/s"), key, upto(2), choices);
      }
    };
    world.on_told = [&](std::size_t) {
      if (again > 0 && in_a_hundred(50)) {
        --again;
        ask();
      }
    };
    for (int i = 0; i < 60; ++i) {
      world.run(std::chrono::microseconds{upto(1000)});
      ask();
      if (in_a_hundred(2)) world.break_connections("a");
      if (in_a_hundred(2)) world.reset("k" + std::to_string(upto(3)));
      if (in_a_hundred(2)) world.down = {"a"};
      if (in_a_hundred(20)) world.down.clear();
    }
    again = 0;
    world.down.clear();
    world.fate = [](const Deed&) { return Fate{}; };
    world.run(2s);
    world.expect_all_told();
    for (std::size_t id = 1; id < world.requests.size(); ++id) {
      const Outcome& outcome = world.requests[id].told->outcome;
      EXPECT_EQ(outcome.error.empty(), outcome.cause != Cause::wrongtype);
      if (outcome.cause == Cause::none || !outcome.error.empty()) continue;
      EXPECT_TRUE(policies[id] != OnStoreError::allow || outcome.decision.allowed());
      const bool look = world.requests[id].limits.empty() && world.requests[id].cost.units == 0;
      EXPECT_TRUE(policies[id] != OnStoreError::deny || look || !outcome.decision.allowed());
    }
    for (int key = 0; key < 4; ++key) {
      const std::size_t id = world.check(rule("20/s"), "k" + std::to_string(key), 1, {.merge = true});
      world.run(10ms);
      EXPECT_EQ(world.took(id), "allowed 19");
    }
    ASSERT_TRUE(world.empty());
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "trace " << trace;
  }
}

TEST(SharedStore, a_share_of_the_limit_is_what_is_admitted_locally) {
  Habits habits;
  habits.local_share = 0.4;
  SharedWorld world(kOne, habits);
  world.down = {"a"};
  world.break_connections("a");
  EXPECT_EQ(world.took(world.check(rule("10/s"), "k")), "allowed 3 (connection)");
  EXPECT_EQ(world.took(world.check(rule("1/s"), "l")), "allowed 0 (connection)");
  EXPECT_EQ(world.took(world.check_all(limits("m", "10/s", 2, "n", "5/s", 1))),
            "by 1: allowed 1 (connection)");
}

// All shares of a limit together stay within it, when they are asked all the time: a count of 1 has no part,
// and an interval is rounded up to whole nanoseconds. Where the burst has no whole unit for each, each has
// one.
TEST(SharedStore, all_shares_together_admit_no_more_than_the_limit) {
  struct Row {
    const char* of;
    std::size_t processes;
    double share;
    std::int64_t burst;  // of all of them
  };
  for (const Row& row : {Row{"1/1ms burst 100", 4, 0.25, 100},
                         {"3/10ms burst 9", 3, 1.0 / 3, 6},
                         {"1/1ms burst 1", 4, 0.25, 4},
                         {"7/11ms burst 100", 3, 0.29, 87},
                         {"1/1000001ns burst 10", 7, 1.0 / 7, 7}}) {
    Habits habits;
    habits.local_share = row.share;
    SharedWorld world(kOne, habits, row.processes);
    world.down = {"a"};
    world.break_connections("a");
    world.run(1ms);
    const core::Rule of = rule(row.of);
    const nanoseconds start = world.now;
    std::int64_t admitted = 0;
    for (world.run(0ns); world.now - start < 500ms; world.run(250us)) {
      for (std::size_t process = 0; process < row.processes; ++process) {
        for (bool more = true; more;) {
          const std::size_t id = world.check(of, "k", 1, {}, process);
          more = world.requests[id].told->outcome.decision.allowed();
          admitted += more ? 1 : 0;
        }
      }
    }
    const std::int64_t bound = row.burst + (world.now - start) / of.quota.emission_interval();
    EXPECT_LE(admitted, bound) << row.of;
    EXPECT_GE(admitted, bound * 85 / 100) << row.of;  // 3 x 29 % are 87 %
  }
}

// Where nanoseconds do not hold the share, it is smaller and never the whole.
TEST(SharedStore, a_share_of_the_longest_interval_is_not_the_whole) {
  Habits habits;
  habits.local_share = 0.01;
  SharedWorld world(kOne, habits);
  world.down = {"a"};
  world.break_connections("a");
  EXPECT_EQ(world.took(world.check(rule("1/100000h burst 25"), "k")), "allowed 0 (connection)");
  EXPECT_TRUE(world.took(world.check(rule("1/100000h burst 25"), "k")).starts_with("denied for "));
}

}  // namespace
}  // namespace weir::redis
