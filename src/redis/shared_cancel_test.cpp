// Requests that are cancelled while Redis is asked.
#include <gtest/gtest.h>

#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

TEST(SharedStore, a_cancelled_check_is_charged_and_not_answered) {
  SharedWorld world(kOne);
  const std::size_t id = world.check(rule("9/9s"), "k", 2);
  world.cancel(id);
  world.run(1ms);
  EXPECT_EQ(world.took(id), "nothing yet");
  EXPECT_EQ(world.redis.owed("k", rule("9/9s"), world.now), 2);
  world.expect_all_told();
}

TEST(SharedStore, a_cancelled_check_that_waits_is_not_asked) {
  SharedWorld world(kOne, merging());
  for (int i = 0; i < 4; ++i) world.check(rule("9/s"), "k");
  world.cancel(3);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | 2 x k");
  EXPECT_EQ(world.took(3), "nothing yet");
  world.expect_all_told();
}

// Neither is the fallback charged for a request that nothing waits for.
TEST(SharedStore, a_cancelled_check_that_fails_charges_nothing_here) {
  SharedWorld world(kOne);
  world.fate = [](const Deed&) { return says("-OOM no"); };
  world.cancel(world.check(rule("9/s"), "k", 2));
  world.cancel(world.check_all(limits("k", "9/s", 1, "l", "9/s", 1)));
  world.run(1ms);
  const std::size_t look = world.check(rule("9/s"), "k", 0);
  world.run(1ms);
  EXPECT_EQ(world.took(look), "allowed 9 (oom)");
  EXPECT_EQ(world.store().counters().fallbacks, 1U);
  world.expect_all_told();
}

// What one slot charged for a cancelled request goes back when another refuses, or fails.
TEST(SharedStore, a_cancelled_request_of_several_is_still_all_or_none) {
  struct Row {
    std::uint64_t cost_b;
    Fate fate_b;
    std::int64_t owed_a;
  };
  for (const Row& row : {Row{1, {}, 3}, Row{3, {}, 0}, Row{1, says("-OOM no"), 0}}) {
    SharedWorld world(kCluster);
    world.fate = [&row](const Deed& deed) { return deed.parts[0].key == kB ? row.fate_b : Fate{}; };
    world.cancel(world.check_all(limits(kA, "5/10s", 3, kB, "2/10s", row.cost_b)));
    world.run(10ms);
    EXPECT_EQ(world.redis.owed(kA, rule("5/10s"), world.now), row.owed_a);
    world.expect_all_told();
  }
}

}  // namespace
}  // namespace weir::redis
