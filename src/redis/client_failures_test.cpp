// Timeouts, lost connections, coming back, and what callers do meanwhile.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// --------------------------------------------------------------------------------- timeouts and lost
// connections

TEST(RedisClient, a_late_answer_is_told_by_its_order_and_dropped) {
  World world("redis://a");
  world.start().up("a");
  world.did();
  world.call(1, 0, 20ms);
  world.call(2, 0, 40ms);
  world.call(3, 0, 20ms);
  world.pass(19ms);
  EXPECT_EQ(world.took(), "");
  world.pass(1ms);
  EXPECT_EQ(world.took(),
            "1 timeout (a:6379: no answer by the deadline); 3 timeout (a:6379: no answer by the deadline)");
  world.call(4);  // has the number of one of them
  world.bytes("a", ":1\r\n:2\r\n");
  EXPECT_EQ(world.took(), "2 :2");
  world.bytes("a", "-ERR late\r\n:4\r\n");
  EXPECT_EQ(world.took(), "4 :4");
  EXPECT_EQ(world.did(), "");
  EXPECT_EQ(world.write_count, (std::map<std::uint64_t, int>{{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
}

// What an answer says of its node holds, late or not.
TEST(RedisClient, a_late_refusal_ends_the_connection) {
  for (const auto& [answer, closes] :
       {std::pair{"-READONLY x", true}, {"-NOAUTH x", true}, {"-NOPERM x", false}, {"-NOSCRIPT x", false}}) {
    World world("redis://a");
    world.start().up("a");
    world.did();
    world.call(1, 0, 20ms);
    world.call(2, 0, 40ms);
    world.pass(20ms);
    world.took();
    world.bytes("a", std::string(answer) + "\r\n");
    EXPECT_EQ(world.did(), closes ? "close a" : "") << answer;
    EXPECT_EQ(world.took().empty(), !closes);
    EXPECT_EQ(world.write_count[1], 1);
  }
}

// A node that says nothing for as long as an answer may take; one that says anything stays.
TEST(RedisClient, silence_ends_the_connection_and_nothing_is_sent_again) {
  for (const bool speaks : {false, true}) {
    World world("redis://a");
    world.start().up("a");
    world.did();
    world.call(1, 0, 20ms);
    world.call(2, 0, 90ms);
    world.pass(40ms);
    EXPECT_EQ(world.took(), "1 timeout (a:6379: no answer by the deadline)");
    if (speaks) world.bytes("a", ":");
    world.pass(10ms);
    EXPECT_EQ(world.took(), speaks ? "" : "2 connection (a:6379: no answer in time)");
    EXPECT_EQ(world.did(), speaks ? "" : "close a");
    if (speaks) world.bytes("a", "1\r\n:2\r\n");
    world.hosts["a"].inbox.clear();
    EXPECT_EQ(world.took(), speaks ? "2 :2" : "");
    world.hosts["a"].manner = World::Manner::serves;
    world.pass(900ms);
    EXPECT_EQ(world.did(), speaks ? "" : "connect a");
    EXPECT_EQ(world.write_count, (std::map<std::uint64_t, int>{{1, 1}, {2, 1}}));
  }
}

// Of a call that may take longer the silence may be longer too.
TEST(RedisClient, silence_is_as_long_as_the_answer_may_take) {
  World world("redis://a");
  world.start().up("a");
  world.did();
  world.call(1, 0, 200ms);
  world.call(2, 0, 1ms);
  world.pass(199ms);
  EXPECT_EQ(world.did(), "");
  world.pass(1ms);
  EXPECT_EQ(world.did(), "close a");
  EXPECT_EQ(world.took(),
            "2 timeout (a:6379: no answer by the deadline); 1 timeout (a:6379: no answer by the deadline)");
}

TEST(RedisClient, a_lost_connection_fails_what_is_under_way_once) {
  World world("redis://a");
  world.start().up("a");
  world.call(1);
  world.call(2);
  world.reply("a", ":1\r\n:");
  world.fail("a", "the connection was closed");
  world.fail("a", "again");
  EXPECT_EQ(world.took(), "1 :1; 2 connection (a:6379: the connection was closed)");
  world.pass(30ms);
  world.accept("a");
  world.client.connected(world.hosts["a"].id, world.now);
  world.settle();
  EXPECT_EQ(world.sent("a"),
            "CALL 1 | CALL 2 | SCRIPT LOAD script | CONFIG GET maxmemory-policy");  // it has said its policy
  world.answer("a");
  world.pass(900ms);
  EXPECT_EQ(world.took(), "");
  EXPECT_EQ(world.write_count[2], 1);
  // Half an answer of the last connection does not precede one of this.
  world.call(3);
  world.reply("a", ":3\r\n");
  EXPECT_EQ(world.took(), "3 :3");
}

TEST(RedisClient, calls_that_wait_for_the_first_connection) {
  World world("redis://a");
  world.start();
  world.call(1, 0, 20ms);
  world.pass(20ms);
  EXPECT_EQ(world.took(), "1 timeout (not connected yet)");
  world.call(2, 0, 40ms);
  world.fail("a");
  EXPECT_EQ(world.took(), "2 connection (a:6379: refused)");
}

// A call whose deadline has passed was sent, and its connection closed for the answer that did not come.
TEST(RedisClient, nothing_is_sent_after_its_deadline) {
  World world("redis://a");
  world.start();
  world.call(4, 0, 0ns);
  EXPECT_EQ(world.took(), "4 timeout (no answer by the deadline)");
  world.up("a");
  world.did();
  world.call(1, 0, 0ns);
  world.call(2, 0, -1s);
  EXPECT_EQ(world.took(), "1 timeout (no answer by the deadline); 2 timeout (no answer by the deadline)");
  EXPECT_EQ(world.sent("a"), "");
  world.call(3, 0, 10ms);
  world.now += 10ms;
  world.reply("a", "-NOSCRIPT\r\n");
  EXPECT_EQ(world.took(), "3 timeout (no answer by the deadline)");
  EXPECT_EQ(world.did(), "");
  EXPECT_EQ(world.write_count[3], 1);
}

TEST(RedisClient, a_call_that_waited_beyond_its_deadline_is_not_sent) {
  World world("redis://a");
  world.start();
  world.call(1, 0, 10ms);
  world.accept("a");
  world.now += 10ms;
  world.reply("a", bulk("sha"));
  EXPECT_EQ(world.took(), "1 timeout (no answer by the deadline)");
  EXPECT_TRUE(world.client.ready());
  EXPECT_EQ(world.write_count[1], 0);
}

// The breaker: nobody waits for a node that is down.
TEST(RedisClient, calls_while_down_fail_at_once) {
  World world("redis://a");
  world.start().up("a");
  world.fail("a", "lost");
  world.call(1);
  EXPECT_EQ(world.took(), "1 connection (a:6379: lost)");
  world.pass(30ms);  // connecting
  EXPECT_EQ(world.did(), "connect a; close a; connect a");
  world.call(2);
  world.accept("a");  // greeting
  world.call(3);
  EXPECT_EQ(world.took(), "2 connection (a:6379: lost); 3 connection (a:6379: lost)");
  world.answer("a");
  world.call(4);
  world.answer("a");
  EXPECT_EQ(world.took(), "4 :4");
}

TEST(RedisClient, is_back_within_a_second_after_any_number_of_failures) {
  for (const World::Manner manner : {World::Manner::refuses, World::Manner::wedged, World::Manner::manual}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      World world("redis://a", seed);
      world.hosts["a"].manner = manner;
      world.start();
      // Any moment of any of its tries.
      world.pass(std::chrono::milliseconds{seed * 173});
      // The worst one: it has just begun.
      const std::size_t connects = world.hosts["a"].connects.size();
      if (seed % 2 == 0) {
        while (world.hosts["a"].connects.size() == connects) world.pass(1ms);
      }
      const nanoseconds recovered = world.now;
      world.hosts["a"].manner = World::Manner::serves;
      if (manner == World::Manner::wedged) world.hosts["a"].inbox.clear();  // it never answers those
      if (manner == World::Manner::manual) world.hosts["a"].connecting = false;
      while (!world.client.ready() && world.now < recovered + 2s) world.pass(1ms);
      EXPECT_LE(world.now - recovered, 1s) << "seed " << seed << " manner " << int(manner);
    }
  }
}

TEST(RedisClient, reconnects_with_patience_and_jitter) {
  std::set<nanoseconds> waits;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    World world("redis://a", seed);
    world.hosts["a"].manner = World::Manner::refuses;
    world.start();
    world.pass(10s);
    const auto& connects = world.hosts["a"].connects;
    EXPECT_GE(connects.size(), 20U);
    EXPECT_LE(connects.size(), 45U) << "a storm";
    for (std::size_t i = 1; i < connects.size(); ++i) {
      const nanoseconds wait = connects[i] - connects[i - 1];
      EXPECT_GE(wait, 10ms);
      EXPECT_LE(wait, 600ms);
      EXPECT_TRUE(i > 1 || wait <= 30ms);
      EXPECT_TRUE(i < 6 || wait >= 200ms);
      waits.insert(wait);
    }
    EXPECT_EQ(world.client.counters().connects, connects.size());
  }
  EXPECT_GT(waits.size(), 400U) << "no jitter";
}

TEST(RedisClient, a_wedged_node_is_not_tried_too_often) {
  World world("redis://a");
  world.hosts["a"].manner = World::Manner::wedged;
  world.start();
  world.call(1, 0, 10s);
  world.pass(500ms);
  EXPECT_EQ(world.took(), "1 connection (a:6379: no greeting in time)");
  EXPECT_EQ(world.client.last_error(), "a:6379: no greeting in time");
  world.pass(9500ms);
  EXPECT_GE(world.hosts["a"].connects.size(), 17U);
  EXPECT_LE(world.hosts["a"].connects.size(), 20U);
}

// SCRIPT LOAD succeeds on a replica: each greeting forgot the failures, and it was connected to a hundred
// times in a second.
TEST(RedisClient, a_replica_in_the_masters_place_does_not_make_a_storm) {
  World world("redis://a");
  world.hosts["a"].manner = World::Manner::serves;
  world.call_error = "-READONLY You can't write against a read only replica.";
  world.start();
  for (std::uint64_t tag = 1; tag <= 5000; ++tag) {
    world.call(tag);
    world.pass(2ms);
  }
  EXPECT_LE(world.hosts["a"].connects.size(), 45U);
  EXPECT_GE(world.hosts["a"].connects.size(), 20U);
  // A call that succeeds makes up for all of them.
  world.call_error.clear();
  while (!world.client.ready()) world.pass(1ms);
  world.call(6000);
  world.fail("a", "lost");
  world.pass(30ms);
  EXPECT_TRUE(world.client.ready());
}

TEST(RedisClient, failures_are_forgotten_in_a_second_of_being_up) {
  World world("redis://a");
  world.hosts["a"].manner = World::Manner::refuses;
  world.start();
  world.pass(10s);
  world.hosts["a"].manner = World::Manner::serves;
  world.pass(2s);
  world.hosts["a"].connects.clear();
  world.hosts["a"].manner = World::Manner::refuses;
  world.fail("a", "lost");
  world.pass(90ms);
  EXPECT_GE(world.hosts["a"].connects.size(), 2U);
}

TEST(RedisClient, a_silent_connection_is_asked_and_left) {
  World world("redis://a");
  world.start().up("a");
  world.did();
  world.pass(999ms);
  EXPECT_EQ(world.sent("a"), "");
  world.pass(1ms);
  EXPECT_EQ(world.sent("a"), "PING");
  world.answer("a");
  world.pass(1s);
  EXPECT_EQ(world.sent("a"), "PING");
  world.pass(499ms);
  EXPECT_EQ(world.did(), "");
  world.pass(1ms);
  EXPECT_EQ(world.did(), "close a");
  EXPECT_EQ(world.client.last_error(), "a:6379: no answer in time");
}

// A greeting may have been taken while one of both did not run.
TEST(RedisClient, a_ping_tells_how_long_a_round_trip_takes) {
  World world("redis://a");
  world.start().accept("a");
  world.pass(412ms);
  world.answer("a");
  EXPECT_EQ(world.client.round_trip(), 412ms);
  world.sent("a");
  world.pass(1s);
  ASSERT_EQ(world.sent("a"), "PING");
  world.pass(2ms);
  world.answer("a");
  EXPECT_EQ(world.client.round_trip(), 2ms);
}

// next_tick() was in the past for as long as a call was under way for more than half a second.
TEST(RedisClient, a_call_with_patience_is_waited_for_at_rest) {
  World world("redis://a");
  world.start().up("a");
  world.call(1, 0, 10s);
  EXPECT_EQ(world.client.next_tick(), world.now + 10s);
  world.pass(9s);
  world.reply("a", ":1\r\n");
  EXPECT_EQ(world.took(), "1 :1");
}

// What follows a slow call was overdue as soon as that was answered.
TEST(RedisClient, a_reload_after_a_slow_call_has_its_time) {
  World world("redis://a");
  world.start().up("a");
  world.call(1, 0, 10s);
  world.call(2, 0, 10s);
  world.reply("a", "-NOSCRIPT\r\n");
  world.pass(5s);
  world.reply("a", ":2\r\n");
  world.pass(400ms);
  world.reply("a", bulk("sha"));
  world.reply("a", ":1\r\n");
  EXPECT_EQ(world.took(), "2 :2; 1 :1");
}

// ------------------------------------------------------------------------------------------- calls and their
// numbers

TEST(RedisClient, calls_made_inside_on_result) {
  World world("redis://a");
  world.on_done = [&](std::uint64_t tag, Cause) {
    if (tag < 100)
      world.client.call(world.tagged(tag + 100), 0, array({"CALL", std::to_string(tag + 100)}),
                        world.now + 50ms, world.now);
  };
  world.start().up("a");
  world.call(1);
  world.call(2);
  world.bytes("a", ":1\r\n");
  EXPECT_EQ(world.took(), "1 :1");
  world.bytes("a", ":2\r\n:101\r\n");
  EXPECT_EQ(world.took(), "2 :2; 101 :101");
  world.call(3);
  world.fail("a", "lost");
  EXPECT_EQ(world.took(),
            "102 connection (a:6379: lost); 3 connection (a:6379: lost); 103 connection (a:6379: lost)");
  world.call(4);
  EXPECT_EQ(world.took(), "4 connection (a:6379: lost); 104 connection (a:6379: lost)");
}

// A call made in the answer to one that timed out took its number, and was failed in its place.
TEST(RedisClient, a_call_made_inside_a_timeout_is_another) {
  World world("redis+cluster://a");
  world.map = slots({{0, 8191, "a"}, {8192, 16383, "b"}});
  world.start().up("a");
  world.answer("a");
  world.on_done = [&](std::uint64_t tag, Cause) {
    if (tag == 1) world.client.call(world.tagged(2), 9000, array({"CALL", "2"}), world.now + 50ms, world.now);
  };
  world.call(1, 0, 10ms);
  world.pass(10ms);
  EXPECT_EQ(world.took(), "1 timeout (a:6379: no answer by the deadline)");
  world.up("b");
  world.answer("b");
  EXPECT_EQ(world.took(), "2 :2");
}

TEST(RedisClient, a_number_used_again_while_an_old_ticket_waits) {
  for (const bool comes_up : {true, false}) {
    World world("redis+cluster://a,b");
    world.hosts["b"].manner = World::Manner::serves;
    world.map = slots({{0, 8191, "c"}, {8192, 16383, "b"}});
    world.start();
    world.call(1, 0, 10ms);  // waits for c
    world.pass(10ms);
    EXPECT_EQ(world.took(), "1 timeout (not connected yet)");
    world.hosts["b"].manner = World::Manner::manual;
    world.call(2, 9000);  // has the number of the first, and is under way
    if (comes_up) {
      world.up("c");
    } else {
      world.fail("c");
    }
    EXPECT_EQ(world.sent("c"), "");
    world.answer("b");
    EXPECT_EQ(world.took(), "2 :2");
    EXPECT_EQ(world.write_count[2], 1);
  }
}

TEST(RedisClient, the_deadline_of_a_call_that_was_answered_is_nobodys) {
  World world("redis+cluster://a");
  world.map = slots({{0, 16383, "a"}});
  world.hosts["a"].manner = World::Manner::serves;
  world.start();
  world.hosts["a"].manner = World::Manner::manual;
  world.did();
  world.call(1, 0, 50ms);
  world.call(2, 0, 3ms);
  world.reply("a", "-TRYAGAIN x\r\n");
  world.reply("a", ":2\r\n");
  world.pass(10ms);
  EXPECT_EQ(world.did(), "");
  world.answer("a");
  EXPECT_EQ(world.took(), "2 :2; 1 :1");
}

}  // namespace
}  // namespace weir::redis
