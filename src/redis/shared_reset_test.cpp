// Resets, and what SharedStore forgets with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// A check sent before a reset and answered after it, and one sent after it, before it is answered: neither is
// told what was decided before it, unless by a question that was already under way.
TEST(SharedStore, a_reset_while_a_denial_is_on_its_way_is_not_forgotten) {
  for (const bool merge : {false, true}) {
    SharedWorld world(kOne);
    const core::Rule one = rule("1/s");
    world.check(one, "k");
    world.run(1ms);
    world.check(one, "k", 1, {.merge = merge});
    world.check(one, "k", 1, {.merge = merge});
    world.run(50us);
    world.reset("k");
    world.check(one, "k", 1, {.merge = merge});
    world.run(1ms);
    const Strings expected = {"denied for 999000us", merge ? "allowed 0" : "denied for 999000us",
                              merge ? "denied for 1000000us" : "allowed 0"};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(world.took(i + 2), expected[i]) << merge << i;
    EXPECT_EQ(world.resets, (std::vector<std::optional<std::int64_t>>{1}));
    world.expect_all_told();
  }
}

TEST(SharedStore, a_reset_while_a_lease_is_on_its_way_is_not_forgotten) {
  SharedWorld world(kOne);
  const core::Rule nine = rule("9/s");
  world.check(nine, "k", 1, {.lease = 5});
  world.check(nine, "k", 1, {.lease = 5});
  world.run(50us);
  world.reset("k");
  world.check(nine, "k", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 5 | reset k | 2 x k");
  EXPECT_EQ(world.took(1), "allowed 8");
  EXPECT_EQ(world.took(2), "allowed 8");
  EXPECT_EQ(world.took(3), "allowed 7");
  EXPECT_EQ(world.store().counters().leased, 0U);
}

// Not from its answer on: from the moment that it is asked for.
TEST(SharedStore, what_is_asked_after_a_reset_does_not_recall_what_was_before_it) {
  SharedWorld world(kOne);
  world.check(rule("1/s"), "k", 1);
  world.check(rule("1/s"), "k", 1);
  world.check(rule("9/s"), "leased", 1, {.lease = 5});
  world.run(1ms);
  world.asked();
  world.reset("k");
  world.reset("leased");
  const std::size_t denied = world.check(rule("1/s"), "k", 1);
  const std::size_t leased = world.check(rule("9/s"), "leased", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "reset k | reset leased | k | leased 5");
  EXPECT_EQ(world.took(denied), "allowed 0");
  EXPECT_EQ(world.took(leased), "allowed 8");
}

// Two event loops of one process: what one has had reset, or has given back, the other does not remember.
TEST(SharedStore, a_reset_by_another_event_loop_is_not_forgotten) {
  SharedWorld world(kOne);
  world.add(kOne, {}, world.home_of(0));
  world.run(1ms);
  world.check(rule("1/s"), "k");
  world.check(rule("1/s"), "k");
  world.check(rule("9/s"), "leased", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.took(2), "denied for 1000000us");
  EXPECT_EQ(world.took(world.check(rule("1/s"), "k")), "denied for 999200us");
  world.reset("k", 1);
  world.reset("leased", 1);
  world.run(1ms);
  world.asked();
  world.check(rule("1/s"), "k");
  world.check(rule("9/s"), "leased", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | leased 5");
  EXPECT_EQ(world.took(5), "allowed 0");
}

// Nor one that was asked for when the reset was on its way.
TEST(SharedStore, a_denial_that_overtakes_a_reset_by_another_event_loop_is_not_remembered) {
  SharedWorld world(kOne);
  world.add(kOne, {}, world.home_of(0));
  world.run(1ms);
  world.check(rule("1/s"), "k");
  world.run(1ms);
  world.latency = [] { return 1ms; };
  world.reset("k", 1);
  world.latency = [] { return 100us; };
  world.check(rule("1/s"), "k");
  world.run(5ms);
  EXPECT_EQ(world.asked(), "k | k | reset k");
  EXPECT_EQ(world.took(2), "denied for 999000us");
  const std::size_t after = world.check(rule("1/s"), "k");
  world.run(1ms);
  EXPECT_EQ(world.took(after), "allowed 0");
}

// Not even when it was asked before the reset and answered after it.
TEST(SharedStore, a_denial_that_a_reset_by_another_event_loop_overtakes_is_not_remembered) {
  for (const bool all : {false, true}) {
    SharedWorld world(kOne);
    world.add(kOne, {}, world.home_of(0));
    world.run(1ms);
    world.check(rule("1/s"), "k");
    world.run(1ms);
    nanoseconds way = 100us;
    world.latency = [&way] { return way; };
    world.fate = [&way](const Deed& deed) {
      way = deed.process == 0 ? 10ms : 100us;  // its answer
      return Fate{};
    };
    if (all) {
      world.check_all(limits("l", "9/s", 1, "k", "1/s", 1));
    } else {
      world.check(rule("1/s"), "k");
    }
    world.run(500us);
    way = 100us;
    world.reset("k", 1);
    world.run(20ms);
    EXPECT_EQ(world.resets.size(), 1U);
    EXPECT_EQ(world.took(2), all ? "by 1: denied for 999000us" : "denied for 999000us");
    world.fate = [](const Deed&) { return Fate{}; };
    const std::size_t after = world.check(rule("1/s"), "k");
    world.run(30ms);
    EXPECT_EQ(world.took(after), "allowed 0");
  }
}

TEST(SharedStore, a_denial_for_what_is_given_back_is_not_remembered) {
  SharedWorld world(kCluster);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kB ? says("-OOM no") : Fate{}; };
  world.check_all(limits(kA, "1/s", 1, kB, "1/s", 1, kDeny, kDeny));
  world.check(rule("1/s"), kA);
  world.run(10ms);
  EXPECT_EQ(world.took(1), "by 1: denied for 1000000us (oom)");
  EXPECT_EQ(world.took(2), "denied for 1000000us");
  const std::size_t after = world.check(rule("1/s"), kA);
  world.run(10ms);
  EXPECT_EQ(world.took(after), "allowed 0");
}

TEST(SharedStore, a_reset_that_nobody_answers_says_so) {
  SharedWorld world(kOne);
  world.reset("nobody");
  world.run(1ms);
  world.fate = [](const Deed&) { return says("-NOPERM no"); };
  world.reset("k");
  world.run(1ms);
  world.fate = [](const Deed&) { return kNothing; };
  world.reset("k");
  world.run(60ms);
  EXPECT_EQ(world.resets, (std::vector<std::optional<std::int64_t>>{0, std::nullopt, std::nullopt}));
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::auth)], 1U);
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::timeout)], 1U);
  EXPECT_TRUE(world.empty());
}

