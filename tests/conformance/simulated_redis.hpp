// A Redis without a server: carries out what weir asks of one, deciding by src/core what check.lua decides
// there.
//
// Not for: latency, failures, or how weir is connected (src/redis' own tests).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/redis_world.hpp"
#include "core/gcra.hpp"
#include "core/rule.hpp"
#include "redis/script.hpp"
#include "redis/wire_test.hpp"

namespace weir::store::conformance {

class SimulatedRedis : public Upstream {
 public:
  std::string answer(std::vector<std::string> words, nanoseconds wall) override {
    const std::string& name = words[0];
    if (name == "EVALSHA") return evaluate(words, std::chrono::floor<std::chrono::microseconds>(wall));
    if (name == "SCRIPT") return redis::bulk(redis::check_sha());
    if (name == "CONFIG") return "*2\r\n" + redis::bulk("maxmemory-policy") + redis::bulk("noeviction");
    if (name == "PING") return "+PONG\r\n";
    if (name == "SET") foreign_.insert(words[1]);
    if (name != "DEL") return "+OK\r\n";
    std::size_t deleted = 0;
    for (std::size_t i = 1; i < words.size(); ++i)
      deleted += states_.erase(words[i]) + logs_.erase(words[i]) + foreign_.erase(words[i]);
    return ":" + std::to_string(deleted) + "\r\n";
  }

 private:
  // One limit of a call: check.lua has the meaning of its words.
  struct Part {
    std::string key;
    core::Rule rule;
    Cost cost;
    std::optional<nanoseconds> charged_at;  // of a give_back
  };
  struct Admission {
    std::int64_t at;
    std::int64_t units;
  };
  using Log = std::deque<Admission>;
  struct Outcome {
    bool allowed;
    std::string before;  // the state that was found
  };

  static Part read(const std::string& key, const std::string* words) {
    const auto number = [words](int n) { return std::stoll(words[n]); };
    const auto quota = [](std::int64_t count, std::int64_t period, std::int64_t burst) {
      return Quota::make({count, nanoseconds{period}}, burst).value();
    };
    const auto cost = [](std::int64_t units) { return Cost{static_cast<std::uint64_t>(units)}; };
    if (words[0] == "give_back") {
      const std::int64_t units = number(2) / number(1);
      return {key, core::Rule{quota(1, number(1), std::max<std::int64_t>(1, units))}, cost(units),
              nanoseconds{number(3)}};
    }
    if (words[0] == "gcra")
      return {key, core::Rule{quota(1, number(1), number(2) / number(1))}, cost(number(3) / number(1)), {}};
    static const std::map<std::string, Algorithm> kByName = {
        {"fixed_window", Algorithm::fixed_window},
        {"fixed_window_clock", Algorithm::fixed_window_clock},
        {"sliding_window_log", Algorithm::sliding_window_log},
        {"sliding_window_counter", Algorithm::sliding_window_counter}};
    return {
        key, core::Rule{quota(number(2), number(3), number(2)), kByName.at(words[0])}, cost(number(1)), {}};
  }

  std::string evaluate(const std::vector<std::string>& words, nanoseconds now) {
    const std::size_t keys = std::stoul(words[2]);
    const bool several_times = (words.size() - 3 - keys) % 4 == 2;
    const std::size_t times = several_times ? std::stoul(words.back()) : 1;
    // All or none: what is written is written to copies.
    std::map<std::string, core::TwoWords> states = states_, debts = states_;
    std::map<std::string, Log> logs = logs_;
    std::string found;
    std::size_t allowed = 0;
    for (std::size_t i = 0; i < keys; ++i) {
      const Part part = read(words[3 + i], &words[3 + keys + 4 * i]);
      if (foreign_.contains(part.key))
        return "-WRONGTYPE key " + std::to_string(i + 1) + " of this request holds no state of gcra\r\n";
      for (std::size_t n = 0; n < times; ++n) {
        const Outcome outcome = part.rule.algorithm == Algorithm::sliding_window_log
                                    ? decide(part, logs[part.key], now)
                                    : decide(part, states[part.key], debts[part.key], now);
        if (n == 0) found += outcome.before;
        allowed += outcome.allowed ? 1 : 0;
      }
    }
    const bool all = allowed == keys * times;
    states_ = all || several_times ? states : debts;
    if (all) logs_ = logs;
    std::erase_if(states_, [now](const auto& each) { return core::ahead_of(each.second.until, now) == 0; });
    std::erase_if(logs_, [](const auto& each) { return each.second.empty(); });
    const std::int64_t us = now.count() / 1000;
    return "*" + std::to_string(3 + keys) +
           "\r\n:" + std::to_string(several_times ? allowed : std::size_t{all}) + "\r\n" +
           redis::bulk(std::to_string(us / 1'000'000)) + redis::bulk(std::to_string(us % 1'000'000)) + found;
  }

  static Outcome decide(const Part& part, core::TwoWords& state, core::TwoWords& debt, nanoseconds now) {
    const std::string before =
        core::ahead_of(state.until, now) == 0 ? "$-1\r\n" : redis::bulk(text_of(part.rule, state));
    if (part.charged_at) {
      const core::gcra::State left =
          core::gcra::give_back(part.rule.quota, {state.until, state.word}, now, part.cost, *part.charged_at);
      state = {left.tat, left.interval};
      return {true, before};
    }
    const core::Step step = core::decide(part.rule, state, now, part.cost);
    const bool allowed = step.verdict == Verdict::allowed;
    if (step.changes) state = step.next;
    if (step.changes && !allowed) debt = step.next;
    return {allowed, before};
  }

  // The definition: units of one period back, its beginning excluded.
  static Outcome decide(const Part& part, Log& log, nanoseconds time) {
    const auto [limit, period] = part.rule.quota.rate();
    const auto cost = static_cast<std::int64_t>(part.cost.units);
    const std::int64_t newest = log.empty() ? 0 : log.back().at;
    const std::int64_t now = std::max(time.count(), newest);
    Log live;
    std::int64_t used = 0;
    for (const Admission& each : log) {
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
                                               redis::bulk(std::to_string(newest)) +
                                               redis::bulk(std::to_string(leaves));
    if (fits && cost > 0) {
      log = std::move(live);
      log.push_back({now, cost});
    }
    return {fits, before};
  }

  static std::string text_of(const core::Rule& rule, const core::TwoWords& state) {
    const std::string until = std::to_string(state.until) + " ";
    if (rule.algorithm != Algorithm::sliding_window_counter) return until + std::to_string(state.word);
    return until + std::to_string(state.word >> 32) + " " + std::to_string(state.word & 0xffff'ffff);
  }

  std::map<std::string, core::TwoWords> states_;
  std::map<std::string, Log> logs_;
  std::set<std::string> foreign_;
};

}  // namespace weir::store::conformance
