// For tests: a Redis without a server that runs weir's scripts, and what each call of them asked and decided.
//
// Each decision is made by src/core too, and the script's has to be the same.
//
// Not for: latency, failures, and connections (shared_world_test.hpp).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rule.hpp"
#include "redis/charge_script.hpp"
#include "redis/lua_redis_test.hpp"
#include "redis/reserve_script.hpp"
#include "redis/script.hpp"
#include "redis/take_script.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::redis {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

inline core::Rule rule(std::string_view text) { return core::Rule::parse(text).value(); }

// A command as it arrived, and what became of it.
struct Deed {
  // EVALSHA of check.lua, reset for that of keys; reserve, cancel, settle for those of reserve.lua; any other
  // command has no parts.
  std::string name;
  Strings words{};
  // One limit of a call: check.lua has the meaning of its words.
  struct Part {
    std::string key;
    core::Rule rule;
    Cost cost;
    std::optional<nanoseconds> charged_at{};  // of a give_back
    std::optional<nanoseconds> cap{};         // the most that is owed from then on
    bool look = false;
    bool shadow = false;
    std::size_t inside = 0;            // the number of a guarantee, from 1; 0: none
    std::optional<core::Rule> best{};  // while that is allowed
  };
  std::vector<Part> parts{};
  bool gives_back = false;  // or caps: it takes off
  std::size_t times = 0;    // 0: not said
  std::size_t process = 0;
  std::size_t asker = 0;  // the request during which it was written, 0 for none
  nanoseconds at{0};      // of arrival, our clock
  bool ran = false;
  bool allowed = false;               // all of it
  std::vector<Decision> decisions{};  // none of a give_back or by a log
  std::vector<Decision> found{};      // the same, with what was there before each
};

// burst x T, less what is kept: the least burst that holds it, and what of that is kept.
inline core::Rule rule_of_room(std::int64_t interval, std::int64_t room) {
  const std::int64_t burst = std::max<std::int64_t>(1, room / interval + (room % interval == 0 ? 0 : 1));
  core::Rule made{Quota::make({1, nanoseconds{interval}}, burst).value()};
  made.kept = nanoseconds{burst * interval - room};
  return made;
}

inline Deed::Part read_part(const std::string& key, const std::string* words) {
  std::vector<std::string> marks;
  std::istringstream text(words[0]);
  for (std::string word; text >> word;) marks.push_back(word);
  if (marks.size() > 1 && marks[0] != "give_back" && marks[0] != "cap") {
    const Strings plain = {marks.back(), words[1], words[2], words[3]};
    Deed::Part part = read_part(key, plain.data());
    for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
      part.look = part.look || marks[i] == "look";
      part.shadow = part.shadow || marks[i] == "shadow";
      if (marks[i] != "inside") continue;
      part.inside = std::stoul(marks[i + 1]);
      part.best = rule_of_room(std::stoll(words[1]), std::stoll(marks[i + 2]));
    }
    return part;
  }
  const auto number = [words](int n) { return std::stoll(words[n]); };
  const auto quota = [](std::int64_t count, std::int64_t period, std::int64_t burst) {
    return Quota::make({count, nanoseconds{period}}, burst).value();
  };
  const auto cost = [](std::int64_t units) { return Cost{static_cast<std::uint64_t>(units)}; };
  if (words[0].starts_with("give_back")) {
    const std::int64_t units = number(2) / number(1);
    return {key, core::Rule{quota(1, number(1), std::max<std::int64_t>(1, units))}, cost(units),
            nanoseconds{number(3)}};
  }
  if (words[0].starts_with("cap")) {
    Deed::Part part{key, core::Rule{quota(1, number(1), 1)}, cost(0)};
    part.cap = nanoseconds{number(2)};
    return part;
  }
  if (words[0] == "gcra") return {key, rule_of_room(number(1), number(2)), cost(number(3) / number(1))};
  static const std::map<std::string, Algorithm> kByName = {
      {"fixed_window", Algorithm::fixed_window},
      {"fixed_window_clock", Algorithm::fixed_window_clock},
      {"sliding_window_log", Algorithm::sliding_window_log},
      {"sliding_window_counter", Algorithm::sliding_window_counter}};
  return {key, core::Rule{quota(number(2), number(3), number(2)), kByName.at(words[0])}, cost(number(1))};
}

inline Deed read_deed(const Strings& words) {
  Deed deed{words[0], words};
  if (deed.name == "EVALSHA") {
    const std::size_t keys = std::stoul(words[2]);
    const std::size_t argv = 3 + keys;
    if (words[1] == reserve_sha()) {
      // A record, then for each limit its state and its line.
      deed.name = words[argv];
      for (std::size_t i = 1; i < keys; i += 2) deed.parts.push_back({words[3 + i], rule("1/s"), Cost{0}});
      return deed;
    }
    if (words[1] == charge_sha() || words[1] == take_sha()) {
      deed.name = words[1] == take_sha() ? "take" : "charge";
      for (std::size_t i = 0; i < keys; ++i) deed.parts.push_back({words[3 + i], rule("1/s"), Cost{0}});
      return deed;
    }
    if (words[argv] == "reset") {
      deed.name = "reset";
      // The last of them are lines.
      const std::size_t lines = std::stoul(words[argv + 1]);
      for (std::size_t i = 0; i < keys - lines; ++i)
        deed.parts.push_back({words[3 + i], rule("1/s"), Cost{0}});
      return deed;
    }
    // And its line comes after it.
    const bool changes = words[argv].starts_with("give_back") || words[argv].starts_with("cap");
    for (std::size_t i = 0; i < (changes ? 1 : keys); ++i) {
      deed.parts.push_back(read_part(words[3 + i], &words[argv + 4 * i]));
      deed.gives_back = deed.gives_back || deed.parts.back().charged_at || deed.parts.back().cap;
    }
    if ((words.size() - argv) % 4 == 2) {
      EXPECT_EQ(words[words.size() - 2], "times");
      deed.times = std::stoul(words.back());
    }
  }
  return deed;
}

