// Classes, guarantees, shadow checks and looks, where Redis counts and where it does not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/one_key_test.hpp"
#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

core::Rule leaving(const char* text, nanoseconds kept) {
  core::Rule made = rule(text);
  made.kept = kept;
  return made;
}

// The child's guarantee, its own limit, and the parent in which the guarantee holds.
std::vector<Limit> guaranteed(const std::string& child, const std::string& parent) {
  return {{.rule = rule("1/10s burst 2"), .key = child + ":guarantee", .cost = Cost{1}, .shadow = true},
          {.rule = rule("9/s"), .key = child, .cost = Cost{1}},
          {.rule = leaving("1/s burst 5", 3s), .key = parent, .cost = Cost{1}, .inside = 0}};
}

TEST(SharedStore, a_guarantee_and_its_parent_in_one_slot_are_one_call) {
  SharedWorld world(kCluster);
  for (int i = 0; i < 5; ++i) {
    const std::size_t id = world.check_all(guaranteed("{t}c", "{t}p"));
    world.run(1ms);
    EXPECT_EQ(world.asked().find('|'), std::string::npos);
    // Two are inside; then it borrows what of the five is not kept, which is nothing.
    EXPECT_EQ(world.took(id).substr(0, 13), i < 2 ? "by 2: allowed" : "by 2: denied ") << i;
  }
}

// The parent is asked when the guarantee has answered, and what was charged in vain goes back.
TEST(SharedStore, a_guarantee_in_another_slot_is_asked_before_its_parent) {
  SharedWorld world(kCluster);
  const std::string child = "{" + kA + "}c";
  const std::size_t first = world.check_all(guaranteed(child, kB));
  world.run(150us);
  EXPECT_EQ(world.took(first), "nothing yet");
  EXPECT_EQ(world.asked(), child + ":guarantee + " + child);
  world.run(1ms);
  EXPECT_EQ(world.took(first), "by 2: allowed 4");
  EXPECT_EQ(world.asked(), kB);
  const std::size_t second = world.check_all(guaranteed(child, kB));
  world.run(1ms);
  EXPECT_EQ(world.took(second), "by 2: allowed 3");
  const std::size_t third = world.check_all(guaranteed(child, kB));
  world.run(2ms);
  EXPECT_TRUE(world.took(third).starts_with("by 2: denied")) << world.took(third);
  world.run(5ms);
  EXPECT_EQ(world.redis.owed(child, rule("9/s"), world.now), 2);
  EXPECT_EQ(world.redis.owed(child + ":guarantee", rule("1/10s burst 2"), world.now), 2);
  EXPECT_EQ(world.redis.owed(kB, rule("1/s burst 5"), world.now), 2);
  EXPECT_TRUE(world.empty());
}

// Where the guarantee's node does not answer, what would be inside borrows: less is handed out, never more.
TEST(SharedStore, without_an_answer_of_its_guarantee_a_check_borrows) {
  SharedWorld world(kCluster);
  world.check(rule("1/s burst 5"), kB, 2);
  world.run(1ms);
  const std::string child = "{" + kA + "}c";
  world.fate = [&](const Deed& deed) { return deed.parts[0].key == kB ? Fate{} : says("-OOM no"); };
  const std::size_t id = world.check_all(guaranteed(child, kB), 5ms);
  world.run(20ms);
  EXPECT_TRUE(world.took(id).starts_with("by 2: denied")) << world.took(id);
}

TEST(SharedStore, nobody_asks_the_parent_for_a_request_that_is_cancelled) {
  SharedWorld world(kCluster);
  const std::string child = "{" + kA + "}c";
  const std::size_t id = world.check_all(guaranteed(child, kB));
  world.run(150us);
  world.cancel(id);
  world.run(10ms);
  EXPECT_EQ(world.redis.owed(kB, rule("1/s burst 5"), world.now), 0);
  EXPECT_EQ(world.redis.owed(child, rule("9/s"), world.now), 0);
  EXPECT_TRUE(world.empty());
}

// A denial of one class is told again to that class, and to others only when it denies them too.
TEST(SharedStore, a_denial_is_recalled_for_the_classes_that_it_denies) {
  SharedWorld world(kOne);
  const core::Rule critical = rule("1/s burst 9");
  const core::Rule bulk = leaving("1/s burst 9", 6s);
  const core::Rule least = leaving("1/s burst 9", 8s);
  const auto ask = [&](const core::Rule& of, std::uint64_t cost) {
    const std::size_t id = world.check(of, "k", cost);
    world.run(1ms);
    return world.took(id).substr(0, 14) + (world.asked().empty() ? " again" : "");
  };
  EXPECT_EQ(ask(bulk, 3), "allowed 0");
  EXPECT_EQ(ask(bulk, 2), "denied for 199");
  EXPECT_EQ(ask(bulk, 2), "denied for 199 again");
  EXPECT_EQ(ask(least, 1), "denied for 299 again");
  EXPECT_EQ(ask(critical, 2), "allowed 4");
  EXPECT_EQ(ask(bulk, 2), "denied for 399");
  EXPECT_EQ(ask(bulk, 2), "denied for 399 again");
  EXPECT_EQ(ask(bulk, 4), "never");
}

