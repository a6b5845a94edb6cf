// For tests: a Redis without a server, which decides by src/core what check.lua decides there.
//
// Not for: latency, failures, and logs of a sliding window, which are always new here.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rule.hpp"
#include "redis/wire_test.hpp"

namespace weir::redis {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

inline core::Rule rule(std::string_view text) { return core::Rule::parse(text).value(); }

// A command as it arrived, and what became of it.
struct Deed {
  std::string name;  // EVALSHA, or DEL and all that is of a greeting
  struct Part {
    std::string key;
    core::Rule rule;
    Cost cost;
    nanoseconds charged_at{0};  // of a give_back
  };
  std::vector<Part> parts{};
  bool gives_back = false;
  std::size_t times = 0;  // 0: not said
  std::size_t process = 0;
  std::size_t asker = 0;  // the request during which it was written, 0 for none
  nanoseconds at{0};      // of arrival, our clock
  bool ran = false;
  bool allowed = false;  // all of it
  std::vector<Decision> decisions{};
};

inline Deed read_deed(const Strings& words) {
  Deed deed{words[0]};
  if (deed.name == "DEL") {
    for (std::size_t i = 1; i < words.size(); ++i) deed.parts.push_back({words[i], rule("1/s"), Cost{0}});
  } else if (deed.name == "EVALSHA") {
    const std::size_t keys = std::stoul(words[2]);
    const std::size_t argv = 3 + keys;
    for (std::size_t i = 0; i < keys; ++i) {
      const std::string* const arg = &words[argv + 4 * i];
      const auto number = [arg](std::size_t n) { return std::stoll(arg[n]); };
      const auto quota = [](std::int64_t count, std::int64_t period, std::int64_t burst) {
        return Quota::make({count, nanoseconds{period}}, burst).value();
      };
      const auto cost = [](std::int64_t units) { return Cost{static_cast<std::uint64_t>(units)}; };
      if (arg[0] == "give_back") {
        deed.gives_back = true;
        deed.parts.push_back({words[3 + i], core::Rule{quota(1, number(1), 1)}, cost(number(2) / number(1)),
                              nanoseconds{number(3)}});
      } else if (arg[0] == "gcra") {
        deed.parts.push_back({words[3 + i], core::Rule{quota(1, number(1), number(2) / number(1))},
                              cost(number(3) / number(1))});
      } else {
        const std::map<std::string, Algorithm> by_name = {
            {"fixed_window", Algorithm::fixed_window},
            {"fixed_window_clock", Algorithm::fixed_window_clock},
            {"sliding_window_log", Algorithm::sliding_window_log},
            {"sliding_window_counter", Algorithm::sliding_window_counter}};
        deed.parts.push_back({words[3 + i],
                              core::Rule{quota(number(2), number(3), number(2)), by_name.at(arg[0])},
                              cost(number(1))});
      }
    }
    if ((words.size() - argv) % 4 == 2) {
      EXPECT_EQ(words[words.size() - 2], "times");
      deed.times = std::stoul(words.back());
    }
  }
  return deed;
}

// All nodes together: every key is on one of them.
struct SimulatedRedis {
  nanoseconds ahead = 1'700'000'000s;  // its clock, of ours
  std::map<std::string, core::TwoWords> keys;
  std::set<std::string> foreign;  // where something else lies

  std::string carry_out(Deed& deed, nanoseconds ours) {
    // In whole microseconds, as TIME has it.
    const nanoseconds now = std::chrono::floor<std::chrono::microseconds>(ours + ahead);
    if (deed.name == "DEL") {
      std::size_t erased = 0;
      for (const Deed::Part& part : deed.parts) erased += keys.erase(part.key);
      return ":" + std::to_string(erased) + "\r\n";
    }
    std::string states;
    std::vector<std::pair<std::string, core::TwoWords>> changed, debts;
    bool all = true;
    std::int64_t granted = 0;
    for (const Deed::Part& part : deed.parts) {
      if (foreign.contains(part.key)) return "-WRONGTYPE key 1 of this request holds no state of gcra\r\n";
      const bool log = part.rule.algorithm == Algorithm::sliding_window_log;  // one that is always new
      core::TwoWords words = keys[part.key];
      states += core::ahead_of(words.until, now) == 0 ? "$-1\r\n" : bulk(text_of(part.rule, words));
      if (deed.gives_back) {
        give_back(part, now);
        continue;
      }
      for (std::size_t i = 0; i < std::max<std::size_t>(1, deed.times); ++i) {
        const core::Step step = log ? core::Step{} : decide(part.rule, words, now, part.cost);
        deed.decisions.push_back(step.decision());
        const bool allowed = step.verdict == Verdict::allowed;
        granted += allowed ? 1 : 0;
        if (step.changes) {
          words = step.next;
          (allowed ? changed : debts).emplace_back(part.key, words);
        }
        all = all && allowed;
      }
    }
    deed.allowed = all;
    if (all || deed.times > 0) {
      for (const auto& [key, words] : changed) keys[key] = words;
    }
    if (!all) {
      for (const auto& [key, words] : debts) keys[key] = words;
    }
    const std::int64_t us = now.count() / 1000;
    return "*" + std::to_string(3 + deed.parts.size()) +
           "\r\n:" + std::to_string(deed.times > 0 ? granted : static_cast<std::int64_t>(all)) + "\r\n" +
           bulk(std::to_string(us / 1'000'000)) + bulk(std::to_string(us % 1'000'000)) + states;
  }

  // How many units are owed.
  std::int64_t owed(const std::string& key, const core::Rule& rule, nanoseconds ours) {
    const auto T = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    return static_cast<std::int64_t>((core::ahead_of(keys[key].until, ours + ahead) + T - 1) / T);
  }

 private:
  static std::string text_of(const core::Rule& rule, const core::TwoWords& words) {
    const std::string until = std::to_string(words.until) + " ";
    if (rule.algorithm != Algorithm::sliding_window_counter) return until + std::to_string(words.word);
    return until + std::to_string(words.word >> 32) + " " + std::to_string(words.word & 0xffff'ffff);
  }
  void give_back(const Deed::Part& part, nanoseconds now) {
    core::TwoWords& words = keys[part.key];
    const auto T = part.rule.quota.emission_interval();
    if (words.word != static_cast<std::uint64_t>(T.count())) return;
    const nanoseconds need = T * static_cast<std::int64_t>(part.cost.units);
    const nanoseconds still = std::clamp(part.charged_at + need - now, nanoseconds{0}, need);
    words.until -= std::min(static_cast<std::uint64_t>(still.count()), core::ahead_of(words.until, now));
  }
};

}  // namespace weir::redis
