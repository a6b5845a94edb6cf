// Several limits that are charged together or not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "redis/one_key_test.hpp"
#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// In one Redis, or with a hash tag: one call, which charges all or none. The limit that decides is the one
// denied for longest, or where all allow the one with the least left.
TEST(SharedStore, several_limits_of_one_slot_are_one_call) {
  struct Row {
    const char *rule_a, *rule_b;
    std::uint64_t cost_a, cost_b;
    const char* expected;
    std::int64_t owed_a, owed_b;
  };
  const std::vector<Row> rows = {
      {"5/s", "9/s", 1, 1, "by 0: allowed 4", 1, 1},
      {"9/s", "5/s", 1, 1, "by 1: allowed 4", 1, 1},
      {"9/s", "5/s", 6, 1, "by 0: allowed 3", 6, 1},
      {"5/s", "5/s", 1, 1, "by 0: allowed 4", 1, 1},
      {"5/s", "5/s", 0, 2, "by 1: allowed 3", 0, 2},
      {"5/s", "9/s", 6, 1, "by 0: never", 0, 0},
      {"9/s", "5/s", 1, 6, "by 1: never", 0, 0},
      {"5/s algorithm=fixed_window", "5/s", 1, 2, "by 1: allowed 3", 1, 2},
      {"5/s algorithm=sliding_window_counter", "5/s algorithm=fixed_window", 3, 2, "by 0: allowed 2", 1, 1},
  };
  for (const bool cluster : {false, true}) {
    for (const Row& row : rows) {
      SharedWorld world(cluster ? kCluster : kOne);
      const std::size_t id =
          world.check_all(limits("{t}a", row.rule_a, row.cost_a, "{t}b", row.rule_b, row.cost_b));
      world.run(1ms);
      EXPECT_EQ(world.took(id), row.expected);
      EXPECT_EQ(world.asked().find('|'), std::string::npos);
      if (rule(row.rule_a).algorithm != Algorithm::gcra) continue;
      EXPECT_EQ(world.redis.owed("{t}a", rule(row.rule_a), world.now), row.owed_a) << row.expected;
      EXPECT_EQ(world.redis.owed("{t}b", rule(row.rule_b), world.now), row.owed_b) << row.expected;
      world.expect_all_told();
    }
  }
  SharedWorld world(kOne);
  world.check(rule("1/s"), "k");
  world.check(rule("1/2s"), "l");
  world.run(1ms);
  const std::vector<Limit> three = {{rule("9/s"), "m", Cost{1}, kLocal},
                                    {rule("1/s"), "k", Cost{1}, kLocal},
                                    {rule("1/2s"), "l", Cost{1}, kLocal}};
  const std::size_t id = world.check_all(three);
  const std::size_t never = world.check_all(limits("k", "1/s", 1, "m", "9/s", 10));
  const std::size_t never_first = world.check_all(limits("m", "9/s", 10, "k", "1/s", 1));
  world.run(1ms);
  EXPECT_EQ(world.took(id), "by 2: denied for 1999000us");
  EXPECT_EQ(world.took(never), "by 1: never");
  EXPECT_EQ(world.took(never_first), "by 0: never");
  EXPECT_EQ(world.redis.owed("m", rule("9/s"), world.now), 0);
}

// The store's own: `decided` counts it once.
TEST(SharedStore, several_limits_count_as_one_check) {
  SharedWorld world(kCluster);
  world.check_all(limits(kA, "5/s", 1, kB, "5/s", 1));
  world.run(1ms);
  EXPECT_EQ(world.took(1), "by 0: allowed 4");
  EXPECT_EQ(world.asked(), kA + " | " + kB);
  EXPECT_EQ(world.store().counters().decided, 1U);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kC ? Fate{} : says("-OOM no"); };
  const std::vector<Limit> three = {{rule("5/s"), kC, Cost{1}, OnStoreError::allow},
                                    {rule("5/s"), kA, Cost{1}, OnStoreError::allow},
                                    {rule("5/s"), kB, Cost{1}, OnStoreError::allow}};
  world.check_all(three);
  world.run(1ms);
  EXPECT_EQ(world.took(2), "by 0: allowed 4");
  EXPECT_EQ(world.store().counters().decided, 1U);
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::oom)], 1U);
  world.expect_all_told();
}

