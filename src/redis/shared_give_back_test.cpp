// Units that are given back, to Redis or to the fallback, whichever charged them.
#include <gtest/gtest.h>

#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

TEST(SharedStore, what_was_charged_is_given_back_as_far_as_it_is_owed) {
  struct Row {
    const char* rule;
    std::uint64_t cost;
    nanoseconds after;
    const char* asked;
    std::int64_t owed;
  };
  for (const Row& row :
       {Row{"5/5s", 3, 0s, "back k 3", 0}, Row{"5/5s", 3, 1s, "back k 3", 0}, Row{"5/5s", 6, 0s, "", 0},
        Row{"5/5s", 0, 0s, "", 0}, Row{"5/5s algorithm=fixed_window", 3, 0s, "", 0}}) {
    SharedWorld world(kOne);
    const std::size_t id = world.check(rule(row.rule), "k", row.cost);
    world.run(1ms);
    world.asked();
    world.run(row.after);
    world.give_back(id);
    world.run(1ms);
    EXPECT_EQ(world.asked(), row.asked) << row.rule << " " << row.cost;
    if (rule(row.rule).algorithm == Algorithm::gcra) {
      EXPECT_EQ(world.redis.owed("k", rule(row.rule), world.now), row.owed) << row.cost;
    }
  }
}

// What others were admitted for meanwhile stays: of 3 units charged 2 s ago one has not drained.
TEST(SharedStore, what_has_drained_is_not_given_back) {
  SharedWorld world(kOne);
  const std::size_t id = world.check(rule("5/5s"), "k", 3);
  world.run(2s);
  world.check(rule("5/5s"), "k", 4);
  world.run(1ms);
  EXPECT_EQ(world.took(2), "allowed 0");
  world.give_back(id);
  world.run(1ms);
  const std::size_t look = world.check(rule("5/5s"), "k", 0);
  world.run(1ms);
  EXPECT_EQ(world.took(look), "allowed 1");
}

TEST(SharedStore, all_of_several_limits_are_given_back) {
  SharedWorld world(kCluster);
  const std::size_t id = world.check_all(limits(kA, "5/5s", 2, kB, "9/9s", 3));
  world.run(1ms);
  world.give_back(id);
  world.run(1ms);
  EXPECT_EQ(world.asked(), kA + " 2 | " + kB + " 3 | back " + kA + " 2 | back " + kB + " 3");
  EXPECT_EQ(world.redis.owed(kA, rule("5/5s"), world.now), 0);
  EXPECT_EQ(world.redis.owed(kB, rule("9/9s"), world.now), 0);
}

TEST(SharedStore, what_the_fallback_charged_goes_back_to_it) {
  SharedWorld world(kOne);
  world.down = {"a"};
  world.break_connections("a");
  const std::size_t one = world.check(rule("5/5s"), "k", 3);
  EXPECT_EQ(world.requests[one].told->source, Source::fallback);
  const std::size_t two = world.check_all(limits("k", "5/5s", 1, "l", "9/9s", 4));
  world.give_back(one);
  EXPECT_EQ(world.took(world.check(rule("5/5s"), "k", 0)), "allowed 4 (connection)");
  world.give_back(two);
  EXPECT_EQ(world.took(world.check(rule("5/5s"), "k", 0)), "allowed 5 (connection)");
  EXPECT_EQ(world.took(world.check(rule("9/9s"), "l", 0)), "allowed 9 (connection)");
  const std::size_t uncounted = world.check(rule("5/5s"), "k", 3, {.on_error = kAllow});
  world.give_back(uncounted);
  EXPECT_EQ(world.took(world.check(rule("5/5s"), "k", 0)), "allowed 5 (connection)");
  EXPECT_EQ(world.asked(), "");
}

// One slot is decided by Redis and the other here: what goes back is what the decider charged, on its clock.
TEST(SharedStore, of_a_request_charged_in_both_places_one_part_is_given_back) {
  for (const bool fallback_decides : {false, true}) {
    SharedWorld world(kCluster);
    world.fate = [](const Deed& deed) { return deed.parts[0].key == kB ? says("-OOM no") : Fate{}; };
    const std::size_t id =
        world.check_all(limits(kA, "9/9s", 1, kB, fallback_decides ? "5/5s" : "99/99s", 1));
    world.run(1ms);
    EXPECT_EQ(world.requests[id].told->source, fallback_decides ? Source::fallback : Source::store);
    world.give_back(id);
    world.run(1ms);
    EXPECT_EQ(world.redis.owed(kA, rule("9/9s"), world.now), fallback_decides ? 1 : 0);
    const std::size_t look = world.check(rule(fallback_decides ? "5/5s" : "99/99s"), kB, 0);
    world.run(1ms);
    EXPECT_EQ(world.took(look), fallback_decides ? "allowed 5 (oom)" : "allowed 98 (oom)");
  }
}

}  // namespace
}  // namespace weir::redis