// All nodes together: every key is on one of them.
class SimulatedRedis {
 public:
  nanoseconds ahead = 1'700'000'000s;  // its clock, of ours

  // What Redis answers to a command that has no parts, and a cluster of that map.
  std::string answer(const Strings& words, const std::string& map, nanoseconds ours) {
    if (LuaRedis::knows(words[0])) return redis_.answer(words, clock(ours)).wire();
    return answer_to_greeting(words, check_sha(), map);
  }
  // What Redis answers to a call.
  std::string carry_out(Deed& deed, nanoseconds ours) {
    const auto granted = decide(deed, clock(ours));
    const LuaReply reply = redis_.answer(deed.words, clock(ours));
    if (deed.name != "EVALSHA" || reply.kind != LuaReply::Kind::list) return reply.wire();
    const std::int64_t number = reply.list.at(0).number;
    deed.allowed = number == std::max<std::int64_t>(1, static_cast<std::int64_t>(deed.times));
    EXPECT_EQ(number, granted.value_or(number)) << "the script decides, and src/core otherwise";
    return reply.wire();
  }

  // How many units are owed; nothing by what is not ours.
  std::int64_t owed(const std::string& key, const core::Rule& rule, nanoseconds ours) {
    const auto T = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    const auto state = state_of({.key = key, .rule = rule, .cost = {}}, clock(ours));
    return state ? static_cast<std::int64_t>((core::ahead_of(state->until, clock(ours)) + T - 1) / T) : 0;
  }
  void owe(const std::string& key, const core::Rule& rule, nanoseconds until) {
    const std::string T = std::to_string(rule.quota.emission_interval().count());
    redis_.answer({"SET", key, "weir1g " + std::to_string((until + ahead).count()) + " " + T}, until + ahead);
  }
  nanoseconds owed_until(const std::string& key) {
    const auto state = state_of({.key = key, .rule = rule("1/s"), .cost = {}}, nanoseconds{0});
    return nanoseconds{static_cast<std::int64_t>(state.value().until)} - ahead;
  }
  void forget(const std::string& key) { redis_.answer({"DEL", key}, nanoseconds{0}); }

  // Something else lies there from then on; false: it did already.
  bool put_foreign(const std::string& key) {
    redis_.answer({"SET", key, "hello"}, nanoseconds{0});
    return foreign_.insert(key).second;
  }
  void take_foreign(const std::string& key) {
    if (foreign_.erase(key) > 0) forget(key);
  }
  void take_all_foreign() {
    while (!foreign_.empty()) take_foreign(std::string(*foreign_.begin()));
  }

 private:
  // In whole microseconds, as TIME has it.
  nanoseconds clock(nanoseconds ours) const {
    return std::chrono::floor<std::chrono::microseconds>(ours + ahead);
  }

  // Of one that is in no ledger.
  std::optional<core::TwoWords> state_of(const Deed::Part& part, nanoseconds now) {
    const LuaReply found = redis_.answer({"GET", part.key}, now);
    resp::Value value;
    if (found.kind == LuaReply::Kind::text) {
      value.type = resp::Value::Type::string;
      value.text = found.text;
    } else if (found.kind != LuaReply::Kind::nil) {
      return std::nullopt;
    }
    const auto state = read_state(value, {.rule = &part.rule, .key = part.key, .cost = part.cost}, now);
    return state ? std::optional(state->words) : std::nullopt;
  }

  // Fills the decisions, and says what the script has to answer; nothing of what changes a state without a
  // decision, and where the states are not in two words or not ours.
  std::optional<std::int64_t> decide(Deed& deed, nanoseconds now) {
    std::map<std::string, core::TwoWords> states;
    std::vector<bool> allows;
    const std::size_t times = std::max<std::size_t>(1, deed.times);
    std::size_t granted = 0;
    bool look = false;
    if (deed.gives_back || deed.name != "EVALSHA") return std::nullopt;
    for (const Deed::Part& part : deed.parts) {
      if (part.rule.algorithm == Algorithm::sliding_window_log) return std::nullopt;
      const auto found = state_of(part, now);
      if (!found) return std::nullopt;
      core::TwoWords& state = states.try_emplace(part.key, *found).first->second;
      const bool guaranteed = part.inside != 0 && allows[part.inside - 1];
      const core::Rule& its = guaranteed ? *part.best : part.rule;
      for (std::size_t n = 0; n < times; ++n) {
        const core::Step step = core::decide(its, state, now, part.cost);
        deed.decisions.push_back(step.decision());
        deed.found.push_back(core::look(its, state, now, part.cost));
        if (step.changes) state = step.next;
        allows.push_back(step.verdict == Verdict::allowed);
        granted += allows.back() || part.shadow ? 1 : 0;
      }
      look = look || part.look;
    }
    if (deed.times > 0) return static_cast<std::int64_t>(granted);
    return granted == deed.parts.size() && !look ? 1 : 0;
  }

  LuaRedis redis_;
  std::set<std::string> foreign_{};
};

}  // namespace weir::redis
