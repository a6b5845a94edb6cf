// Greeting, answers, and the script.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// ------------------------------------------------------------------------------------------------ greeting

TEST(RedisClient, greets) {
  const std::string rest = "SCRIPT LOAD script | CONFIG GET maxmemory-policy";
  struct Row {
    std::string url, host, greeting;
  };
  const std::vector<Row> rows = {
      {"redis://a", "a", rest},
      {"rediss://a", "a", rest},
      {"redis://:hush@a", "a", "AUTH hush | " + rest},
      {"rediss://bob:hush@a:7000/3", "a:7000", "AUTH bob hush | SELECT 3 | " + rest},
      {"redis://a/15", "a", "SELECT 15 | " + rest},
      {"redis+unix:///run/r.sock?db=1", "/run/r.sock", "SELECT 1 | " + rest},
      {"redis://a?prefix=", "a", rest + " | MODULE LIST"},
      {"redis+cluster://bob:hush@a", "a", "AUTH bob hush | " + rest},
      {"redis+sentinel://bob:hush@s/m/3", "s", "PING"},
      {"redis+sentinel://bob:hush@s/m/3?sentinel_password=hist", "s", "AUTH hist | PING"},
      {"redis+sentinel://s/m?sentinel_user=eve&sentinel_password=hist", "s", "AUTH eve hist | PING"},
  };
  for (const Row& row : rows) {
    World world(row.url);
    world.start();
    EXPECT_EQ(world.did(), "connect " + row.host) << row.url;
    EXPECT_EQ(world.sent(row.host), "") << row.url;
    world.accept(row.host);
    EXPECT_EQ(world.sent(row.host), row.greeting) << row.url;
    EXPECT_EQ(world.client.last_error(), "not connected yet");
    EXPECT_FALSE(world.client.has_failed());
  }
}

TEST(RedisClient, is_ready_after_the_greeting) {
  World world("redis://:hush@a");
  world.start();
  world.call(1);
  world.accept("a");
  world.sent("a");
  world.reply("a", "+OK\r\n");
  EXPECT_EQ(world.sent("a"), "");
  EXPECT_FALSE(world.client.ready());
  world.reply("a", bulk("sha"));
  EXPECT_TRUE(world.client.ready());
  EXPECT_EQ(world.sent("a"), "CALL 1");
  EXPECT_EQ(world.client.eviction_policy(), "");
  world.reply("a", array({"maxmemory-policy", "allkeys-lru"}));
  EXPECT_EQ(world.client.eviction_policy(), "allkeys-lru");
  world.reply("a", ":7\r\n");
  EXPECT_EQ(world.took(), "1 :7");
}

TEST(RedisClient, a_policy_that_may_not_be_asked_for_is_unknown) {
  for (const char* const answer :
       {"-NOPERM no permissions to run the 'config|get' command\r\n", "*0\r\n", "*-1\r\n", ":1\r\n"}) {
    World world("redis://a");
    world.start().accept("a");
    world.reply("a", bulk("sha"));
    world.reply("a", answer);
    EXPECT_TRUE(world.client.ready());
    EXPECT_EQ(world.client.eviction_policy(), "");
  }
}

TEST(RedisClient, the_module_redis_cell_beside_values_without_a_prefix_is_noticed) {
  const auto module = [](const std::string& name) {
    return "*8\r\n" + bulk("name") + bulk(name) + bulk("ver") + ":1\r\n" + bulk("path") + bulk("/m.so") +
           bulk("args") + "*0\r\n";
  };
  struct Row {
    std::string answer;
    bool noticed;
  };
  const Row rows[] = {{"*0\r\n", false},
                      {"*-1\r\n", false},
                      {":1\r\n", false},
                      {bulk("redis-cell"), false},
                      {"-NOPERM User bob has no permissions to run the 'module|list' command\r\n", false},
                      {"*1\r\n" + module("redis-cells"), false},
                      {"*1\r\n" + module("redis-cell"), true},
                      {"*2\r\n" + module("bf") + module("redis-cell"), true}};
  for (const Row& row : rows) {
    World world("redis://a?prefix=");
    world.start().accept("a");
    world.reply("a", bulk("sha"));
    world.reply("a", array({"maxmemory-policy", "noeviction"}));
    EXPECT_FALSE(world.client.endangers_redis_cell());
    world.reply("a", row.answer);
    EXPECT_TRUE(world.client.ready());
    EXPECT_EQ(world.client.endangers_redis_cell(), row.noticed) << row.answer;
  }
}

