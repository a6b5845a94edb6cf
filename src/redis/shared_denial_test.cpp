// Denials that are remembered and told without asking Redis.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "redis/shared_world_test.hpp"

namespace weir::redis {
namespace {

// What was denied is denied here until its retry_after. A smaller request that passes makes it longer than it
// said, and it is asked for again.
TEST(SharedStore, a_denial_is_recalled_until_something_has_passed) {
  struct Row {
    std::uint64_t cost;
    const char* asked;
    const char* expected;
  };
  for (const bool remembers : {true, false}) {
    Habits habits;
    habits.remember_denials = remembers;
    SharedWorld world(kOne, habits);
    for (const Row& row :
         {Row{4, "k 4", "allowed 1"}, Row{3, "k 3", "denied for 1998000us"},
          Row{3, "", "denied for 1996000us"}, Row{2, "", "denied for 994000us"}, Row{0, "k", "allowed 1"},
          Row{3, "k 3", "denied for 1990000us"}, Row{1, "k", "allowed 0"},
          Row{3, "k 3", "denied for 2986000us"}, Row{6, "k 6", "never"}}) {
      const std::size_t id = world.check(rule("5/5s"), "k", row.cost);
      world.run(2ms);
      EXPECT_EQ(world.took(id).substr(0, 14), std::string(row.expected).substr(0, 14));
      EXPECT_TRUE(!remembers || world.asked() == row.asked) << row.cost;
    }
    EXPECT_EQ(world.store().counters().remembered, remembers ? 2U : 0U);
    EXPECT_EQ(world.store().counters().decided, remembers ? 7U : 9U);
  }
}

// However long the answer was on its way: whom the store would let in is asked for.
TEST(SharedStore, a_denial_is_recalled_no_longer_than_the_store_would_deny) {
  for (const auto& ways : {std::pair{1ms, 1ms}, {1ms, 20ms}, {20ms, 1ms}}) {
    SharedWorld world(kOne);
    bool there = false;
    world.latency = [&] { return (there = !there) ? ways.first : ways.second; };
    world.check(rule("1/s"), "k", 1, {.merge = true});
    world.check(rule("1/s"), "k", 1, {.merge = true});
    world.run(40ms + 2ms);
    EXPECT_EQ(world.took(2),
              "denied for " + std::to_string(1'000'000 - (ways.first + ways.second) / 1us) + "us");
    EXPECT_TRUE(world.took(world.check(rule("1/s"), "k")).starts_with("denied"));
    EXPECT_EQ(world.asked(), "k | k");
    world.run(1s - 42ms);
    const std::size_t after = world.check(rule("1/s"), "k");
    world.run(50ms);
    EXPECT_EQ(world.took(after), "allowed 0");
  }
}

TEST(SharedStore, a_merged_denial_is_recalled) {
  SharedWorld world(kOne, merging());
  for (int i = 0; i < 4; ++i) world.check(rule("2/s"), "k");
  world.run(1ms);
  EXPECT_EQ(world.took(world.check(rule("2/s"), "k")), "denied for 499200us");
  EXPECT_EQ(world.asked(), "k | 3 x k");
}

// Only of gcra.
TEST(SharedStore, a_denial_by_a_window_is_not_recalled) {
  SharedWorld world(kOne);
  for (int i = 0; i < 3; ++i) {
    world.check(rule("1/s algorithm=fixed_window"), "k");
    world.run(1ms);
  }
  EXPECT_EQ(world.asked(), "k | k | k");
}

}  // namespace
}  // namespace weir::redis
