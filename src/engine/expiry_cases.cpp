// Expiry: a state must live until it is drained, and should not outlive that for long.
#include <algorithm>
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
// An engine whose clock hardly moves does not keep us for longer.
class Patience {
 public:
  void must_last() const {
    if (std::chrono::steady_clock::now() - began_ > 10s)
      throw Seen("TIME in scripts did not come to a key's end within 10s");
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

Looked look(Bench& bench, const CommandWords& keys, const std::string& kind) {
  const Value said = bench.run(kLookScript, keys, {kind});
  if (said.items.size() != keys.size() + 2) throw Seen("a script was answered " + bench.shown(said));
  const auto s = core::parse_integer(said.items[0].text);
  const auto us = core::parse_integer(said.items[1].text);
  if (!s || !us) throw Seen("TIME in a script was answered " + bench.shown(said));
  Looked looked{std::chrono::seconds{*s} + microseconds{*us}, {}};
  for (const Value& each : said.items.subspan(2)) looked.there.push_back(each.integer == 1);
  return looked;
}

// Until the last of the keys is gone, each of which may not be gone before its end by the clock that the look
// itself reads. The ends are about a millisecond apart: whenever one looks, one of them is in its last one.
Outcome watch(Bench& bench, const CommandWords& keys, const std::vector<microseconds>& ends,
              const std::string& kind) {
  const microseconds last = *std::max_element(ends.begin(), ends.end());
  int looks = 0;
  for (const Patience patience;; patience.must_last()) {
    const Looked looked = look(bench, keys, kind);
    ++looks;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!looked.there[i] && looked.now < ends[i])
        return fails("a key was gone " + core::to_text(ends[i] - looked.now) + " before its end");
    }
    if (std::find(looked.there.begin(), looked.there.end(), true) == looked.there.end()) break;
    if (looked.now > last + kAtMostLate)
      return fails("a key was still there " + core::to_text(kAtMostLate) + " after its end");
    std::this_thread::sleep_for(looked.now < last ? 200us : 5000us);
  }
  return holds(std::to_string(keys.size()) + " keys lived until their end, in " + std::to_string(looks) +
               " looks, and ended");
}

Outcome live_until_their_end(Bench& bench, const std::string& kind) {
  const std::int64_t begin = bench.time().count() / 1000 + 20;
  CommandWords keys;
  std::vector<microseconds> ends;
  std::vector<CommandWords> commands;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = bench.key(kind + "-" + std::to_string(i));
    const std::string at = std::to_string(begin + i);
    keys.push_back(key);
    ends.emplace_back(std::chrono::milliseconds{begin + i});
    if (kind == "list") {
      commands.push_back({"RPUSH", key, "v"});
      commands.push_back({"PEXPIREAT", key, at});
    } else {
      commands.push_back({"SET", key, "v", "PXAT", at});
    }
  }
  bench.send(commands);
  std::string refused;
  for (const CommandWords& each : commands) {
    const Value said = bench.receive().value;
    if (said.type == Type::error && refused.empty())
      refused = each[0] + " was answered " + bench.shown(said.text);
  }
  return refused.empty() ? watch(bench, keys, ends, kind) : fails(refused);
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
  for (const Patience patience;; patience.must_last()) {
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
  return holds("PXAT and PEXPIREAT in the past leave no key and raise no error");
}

// States that check.lua has written by itself.
Outcome of_weirs_script(Bench& bench) {
  bench.expect({"SCRIPT", "LOAD", std::string(redis::check_script())});
  CommandWords keys;
  std::vector<core::Rule> rules;
  for (int i = 0; i < kKeys; ++i) {
    keys.push_back(bench.key("state-" + std::to_string(i)));
    rules.push_back({Quota::make({1, 20ms + i * 1ms}, 1).value()});
  }
  std::string commands;
  for (std::size_t i = 0; i < keys.size(); ++i)
    redis::append_check(commands, std::array{redis::ScriptCheck{&rules[i], keys[i], Cost{1}}});
  bench.wire().send(commands);
  std::vector<microseconds> ends;
  std::string wrong;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const WireAnswer answer = bench.receive();
    std::array<Decision, 1> decisions;
    const auto charged = redis::read_check(
        answer.value, std::array{redis::ScriptCheck{&rules[i], keys[i], Cost{1}}}, decisions);
    if (!charged && wrong.empty()) wrong = "check.lua was answered " + bench.shown(charged.error());
    if (charged && !*charged && wrong.empty()) wrong = "check.lua denied a key that nobody had used";
    const auto at = redis::decided_at(answer.value).value_or(0ns);
    ends.push_back(std::chrono::floor<microseconds>(at) + rules[i].quota.emission_interval() / 1us * 1us);
  }
  return wrong.empty() ? watch(bench, keys, ends, "text") : fails(wrong);
}

}  // namespace

std::span<const EngineCase> expiry_cases() {
  static constexpr auto kCases = std::to_array<EngineCase>({
      {"expiry-text", "SET with PXAT, whose keys live to the millisecond or longer, and end within 2s",
       texts},
      {"expiry-list", "PEXPIREAT, whose keys live to the millisecond or longer, and end within 2s", lists},
      {"expiry-replaced", "SET with PXAT in place of the expiry that was there", replaced},
      {"expiry-past", "times in the past that delete the key and raise no error", in_the_past},
      {"expiry-state", "states that live until they are drained", of_weirs_script},
  });
  return kCases;
}

}  // namespace weir::engine