TEST(RedisClient, refused_greetings) {
  struct Row {
    std::string url, answer, result;
  };
  const std::vector<Row> rows = {
      {"redis://:hush@a", "-WRONGPASS invalid username-password pair or user is disabled.",
       "auth (a:6379: WRONGPASS invalid username-password pair or user is disabled.)"},
      {"redis://:hush@a", "-ERR invalid password", "auth (a:6379: ERR invalid password)"},
      {"redis://:hush@a",
       "-ERR AUTH <password> called without any password configured for the default user. Are you sure your "
       "configuration is correct?",
       "auth (a:6379: ERR AUTH <password> called without any password configured for the default user. Are "
       "you "
       "sure your configuration is correct?)"},
      {"redis://:hush@a", "-ERR max number of clients reached",
       "other (a:6379: ERR max number of clients reached)"},
      {"redis://a", "-NOAUTH Authentication required.", "auth (a:6379: NOAUTH Authentication required.)"},
      {"redis://a", "-NOPERM User bob has no permissions to run the 'script|load' command",
       "auth (a:6379: NOPERM User bob has no permissions to run the 'script|load' command)"},
      {"redis://a", "-DENIED Redis is running in protected mode because",
       "auth (a:6379: DENIED Redis is running in protected mode because)"},
      {"redis://a/99", "-ERR DB index is out of range", "other (a:6379: ERR DB index is out of range)"},
      {"redis://a", "-LOADING Redis is loading the dataset in memory",
       "loading (a:6379: LOADING Redis is loading the dataset in memory)"},
      {"redis://a", "-BUSY Redis is busy running a script.",
       "busy (a:6379: BUSY Redis is busy running a script.)"},
      {"redis://a", "-MASTERDOWN Link with MASTER is down",
       "readonly (a:6379: MASTERDOWN Link with MASTER is down)"},
      {"redis://a", "HTTP/1.1 400 Bad Request",
       "connection (a:6379: not an answer of Redis: an answer begins with an unknown type byte)"},
  };
  for (const Row& row : rows) {
    World world(row.url);
    world.start();
    world.call(1);
    world.accept("a");
    world.did();
    world.reply("a", row.answer + "\r\n");
    EXPECT_EQ(world.took(), "1 " + row.result) << row.url;
    EXPECT_EQ(world.did(), "close a");
    // And so is every call while it is down.
    world.call(2);
    EXPECT_EQ(world.took(), "2 " + row.result) << row.url;
    EXPECT_FALSE(world.client.ready());
    EXPECT_TRUE(world.client.has_failed());
    EXPECT_EQ(world.write_count.size(), 0U);
    // It comes back when it is let in.
    world.hosts["a"].manner = World::Manner::serves;
    world.pass(600ms);
    world.call(3);
    EXPECT_EQ(world.took(), "3 :3");
  }
}

// Redis 7.0.15 without AUTH says: ERR unknown command 'AUTH', with args beginning with: 'bob' 'hush'.
TEST(RedisClient, a_password_that_redis_repeats_was_shown) {
  for (const std::string answer : {
           "-ERR unknown command 'AUTH', with args beginning with: 'bob' 'hush!' \r\n",
           "-ERR unknown command `AUTH`, with args beginning with: `bob`, `hush`, \r\n",
           "-ERR I do not know hush!, no hush! at all\r\n",
           "-NOPERM hush!\r\n",
           "+hush!",
           "hush!\r\n",
       }) {
    World world("redis://bob:hush!@a");
    world.start();
    world.call(1);
    world.accept("a");
    world.reply("a", answer);
    world.fail("a", "what about hush! then");
    world.call(2);
    EXPECT_EQ(world.took().find("hush"), std::string::npos) << answer;
    EXPECT_EQ(world.client.last_error().find("hush"), std::string::npos) << world.client.last_error();
    EXPECT_TRUE(world.client.has_failed());
  }
}

