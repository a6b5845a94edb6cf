// What a check of one key is answered, how its key is named in Redis, and which requests are refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

TEST(SharedStore, asks_once_for_each) {
  SharedWorld world(kOne);
  const core::Rule five = rule("5/s");
  for (int i = 0; i < 3; ++i) world.check(five, "k");
  world.check(five, "k", 0);
  world.check(five, "k", 6);
  world.run(199us);
  EXPECT_EQ(world.took(1), "nothing yet");
  world.run(1us);
  EXPECT_EQ(world.asked(), "k | k | k | k | k 6");
  const Strings expected = {"allowed 4", "allowed 3", "allowed 2", "allowed 2", "never"};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(world.took(i + 1), expected[i]);
  EXPECT_EQ(world.store().counters().decided, 5U);
  EXPECT_EQ(world.store().counters().merged, 0U);
  EXPECT_TRUE(world.empty());
}

// The calls of a batch leave in one write, and the owner of the sockets is told once how many there are.
TEST(SharedStore, a_batch_leaves_in_one_write) {
  SharedWorld world(kOne);
  world.wakes().clear();
  world.check_batch(rule("9/s"), {"a", "b", "a", "c"});
  EXPECT_EQ(world.wakes(), (std::vector<std::size_t>{4}));
  world.run(1ms);
  EXPECT_EQ(world.asked(), "a | b | a | c");
  EXPECT_EQ(world.took(3), "allowed 7");
  world.expect_all_told();
}

TEST(SharedStore, who_decided_is_told) {
  SharedWorld world(kOne);
  world.check(rule("1/s"), "k");
  world.check(rule("1/s"), "k");
  world.check(rule("9/s"), "l", 1, {.lease = 5});
  world.run(1ms);
  const std::size_t remembered = world.check(rule("1/s"), "k");
  const std::size_t leased = world.check(rule("9/s"), "l", 1, {.lease = 5});
  EXPECT_EQ(world.requests[1].told->source, Source::store);
  EXPECT_EQ(world.requests[remembered].told->source, Source::remembered);
  EXPECT_EQ(world.requests[leased].told->source, Source::leased);
  world.give_back(leased);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | k | l 5 | back l");
}

TEST(SharedStore, every_command_has_the_prefix) {
  SharedWorld world("redis+cluster://a?prefix=p:", merging());
  const std::string a = on("a", "p:a").substr(2), b = on("b", "p:b").substr(2);
  world.check(rule("9/s"), a);
  world.check(rule("9/s"), a);
  world.check(rule("9/s"), a);
  world.run(1ms);
  world.check_all(limits(a, "9/s", 1, b, "9/s", 10));
  world.check_all(limits("{t}a", "9/s", 1, "{t}b", "9/s", 1));
  world.run(1ms);
  world.reset(a);
  world.run(1ms);
  const std::string pa = "p:" + a;
  EXPECT_EQ(world.asked(), pa + " | 2 x " + pa + " | " + pa + " | p:" + b + " 10 | p:{t}a + p:{t}b | back " +
                               pa + " | reset " + pa);
}

TEST(SharedStore, a_key_is_in_the_slot_that_it_has_with_the_prefix) {
  SharedWorld world("redis+cluster://a?prefix=weir:");
  for (int i = 0; i < 8; ++i) world.check(rule("9/s"), "k" + std::to_string(i));
  world.run(1ms);
  EXPECT_EQ(world.store().counters().decided, 8U);
}

TEST(SharedStore, limits_with_an_id_have_states_of_their_own) {
  SharedWorld world(kOne);
  EXPECT_EQ(world.took(world.check(rule("1/s"), "k")), "nothing yet");
  for (const std::uint64_t id : {1U, 2U, 11U}) world.check(rule("1/s"), "k", 1, {.id = id});
  world.run(1ms);
  EXPECT_EQ(world.asked(),
            "k | {33469f3ea832d843}limit#7:limit 1k | {33469f3ea832d843}limit#7:limit 2k | "
            "{33469f3ea832d843}limit#8:limit 11k");
  for (std::size_t id = 1; id <= 4; ++id) EXPECT_EQ(world.took(id), "allowed 0");
  // What is remembered of one says nothing of another.
  world.check(rule("1/s"), "k", 1, {.id = 1});
  world.run(1ms);
  EXPECT_TRUE(world.took(world.check(rule("1/s"), "k", 1, {.id = 1})).starts_with("denied"));
  const std::size_t other = world.check(rule("1/s"), "k", 1, {.id = 3});
  world.run(1ms);
  EXPECT_EQ(world.took(other), "allowed 0");
}

// Numbers that the script does not count are refused before it is asked.
TEST(SharedStore, unsuitable_rules_are_not_asked_for) {
  SharedWorld world(kOne);
  EXPECT_EQ(world.took(world.check(core::Rule{Quota::make({1, 1ns}, 9'100'000'000'000'000).value()}, "k")),
            "burst: 9100000000000000 is above the most that gcra counts in Redis (9000000000000000)");
  EXPECT_EQ(world.asked(), "");
}

TEST(SharedStore, two_checks_of_one_key_and_limit_are_refused) {
  SharedWorld world(kOne);
  EXPECT_EQ(world.took(world.check_all(limits("k", "9/s", 1, "k", "5/s", 1))),
            "by 1: two checks of a request have the same limit and key");
  EXPECT_EQ(world.asked(), "");
}

}  // namespace
}  // namespace weir::redis
