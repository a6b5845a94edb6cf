// The slot map, MOVED, ASK and TRYAGAIN.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// ------------------------------------------------------------------------------------------------- cluster

// Of two masters, both up; what they serve changes with world.map.
struct Cluster : World {
  explicit Cluster(const std::string& url = "redis+cluster://a,b") : World(url) {
    hosts["a"].manner = hosts["b"].manner = Manner::serves;
    start();
    hosts["a"].manner = hosts["b"].manner = Manner::manual;
    pass(200ms);
    answer("a");
    answer("b");
    hosts["a"].log.clear();
    hosts["b"].log.clear();
    did();
  }
};

TEST(RedisCluster, calls_wait_for_the_map_and_go_where_it_says) {
  World world("redis+cluster://a");
  world.start();
  world.call(1, 0);
  world.call(2, 8191);
  world.call(3, 8192);
  world.accept("a");
  EXPECT_FALSE(world.client.ready());
  EXPECT_EQ(world.did(), "connect a");
  world.answer("a");
  EXPECT_EQ(world.did(), "connect b");
  EXPECT_EQ(world.sent("a"),
            "SCRIPT LOAD script | CONFIG GET maxmemory-policy | CLUSTER SLOTS | CALL 1 | CALL 2");
  world.up("b");
  world.answer("b");
  EXPECT_EQ(world.took(), "1 :1; 2 :2; 3 :3");
  EXPECT_TRUE(world.client.ready());
}

TEST(RedisCluster, an_address_given_twice_is_connected_to_once) {
  World world("redis+cluster://a,a:6379,a");
  world.start();
  EXPECT_EQ(world.did(), "connect a");
}

// One dead seed failed the calls that waited for the others to tell the map.
TEST(RedisCluster, a_dead_seed_does_not_fail_who_waits_for_the_map) {
  World world("redis+cluster://x,y,a");
  world.start();
  world.call(1, 0);
  world.fail("x");
  world.call(2, 0);
  world.fail("y");
  world.call(3, 0);
  EXPECT_EQ(world.took(), "");
  world.up("a");
  world.answer("a");
  EXPECT_EQ(world.took(), "1 :1; 2 :2; 3 :3");
}

TEST(RedisCluster, the_last_seed_that_fails_fails_them) {
  World world("redis+cluster://x,y");
  world.start();
  world.call(1, 0);
  world.fail("x");
  world.accept("y");
  world.reply("y", "-WRONGPASS no\r\n");
  EXPECT_EQ(world.took(), "1 auth (y:6379: WRONGPASS no)");
  world.call(2, 0);
  EXPECT_EQ(world.took(), "2 auth (y:6379: WRONGPASS no)");
}

TEST(RedisCluster, is_asked_now_and_then_and_alternately) {
  Cluster world;
  world.hosts["a"].manner = world.hosts["b"].manner = World::Manner::serves;
  world.pass(10s);
  const auto times = [](const std::string& sent) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = sent.find("CLUSTER SLOTS", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(times(world.sent("a")), 2U);
  EXPECT_EQ(times(world.sent("b")), 2U);
}

TEST(RedisCluster, moved) {
  Cluster world;
  world.call(1, 5);
  world.call(2, 5);
  world.reply("a", "-MOVED 5 b:6379\r\n");
  EXPECT_EQ(world.sent("a"), "CALL 1 | CALL 2");
  EXPECT_EQ(world.sent("b"), "CALL 1 | CLUSTER SLOTS");
  // The next goes there at once.
  world.call(3, 5);
  EXPECT_EQ(world.sent("b"), "CALL 3");
  world.call(4, 6);
  EXPECT_EQ(world.sent("a"), "CALL 4");
  world.reply("a", "-MOVED 5 b:6379\r\n");
  EXPECT_EQ(world.sent("b"), "CALL 2");
  world.map = slots({{0, 4, "a"}, {5, 5, "b"}, {6, 8191, "a"}, {8192, 16383, "b"}});
  world.answer("a");
  world.answer("b");
  EXPECT_EQ(world.took(), "4 :4; 1 :1; 3 :3; 2 :2");
  EXPECT_EQ(world.client.counters().redirects, 2U);
}

TEST(RedisCluster, moved_to_where) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"-MOVED 5 b:6379", "b"},      {"-MOVED 5 new:6379", "new"}, {"-MOVED 5 :6380", "a:6380"},
      {"-MOVED 5 ?:6380", "a:6380"}, {"-MOVED 5 ::1:6379", "::1"}, {"-MOVED 5 ::1:7000", "[::1]:7000"},
      {"-MOVED 16383 c:6379", "c"},
  };
  for (const auto& [error, host] : rows) {
    Cluster world;
    world.call(1, 5);
    world.reply("a", error + "\r\n");
    if (host != "b") {
      EXPECT_EQ(world.did(), "connect " + host) << error;
      world.up(host);
    }
    world.answer(host);
    EXPECT_EQ(world.took(), "1 :1") << error;
  }
}

