// Which master the sentinels name, and what follows from it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// ------------------------------------------------------------------------------------------------- Sentinel

TEST(RedisSentinel, asks_and_connects_to_the_master) {
  World world("redis+sentinel://:hush@s,t/mymaster/2");
  world.start();
  EXPECT_EQ(world.did(), "connect s; connect t");
  world.call(1);
  world.accept("s");
  world.reply("s", "+PONG\r\n");
  EXPECT_EQ(world.sent("s"), "PING | SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
  world.reply("s", array({"m", "6379"}));
  EXPECT_EQ(world.did(), "connect m");
  EXPECT_FALSE(world.client.ready());
  world.accept("m");
  EXPECT_EQ(world.sent("m"), "AUTH hush | SELECT 2 | SCRIPT LOAD script | CONFIG GET maxmemory-policy");
  world.answer("m");
  EXPECT_EQ(world.took(), "1 :1");
  EXPECT_TRUE(world.client.ready());
}

TEST(RedisSentinel, one_dead_sentinel_does_not_matter) {
  World world("redis+sentinel://x,s/mymaster");
  world.hosts["x"].manner = World::Manner::refuses;
  world.hosts["s"].manner = world.hosts["m"].manner = World::Manner::manual;
  world.start();
  world.call(1);
  world.up("s");
  world.answer("s");
  world.up("m");
  world.answer("m");
  EXPECT_EQ(world.took(), "1 :1");
  world.hosts["s"].manner = world.hosts["m"].manner = World::Manner::serves;
  world.pass(10s);
  world.call(2);
  EXPECT_EQ(world.took(), "2 :2");
  // All dead: the master is still there.
  world.hosts["s"].manner = World::Manner::refuses;
  world.fail("s", "lost");
  world.call(3);
  world.pass(10s);
  world.call(4);
  EXPECT_EQ(world.took(), "3 :3; 4 :4");
}

TEST(RedisSentinel, follows_a_failover) {
  World world("redis+sentinel://s,t/mymaster");
  world.hosts["s"].manner = world.hosts["t"].manner = world.hosts["m"].manner = World::Manner::serves;
  world.start();
  world.call(1);
  EXPECT_EQ(world.took(), "1 :1");
  world.hosts["m"].manner = World::Manner::manual;
  world.call(2);
  world.hosts["m"].manner = World::Manner::refuses;
  world.fail("m", "lost");
  EXPECT_EQ(world.took(), "2 connection (m:6379: lost)");
  world.pass(3s);
  world.call(3);
  EXPECT_EQ(world.took(), "3 connection (m:6379: refused)");
  world.master = "n";
  world.hosts["n"].manner = World::Manner::serves;
  world.pass(150ms);
  world.call(4);
  EXPECT_EQ(world.took(), "4 :4");
  EXPECT_EQ(world.write_count[2], 1);
  // The old one is left alone, and back when it is the master again.
  world.did();
  world.pass(5s);
  EXPECT_EQ(world.did(), "");
  world.hosts["m"].manner = World::Manner::serves;
  world.master = "m";
  world.pass(2200ms);
  EXPECT_EQ(world.did(), "close n; connect m");
  world.call(5);
  EXPECT_EQ(world.took(), "5 :5");
  EXPECT_TRUE(world.client.ready());
}

// The old master lives on as a replica, and what is under way there fails; what was not sent goes to the new
// one.
TEST(RedisSentinel, a_master_that_is_replaced_alive) {
  World world("redis+sentinel://s/mymaster");
  world.hosts["s"].manner = World::Manner::serves;
  world.start().up("m");
  world.call(1, 0, 10s);
  EXPECT_EQ(world.did(), "connect s; connect m");
  world.master = "n";
  while (world.hosts.count("n") == 0) world.pass(10ms);
  EXPECT_EQ(world.took(), "1 readonly (m:6379: is no longer the master)");
  EXPECT_EQ(world.did(), "close m; connect n");
  world.call(2, 0, 10s);
  world.master = "o";
  world.pass(150ms);
  EXPECT_EQ(world.did(), "close n; connect o");
  world.up("o");
  world.answer("o");
  EXPECT_EQ(world.took(), "2 :2");
  EXPECT_EQ(world.write_count[1], 1);
}

TEST(RedisSentinel, readonly_asks_at_once) {
  World world("redis+sentinel://s/mymaster");
  world.hosts["s"].manner = world.hosts["m"].manner = World::Manner::serves;
  world.start();
  world.pass(1s);
  world.sent("s");
  world.master = "n";
  world.hosts["n"].manner = World::Manner::serves;
  world.call_error = "-READONLY no";
  world.call(1);
  world.call_error.clear();
  EXPECT_EQ(world.took(), "1 readonly (READONLY no)");
  EXPECT_EQ(world.sent("s"), "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
  world.call(2);
  EXPECT_EQ(world.took(), "2 :2");
}

TEST(RedisSentinel, answers_that_name_no_master) {
  const std::string unknown = "this sentinel knows no master named 'mymaster'";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"*-1\r\n", unknown},
      {"_\r\n", unknown},
      {"*0\r\n", unknown},
      {":1\r\n", unknown},
      {array({"m"}), unknown},
      {array({"m", "0"}), unknown},
      {array({"m", "65536"}), unknown},
      {array({"m", "6379x"}), unknown},
      {array({"m", ""}), unknown},
      {array({"", "6379"}), unknown},
      {"*2\r\n:1\r\n:2\r\n", unknown},
      {"-ERR unknown command 'SENTINEL', with args beginning with: 'x'\r\n",
       "ERR unknown command 'SENTINEL'"},
      {"-IDONTKNOW Redis is too old\r\n", "IDONTKNOW Redis is too old"},
      {"-NOPERM this user has no permissions to run the 'sentinel' command\r\n",
       "NOPERM this user has no permissions to run the 'sentinel' command"},
  };
  for (const auto& [answer, error] : rows) {
    const std::string cause = error.starts_with("NOPERM") ? "auth" : "connection";
    World world("redis+sentinel://s/mymaster");
    world.start();
    world.call(1, 0, 1s);
    world.accept("s");
    world.reply("s", "+PONG\r\n");
    world.reply("s", answer);
    EXPECT_EQ(world.took(), "1 " + cause + " (s:26379: " + error + ")") << answer;
    world.call(2);
    EXPECT_EQ(world.took(), "2 " + cause + " (s:26379: " + error + ")") << answer;
    EXPECT_EQ(world.client.last_error(), "s:26379: " + error);
    // It asks again soon, and not all the time.
    const std::uint64_t before = world.client.counters().refreshes;
    for (int i = 0; i < 100; ++i) {
      world.answer("s");
      world.master.clear();
      world.pass(10ms);
    }
    EXPECT_GE(world.client.counters().refreshes - before, 5U) << answer;
    EXPECT_LE(world.client.counters().refreshes - before, 21U) << answer;
    world.master = "m";
    world.pass(150ms);
    world.answer("s");
    world.hosts["m"].manner = World::Manner::serves;
    world.settle();
    world.call(3);
    EXPECT_EQ(world.took(), "3 :3") << answer;
  }
}