// Across slots: when one refuses, fails, or holds what is not ours, the others are given back.
TEST(SharedStore, what_was_charged_across_slots_is_given_back) {
  struct Row {
    const char* what;
    std::uint64_t cost_b;
    bool foreign_b;
    Fate fate_b;
    OnStoreError on_error_b;
    std::string expected;
    std::string asked;
    std::int64_t owed_a, owed_b;
  };
  const std::string both = kA + " 3 | " + kB;
  const std::string back = " | back " + kA + " 3";
  const std::vector<Row> rows = {
      {"allowed", 1, false, {}, kLocal, "by 1: allowed 1", both, 3, 1},
      {"denied", 2, false, {}, kLocal, "by 1: allowed 0", both + " 2", 3, 2},
      {"never", 3, false, {}, kLocal, "by 1: never", both + " 3" + back, 0, 0},
      {"foreign",
       1,
       true,
       {},
       kLocal,
       "by 1: WRONGTYPE key 1 of this request holds no state of gcra",
       both + back,
       0,
       0},
      {"fails, allow", 1, false, says("-OOM no"), kAllow, "by 0: allowed 2", both, 3, 0},
      {"fails, deny", 1, false, says("-OOM no"), kDeny, "by 1: denied for 1000000us (oom)", both + back, 0,
       0},
      {"fails, local", 1, false, says("-OOM no"), kLocal, "by 1: allowed 1 (oom)", both, 3, 0},
      {"no script of ours", 1, false, says(":1"), kDeny, "by 1: denied for 1000000us (other)", both + back, 0,
       0},
      {"no answer", 1, false, kNothing, kDeny, "by 1: denied for 1000000us (timeout)", both + back, 0, 0},
      {"no answer, charged",
       1,
       false,
       {true, ""},
       kDeny,
       "by 1: denied for 1000000us (timeout)",
       both + back,
       0,
       1},
  };
  for (const Row& row : rows) {
    SharedWorld world(kCluster);
    if (row.foreign_b) world.redis.put_foreign(kB);
    world.fate = [&row](const Deed& deed) { return deed.parts[0].key == kB ? row.fate_b : Fate{}; };
    const std::size_t id =
        world.check_all(limits(kA, "5/10s", 3, kB, "2/10s", row.cost_b, kDeny, row.on_error_b), 5ms);
    world.run(20ms);
    EXPECT_EQ(world.took(id), row.expected) << row.what;
    EXPECT_EQ(world.asked(), row.asked) << row.what;
    EXPECT_EQ(world.redis.owed(kA, rule("5/10s"), world.now), row.owed_a) << row.what;
    EXPECT_EQ(world.redis.owed(kB, rule("2/10s"), world.now), row.owed_b) << row.what;
    world.expect_all_told();
  }
}

