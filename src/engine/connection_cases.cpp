// How the engine is reached, and how it answers.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/duration.hpp"
#include "engine/bench.hpp"
#include "engine/cases.hpp"

namespace weir::inline v0_1::engine {
namespace {

using resp::Value;
using Type = resp::Value::Type;

Outcome plain_answers(Bench& bench) {
  const std::string key = bench.key("plain");
  const Value set = bench.expect({"SET", key, "two words\r\n", "PX", "30000"});
  if (set.text != "OK") return fails("SET was answered " + bench.shown(set));
  if (const Value got = bench.expect({"GET", key}); got.text != "two words\r\n")
    return fails("GET of a text of two words and a line's end was answered " + bench.shown(got));
  if (const Value deleted = bench.expect({"DEL", key}); deleted.integer != 1)
    return fails("DEL of one key was answered " + bench.shown(deleted));
  if (const Value got = bench.expect({"GET", key}); got.type != Type::null)
    return fails("GET of a key that is not there was answered " + bench.shown(got));
  return holds("texts, integers and null came as such, without HELLO");
}

Outcome hello(Bench& bench) {
  const auto wire = bench.another();
  const bool takes = Bench::ask(*wire, {"HELLO", "3"}).type != Type::error;
  const Value pong = Bench::ask(*wire, {"PING"});
  if (pong.text != "PONG") return fails("after HELLO 3 PING was answered " + bench.shown(pong));
  if (!takes) return holds("HELLO 3 was refused, which weir does without");
  Bench::ask(*wire, {"HELLO", "2"});
  return holds("RESP2 and, after HELLO 3, RESP3");
}

Outcome order_of_answers(Bench& bench) {
  constexpr int kMany = 300;
  const std::string key = bench.key("order");
  std::vector<CommandWords> commands;
  for (int i = 0; i < kMany; ++i) {
    commands.push_back({"SET", key, std::to_string(i), "PX", "30000"});
    commands.push_back({"GET", key});
  }
  bench.send(commands);
  std::string wrong;
  for (int i = 0; i < kMany; ++i) {
    bench.receive();
    const Value got = bench.receive().value;
    if (got.text != std::to_string(i) && wrong.empty())
      wrong = "answer " + std::to_string(2 * i + 1) + " of " + std::to_string(2 * kMany) + " was " +
              bench.shown(got) + " in place of '" + std::to_string(i) + "'";
  }
  return wrong.empty() ? holds(std::to_string(2 * kMany) + " commands in one write were answered in order")
                       : fails(wrong);
}

// Beyond a third of the deadline a check that waits for others, or meets a slow moment, is decided by the
// fallback.
Outcome round_trip(Bench& bench) {
  constexpr std::size_t kCalls = 21;
  std::array<std::chrono::nanoseconds, kCalls> took{};
  for (std::chrono::nanoseconds& each : took) {
    const auto begin = std::chrono::steady_clock::now();
    bench.expect({"PING"});
    each = std::chrono::steady_clock::now() - begin;
  }
  std::nth_element(took.begin(), took.begin() + kCalls / 2, took.end());
  const auto median = std::chrono::ceil<std::chrono::microseconds>(took[kCalls / 2]);
  const std::string seen =
      core::to_text(median) + " at the median, of a --store-deadline of " + core::to_text(bench.deadline);
  return median * 3 > bench.deadline ? fails(seen) : holds(seen);
}

// Each of them, as docs/redis.md lists them for a user of an ACL. What a script may call is the same.
Outcome take_commands(Bench& bench, const std::vector<CommandWords>& commands) {
  std::string refused;
  for (const CommandWords& each : commands) {
    const Value said = bench.ask(each);
    if (said.type != Type::error) continue;
    if (each[0] == "PEXPIREAT") bench.can_expire_lists = false;
    const std::string name = each[0] == "SCRIPT" ? "SCRIPT LOAD" : each[0];
    refused += (refused.empty() ? "" : "; ") + name + " was answered " + bench.shown(said.text);
  }
  return refused.empty() ? holds(std::to_string(commands.size()) + " commands are taken") : fails(refused);
}

Outcome commands_of_checks(Bench& bench) {
  const std::string key = bench.key("commands");
  const std::string at = bench.milliseconds_from_now(30'000);
  const std::string script = "return redis.call('GET', KEYS[1])";
  std::vector<CommandWords> all = {
      {"PING"},    {"TIME"}, {"GET", key}, {"SET", key, "v", "PXAT", at}, {"SCRIPT", "LOAD", script},
      {"DEL", key}};
  Outcome outcome = take_commands(bench, all);
  if (outcome.kind != Outcome::Kind::holds) return outcome;
  bench.run(script, {key});
  return holds("PING, TIME, GET, SET with PXAT, DEL, SCRIPT LOAD and EVALSHA are taken");
}

Outcome commands_of_logs(Bench& bench) {
  const std::string key = bench.key("commands-log");
  return take_commands(bench, {{"RPUSH", key, "a", "b"},
                               {"PEXPIREAT", key, bench.milliseconds_from_now(30'000)},
                               {"LINDEX", key, "-1"},
                               {"LRANGE", key, "0", "9"},
                               {"LSET", key, "0", "c"},
                               {"LTRIM", key, "0", "9"},
                               {"DEL", key}});
}

Outcome commands_of_reservations(Bench& bench) {
  const std::string key = bench.key("commands-line"), ledger = bench.key("commands-ledger");
  return take_commands(bench, {{"HSET", ledger, "h", "a"},
                               {"HGET", ledger, "h"},
                               {"PEXPIREAT", ledger, bench.milliseconds_from_now(30'000)},
                               {"HDEL", ledger, "h"},
                               {"ZADD", key, "1", "a"},
                               {"PEXPIREAT", key, bench.milliseconds_from_now(30'000)},
                               {"ZCOUNT", key, "0", "2"},
                               {"ZSCORE", key, "a"},
                               {"ZRANGE", key, "0", "0"},
                               {"ZRANGEBYSCORE", key, "0", "2", "LIMIT", "0", "1"},
                               {"ZREVRANGEBYSCORE", key, "2", "0", "LIMIT", "0", "1"},
                               {"ZREMRANGEBYSCORE", key, "5", "6"},
                               {"ZREM", key, "a"},
                               {"DEL", key}});
}

}  // namespace

std::span<const EngineCase> connection_cases() {
  static constexpr auto kCases = std::to_array<EngineCase>({
      {"sentinel", "sentinels that name one master", [](Bench& bench) { return bench.find_master(); }, true},
      {"cluster", "CLUSTER SLOTS, and a node for each slot", [](Bench& bench) { return bench.find_owner(); },
       true},
      {"connect", "PONG to PING (NOAUTH: put user:password@ into the URL)",
       [](Bench& bench) { return bench.connect(); }, true},
      {"auth", "a user and a password that the engine knows",
       [](Bench& bench) { return bench.authenticate(); }, true},
      {"database", "the database that the URL names", [](Bench& bench) { return bench.select(); }, true},
      {"resp2", "RESP2 as long as nobody says HELLO", plain_answers},
      {"hello", "a connection that goes on after HELLO, whether it is taken or not", hello},
      {"round-trip",
       "answers within a third of --store-deadline: give the servers a longer one, or the store a nearer "
       "place",
       round_trip},
      {"pipeline", "answers in the order of the commands", order_of_answers},
      {"commands", "PING, TIME, GET, SET, DEL, SCRIPT LOAD and EVALSHA: allow them to the user (ACL)",
       commands_of_checks, true},
      {"commands-log", "these for a sliding window log: allow them to the user (ACL)", commands_of_logs},
      {"commands-line", "these for reservations: allow them to the user (ACL)", commands_of_reservations},
  });
  return kCases;
}

}  // namespace weir::engine
