#include "redis/client.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "redis/wire_test.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Strings = std::vector<std::string>;

// ------------------------------------------------------------------------------------------------- RESP

std::string array(const Strings& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) text += bulk(word);
  return text;
}

std::string joined(const Strings& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

struct Range {
  int first, last;
  std::string host;
};
std::string slots(const std::vector<Range>& ranges) {
  std::string text = "*" + std::to_string(ranges.size()) + "\r\n";
  for (const Range& range : ranges) {
    text += "*3\r\n:" + std::to_string(range.first) + "\r\n:" + std::to_string(range.last) + "\r\n";
    text += "*3\r\n" + bulk(range.host) + ":6379\r\n" + bulk("id-of-" + range.host);
  }
  return text;
}

// ---------------------------------------------------------------------------------------------- the world

// Redis nowhere. A host does what it is told to: by default nothing, until a test says accept(), reply() or
// fail(). Whatever happens, the client is asked at once what it wants, and ticked exactly when it wants to
// be.
//
// Hosts have their names; a port shows when it is none of the usual.
class World {
 public:
  enum class Manner : std::uint8_t { manual, refuses, wedged, serves };
  struct Host {
    Client::NodeId id = 0;
    Manner manner = Manner::manual;
    bool connecting = false;
    bool open = false;
    std::string wire;            // of an incomplete command
    std::vector<Strings> inbox;  // what has not been answered
    std::vector<Strings> log;    // what sent() has not told
    std::vector<nanoseconds> connects;
    nanoseconds closed_at{-1h};
  };

  explicit World(const std::string& url, std::uint64_t seed = 1)
      : client(Endpoint::parse(url).value(), "script", seed,
               [this](std::uint64_t tag, const Client::Result& result) { on_result(tag, result); }) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  World& start() {
    client.start(now);
    settle();
    return *this;
  }

  // What happens.
  void accept(const std::string& host) {
    Host& it = hosts.at(host);
    ASSERT_TRUE(it.connecting) << host;
    it.connecting = false;
    it.open = true;
    client.connected(it.id, now);
    settle();
  }
  void fail(const std::string& host, const std::string& why = "refused") {
    hosts.at(host).connecting = hosts.at(host).open = false;
    client.failed(hosts.at(host).id, why, now);
    settle();
  }
  void bytes(const std::string& host, std::string_view text) {
    // A copy, so that a view that is kept is found.
    const std::unique_ptr<char[]> copy(new char[text.size()]);
    std::copy(text.begin(), text.end(), copy.get());
    client.received(hosts.at(host).id, {copy.get(), text.size()}, now);
    settle();
  }
  // To the first command that has no answer.
  void reply(const std::string& host, const std::string& text) {
    std::vector<Strings>& inbox = hosts.at(host).inbox;
    if (!inbox.empty()) inbox.erase(inbox.begin());
    bytes(host, text);
  }
  // What a host says that serves, to all that it was asked.
  void answer(const std::string& host) {
    while (hosts.at(host).open && !hosts.at(host).inbox.empty())
      reply(host, answer_to(host, hosts.at(host).inbox.front()));
  }
  void answer_one(const std::string& host) {
    if (!hosts.at(host).inbox.empty()) reply(host, answer_to(host, hosts.at(host).inbox.front()));
  }
  bool asks_for_a_call(const std::string& host) {
    return !hosts.at(host).inbox.empty() && hosts.at(host).inbox.front()[0] == "CALL";
  }
  void up(const std::string& host) {
    accept(host);
    answer(host);
    hosts.at(host).log.clear();
  }
  void call(std::uint64_t tag, std::uint16_t slot = 0, nanoseconds deadline = 50ms) {
    client.call(tag, slot, array({"CALL", std::to_string(tag)}), now + deadline, now);
    settle();
  }
  void pass(nanoseconds time) {
    const nanoseconds until = now + time;
    while (client.next_tick() <= until) {
      now = std::max(now, client.next_tick());
      settle();
    }
    now = until;
    settle();
  }
  // The owner was busy elsewhere.
  void oversleep(nanoseconds time) {
    now += time;
    settle();
  }

  // What came of it: since this was last asked.
  std::string sent(const std::string& host) {
    std::string text;
    for (const Strings& words : std::exchange(hosts[host].log, {}))
      text += (text.empty() ? "" : " | ") + joined(words, " ");
    return text;
  }
  std::string took() { return joined(std::exchange(results, {}), "; "); }
  std::string did() { return joined(std::exchange(deeds, {}), "; "); }

  // Results so far, and how often a call was written.
  nanoseconds now = 1000s;
  std::map<std::string, Host> hosts;
  std::map<std::uint64_t, int> result_count;
  std::map<std::uint64_t, int> write_count;
  std::vector<std::string> results;
  std::vector<std::string> deeds;
  std::string map = slots({{0, 8191, "a"}, {8192, 16383, "b"}});
  std::string master = "m";
  std::string call_error;  // of a host that serves, to every call
  std::function<void(std::uint64_t tag, Cause cause)> on_done = [](std::uint64_t, Cause) {};
  std::function<void(std::uint64_t tag)> on_write = [](std::uint64_t) {};
  Client client;

  std::string answer_to(const std::string&, const Strings& words) {
    const std::string& name = words[0];
    if (name == "SCRIPT") return bulk("0123456789012345678901234567890123456789");
    if (name == "CONFIG") return array({"maxmemory-policy", "noeviction"});
    if (name == "CLUSTER") return map;
    if (name == "SENTINEL") return master.empty() ? "*-1\r\n" : array({master, "6379"});
    if (name == "PING") return "+PONG\r\n";
    if (name == "CALL") return call_error.empty() ? ":" + words[1] + "\r\n" : call_error + "\r\n";
    return "+OK\r\n";
  }

  // Does what the client wants until it wants nothing more at this time.
  void settle() {
    if (std::exchange(settling_, true)) return;
    for (int turns = 0;; ++turns) {
      ASSERT_LT(turns, 1000) << "never at rest";
      carry_out();
      if (client.next_tick() > now) break;
      client.tick(now);
      EXPECT_GT(client.next_tick(), now) << "a busy loop";
    }
    settling_ = false;
  }

 private:
  void carry_out() {
    for (bool more = true; more;) {
      for (const Client::Action& action : client.take_actions()) act(action);
      more = false;
      for (auto& [name, host] : hosts) {
        if (host.manner == Manner::refuses && host.connecting) {
          host.connecting = false;
          client.failed(host.id, "refused", now);
          more = true;
        } else if (host.manner != Manner::manual && host.manner != Manner::refuses && host.connecting) {
          host.connecting = false;
          host.open = true;
          client.connected(host.id, now);
          more = true;
        } else if (host.manner == Manner::serves && host.open && !host.inbox.empty()) {
          const Strings words = host.inbox.front();
          host.inbox.erase(host.inbox.begin());
          client.received(host.id, answer_to(name, words), now);
          more = true;
        }
      }
    }
  }

  void act(const Client::Action& action) {
    if (action.kind == Client::Action::Kind::connect) {
      const bool usual = action.address.port == 6379 || action.address.port == 26379;
      const std::string name = usual ? action.address.host : action.address.text();
      Host& host = hosts[name];
      EXPECT_FALSE(host.connecting || host.open) << name << ": connected twice";
      EXPECT_GE(now, host.closed_at + 10ms) << name << ": no time to rest";
      const auto former = names_.find(action.node);
      EXPECT_TRUE(former == names_.end() || former->second == name || hosts.count(former->second) == 0 ||
                  !(hosts[former->second].connecting || hosts[former->second].open))
          << name << " has the number of " << former->second;
      host.id = action.node;
      host.connecting = true;
      host.connects.push_back(now);
      names_[action.node] = name;
      deeds.push_back("connect " + name);
      return;
    }
    Host& host = hosts.at(names_.at(action.node));
    const std::string out = client.take_output(action.node);
    if (action.kind == Client::Action::Kind::close) {
      EXPECT_EQ(out, "") << "bytes to a closed connection";
      host.connecting = host.open = false;
      host.closed_at = now;
      host.wire.clear();
      host.inbox.clear();
      deeds.push_back("close " + names_.at(action.node));
      return;
    }
    EXPECT_TRUE(out.empty() || host.open) << "bytes to nobody";
    host.wire += out;
    while (!host.wire.empty()) {
      const Strings words = take_command(host.wire);
      if (words[0] == "CALL") {
        ++write_count[std::stoull(words[1])];
        on_write(std::stoull(words[1]));
      }
      host.inbox.push_back(words);
      host.log.push_back(words);
    }
  }

  void on_result(std::uint64_t tag, const Client::Result& result) {
    EXPECT_EQ(++result_count[tag], 1) << "two results for " << tag;
    std::string text = std::to_string(tag) + " ";
    if (result.cause == Cause::none) {
      EXPECT_EQ(result.error, "");
      text += result.value->type == resp::Value::Type::integer ? ":" + std::to_string(result.value->integer)
                                                               : std::string(result.value->text);
    } else {
      EXPECT_EQ(result.value, nullptr);
      EXPECT_NE(result.error, "") << "an error without words";
      text += std::string(name_of(result.cause)) + " (" + std::string(result.error) + ")";
    }
    results.push_back(text);
    on_done(tag, result.cause);
  }

  std::map<Client::NodeId, std::string> names_;
  bool settling_ = false;
};

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

TEST(RedisClient, is_ready_behind_the_greeting) {
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
  EXPECT_EQ(world.took(), "1 other (ERR unknown command 'EVALSHA'); 2 other (ERR a  b [31mc)");
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

TEST(RedisClient, what_is_no_answer_ends_the_connection) {
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
    if (tag == 1) world.client.call(2, 0, array({"CALL", "2"}), world.now + 50ms, world.now);
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

TEST(RedisClient, a_reload_that_fails_fails_the_calls_behind_it) {
  World world("redis://a");
  world.start().up("a");
  world.call(1);
  world.reply("a", "-NOSCRIPT gone\r\n");
  world.reply("a", "-BUSY in a script\r\n");
  EXPECT_EQ(world.took(), "1 busy (a:6379: BUSY in a script)");
}

// --------------------------------------------------------------------------------- timeouts and lost
// connections

TEST(RedisClient, a_timeout_closes_the_connection_and_nothing_is_sent_again) {
  World world("redis://a");
  world.start().up("a");
  world.did();
  world.call(1, 0, 20ms);
  world.call(2, 0, 40ms);
  world.call(3, 0, 20ms);
  world.pass(19ms);
  EXPECT_EQ(world.took(), "");
  world.pass(1ms);
  EXPECT_EQ(
      world.took(),
      "1 timeout (a:6379: no answer by the deadline); 2 connection (a:6379: no answer by the deadline); "
      "3 timeout (a:6379: no answer by the deadline)");
  EXPECT_EQ(world.did(), "close a");
  world.hosts["a"].manner = World::Manner::serves;
  world.pass(1s);
  EXPECT_EQ(world.did(), "connect a");
  EXPECT_EQ(world.write_count, (std::map<std::uint64_t, int>{{1, 1}, {2, 1}, {3, 1}}));
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
  EXPECT_EQ(world.sent("a"), "CALL 1 | CALL 2 | SCRIPT LOAD script");  // it has said its policy
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
TEST(RedisClient, nothing_is_sent_behind_its_deadline) {
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
TEST(RedisClient, a_reload_behind_a_slow_call_has_its_time) {
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
      world.client.call(tag + 100, 0, array({"CALL", std::to_string(tag + 100)}), world.now + 50ms,
                        world.now);
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
    if (tag == 1) world.client.call(2, 9000, array({"CALL", "2"}), world.now + 50ms, world.now);
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

TEST(RedisCluster, is_asked_now_and_then_and_by_turns) {
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
TEST(RedisCluster, a_late_retry_is_not_sent_behind_its_deadline) {
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
    const std::uint64_t pods = live_on ? 270 : 500;
    for (std::uint64_t i = 0; i < pods; ++i) {
      const std::string pod = "pod" + std::to_string(i);
      world.hosts[pod].manner = World::Manner::serves;
      world.map = slots({{0, 99, "a"}, {100, 16383, pod}});
      world.pass(2200ms);
      world.call(i, 5000);
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

TEST(RedisSentinel, one_dead_sentinel_is_no_matter) {
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

// --------------------------------------------------------------------------------------------------- chance

// Everything that can happen, in any order: each call has one result by its deadline, is written no oftener
// than answers allowed, and when the world behaves again, so does the client.
class Soak {
 public:
  // Of a hundred answers, about `trouble` are not the ones hoped for.
  Soak(const std::string& url, int trouble, std::uint64_t seed)
      : world_(url, seed),
        random_(seed),
        trouble_(trouble),
        cluster_(url.find("cluster") != std::string::npos) {
    world_.on_done = [this](std::uint64_t tag, Cause) {
      const auto deadline = open_.find(tag);
      ASSERT_NE(deadline, open_.end());
      late_.erase({deadline->second, tag});
      open_.erase(deadline);
      if (!calm_ && chance(20)) call();
    };
    world_.on_write = [this](std::uint64_t tag) {
      const auto deadline = open_.find(tag);
      ASSERT_NE(deadline, open_.end()) << "a call was sent after its result";
      EXPECT_LT(world_.now, deadline->second) << "a call was sent after its deadline";
      EXPECT_LE(world_.write_count[tag], 1 + again_[tag]) << "a call was sent again without leave";
      EXPECT_LE(world_.write_count[tag], 17);
    };
  }

  void run(int steps) {
    world_.start();
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      check();
    }
    recover();
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  bool unlucky() { return chance(trouble_); }
  std::string any_host() { return std::string(1, static_cast<char>('a' + below(5))); }

  void call() {
    const std::uint64_t tag = ++last_tag_;
    const nanoseconds patience = chance(2)   ? nanoseconds{-1}
                                 : chance(5) ? nanoseconds{2s}
                                             : nanoseconds{static_cast<std::int64_t>(below(60'000'000))};
    open_[tag] = world_.now + patience;
    late_.insert({world_.now + patience, tag});
    world_.client.call(tag, static_cast<std::uint16_t>(below(kSlots)), array({"CALL", std::to_string(tag)}),
                       world_.now + patience, world_.now);
  }

  void step() {
    const std::uint64_t what = below(100);
    if (what < 25) {
      call();
      world_.settle();
    } else if (what < 35) {
      world_.pass(nanoseconds{static_cast<std::int64_t>(below(3'000'000))});
    } else if (what < 36 && unlucky()) {
      world_.oversleep(
          nanoseconds{static_cast<std::int64_t>(below(chance(10) ? 1'000'000'000 : 50'000'000))});
    } else {
      if (world_.hosts.empty()) return;
      auto host = world_.hosts.begin();
      std::advance(host, static_cast<std::ptrdiff_t>(below(world_.hosts.size())));
      happen(host->first, host->second);
    }
  }

  void happen(const std::string& name, World::Host& host) {
    if (host.connecting) {
      if (unlucky()) return world_.fail(name);
      if (!unlucky()) world_.accept(name);
      return;
    }
    std::string& half = half_[name];
    if (!host.open) {
      half.clear();
      return;
    }
    if (closes_[name] != host.connects.size()) half.clear();
    closes_[name] = host.connects.size();
    if (chance(1) && unlucky()) return world_.fail(name, "lost");
    // In the middle of an answer, or too many of them, would be answers to somebody else.
    if (chance(1) && unlucky() && half.empty()) {
      if (host.inbox.empty()) return world_.bytes(name, ":1\r\n");
      if (chance(20)) return world_.bytes(name, "what?\r\n");
    }
    if (chance(3)) half += ">2\r\n+message\r\n:1\r\n";
    for (std::uint64_t n = 1 + below(8); n > 0 && !host.inbox.empty(); --n) {
      half += any_answer(name, host.inbox.front());
      host.inbox.erase(host.inbox.begin());
    }
    const std::size_t size = chance(50) ? half.size() : below(half.size() + 1);
    const std::string now = half.substr(0, size);
    half.erase(0, size);
    world_.bytes(name, now);
  }

  std::string any_answer(const std::string& name, const Strings& words) {
    const std::string& command = words[0];
    if (!unlucky()) {
      if (command == "CLUSTER" && chance(10)) return world_.map = whole_map();
      if (command == "SENTINEL" && chance(10)) world_.master = any_host();
      return world_.answer_to(name, words);
    }
    if (command == "CLUSTER") return any_map();
    if (command == "SENTINEL") {
      return chance(10)   ? "*-1\r\n"
             : chance(10) ? "-ERR x\r\n"
             : chance(5)  ? array({any_host(), "x"})
                          : array({any_host(), "6379"});
    }
    if (command == "AUTH") return "-WRONGPASS x\r\n";
    if (command == "SCRIPT") return chance(50) ? "-LOADING x\r\n" : "-BUSY x\r\n";
    if (command != "CALL") return world_.answer_to(name, words);
    const std::uint64_t tag = std::stoull(words[1]);
    const std::string to = std::to_string(below(kSlots)) + " " + any_host() + ":6379\r\n";
    switch (below(12)) {
      case 0:
        ++again_[tag];
        return "-NOSCRIPT x\r\n";
      case 1:
        again_[tag] += cluster_ ? 1 : 0;
        return "-MOVED " + to;
      case 2:
        again_[tag] += cluster_ ? 1 : 0;
        return "-ASK " + to;
      case 3:
        again_[tag] += cluster_ ? 1 : 0;
        return "-TRYAGAIN x\r\n";
      case 4:
        return chance(20) ? "-READONLY x\r\n" : "-MOVED x\r\n";
      case 5:
        return "-CLUSTERDOWN x\r\n";
      case 6:
        return "-LOADING x\r\n";
      case 7:
        return "-OOM x\r\n";
      case 8:
        return chance(20) ? "-NOAUTH x\r\n" : "-NOPERM x\r\n";
      default:
        return "-WRONGTYPE x\r\n";
    }
  }

  std::string whole_map() {
    const int first = static_cast<int>(below(8000));
    const int second = first + static_cast<int>(below(8000));
    return slots({{0, first, any_host()}, {first + 1, second, any_host()}, {second + 1, 16383, any_host()}});
  }

  std::string any_map() {
    if (chance(5)) return "*0\r\n";
    if (chance(2)) return "-ERR x\r\n";
    std::vector<Range> ranges;
    int first = 0;
    while (first < kSlots) {
      const int last = std::min<int>(first + static_cast<int>(below(6000)), kSlots - 1);
      if (!chance(5)) ranges.push_back({first, last, any_host()});
      first = last + 1;
    }
    return slots(ranges);
  }

  void check() {
    if (!late_.empty()) {
      EXPECT_GT(late_.begin()->first, world_.now) << "call " << late_.begin()->second << " has no result";
    }
    EXPECT_GT(world_.client.next_tick(), world_.now);
    world_.results.clear();
    world_.deeds.clear();
    for (auto& [name, host] : world_.hosts) host.log.clear();
  }

  void recover() {
    calm_ = true;
    world_.map = slots({{0, 5000, "a"}, {5001, 10000, "b"}, {10001, 16383, "e"}});
    world_.master = "c";
    for (const std::string name : {"a", "b", "c", "d", "e"}) world_.hosts[name];
    for (auto& [name, host] : world_.hosts) {
      if (host.open && closes_[name] == host.connects.size() && !half_[name].empty())
        world_.bytes(name, half_[name]);
      host.manner = World::Manner::serves;
    }
    world_.pass(3s);
    check();
    EXPECT_TRUE(open_.empty()) << open_.size() << " calls without a result";
    EXPECT_TRUE(world_.client.ready()) << world_.client.last_error();
    for (std::uint16_t slot = 0; slot < kSlots; slot = static_cast<std::uint16_t>(slot + 1000)) {
      const std::uint64_t tag = ++last_tag_;
      open_[tag] = world_.now + 10ms;
      late_.insert({world_.now + 10ms, tag});
      world_.call(tag, slot, 10ms);
      EXPECT_EQ(world_.took(), std::to_string(tag) + " :" + std::to_string(tag));
    }
    EXPECT_EQ(world_.result_count.size(), last_tag_);
  }

  World world_;
  std::mt19937_64 random_;
  int trouble_;
  bool cluster_;
  bool calm_ = false;
  std::uint64_t last_tag_ = 0;
  std::map<std::uint64_t, nanoseconds> open_;
  std::set<std::pair<nanoseconds, std::uint64_t>> late_;
  std::map<std::uint64_t, int> again_;  // how often it may be sent again
  std::map<std::string, std::string> half_;
  std::map<std::string, std::size_t> closes_;
};

TEST(RedisClient, whatever_happens) {
  constexpr int kRounds = 27;
  constexpr int kSteps = 8'000;
  const std::vector<std::string> urls = {"redis+cluster://:hush@a,b,z", "redis+sentinel://x,y,z/m",
                                         "redis://a"};
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const std::string& url = urls[static_cast<std::size_t>(round) % urls.size()];
    SCOPED_TRACE(url + ", round " + std::to_string(round));
    Soak(url, std::vector{2, 10, 40}[static_cast<std::size_t>(round) / 3 % 3],
         core::Chance::seed() + static_cast<std::uint64_t>(round))
        .run(kSteps);
  }
}

}  // namespace
}  // namespace weir::redis