// Only what has not drained: nobody is let in twice for it.
TEST(SharedStore, gives_back_less_what_has_drained) {
  SharedWorld world(kCluster, {}, 2);
  const core::Rule one = rule("5/5s");
  world.check(rule("2/10s"), kB, 2, {}, 1);
  world.run(1ms);
  world.latency = [] { return 500ms; };
  world.check_all(limits(kA, "5/5s", 2, kB, "2/10s", 1), 3s);
  world.run(300ms);
  world.check(one, kA, 1, {.deadline = 3s}, 1);
  world.run(3s);
  EXPECT_EQ(world.took(2), "by 1: denied for 4499100us");
  // At 0.5 s it was charged 2, at 0.8 s others 1. At 1.5 s, when 2 of the 3 were owed, half of the 2 had
  // drained.
  EXPECT_EQ(world.asked(), kB + " 2 | " + kA + " 2 | " + kB + " | " + kA + " | back " + kA + " 2");
  EXPECT_EQ(world.took(3), "allowed 2");
  EXPECT_EQ(world.redis.owed_until(kA), 1002'511ms);
  world.expect_all_told();
}

// What was just denied is denied without asking anybody, and nothing is charged.
TEST(SharedStore, several_limits_recall_a_denial) {
  for (const bool cluster : {false, true}) {
    SharedWorld world(cluster ? kCluster : kOne);
    world.check(rule("1/s"), kB);
    world.run(1ms);
    world.check_all(limits(kA, "5/s", 1, kB, "1/s", 1));
    world.run(1ms);
    EXPECT_EQ(world.took(2), "by 1: denied for 999000us");
    world.asked();
    EXPECT_EQ(world.took(world.check_all(limits(kA, "5/s", 1, kB, "1/s", 1))), "by 1: denied for 998200us");
    EXPECT_EQ(world.took(world.check(rule("1/s"), kB)), "denied for 998200us");
    EXPECT_EQ(world.took(world.check_all(limits(kA, "5/s", 1, kB, "1/2s", 1))), "nothing yet");
    world.run(2ms);
    EXPECT_EQ(world.redis.owed(kA, rule("5/s"), world.now), 0);
    for (int i = 0; i < 2; ++i) {
      world.check(rule("1/s"), kA);
      world.check(rule("1/5s"), kC);
    }
    world.run(1ms);
    EXPECT_EQ(world.took(world.check_all(limits(kA, "1/s", 1, kC, "1/5s", 1))), "by 1: denied for 4999200us");
    EXPECT_EQ(world.took(world.check_all(limits(kC, "1/5s", 1, kA, "1/s", 1))), "by 0: denied for 4999200us");
    EXPECT_GE(world.store().counters().remembered, 4U);
    world.expect_all_told();
  }
}

TEST(SharedStore, other_algorithms_across_slots_are_refused) {
  SharedWorld world(kCluster);
  const std::size_t across =
      world.check_all(limits(kA, "5/s", 1, kB, "5/s algorithm=fixed_window", 1, kAllow, kAllow));
  const std::size_t together =
      world.check_all(limits("{t}a", "5/s", 1, "{t}b", "5/s algorithm=fixed_window", 1));
  world.run(1ms);
  EXPECT_EQ(world.took(across),
            "by 1: the keys of this request lie in different slots of the cluster, and what fixed_window has "
            "charged cannot be given back: let them share a {hash tag}");
  EXPECT_EQ(world.took(together), "by 0: allowed 4");
  EXPECT_EQ(world.asked(), "{t}a + {t}b");
  world.expect_all_told();
}

// Each limit says what is decided when it fails, and the local table too is charged all or none.
TEST(SharedStore, several_limits_that_fail_have_their_own_policies) {
  struct Row {
    OnStoreError a, b;
    std::uint64_t cost_a, cost_b;
    const char* expected;
    std::int64_t left_a, left_b;  // in the local table afterwards
  };
  const std::vector<Row> rows = {
      {kLocal, kLocal, 2, 1, "by 1: allowed 2 (connection)", 3, 2},
      {kLocal, kLocal, 2, 3, "by 1: allowed 0 (connection)", 3, 0},
      {kLocal, kLocal, 2, 4, "by 1: never (connection)", 5, 3},
      {kLocal, kLocal, 6, 3, "by 0: never (connection)", 5, 3},
      {kLocal, kDeny, 2, 1, "by 1: denied for 1000000us (connection)", 5, 3},
      {kDeny, kLocal, 2, 1, "by 0: denied for 1000000us (connection)", 5, 3},
      {kLocal, kAllow, 3, 1, "by 0: allowed 2 (connection)", 2, 3},
      {kAllow, kLocal, 2, 3, "by 1: allowed 0 (connection)", 5, 0},
      {kAllow, kAllow, 2, 1, "by 1: allowed 3 (connection)", 5, 3},
      {kDeny, kAllow, 2, 1, "by 0: denied for 1000000us (connection)", 5, 3},
      {kDeny, kDeny, 0, 1, "by 1: denied for 1000000us (connection)", 5, 3},
  };
  for (const bool cluster : {false, true}) {
    for (const Row& row : rows) {
      SharedWorld world(cluster ? kCluster : kOne);
      world.down = {"a", "b", "c"};
      for (const char* host : {"a", "b", "c"}) world.break_connections(host);
      world.run(1ms);
      const std::size_t id =
          world.check_all(limits(kA, "5/s", row.cost_a, kB, "3/s", row.cost_b, row.a, row.b));
      EXPECT_EQ(world.took(id), row.expected);
      EXPECT_EQ(world.requests.at(world.check(rule("5/s"), kA, 0)).told->outcome.decision.remaining,
                row.left_a);
      EXPECT_EQ(world.requests.at(world.check(rule("3/s"), kB, 0)).told->outcome.decision.remaining,
                row.left_b);
      world.expect_all_told();
    }
  }
}

// When a limit that the store decides denies, what another is to have been charged here is not charged.
TEST(SharedStore, what_the_store_denies_is_not_charged_locally) {
  SharedWorld world(kCluster);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kA ? says("-OOM no") : Fate{}; };
  world.check_all(limits(kA, "5/s", 2, kB, "3/s", 4));
  world.run(1ms);
  EXPECT_EQ(world.took(1), "by 1: never");
  world.check(rule("5/s"), kA, 0);
  world.run(1ms);
  EXPECT_EQ(world.took(2), "allowed 5 (oom)");
}