// One password inside the other: masking the shorter first would leave the rest of the longer.
TEST(RedisSentinel, neither_of_two_passwords_is_shown) {
  for (const std::string url : {"redis+sentinel://:hush@s/m?sentinel_password=hush-Sentinel",
                                "redis+sentinel://:hush-Sentinel@s/m?sentinel_password=hush"}) {
    World world(url);
    world.start();
    world.call(1);
    world.accept("s");
    world.reply("s", "-WRONGPASS hush is not hush-Sentinel\r\n");
    EXPECT_EQ(world.took(), "1 auth (s:26379: WRONGPASS *** is not ***)") << url;
    EXPECT_EQ(world.client.last_error(), "s:26379: WRONGPASS *** is not ***") << url;
  }
}

TEST(RedisClient, an_error_is_one_line_without_keys) {
  World world("redis://a");
  world.start().up("a");
  world.call(1);
  world.call(2);
  world.reply("a", "-ERR unknown command 'EVALSHA', with args beginning with: 'sha' '1' 'user:42' \r\n");
  world.reply("a", "!14\r\nERR a\r\nb\x1b[31mc\r\n");
  EXPECT_EQ(world.took(), "1 other (ERR unknown command 'EVALSHA'); 2 other (ERR a\\x0d\\x0ab\\x1b[31mc)");
}

// ------------------------------------------------------------------------------------------------- answers

TEST(RedisClient, answers_come_in_the_order_of_the_calls) {
  World world("redis://a");
  world.start();
  world.call(1);
  world.call(2);
  EXPECT_EQ(world.sent("a"), "");
  world.accept("a");
  world.sent("a");
  world.answer("a");
  EXPECT_EQ(world.sent("a"), "CALL 1 | CALL 2");
  world.call(3);
  EXPECT_EQ(world.sent("a"), "CALL 3");
  EXPECT_EQ(world.took(), "1 :1; 2 :2");
  world.call(4);
  world.reply("a", ":30\r\n$4\r\nfour\r\n");
  EXPECT_EQ(world.took(), "3 :30; 4 four");
}

TEST(RedisClient, tells_how_long_answers_took) {
  World world("redis://a");
  world.start();
  world.up("a");
  world.call(1);
  world.pass(2ms);
  world.call(2);
  world.pass(2ms);
  world.reply("a", ":1\r\n");  // after 4 ms
  world.pass(49ms);
  EXPECT_EQ(world.took(), "1 :1; 2 timeout (a:6379: no answer by the deadline)");
  world.reply("a", ":2\r\n");  // after 51 ms, and nobody waits for it any longer
  core::Histogram::Total took;
  world.client.took().add_to(took);
  EXPECT_EQ(took.count(), 2U);
  EXPECT_EQ(took.sum, 55ms);
}

TEST(RedisClient, a_changed_eviction_policy_is_noticed_within_a_minute_and_at_every_connection) {
  World world("redis://a");
  world.start().accept("a");
  world.answer("a");
  EXPECT_EQ(world.client.eviction_policy(), "noeviction");
  const auto asked_within = [&](nanoseconds time) {
    int asked = 0;
    for (const nanoseconds end = world.now + time; world.now < end; world.pass(100ms)) {
      while (!world.hosts["a"].inbox.empty()) {
        if (world.hosts["a"].inbox.front() != Strings{"CONFIG", "GET", "maxmemory-policy"}) {
          world.answer_one("a");
          continue;
        }
        ++asked;
        world.reply("a", array({"maxmemory-policy", "allkeys-lru"}));
      }
    }
    return asked;
  };
  EXPECT_EQ(asked_within(59s), 0);
  EXPECT_EQ(asked_within(2s), 1);
  EXPECT_EQ(world.client.eviction_policy(), "allkeys-lru");
  EXPECT_EQ(asked_within(3min), 3);
  world.fail("a");
  world.pass(1s);
  world.accept("a");
  world.answer("a");
  EXPECT_EQ(world.client.eviction_policy(), "noeviction");
}