TEST(SharedStore, a_reset_of_many_keys_is_one_command_for_each_slot) {
  for (const bool cluster : {false, true}) {
    SharedWorld world(cluster ? kCluster : kOne);
    for (const std::string key : {"{t}1", "{t}2", kA.c_str(), kB.c_str()}) world.check(rule("9/s"), key);
    world.run(1ms);
    world.asked();
    world.reset(Strings{"{t}1", kA, "{t}2", "{t}none", kB, "{t}1"});
    world.run(1ms);
    const std::string asked = world.asked();
    EXPECT_EQ(std::count(asked.begin(), asked.end(), '|'), cluster ? 2 : 0) << asked;
    EXPECT_NE(asked.find("{t}2 + {t}none"), std::string::npos) << asked;
    EXPECT_EQ(world.resets, (std::vector<std::optional<std::int64_t>>{4}));
    EXPECT_TRUE(world.empty());
  }
}

TEST(SharedStore, a_reset_that_fails_in_one_slot_says_so) {
  SharedWorld world(kCluster);
  world.check(rule("9/s"), kA);
  world.run(1ms);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kB ? says("-OOM no") : Fate{}; };
  world.reset(Strings{kA, kB, kC});
  world.run(1ms);
  EXPECT_EQ(world.resets, (std::vector<std::optional<std::int64_t>>{std::nullopt}));
  EXPECT_EQ(world.redis.owed(kA, rule("9/s"), world.now), 0);
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::oom)], 1U);
  EXPECT_TRUE(world.empty());
}

}  // namespace
}  // namespace weir::redis
