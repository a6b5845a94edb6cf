// For tests: a Redis without a server, which decides by src/core what check.lua decides there.
//
// Not for: latency, failures, and connections (shared_world_test.hpp).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/gcra.hpp"
#include "core/rule.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::redis {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

inline core::Rule rule(std::string_view text) { return core::Rule::parse(text).value(); }

// A command as it arrived, and what became of it.
struct Deed {
  std::string name;  // EVALSHA, reset for that of keys, or what is of a greeting
  // One limit of a call: check.lua has the meaning of its words.
  struct Part {
    std::string key;
    core::Rule rule;
    Cost cost;
    std::optional<nanoseconds> charged_at{};  // of a give_back
    std::optional<nanoseconds> cap{};         // the most that is owed from then on
    bool alone = false;                       // the tat, in redis-cell's format
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
  const bool alone = words[0].ends_with("redis-cell");
  if (words[0].starts_with("give_back")) {
    const std::int64_t units = number(2) / number(1);
    return {key,         core::Rule{quota(1, number(1), std::max<std::int64_t>(1, units))},
            cost(units), nanoseconds{number(3)},
            {},          alone};
  }
  if (words[0].starts_with("cap")) {
    Deed::Part part{key, core::Rule{quota(1, number(1), 1)}, cost(0)};
    part.cap = nanoseconds{number(2)};
    part.alone = alone;
    return part;
  }
  if (words[0] == "gcra" || alone)
    return {key, rule_of_room(number(1), number(2)), cost(number(3) / number(1)), {}, {}, alone};
  static const std::map<std::string, Algorithm> kByName = {
      {"fixed_window", Algorithm::fixed_window},
      {"fixed_window_clock", Algorithm::fixed_window_clock},
      {"sliding_window_log", Algorithm::sliding_window_log},
      {"sliding_window_counter", Algorithm::sliding_window_counter}};
  return {key, core::Rule{quota(number(2), number(3), number(2)), kByName.at(words[0])}, cost(number(1))};
}

inline Deed read_deed(const Strings& words) {
  Deed deed{words[0]};
  if (deed.name == "EVALSHA") {
    const std::size_t keys = std::stoul(words[2]);
    const std::size_t argv = 3 + keys;
    if (words[argv] == "reset") {
      deed.name = "reset";
      // The last of them are lines.
      const std::size_t lines =
          words[argv + 1].starts_with("weir ") ? std::stoul(words[argv + 1].substr(5)) : 0;
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

// The admissions of a sliding window's log, by its definition: units of one period back, its beginning
// excluded.
class SimulatedLog {
 public:
  struct Outcome {
    bool allowed;
    std::string before;  // the state that was found
  };
  Outcome decide(const Deed::Part& part, nanoseconds time) {
    const auto [limit, period] = part.rule.quota.rate();
    const auto cost = static_cast<std::int64_t>(part.cost.units);
    const std::int64_t newest = admissions_.empty() ? 0 : admissions_.back().at;
    const std::int64_t now = std::max(time.count(), newest);
    std::deque<Admission> live;
    std::int64_t used = 0;
    for (const Admission& each : admissions_) {
      if (each.at + period.count() <= now) continue;
      live.push_back(each);
      used += each.units;
    }
    std::int64_t leaves = newest;
    const bool fits = cost <= limit - used;
    if (!fits && cost <= limit) {
      std::int64_t excess = used + cost - limit;
      for (std::size_t i = 0; excess > 0; ++i) {
        excess -= live[i].units;
        leaves = live[i].at;
      }
    }
    const std::string before = used == 0 ? "$-1\r\n"
                                         : "*3\r\n:" + std::to_string(used) + "\r\n" +
                                               bulk(std::to_string(newest)) + bulk(std::to_string(leaves));
    if (fits && cost > 0) {
      admissions_ = std::move(live);
      admissions_.push_back({now, cost});
    }
    return {fits, before};
  }
  bool empty() const { return admissions_.empty(); }

 private:
  struct Admission {
    std::int64_t at;
    std::int64_t units;
  };
  std::deque<Admission> admissions_;
};

// All nodes together: every key is on one of them.
struct SimulatedRedis {
  nanoseconds ahead = 1'700'000'000s;  // its clock, of ours
  std::map<std::string, core::TwoWords> keys{};
  std::map<std::string, SimulatedLog> logs{};
  std::set<std::string> foreign{};  // where something else lies

  // What Redis answers to EVALSHA.
  std::string carry_out(Deed& deed, nanoseconds ours) {
    // In whole microseconds, as TIME has it.
    const nanoseconds now = std::chrono::floor<std::chrono::microseconds>(ours + ahead);
    if (deed.name == "reset") return reset(deed);
    const std::size_t times = std::max<std::size_t>(1, deed.times);
    // All or none: what is written is written to copies.
    std::map<std::string, core::TwoWords> states, debts;
    std::map<std::string, SimulatedLog> new_logs;
    for (const Deed::Part& part : deed.parts) {
      states[part.key] = debts[part.key] = keys[part.key];
      new_logs[part.key] = logs[part.key];
    }
    std::string found;
    std::size_t granted = 0;
    bool look = false;
    std::vector<bool> allows;
    for (std::size_t i = 0; i < deed.parts.size(); ++i) {
      const Deed::Part& part = deed.parts[i];
      if (foreign.contains(part.key))
        return "-WRONGTYPE key " + std::to_string(i + 1) + " of this request holds no state of gcra\r\n";
      const bool log = part.rule.algorithm == Algorithm::sliding_window_log;
      // Which T it was charged in is not written there.
      if (part.alone && states[part.key].until != 0)
        states[part.key].word = debts[part.key].word =
            static_cast<std::uint64_t>(part.rule.quota.emission_interval().count());
      if (!log) found += text_of(part, states[part.key], now);
      for (std::size_t n = 0; n < times; ++n) {
        if (log) {
          const SimulatedLog::Outcome outcome = new_logs[part.key].decide(part, now);
          if (n == 0) found += outcome.before;
          allows.push_back(outcome.allowed);
        } else {
          Deed::Part its = part;
          if (its.inside != 0 && allows[its.inside - 1]) its.rule = its.best.value();
          allows.push_back(decide(deed, its, states[part.key], debts[part.key], now));
        }
        granted += allows.back() || part.shadow ? 1 : 0;
      }
      look = look || part.look;
    }
    deed.allowed = granted == deed.parts.size() * times && !look;
    for (const auto& [key, state] : deed.allowed || deed.times > 0 ? states : debts) keys[key] = state;
    for (const auto& [key, log] : new_logs) {
      if (deed.allowed) logs[key] = log;
    }
    std::erase_if(keys, [now](const auto& each) { return core::ahead_of(each.second.until, now) == 0; });
    std::erase_if(logs, [](const auto& each) { return each.second.empty(); });
    const std::int64_t us = now.count() / 1000;
    return "*" + std::to_string(3 + deed.parts.size()) +
           "\r\n:" + std::to_string(deed.times > 0 ? granted : std::size_t{deed.allowed}) + "\r\n" +
           bulk(std::to_string(us / 1'000'000)) + bulk(std::to_string(us % 1'000'000)) + found;
  }

  // How many units are owed.
  std::int64_t owed(const std::string& key, const core::Rule& rule, nanoseconds ours) const {
    const auto found = keys.find(key);
    if (found == keys.end()) return 0;
    const auto T = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    return static_cast<std::int64_t>((core::ahead_of(found->second.until, ours + ahead) + T - 1) / T);
  }

 private:
  std::string reset(const Deed& deed) {
    std::size_t forgotten = 0;
    std::size_t not_ours = 0;
    for (const Deed::Part& part : deed.parts) {
      forgotten += keys.erase(part.key) + logs.erase(part.key);
      not_ours += foreign.contains(part.key) ? 1 : 0;
    }
    if (not_ours == 0) return ":" + std::to_string(forgotten) + "\r\n";
    return "-WRONGTYPE " + std::to_string(not_ours) + " of these keys hold something other than a limit\r\n";
  }

  static bool decide(Deed& deed, const Deed::Part& part, core::TwoWords& state, core::TwoWords& debt,
                     nanoseconds now) {
    if (part.cap) {
      const std::uint64_t most = static_cast<std::uint64_t>((now + *part.cap).count());
      if (state.word == static_cast<std::uint64_t>(part.rule.quota.emission_interval().count()))
        state.until = std::min(state.until, most);
      return true;
    }
    if (part.charged_at) {
      const core::gcra::State left =
          core::gcra::give_back(part.rule.quota, {state.until, state.word}, now, part.cost, *part.charged_at);
      state = {left.tat, left.interval};
      return true;
    }
    const core::Step step = core::decide(part.rule, state, now, part.cost);
    deed.decisions.push_back(step.decision());
    deed.found.push_back(core::look(part.rule, state, now, part.cost));
    const bool allowed = step.verdict == Verdict::allowed;
    if (step.changes) state = step.next;
    if (step.changes && !allowed) debt = step.next;
    return allowed;
  }

  static std::string text_of(const Deed::Part& part, const core::TwoWords& words, nanoseconds now) {
    const core::Rule& rule = part.rule;
    if (core::ahead_of(words.until, now) == 0) return "$-1\r\n";
    if (part.alone) return bulk(std::to_string(words.until));
    const std::string until = std::to_string(words.until) + " ";
    if (rule.algorithm == Algorithm::gcra) return bulk("weir1g " + until + std::to_string(words.word));
    if (rule.algorithm != Algorithm::sliding_window_counter)
      return bulk("weir1f " + until + std::to_string(words.word));
    return bulk("weir1c " + until + std::to_string(words.word >> 32) + " " +
                std::to_string(words.word & 0xffff'ffff));
  }
};

}  // namespace weir::redis