// Redis keeps a log of what it has refused.
TEST(RedisClient, a_node_that_does_not_say_its_eviction_policy_is_not_asked_again) {
  World world("redis://a");
  world.start().accept("a");
  world.reply("a", bulk("sha"));
  world.reply("a", "-NOPERM no\r\n");
  world.hosts["a"].manner = World::Manner::serves;
  world.sent("a");
  world.pass(10min);
  EXPECT_EQ(world.sent("a").find("CONFIG"), std::string::npos);
  EXPECT_TRUE(world.client.ready());
  EXPECT_EQ(world.client.eviction_policy(), "");
}

TEST(RedisClient, answers_split_at_every_byte) {
  const std::string greeting = "+OK\r\n" + bulk("sha") + array({"maxmemory-policy", "noeviction"});
  const std::string answers =
      ":1\r\n*2\r\n:1\r\n*1\r\n$-1\r\n-ERR no\r\n>2\r\n+message\r\n:1\r\n$3\r\nend\r\n";
  // In parts of `size` bytes after a first one of `first`.
  const auto play = [&](std::size_t first, std::size_t size) {
    World world("redis://:hush@a");
    world.start().accept("a");
    for (std::uint64_t tag = 1; tag <= 4; ++tag) world.call(tag);
    for (std::string_view rest : {greeting, answers}) {
      for (std::size_t part = first; !rest.empty(); part = size) {
        world.bytes("a", rest.substr(0, part));
        rest.remove_prefix(std::min(rest.size(), part));
      }
    }
    EXPECT_TRUE(world.client.ready());
    EXPECT_EQ(world.client.eviction_policy(), "noeviction");
    EXPECT_EQ(world.took(), "1 :1; 2 ; 3 other (ERR no); 4 end") << first << " " << size;
  };
  for (std::size_t first = 0; first <= answers.size(); ++first) play(first, 1000);
  for (std::size_t size = 1; size <= answers.size(); ++size) play(size, size);
}

TEST(RedisClient, what_is_not_an_answer_ends_the_connection) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"hello\r\n", "not an answer of Redis: an answer begins with an unknown type byte"},
      {":x\r\n", "not an answer of Redis: a number in an answer is not one"},
      {":1\r\n:2\r\n:3\r\n", "an answer that nobody asked for"},
  };
  for (const auto& [text, why] : rows) {
    World world("redis://a");
    world.start().up("a");
    world.did();
    world.call(1);
    world.call(2);
    world.bytes("a", text);
    const bool answered = text[1] == '1';
    EXPECT_EQ(world.took(), answered
                                ? "1 :1; 2 :2"
                                : "1 connection (a:6379: " + why + "); 2 connection (a:6379: " + why + ")");
    EXPECT_EQ(world.did(), "close a");
    EXPECT_EQ(world.client.last_error(), "a:6379: " + why);
  }
}

// It was taken for the answer to a call that had not left yet.
TEST(RedisClient, an_answer_too_many_answers_no_call_made_inside_on_result) {
  World world("redis://a");
  world.start().up("a");
  world.on_done = [&](std::uint64_t tag, Cause) {
    if (tag == 1) world.client.call(world.tagged(2), 0, array({"CALL", "2"}), world.now + 50ms, world.now);
  };
  world.call(1);
  world.bytes("a", ":1\r\n:1\r\n");
  EXPECT_EQ(world.took(), "1 :1; 2 connection (a:6379: an answer that nobody asked for)");
  EXPECT_EQ(world.write_count[2], 0);
}

TEST(RedisClient, a_push_answers_nothing) {
  World world("redis://a");
  world.start().up("a");
  world.bytes("a", ">2\r\n+invalidate\r\n*0\r\n");
  world.call(1);
  world.bytes("a", ">1\r\n+x\r\n:9\r\n>1\r\n+x\r\n");
  EXPECT_EQ(world.took(), "1 :9");
  EXPECT_TRUE(world.client.ready());
}