TEST(RedisCluster, moved_to_nowhere) {
  for (const std::string error :
       {"MOVED", "MOVED ", "MOVED 5", "MOVED 5 ", "MOVED 5 b", "MOVED 5 b:", "MOVED 5 b:0", "MOVED 5 b:65536",
        "MOVED 16384 b:6379", "MOVED -1 b:6379", "MOVED x b:6379", "MOVED 5 b:6379x", "MOVED :6379 5",
        "MOVED  b:6379", "ASK", "ASK 5 b:"}) {
    Cluster world;
    world.call(1, 5);
    world.reply("a", "-" + error + "\r\n");
    EXPECT_EQ(world.took(), "1 moved (" + error + ")");
    EXPECT_EQ(world.sent("b"), "");
  }
}

TEST(RedisCluster, moved_to_and_fro_ends) {
  Cluster world;
  world.call(1, 5, 10s);
  for (int i = 0; i < 100 && world.results.empty(); ++i) {
    for (const std::string host : {"a", "b"}) {
      if (world.asks_for_a_call(host)) {
        world.reply(host, host == "a" ? "-MOVED 5 b:6379\r\n" : "-MOVED 5 a:6379\r\n");
      } else {
        world.answer_one(host);
      }
    }
  }
  EXPECT_EQ(world.took(), "1 moved (MOVED 5 b:6379)");
  EXPECT_EQ(world.write_count[1], 17);
}

TEST(RedisCluster, ask_sends_asking_first_and_forgets) {
  Cluster world;
  world.call(1, 5);
  world.reply("a", "-ASK 5 b:6379\r\n");
  EXPECT_EQ(world.sent("b"), "ASKING | CALL 1");
  world.answer("b");
  EXPECT_EQ(world.took(), "1 :1");
  world.call(2, 5);
  EXPECT_EQ(world.sent("a"), "CALL 1 | CALL 2");
  EXPECT_EQ(world.sent("b"), "");
}

TEST(RedisCluster, ask_on_a_node_that_is_new) {
  Cluster world;
  world.call(1, 5);
  world.reply("a", "-ASK 5 new:6379\r\n");
  EXPECT_EQ(world.did(), "connect new");
  world.accept("new");
  world.sent("new");
  world.answer("new");
  EXPECT_EQ(world.sent("new").substr(0, 15), "ASKING | CALL 1");
  EXPECT_EQ(world.took(), "1 :1");
}

// It was sent without its ASKING after the reload, and moved back and forth.
TEST(RedisCluster, a_reload_on_the_asked_node_asks_again) {
  Cluster world;
  world.call(1, 5);
  world.reply("a", "-ASK 5 b:6379\r\n");
  world.reply("b", "+OK\r\n");
  world.sent("b");
  world.reply("b", "-NOSCRIPT\r\n");
  EXPECT_EQ(world.sent("b"), "SCRIPT LOAD script | ASKING | CALL 1");
  world.answer("b");
  EXPECT_EQ(world.took(), "1 :1");
}