TEST(SharedStore, what_is_denied_locally_is_not_charged_in_the_store) {
  SharedWorld world(kCluster);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kB ? says("-OOM no") : Fate{}; };
  world.check_all(limits(kA, "5/10s", 2, kB, "1/10s", 1));
  world.run(1ms);
  world.check_all(limits(kA, "5/10s", 3, kB, "1/10s", 1));
  world.run(1ms);
  EXPECT_EQ(world.took(1), "by 1: allowed 0 (oom)");
  EXPECT_EQ(world.took(2), "by 1: denied for 9999000us (oom)");
  EXPECT_EQ(world.redis.owed(kA, rule("5/10s"), world.now), 2);
}

// An error comes before any decision.
TEST(SharedStore, a_foreign_value_among_several_is_what_is_told) {
  for (const bool first : {false, true}) {
    SharedWorld world(kCluster, {}, 2);
    world.check(rule("1/s"), kA, 1, {}, 1);
    world.redis.put_foreign(kB);
    world.run(1ms);
    const std::vector<Limit> some = limits(kA, "1/s", 1, kB, "1/s", 1);
    world.check_all(first ? std::vector<Limit>{some[1], some[0]} : some);
    world.run(1ms);
    EXPECT_EQ(world.took(2), std::string(first ? "by 0" : "by 1") +
                                 ": WRONGTYPE key 1 of this request holds no state of gcra");
  }
}

// A node that does not answer holds up nobody beyond the deadline, and what comes afterwards is nobody's.
TEST(SharedStore, several_limits_are_told_by_the_deadline) {
  for (const bool answered : {false, true}) {
    SharedWorld world(kCluster);
    world.fate = [&](const Deed& deed) {
      return deed.parts[0].key == kB && !deed.gives_back ? Fate{answered, ""} : Fate{};
    };
    const nanoseconds start = world.now;
    world.check_all(limits(kA, "5/s", 2, kB, "3/s", 1, kDeny, kDeny), 7ms);
    world.check_all(limits(kA, "5/s", 1, kC, "3/s", 1, kDeny, kDeny), 7ms);
    world.run(50ms);
    EXPECT_EQ(world.took(1), "by 1: denied for 1000000us (timeout)");
    EXPECT_EQ(world.requests[1].told->at - start, 7ms);
    EXPECT_EQ(world.took(2), "by 0: allowed 2");
    world.expect_all_told();
  }
}

// What was charged for nobody is given back, and may come late, or never: no key ever admits more than it
// promises over all processes.
// While the store is busy, checks of keys in debt leave first; not before those of their own key.
TEST(SharedStore, no_check_overtakes_one_of_several_that_waits_for_its_key) {
  SharedWorld world(kOne);
  for (int i = 0; i < 8; ++i) world.check(rule("1/hour burst 10"), "k");
  world.run(10ms);
  for (int i = 0; i < 300; ++i) world.check(rule("1/hour burst 10"), "other" + std::to_string(i));
  world.asked();
  const auto several = world.check_all(limits("k", "1/hour burst 10", 2, "x", "1/s burst 5", 1));
  const auto after = world.check(rule("1/hour burst 10"), "k");
  world.run(40ms);
  EXPECT_EQ(world.took(several), "by 0: allowed 0");
  EXPECT_TRUE(world.took(after).starts_with("denied")) << world.took(after);
  const std::string asked = world.asked();
  EXPECT_LT(asked.find("| k 2 + x"), asked.rfind("| k")) << asked;
  world.expect_all_told();
}