// A shadow's denial does not deny the request, remembered or not; and beyond a guarantee that is known to
// be used up, what a check is told can be known too.
TEST(SharedStore, a_remembered_denial_of_a_shadow_stops_nobody) {
  SharedWorld world(kOne);
  const std::vector<Limit> both = {{.rule = rule("1/10s"), .key = "s", .cost = Cost{1}, .shadow = true},
                                   {.rule = rule("9/s"), .key = "k", .cost = Cost{1}}};
  for (int i = 0; i < 4; ++i) {
    const std::size_t id = world.check_all(both);
    world.run(100us * 3);
    EXPECT_TRUE(world.took(id).starts_with("by 1: allowed")) << world.took(id);
  }
  for (int i = 0; i < 4; ++i) {
    world.check_all(guaranteed("c", "p"));
    world.run(1ms);
  }
  static_cast<void>(world.asked());
  const std::size_t id = world.check_all(guaranteed("c", "p"));
  EXPECT_TRUE(world.took(id).starts_with("by 2: denied")) << world.took(id);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "");
}

TEST(SharedStore, a_class_that_keeps_something_free_takes_no_lease) {
  for (const nanoseconds kept : {0ns, 1ns}) {
    SharedWorld world(kOne);
    for (int i = 0; i < 3; ++i) {
      world.check(leaving("1/s burst 20", kept), "k", 1, {.lease = 5});
      world.run(1ms);
    }
    EXPECT_EQ(world.store().counters().leased, kept == 0ns ? 2U : 0U);
  }
}

TEST(SharedStore, checks_of_several_classes_do_not_travel_as_one) {
  SharedWorld world(kOne, merging());
  const core::Rule critical = rule("1/s burst 4");
  const core::Rule bulk = leaving("1/s burst 4", 3s);
  world.check(critical, "k");
  for (int i = 0; i < 2; ++i) world.check(bulk, "k");
  for (int i = 0; i < 2; ++i) world.check(critical, "k");
  world.run(5ms);
  EXPECT_EQ(world.took(1), "allowed 3");
  for (const std::size_t id : {2U, 3U}) EXPECT_TRUE(world.took(id).starts_with("denied")) << world.took(id);
  EXPECT_EQ(world.took(4), "allowed 2");
  EXPECT_EQ(world.took(5), "allowed 1");
}

// --------------------------------------------------------------------------------------- without Redis

TEST(SharedStore, a_limit_says_itself_what_part_of_it_is_admitted_locally) {
  Habits habits;
  habits.local_share = 0.4;
  SharedWorld world(kOne, habits);
  world.down = {"a"};
  world.break_connections("a");
  const auto left = [&](const char* key, double share) {
    return world.took(
        world.check_all({{.rule = rule("10/s"), .key = key, .cost = Cost{1}, .local_share = share},
                         {.rule = rule("1000/s"), .key = std::string(key) + "x", .cost = Cost{1}}}));
  };
  EXPECT_EQ(left("k", 0), "by 0: allowed 3 (connection)");
  EXPECT_EQ(left("l", 0.2), "by 0: allowed 1 (connection)");
  EXPECT_EQ(left("m", 1), "by 0: allowed 9 (connection)");
}

// A part of the limit has the same part of it kept free, and leaves each class one unit.
TEST(SharedStore, classes_and_guarantees_hold_in_what_is_admitted_locally) {
  Habits habits;
  habits.local_share = 0.5;
  SharedWorld world(kOne, habits);
  world.down = {"a"};
  world.break_connections("a");
  EXPECT_EQ(world.took(world.check(leaving("1/s burst 20", 10s), "k")), "allowed 4 (connection)");
  EXPECT_EQ(world.took(world.check(rule("1/s burst 20"), "k")), "allowed 8 (connection)");
  EXPECT_EQ(world.took(world.check(leaving("1/s burst 2", 1s), "l")), "allowed 0 (connection)");
  Strings told;
  for (int i = 0; i < 3; ++i) told.push_back(world.took(world.check_all(guaranteed("c", "p"))));
  EXPECT_EQ(told[0], "by 2: allowed 1 (connection)");
  EXPECT_TRUE(told[1].starts_with("by 2: denied")) << told[1];
  const std::size_t look = world.check_all({{.rule = rule("1/s burst 20"), .key = "k", .cost = Cost{8}}},
                                           50ms, 0, store::Verb::look);
  EXPECT_EQ(world.took(look), "by 0: allowed 8 (connection)");
}

// A hiccup hands nothing out that the store's last answers, to any class, have spent.
TEST(SharedStore, the_fallback_continues_from_what_a_class_was_told) {
  SharedWorld world(kOne);
  const core::Rule bulk = leaving("1/100s burst 10", 500s);
  world.check(rule("1/100s burst 10"), "k", 2);
  world.run(1ms);
  world.check(bulk, "k", 2);
  world.run(1ms);
  world.down = {"a"};
  world.break_connections("a");
  EXPECT_EQ(world.took(world.check(bulk, "k")), "allowed 0 (connection)");
  EXPECT_EQ(world.took(world.check(rule("1/100s burst 10"), "k")), "allowed 4 (connection)");
}

}  // namespace
}  // namespace weir::redis