// Two sentinels that disagree made the master change with every question.
TEST(RedisSentinel, one_sentinel_is_believed_while_all_is_well) {
  World world("redis+sentinel://s,t/mymaster");
  world.hosts["m"].manner = world.hosts["n"].manner = World::Manner::serves;
  world.hosts["s"].manner = World::Manner::serves;
  world.start();
  world.up("t");
  world.did();
  for (int i = 0; i < 100; ++i) {
    world.pass(200ms);
    if (world.hosts["t"].open && !world.hosts["t"].inbox.empty())
      world.reply("t", world.hosts["t"].inbox[0][0] == "PING" ? "+PONG\r\n" : array({"n", "6379"}));
  }
  EXPECT_LE(world.deeds.size(), 2U) << world.did();
}

// And another is asked when it does, whether it refuses or hangs.
TEST(RedisSentinel, a_sentinel_that_has_slept_through_the_failover) {
  for (const World::Manner end : {World::Manner::refuses, World::Manner::wedged}) {
    World world("redis+sentinel://s,t/mymaster");
    world.hosts["m"].manner = world.hosts["n"].manner = World::Manner::serves;
    world.hosts["s"].manner = World::Manner::serves;
    world.start();
    world.up("t");
    world.hosts["m"].manner = end;
    world.fail("m", "lost");
    for (int i = 0; i < 70; ++i) {
      world.pass(10ms);
      while (!world.hosts["t"].inbox.empty())
        world.reply("t", world.hosts["t"].inbox[0][0] == "PING" ? "+PONG\r\n" : array({"n", "6379"}));
    }
    world.call(1);
    EXPECT_EQ(world.took(), "1 :1");
  }
}

TEST(RedisSentinel, a_sentinel_that_wants_a_password_says_so) {
  World world("redis+sentinel://:hush@s/mymaster");
  world.start();
  world.call(1);
  world.accept("s");
  world.reply("s", "-NOAUTH Authentication required.\r\n");
  EXPECT_EQ(world.took(), "1 auth (s:26379: NOAUTH Authentication required.)");
}

TEST(RedisSentinel, each_of_both_gets_its_own_password) {
  World world("redis+sentinel://bob:hush@s/mymaster?sentinel_user=eve&sentinel_password=hist");
  world.start();
  world.call(1);
  world.accept("s");
  EXPECT_EQ(world.sent("s"), "AUTH eve hist | PING");
  world.answer("s");
  EXPECT_EQ(world.sent("s"), "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
  world.accept("m");
  EXPECT_EQ(world.sent("m"), "AUTH bob hush | SCRIPT LOAD script | CONFIG GET maxmemory-policy");
  world.answer("m");
  EXPECT_EQ(world.took(), "1 :1");
}

TEST(RedisSentinel, a_password_that_it_refuses) {
  for (const std::string refusal : {
           "WRONGPASS invalid username-password pair or user is disabled.",
           "ERR AUTH <password> called without any password configured for the default user.",
       }) {
    World world("redis+sentinel://s/mymaster?sentinel_password=hist");
    world.start();
    world.call(1);
    world.accept("s");
    world.reply("s", "-" + refusal + "\r\n");
    EXPECT_EQ(world.took(), "1 auth (s:26379: " + refusal + ")");
    EXPECT_FALSE(world.client.ready());
  }
}

}  // namespace
}  // namespace weir::redis