TEST(RedisCluster, tryagain_is_tried_again_a_little_later) {
  Cluster world;
  world.call(1, 5);
  world.reply("a", "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
  EXPECT_EQ(world.sent("a"), "CALL 1");
  world.pass(1999us);
  EXPECT_EQ(world.sent("a"), "");
  world.pass(1us);
  EXPECT_EQ(world.sent("a"), "CALL 1");
  world.answer("a");
  EXPECT_EQ(world.took(), "1 :1");
}

// It used to end after 16 tries, 32 ms, and moving a slot takes longer.
TEST(RedisCluster, tryagain_is_tried_until_the_deadline_and_ever_less_often) {
  Cluster world;
  world.call(1, 5, 1s);
  world.call(2, 5, 10ms);
  for (int i = 0; i < 1'000; ++i) {
    while (!world.hosts["a"].inbox.empty()) {
      if (world.asks_for_a_call("a")) {
        world.reply("a", "-TRYAGAIN x\r\n");
      } else {
        world.answer_one("a");
      }
    }
    world.pass(1ms);
  }
  EXPECT_EQ(world.took(), "2 timeout (no answer by the deadline); 1 timeout (no answer by the deadline)");
  EXPECT_EQ(world.write_count[1], 4 + (1'000 - 2 - 4 - 8) / 16);
  EXPECT_EQ(world.write_count[2], 3);
  EXPECT_TRUE(world.client.ready());
}

// Woken late, the retry came before the deadline, and the answer that it then waited for cost the connection.
TEST(RedisCluster, a_late_retry_is_not_sent_after_its_deadline) {
  Cluster world;
  world.call(1, 5, 3ms);
  world.reply("a", "-TRYAGAIN x\r\n");
  world.oversleep(5ms);
  EXPECT_EQ(world.took(), "1 timeout (no answer by the deadline)");
  EXPECT_EQ(world.did(), "");
  EXPECT_EQ(world.write_count[1], 1);
}

TEST(RedisCluster, a_slot_that_nobody_serves) {
  World world("redis+cluster://a");
  world.map = slots({{0, 99, "a"}, {101, 16383, "a"}});
  world.start();
  world.call(1, 100);
  world.up("a");
  EXPECT_EQ(world.took(), "1 clusterdown (no node serves the key's slot)");
  world.call(2, 100);
  EXPECT_EQ(world.took(), "2 clusterdown (no node serves the key's slot)");
  world.call(3, 99);
  world.answer("a");
  EXPECT_EQ(world.took(), "3 :3");
  // Until somebody does, the map is asked for, even when nobody calls.
  world.hosts["a"].manner = World::Manner::serves;
  const std::uint64_t before = world.client.counters().refreshes;
  world.pass(1s);
  EXPECT_GE(world.client.counters().refreshes - before, 6U);
  EXPECT_LE(world.client.counters().refreshes - before, 20U);
  world.hosts["a"].manner = World::Manner::manual;
  world.map = slots({{0, 16383, "a"}});
  world.pass(150ms);
  world.answer("a");
  world.call(4, 100);
  world.answer("a");
  EXPECT_EQ(world.took(), "4 :4");
}

// From a seed that is not a master, the map was known and yet the cause was "connection: not connected yet".
TEST(RedisCluster, a_slot_that_nobody_serves_says_so_before_anybody_is_up) {
  World world("redis+cluster://replica");
  world.map = slots({{0, 99, "a"}});
  world.start();
  world.call(1, 100);
  world.up("replica");
  EXPECT_EQ(world.took(), "1 clusterdown (no node serves the key's slot)");
}

TEST(RedisCluster, clusterdown_asks_for_the_map) {
  Cluster world;
  world.call(1, 5);
  world.reply("a", "-CLUSTERDOWN The cluster is down\r\n");
  EXPECT_EQ(world.took(), "1 clusterdown (CLUSTERDOWN The cluster is down)");
  const std::string sent = world.sent("a") + " " + world.sent("b");
  EXPECT_NE(sent.find("CLUSTER SLOTS"), std::string::npos);
}

TEST(RedisCluster, a_master_that_dies_is_replaced) {
  World world("redis+cluster://a,b");
  world.hosts["a"].manner = world.hosts["b"].manner = World::Manner::serves;
  world.start();
  world.pass(1s);
  world.hosts["a"].manner = World::Manner::manual;
  world.call(1, 0);
  world.call(2, 9000);
  world.hosts["a"].manner = World::Manner::refuses;
  world.fail("a", "lost");
  EXPECT_EQ(world.took(), "2 :2; 1 connection (a:6379: lost)");
  world.call(3, 0);
  world.call(4, 9000);
  EXPECT_EQ(world.took(), "3 connection (a:6379: lost); 4 :4");
  const std::uint64_t before = world.client.counters().refreshes;
  world.pass(5s);
  EXPECT_GE(world.client.counters().refreshes - before, 30U);
  EXPECT_LE(world.client.counters().refreshes - before, 101U);
  world.call(5, 0);
  world.call(6, 9000);
  EXPECT_EQ(world.took(), "5 connection (a:6379: refused); 6 :6");
  world.map = slots({{0, 8191, "c"}, {8192, 16383, "b"}});
  world.hosts["c"].manner = World::Manner::serves;
  world.pass(150ms);
  world.call(7, 0);
  EXPECT_EQ(world.took(), "7 :7");
  // All is well: no more questions than usual, and nobody calls on the dead.
  world.did();
  const std::uint64_t calm = world.client.counters().refreshes;
  world.pass(10s);
  EXPECT_LE(world.client.counters().refreshes - calm, 6U);
  EXPECT_EQ(world.did(), "");
  // It comes back as a replica: nothing changes. Then as a master.
  world.hosts["a"].manner = World::Manner::serves;
  world.pass(3s);
  EXPECT_EQ(world.did(), "");
  world.map = slots({{0, 8191, "a"}, {8192, 16383, "b"}});
  world.pass(3s);
  EXPECT_EQ(world.did(), "connect a");
  world.call(8, 0);
  EXPECT_EQ(world.took(), "8 :8");
  EXPECT_EQ(world.write_count[1] + world.write_count[3] + world.write_count[5], 1);
}

// One that hung was most of the time connecting, and that passed for being well.
TEST(RedisCluster, the_map_is_asked_for_while_a_master_hangs) {
  World world("redis+cluster://a,b");
  world.hosts["a"].manner = world.hosts["b"].manner = World::Manner::serves;
  world.start();
  world.pass(1s);
  world.hosts["a"].manner = World::Manner::wedged;
  world.call(1, 0, 20ms);
  world.pass(20ms);
  const std::uint64_t before = world.client.counters().refreshes;
  world.pass(5s);
  EXPECT_GE(world.client.counters().refreshes - before, 30U);
}

// With a question after it, a hanging master kept all others from being asked, for as long as its calls
// had.
TEST(RedisCluster, a_master_that_hangs_with_the_question_does_not_keep_it) {
  World world("redis+cluster://a,b");
  world.hosts["a"].manner = world.hosts["b"].manner = World::Manner::serves;
  world.start();
  world.pass(150ms);
  world.hosts["a"].manner = World::Manner::manual;
  world.hosts["b"].manner = World::Manner::manual;
  world.call(1, 0, 100s);
  world.call(2, 9000, 100s);
  world.hosts["a"].log.clear();
  world.hosts["b"].log.clear();
  world.pass(3s);
  EXPECT_EQ(world.sent("a") + "; " + world.sent("b"), "CLUSTER SLOTS; CLUSTER SLOTS");
}

TEST(RedisCluster, garbage_for_a_map_changes_nothing) {
  const std::string node = "*2\r\n$1\r\nx\r\n:6379\r\n";
  const std::vector<std::string> rows = {
      "*0\r\n",
      "*-1\r\n",
      "+OK\r\n",
      ":5\r\n",
      "$3\r\nabc\r\n",
      "*1\r\n:5\r\n",
      "*1\r\n*0\r\n",
      "*1\r\n*2\r\n:0\r\n:5\r\n",
      "*1\r\n*3\r\n:0\r\n:5\r\n:7\r\n",
      "*1\r\n*3\r\n:0\r\n:5\r\n*1\r\n$1\r\nx\r\n",
      "*1\r\n*3\r\n:0\r\n:16384\r\n" + node,
      "*1\r\n*3\r\n:-1\r\n:5\r\n" + node,
      "*1\r\n*3\r\n:9\r\n:5\r\n" + node,
      "*1\r\n*3\r\n:9\r\n:9223372036854775807\r\n" + node,
      "*1\r\n*3\r\n+0\r\n+5\r\n" + node,
      "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\nx\r\n:0\r\n",
      "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\nx\r\n:65536\r\n",
      "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\nx\r\n$4\r\n6379\r\n",
  };
  for (const std::string& row : rows) {
    Cluster world;
    world.map = row;
    world.call(1, 5);
    world.reply("a", "-CLUSTERDOWN x\r\n");
    world.answer("a");
    world.answer("b");
    world.pass(150ms);
    world.answer("a");
    world.answer("b");
    world.took();
    const std::string& error = world.client.last_error();
    EXPECT_NE(error.find(":6379: its answer to CLUSTER SLOTS names no master"), std::string::npos)
        << row << error;
    world.call(2, 5);
    world.call(3, 9000);
    world.answer("a");
    world.answer("b");
    EXPECT_EQ(world.took(), "2 :2; 3 :3") << row;
    EXPECT_EQ(world.did(), "") << row;
  }
}

TEST(RedisCluster, garbage_for_the_first_map) {
  World world("redis+cluster://a");
  world.map = "*0\r\n";
  world.start();
  world.call(1, 5);
  world.up("a");
  EXPECT_EQ(world.took(), "1 clusterdown (no node serves the key's slot)");
  World single("redis+cluster://a");
  single.map = "-ERR This instance has cluster support disabled\r\n";
  single.start();
  single.call(1, 5);
  single.up("a");
  EXPECT_EQ(single.took(), "1 other (a:6379: ERR This instance has cluster support disabled)");
}

// A node that does not know its own address: the one that was asked is it.
TEST(RedisCluster, a_map_without_hosts) {
  for (const std::string host : {"$0\r\n\r\n", "$-1\r\n", "_\r\n", "$1\r\n?\r\n"}) {
    World world("redis+cluster://a");
    world.map = "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n" + host + ":6379\r\n$2\r\nid\r\n";
    world.start();
    world.call(1, 5);
    world.up("a");
    world.answer("a");
    EXPECT_EQ(world.took(), "1 :1") << host;
    EXPECT_EQ(world.did(), "connect a");
  }
}

// A node that was taken out, CLUSTER RESET, and still asked for the map emptied it for all.
TEST(RedisCluster, a_node_that_has_left_is_asked_last) {
  Cluster world;
  world.hosts["a"].manner = world.hosts["b"].manner = World::Manner::serves;
  world.map = slots({{0, 16383, "b"}});
  world.pass(5s);
  world.sent("a");
  world.sent("b");
  world.pass(10s);
  EXPECT_EQ(world.sent("a").find("CLUSTER"), std::string::npos);
  EXPECT_NE(world.sent("b").find("CLUSTER"), std::string::npos);
  // With nobody else there, it is better than nothing.
  world.map = slots({{0, 16383, "a"}});
  world.hosts["b"].manner = World::Manner::refuses;
  world.fail("b", "lost");
  world.pass(200ms);
  EXPECT_NE(world.sent("a").find("CLUSTER"), std::string::npos);
  world.call(1, 5);
  EXPECT_EQ(world.took(), "1 :1");
}

TEST(RedisCluster, all_of_it_gone_and_back) {
  World world("redis+cluster://seed");
  world.hosts["seed"].manner = World::Manner::serves;
  world.hosts["a"].manner = world.hosts["b"].manner = World::Manner::serves;
  world.start();
  world.call(1, 0);
  world.call(2, 9000);
  EXPECT_EQ(world.took(), "1 :1; 2 :2");
  for (const std::string host : {"seed", "a", "b"}) {
    world.hosts[host].manner = World::Manner::refuses;
    world.fail(host, "lost");
  }
  world.call(3, 0);
  EXPECT_EQ(world.took(), "3 connection (a:6379: lost)");
  EXPECT_FALSE(world.client.ready());
  world.pass(10s);
  // Its addresses are others now, but for the one that the URL names.
  world.map = slots({{0, 16383, "d"}});
  world.hosts["seed"].manner = world.hosts["d"].manner = World::Manner::serves;
  world.pass(1s);
  world.call(4, 0);
  EXPECT_EQ(world.took(), "4 :4");
}

// The address of a pod is new with every restart.
TEST(RedisCluster, thousands_of_addresses_do_not_stay) {
  for (const bool live_on : {false, true}) {
    World world("redis+cluster://a,seed");
    world.hosts["a"].manner = World::Manner::serves;
    world.hosts["seed"].manner = World::Manner::refuses;
    world.start();
    Client::NodeId most = 0;
    // Those that live on come ten at a time: all of them are heard again and again.
    const std::uint64_t pods = 270;
    const std::uint64_t at_once = live_on ? 10 : 1;
    for (std::uint64_t i = 0; i < pods; ++i) {
      const std::string pod = "pod" + std::to_string(i);
      if (i % at_once == 0) {
        std::vector<Range> ranges = {{0, 99, "a"}};
        for (std::uint64_t j = 0; j < at_once; ++j) {
          const std::string each = "pod" + std::to_string(i + j);
          world.hosts[each].manner = World::Manner::serves;
          const int from = static_cast<int>(100 + j * 1000);
          ranges.push_back({from, j + 1 == at_once ? 16383 : from + 999, each});
        }
        world.map = slots(ranges);
        world.pass(2200ms);
      }
      world.call(i, static_cast<std::uint16_t>(500 + i % at_once * 1000));
      EXPECT_EQ(world.took(), std::to_string(i) + " :" + std::to_string(i));
      most = std::max(most, world.hosts[pod].id);
      if (live_on) continue;
      world.hosts[pod].manner = World::Manner::refuses;
      world.map = slots({{0, 16383, "a"}});
      world.fail(pod, "gone");
      world.pass(200ms);
      world.hosts.erase(pod);
    }
    // Numbers are given again, but not those of who is there.
    EXPECT_EQ(most < 260, !live_on) << most;
    // Nor those of the URL, which are what is left when all else has failed.
    for (auto& [name, host] : world.hosts) {
      host.manner = World::Manner::refuses;
      if (host.open) world.client.failed(host.id, "lost", world.now);
    }
    world.settle();
    world.pass(1s);
    world.map = slots({{0, 16383, "seed"}});
    world.hosts["seed"].manner = World::Manner::serves;
    world.pass(1s);
    world.call(pods, 0);
    EXPECT_EQ(world.took(), std::to_string(pods) + " :" + std::to_string(pods));
  }
}

// Whichever of them answers last.
TEST(RedisCluster, one_node_that_evicts_is_the_one_to_know_of) {
  struct Row {
    std::string a, b, known;
  };
  for (const Row& row :
       {Row{"noeviction", "volatile-ttl", "volatile-ttl"}, Row{"allkeys-lru", "noeviction", "allkeys-lru"},
        Row{"noeviction", "noeviction", "noeviction"}}) {
    World world("redis+cluster://a,b");
    world.start();
    for (const std::string host : {"a", "b"}) {
      world.accept(host);
      world.reply(host, bulk("sha"));
      world.reply(host, array({"maxmemory-policy", host == "a" ? row.a : row.b}));
    }
    EXPECT_EQ(world.client.eviction_policy(), row.known);
  }
}

}  // namespace
}  // namespace weir::redis