TEST(SharedStore, several_limits_across_slots_keep_each_promise) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  std::size_t given_back = 0, allowed = 0;
  const unsigned traces = core::Chance::runs(40);
  for (unsigned trace = 0; trace < traces; ++trace) {
    Habits habits;
    habits.on_error = kDeny;
    habits.deadline = 20ms;
    SharedWorld world(kCluster, habits, 3);
    world.redis.ahead += std::chrono::microseconds{upto(10'000'000)};
    const std::uint64_t slow = random() % 2 == 0 ? 3000 : 300;
    world.latency = [&] { return std::chrono::microseconds{1 + upto(slow)}; };
    const std::uint64_t troubles = random() % 2 == 0 ? 0 : 10;
    world.fate = [&](const Deed& deed) {
      if (random() % 100 >= troubles) return Fate{};
      return deed.gives_back || random() % 2 == 0 ? kNothing : Fate{true, ""};
    };
    std::vector<Limit> all;
    for (const std::string& key : {kA, kB, kC}) {
      const Quota quota = Quota::make({1, std::chrono::microseconds{100 + upto(2000)}},
                                      1 + static_cast<std::int64_t>(upto(9)))
                              .value();
      all.push_back({core::Rule{quota}, key, Cost{1}, kDeny});
    }
    for (int i = 0; i < 150; ++i) {
      world.run(std::chrono::microseconds{random() % 3 == 0 ? upto(1000) : 0});
      std::vector<Limit> some;
      for (Limit limit : all) {
        limit.cost.units = 1 + upto(2) % static_cast<std::uint64_t>(limit.rule.quota.burst());
        if (random() % 3 != 0) some.push_back(limit);
      }
      if (some.size() > 1) world.check_all(some, 20ms, upto(2));
      const Limit& one = all[upto(2)];
      if (random() % 4 == 0) world.check(one.rule, one.key, 1, {}, upto(2));
    }
    world.run(1s);
    world.expect_all_told();
    for (const Limit& limit : all) {
      const nanoseconds T = limit.rule.quota.emission_interval();
      nanoseconds sum{0}, last{0};
      for (const Deed& deed : world.deeds) {
        if (!deed.ran || deed.parts[0].key != limit.key) continue;
        given_back += deed.gives_back ? 1 : 0;
        if (deed.gives_back || !deed.allowed) continue;
        ASSERT_NE(deed.asker, 0U);
        const Outcome& outcome = world.requests[deed.asker].told->outcome;
        if (outcome.cause != Cause::none || !outcome.decision.allowed()) continue;
        ++allowed;
        sum = std::max(nanoseconds{0}, sum - (deed.at - last)) +
              T * static_cast<std::int64_t>(deed.parts[0].cost.units);
        last = deed.at;
        ASSERT_LE(sum, T * limit.rule.quota.burst()) << "trace " << trace;
      }
    }
    // Each that was charged for nobody is given back once, and nothing else is.
    std::map<std::pair<std::size_t, std::string>, int> owed;
    for (const Deed& deed : world.deeds) {
      if (deed.gives_back || deed.asker == 0 || world.requests[deed.asker].limits.empty()) continue;
      const Outcome& outcome = world.requests[deed.asker].told->outcome;
      if (deed.allowed && !outcome.decision.allowed() && troubles == 0)
        ++owed[{deed.process, deed.parts[0].key}];
    }
    for (const Deed& deed : world.deeds) {
      if (deed.gives_back && troubles == 0) --owed[{deed.process, deed.parts[0].key}];
    }
    for (const auto& [what, count] : owed)
      EXPECT_EQ(count, 0) << "process " << what.first << " " << what.second;
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "trace " << trace;
  }
  EXPECT_GT(given_back, traces * 2U);
  EXPECT_GT(allowed, traces * 7U);
}

}  // namespace
}  // namespace weir::redis