TEST(RedisClient, errors_have_causes) {
  struct Row {
    std::string error, cause;
    bool closes;
  };
  const std::vector<Row> rows = {
      {"READONLY You can't write against a read only replica. script: 5, on @user_script:1.", "readonly",
       true},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "readonly", true},
      {"LOADING Redis is loading the dataset in memory", "loading", false},
      {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "busy",
       false},
      {"OOM command not allowed when used memory > 'maxmemory'. script: 5, on @user_script:1.", "oom", false},
      {"CLUSTERDOWN Hash slot not served", "clusterdown", false},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", "wrongtype", false},
      {"NOAUTH Authentication required.", "auth", true},
      {"NOPERM No permissions to access a key", "auth", false},
      {"MOVED 3999 127.0.0.1:6381", "moved", false},
      {"ASK 3999 127.0.0.1:6381", "moved", false},
      {"NOREPLICAS Not enough good replicas to write.", "other", false},
      {"BUSYKEY Target key name already exists.", "other", false},
      {"ERR", "other", false},
      {"BUSY", "busy", false},
  };
  for (const Row& row : rows) {
    World world("redis://a");
    world.start().up("a");
    world.did();
    world.call(1);
    world.call(2);
    world.reply("a", "-" + row.error + "\r\n");
    if (!row.closes) world.reply("a", ":2\r\n");
    const std::string then = row.closes ? "2 " + row.cause + " (a:6379: " + row.error + ")" : "2 :2";
    EXPECT_EQ(world.took(), "1 " + row.cause + " (" + row.error + "); " + then);
    EXPECT_EQ(world.did(), row.closes ? "close a" : "") << row.error;
    EXPECT_EQ(world.client.ready(), !row.closes);
  }
}

// ------------------------------------------------------------------------------------------------ NOSCRIPT

TEST(RedisClient, one_reload_for_all_that_were_under_way) {
  World world("redis://a");
  world.start().up("a");
  const std::uint64_t before = world.client.counters().script_loads;
  for (std::uint64_t tag = 1; tag <= 4; ++tag) world.call(tag);
  world.sent("a");
  for (int i = 0; i < 4; ++i) world.reply("a", "-NOSCRIPT No matching script. Please use EVAL.\r\n");
  EXPECT_EQ(world.took(), "");
  EXPECT_EQ(world.sent("a"), "SCRIPT LOAD script | CALL 1 | CALL 2 | CALL 3 | CALL 4");
  world.call(5);
  world.answer("a");
  EXPECT_EQ(world.took(), "1 :1; 2 :2; 3 :3; 4 :4; 5 :5");
  EXPECT_EQ(world.client.counters().script_loads, before + 1);
  // The next time it is gone, it is loaded again.
  world.call(6);
  world.sent("a");
  world.reply("a", "-NOSCRIPT\r\n");
  EXPECT_EQ(world.sent("a"), "SCRIPT LOAD script | CALL 6");
}

TEST(RedisClient, a_script_that_is_always_gone_ends) {
  World world("redis://a");
  world.start().up("a");
  world.call(1);
  for (int i = 0; i < 100 && world.results.empty(); ++i) {
    if (world.hosts["a"].inbox.front()[0] == "CALL") {
      world.reply("a", "-NOSCRIPT gone\r\n");
    } else {
      world.reply("a", bulk("sha"));
    }
  }
  EXPECT_EQ(world.took(), "1 noscript (NOSCRIPT gone)");
  EXPECT_EQ(world.write_count[1], 17);
}

TEST(RedisClient, a_reload_that_was_lost_is_not_waited_for) {
  World world("redis://a");
  world.start().up("a");
  world.call(1);
  world.reply("a", "-NOSCRIPT gone\r\n");
  world.fail("a", "lost");
  EXPECT_EQ(world.took(), "1 connection (a:6379: lost)");
  world.pass(30ms);
  world.up("a");
  world.call(2);
  world.sent("a");
  world.reply("a", "-NOSCRIPT gone\r\n");
  EXPECT_EQ(world.sent("a"), "SCRIPT LOAD script | CALL 2");
}

TEST(RedisClient, a_reload_that_fails_fails_the_calls_after_it) {
  World world("redis://a");
  world.start().up("a");
  world.call(1);
  world.reply("a", "-NOSCRIPT gone\r\n");
  world.reply("a", "-BUSY in a script\r\n");
  EXPECT_EQ(world.took(), "1 busy (a:6379: BUSY in a script)");
}

}  // namespace
}  // namespace weir::redis
