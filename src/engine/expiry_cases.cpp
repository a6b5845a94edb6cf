// Expiry: a state must live until it is drained, and should not outlive that for long.
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/duration.hpp"
#include "core/number.hpp"
#include "engine/bench.hpp"
#include "engine/cases.hpp"
#include "redis/script.hpp"

namespace weir::inline v0_1::engine {
namespace {

using resp::Value;
using Type = resp::Value::Type;
using std::chrono::microseconds;
using namespace std::chrono_literals;

const std::string kLookScript =
    "local t = redis.call('TIME') local out = {t[1], t[2]} "
    "for i, key in ipairs(KEYS) do "
    "local v if ARGV[1] == 'list' then v = redis.call('LINDEX', key, 0) else v = redis.call('GET', key) end "
    "out[i + 2] = v and 1 or 0 end return out";

constexpr int kKeys = 60;
constexpr auto kAtMostLate = 2s;

struct Looked {
  microseconds now;
  std::vector<bool> there;
};
Looked look(Bench& bench, const Words& keys, const std::string& kind) {
  const Value said = bench.run(kLookScript, keys, {kind});
  if (said.items.size() != keys.size() + 2) throw Seen("a script was answered " + bench.shown(said));
  const auto s = core::parse_integer(said.items[0].text);
  const auto us = core::parse_integer(said.items[1].text);
  if (!s || !us) throw Seen("TIME in a script was answered " + bench.shown(said));
  Looked looked{std::chrono::seconds{*s} + microseconds{*us}, {}};
  for (const Value& each : said.items.subspan(2)) looked.there.push_back(each.integer == 1);
  return looked;
}

// Keys that end a millisecond apart: whenever one looks, one of them is in its last millisecond, and none may
// be gone before its end, which is counted by the clock that the look itself reads.
Outcome live_until_their_end(Bench& bench, const std::string& kind) {
  const std::int64_t begin = bench.time().count() / 1000 + 20;
  Words keys;
  std::vector<Words> commands;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = bench.key(kind + "-" + std::to_string(i));
    const std::string at = std::to_string(begin + i);
    keys.push_back(key);
    if (kind == "list") {
      commands.push_back({"RPUSH", key, "v"});
      commands.push_back({"PEXPIREAT", key, at});
    } else {
      commands.push_back({"SET", key, "v", "PXAT", at});
    }
  }
  bench.send(commands);
  std::string refused;
  for (const Words& each : commands) {
    const Value said = bench.receive().value;
    if (said.type == Type::error && refused.empty()) refused = each[0] + " was answered " + bench.shown(said.text);
  }
  if (!refused.empty()) return fails(refused);
  int looks = 0;
  for (;;) {
    const Looked looked = look(bench, keys, kind);
    ++looks;
    bool any = false;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const microseconds end = std::chrono::milliseconds{begin + static_cast<std::int64_t>(i)};
      any = any || looked.there[i];
      if (!looked.there[i] && looked.now < end)
        return fails("a key was gone " + core::to_text(end - looked.now) + " before its end");
    }
    if (!any) break;
    if (looked.now > std::chrono::milliseconds{begin + kKeys} + kAtMostLate)
      return fails("a key was still there " + core::to_text(kAtMostLate) + " after its end");
    if (looked.now < std::chrono::milliseconds{begin + kKeys})
      std::this_thread::sleep_for(200us);
    else
      std::this_thread::sleep_for(5ms);
  }
  return holds(std::to_string(kKeys) + " keys lived until their millisecond, in " + std::to_string(looks) +
               " looks, and ended");
}

Outcome texts(Bench& bench) { return live_until_their_end(bench, "text"); }
Outcome lists(Bench& bench) {
  if (!bench.can_expire_lists) return skipped("PEXPIREAT is refused");
  return live_until_their_end(bench, "list");
}

Outcome replaced(Bench& bench) {
  const std::string longer = bench.key("longer");
  const std::string shorter = bench.key("shorter");
  const std::int64_t now = bench.time().count() / 1000;
  const auto at = [&](std::int64_t ms) { return std::to_string(now + ms); };
  bench.expect({"SET", longer, "a", "PXAT", at(30)});
  bench.expect({"SET", longer, "b", "PXAT", at(30'000)});
  bench.expect({"SET", shorter, "a", "PXAT", at(30'000)});
  bench.expect({"SET", shorter, "b", "PXAT", at(30)});
  for (;;) {
    std::this_thread::sleep_for(10ms);
    const Looked looked = look(bench, {longer, shorter}, "text");
    if (looked.now < std::chrono::milliseconds{now + 60}) continue;
    if (!looked.there[0]) return fails("a key that was SET again with a later PXAT ended at its former one");
    if (!looked.there[1]) return holds("the last PXAT is the one that counts");
    if (looked.now > std::chrono::milliseconds{now + 30} + kAtMostLate)
      return fails("a key that was SET again with an earlier PXAT did not end");
  }
}

Outcome in_the_past(Bench& bench) {
  const std::string key = bench.key("past");
  bench.expect({"SET", key, "v", "PX", "30000"});
  bench.expect({"SET", key, "v", "PXAT", bench.milliseconds_from_now(-1000)});
  if (bench.expect({"GET", key}).type != Type::null)
    return fails("a key that was SET with a PXAT in the past is there");
  if (!bench.can_expire_lists) return holds("SET with a PXAT in the past leaves no key");
  const std::string list = bench.key("past-list");
  bench.expect({"RPUSH", list, "v"});
  bench.expect({"PEXPIREAT", list, bench.milliseconds_from_now(-1000)});
  if (bench.expect({"LINDEX", list, "0"}).type != Type::null)
    return fails("a list is there after PEXPIREAT with a time in the past");
  return holds("PXAT and PEXPIREAT in the past leave no key, and are no error");
}

// A state that check.lua has written by itself.
Outcome of_weirs_script(Bench& bench) {
  const core::Rule rule{Quota::make({1, 40ms}, 1).value()};
  const std::string key = bench.key("state");
  bench.expect({"SCRIPT", "LOAD", std::string(redis::check_script())});
  const std::array asks = {redis::ScriptCheck{&rule, key, Cost{1}}};
  std::string command;
  redis::append_check(command, asks);
  bench.wire().send(command);
  std::array<Decision, 1> decisions;
  const Answer answer = bench.receive();
  const auto charged = redis::read_check(answer.value, asks, decisions);
  if (!charged) return fails("check.lua was answered " + bench.shown(charged.error()));
  const auto at = redis::decided_at(answer.value);
  if (!*charged || !at) return fails("check.lua denied a key that nobody had used");
  const auto end = *at + 40ms;
  for (;;) {
    const Looked looked = look(bench, {key}, "text");
    if (!looked.there[0] && looked.now < end)
      return fails("the state was gone " + core::to_text(end - looked.now) + " before it was drained");
    if (!looked.there[0]) return holds("a state lived until it was drained");
    if (looked.now > end + kAtMostLate) return fails("the state is still there long after it was drained");
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

std::span<const Case> expiry_cases() {
  static constexpr auto kCases = std::to_array<Case>({
      {"expiry-text", "SET with PXAT, whose keys live to the millisecond or longer, and end within 2s", texts},
      {"expiry-list", "PEXPIREAT, whose keys live to the millisecond or longer, and end within 2s", lists},
      {"expiry-replaced", "SET with PXAT in place of the expiry that was there", replaced},
      {"expiry-past", "times in the past that delete the key and are no error", in_the_past},
      {"expiry-state", "states that live until they are drained", of_weirs_script},
  });
  return kCases;
}

}  // namespace weir::engine
