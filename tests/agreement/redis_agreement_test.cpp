// The script in Redis decides as src/core does, on one server and in a cluster: every answer of the two is
// compared, and what the script leaves in Redis. It is handed the time, so that traces can be chosen.
// WEIR_LONG=1 walks 10^6 steps by chance; WEIR_SEED=n repeats a random run; WEIR_REDIS_SERVER names another
// server program.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agreement/subject.hpp"
#include "core/chance_test.hpp"
#include "redis/script.hpp"
#include "redis/server.hpp"
#include "redis/slot.hpp"
#include "redis/streams.hpp"
#include "redis/take_script.hpp"
#include "redis/told_call_test.hpp"
#include "redis/wire_test.hpp"
#include "store/clock.hpp"
#include "store/table.hpp"
#include "store/taking.hpp"
#include "store/together_test.hpp"

namespace weir::inline v0_1::redis_agreement_test {
namespace {

using redis::ScriptCheck;
using resp::Value;
using std::chrono::nanoseconds;

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kSecond = 1'000'000'000;
// The times handed to the script lie between 2096 and 2262, so that no key expires by the server's own clock.
constexpr std::int64_t kBegin = 4'000'000'000 * kSecond;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max() / kUs * kUs;

constexpr std::uint64_t kMostAhead = std::uint64_t{1} << 63;

const char* name(Algorithm algorithm) { return kAlgorithmNames[static_cast<std::size_t>(algorithm)]; }

Quota quota_of(std::int64_t burst, std::int64_t interval) {
  return Quota::make({1, nanoseconds{interval}}, burst).value();
}

core::Rule rule_of(Algorithm algorithm, std::int64_t limit, std::int64_t period) {
  if (algorithm == Algorithm::gcra) return {quota_of(limit, period / limit), algorithm};
  return core::Rule::make(Quota::make({limit, nanoseconds{period}}).value(), algorithm).value();
}

// Keys and their states as src/core has them, charged all or none as Table does it.
class Model {
 public:
  static constexpr std::int64_t kMostLog = 200;

  bool check_all(std::span<const ScriptCheck> asks, nanoseconds now, std::span<Decision> decisions) {
    std::map<std::string, core::TwoWords> words_before;
    std::map<std::string, Log> logs_before;
    bool all = true;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      const auto& [rule, key, cost, shadow, inside, utc] = asks[i];
      if (rule->algorithm == Algorithm::sliding_window_log) {
        Log& log = logs_[std::string(key)];
        logs_before.try_emplace(std::string(key), log);
        decisions[i] = core::sliding_window_log::decide(rule->quota, log.state, log.ring, now, cost);
      } else {
        core::TwoWords& words = words_[std::string(key)];
        const core::Step step = decide(*rule, words, now, cost);
        decisions[i] = step.decision();
        if (step.changes) words_before.try_emplace(std::string(key), words);
        if (step.changes) words = step.next;
      }
      all = all && decisions[i].allowed();
    }
    if (!all) {
      for (auto& [key, words] : words_before) words_[key] = words;
      for (auto& [key, log] : logs_before) logs_[key] = log;
      for (std::size_t i = 0; i < asks.size(); ++i)
        if (decisions[i].allowed()) decisions[i] = core::look(found(asks[i], now), decisions[i]);
    }
    return all;
  }

  const std::map<std::string, core::TwoWords>& words() const { return words_; }

  // Whether a clock that steps back to now leaves all that is stored in the ranges that core is made for.
  bool in_range(std::int64_t now) const {
    return std::all_of(words_.begin(), words_.end(), [now](const auto& each) {
      const auto& [key, words] = each;
      const std::uint64_t ahead = core::ahead_of(words.until, nanoseconds{now});
      if (ahead == 0 || !key.starts_with("gcra")) return ahead < kMostAhead;
      return ahead < kMostAhead - words.word && ahead / words.word < 9'000'000'000'000'000;
    });
  }

 private:
  // What is there.
  Decision found(const ScriptCheck& ask, nanoseconds now) {
    if (ask.rule->algorithm != Algorithm::sliding_window_log)
      return decide(*ask.rule, words_[std::string(ask.key)], now, Cost{0}).decision();
    Log& log = logs_[std::string(ask.key)];
    return core::sliding_window_log::decide(ask.rule->quota, log.state, log.ring, now, Cost{0});
  }

  struct Log {
    core::sliding_window_log::State state;
    std::vector<core::sliding_window_log::Entry> ring{static_cast<std::size_t>(kMostLog) + 1};
  };

  std::map<std::string, core::TwoWords> words_;
  std::map<std::string, Log> logs_;
};

std::string text_of(const Decision& d) {
  return std::to_string(static_cast<int>(d.verdict)) + " limit " + std::to_string(d.limit) + " remaining " +
         std::to_string(d.remaining) + " retry " +
         (d.retry_after ? std::to_string(d.retry_after->count()) : "-") + " reset " +
         std::to_string(d.reset_after.count());
}

class RedisAgreement : public testing::Test {
 protected:
  static constexpr std::size_t kMostTogether = 4;
  static constexpr std::size_t kBatch = 500;

  void SetUp() override {
    if (RedisServer::program().empty()) GTEST_SKIP() << "there is no redis-server";
    server_.emplace();
    connection_.emplace(*server_);
    ASSERT_EQ(load(), redis::check_sha());
    ASSERT_EQ(ask({"SCRIPT", "LOAD", redis::take_script()}).text, redis::take_sha());
  }

  std::string load() { return std::string(connection_->ask({"SCRIPT", "LOAD", redis::check_script()}).text); }
  const Value& ask(std::initializer_list<std::string_view> words) { return connection_->ask(words); }

  struct Question {
    std::uint16_t slot;
    std::string command;
  };
  // In one write; calls `read` with each answer.
  virtual void ask_all(std::span<const Question> questions,
                       const std::function<void(std::size_t, const Value&)>& read) {
    for (const Question& each : questions) connection_->out += each.command;
    connection_->flush();
    for (std::size_t i = 0; i < questions.size(); ++i) read(i, connection_->receive());
  }
  virtual void forget_all() { ask({"FLUSHALL"}); }

  // One request at the server's own time, or at `now`.
  tl::expected<bool, std::string> check(std::span<const ScriptCheck> asks, std::span<Decision> decisions,
                                        std::optional<nanoseconds> now = {}) {
    Question question{redis::slot_of(asks[0].key), {}};
    redis::append_check(question.command, asks, now);
    tl::expected<bool, std::string> charged;
    ask_all({&question, 1},
            [&](std::size_t, const Value& reply) { charged = redis::read_check(reply, asks, decisions); });
    return charged;
  }
  // As many units as all of them admit, where each costs what one unit costs; then they cost that many.
  tl::expected<std::uint64_t, std::string> take(std::span<ScriptCheck> asks, std::uint64_t least,
                                                std::uint64_t most, bool looks, std::span<Decision> decisions,
                                                nanoseconds now) {
    std::deque<store::Limit> limits;
    std::vector<store::Check> checks;
    store::TakeTerms terms{.most = most, .least = least};
    for (std::size_t i = 0; i < asks.size(); ++i) {
      checks.push_back({.limit = &limits.emplace_back(store::Limit{*asks[i].rule})});
      terms.unit[i] = asks[i].cost.units;
    }
    const std::uint64_t top = store::most_to_ask(checks, terms);
    const auto units = redis::UnitsAsked::up_to(least, top, looks);
    Question question{redis::slot_of(asks[0].key), {}};
    redis::append_take(question.command, asks, units, now);
    tl::expected<std::uint64_t, std::string> granted;
    ask_all({&question, 1}, [&](std::size_t, const Value& reply) {
      granted = redis::read_granted(reply, units);
      if (!granted) return;
      if (*granted == units.most) granted = std::max(*granted, top);
      for (std::size_t i = 0; i < asks.size(); ++i)
        asks[i].cost = Cost{store::cost_of_units(terms.unit[i], *granted != 0 ? *granted : least)};
      if (const auto why = redis::read_take(reply, asks, units, decisions)) granted = tl::unexpected(*why);
    });
    return granted;
  }
  Decision check(const core::Rule& rule, std::string_view key, std::uint64_t cost,
                 std::optional<nanoseconds> now = {}) {
    const std::array asks = {ScriptCheck{&rule, key, Cost{cost}}};
    std::array<Decision, 1> decisions;
    const auto charged = check(asks, decisions, now);
    if (!charged) throw std::runtime_error(charged.error());
    return decisions[0];
  }

  // Decides by the model now, and by the script when there is enough for one write. The asks' rules must live
  // until the next settle().
  void step(Model& model, std::span<const ScriptCheck> asks, std::int64_t now) {
    Pending& pending = pending_.emplace_back();
    pending.now = now;
    for (const ScriptCheck& each : asks) {
      const std::size_t i = pending.count++;
      pending.keys[i] = each.key;
      pending.rules[i] = *each.rule;
      pending.costs[i] = each.cost;
    }
    pending.charged = model.check_all(asks, nanoseconds{now}, pending.decisions) ? 1 : 0;
    questions_.push_back({redis::slot_of(asks[0].key), {}});
    redis::append_check(questions_.back().command, asks, nanoseconds{now});
    if (pending_.size() == kBatch) settle();
  }
  // The same for one limit that is asked for several times, by requests of their own.
  void step_times(Model& model, const ScriptCheck& ask, std::size_t times, std::int64_t now) {
    Pending& pending = pending_.emplace_back();
    pending.now = now;
    pending.count = 1;
    pending.times = times;
    pending.keys[0] = ask.key;
    pending.rules[0] = *ask.rule;
    pending.costs[0] = ask.cost;
    for (std::size_t i = 0; i < times; ++i) {
      pending.charged += model.check_all({&ask, 1}, nanoseconds{now}, {&pending.decisions[i], 1}) ? 1U : 0U;
    }
    questions_.push_back({redis::slot_of(ask.key), {}});
    redis::append_times(questions_.back().command, ask, times, nanoseconds{now});
    if (pending_.size() == kBatch) settle();
  }

  void settle() {
    ask_all(questions_, [this](std::size_t i, const Value& reply) { compare(pending_[i], reply); });
    questions_.clear();
    pending_.clear();
  }

  // What lies under the keys of a model, two words or three.
  void same_states(const Model& model, std::int64_t now) {
    settle();
    const std::vector<std::pair<std::string, core::TwoWords>> all(model.words().begin(), model.words().end());
    std::vector<Question> questions;
    for (const auto& [key, words] : all) {
      questions.push_back({redis::slot_of(key), {}});
      append_command(questions.back().command, {"GET", key});
    }
    ask_all(questions, [&](std::size_t i, const Value& value) {
      const auto& [key, words] = all[i];
      if (value.type == Value::Type::null) {
        EXPECT_EQ(core::ahead_of(words.until, nanoseconds{now}), 0U) << key;
        return;
      }
      const bool counter = key.find("counter") != std::string::npos;
      const std::string mark = key.starts_with("gcra") ? "weir1g " : counter ? "weir1c " : "weir1f ";
      EXPECT_EQ(value.text, mark + std::to_string(words.until) + " " +
                                (counter ? std::to_string(words.word >> 32) + " " +
                                               std::to_string(words.word & 0xffff'ffff)
                                         : std::to_string(words.word)))
          << key;
    });
  }

  std::optional<RedisServer> server_;
  std::optional<RedisConnection> connection_;
  std::uint64_t steps_ = 0;
  std::uint64_t wrong_ = 0;

 private:
  struct Pending {
    std::int64_t now;
    std::size_t count = 0;
    std::array<std::string, kMostTogether> keys;
    std::array<std::optional<core::Rule>, kMostTogether> rules;
    std::array<Cost, kMostTogether> costs;
    std::array<Decision, kMostTogether> decisions;
    std::size_t times = 0;    // 0: all limits together
    std::size_t charged = 0;  // how many times
  };
  static std::size_t to_count(bool all) { return all ? 1 : 0; }

  void compare(const Pending& pending, const Value& reply) {
    std::vector<ScriptCheck> asks;
    for (std::size_t i = 0; i < pending.count; ++i) {
      asks.push_back({&*pending.rules[i], pending.keys[i], pending.costs[i]});
    }
    std::array<Decision, kMostTogether> decisions;
    const std::size_t count = std::max(pending.count, pending.times);
    const auto charged = pending.times == 0
                             ? redis::read_check(reply, asks, decisions).map(to_count)
                             : redis::read_times(reply, asks[0], std::span(decisions).first(count));
    ++steps_;
    std::string why;
    if (!charged || *charged != pending.charged) why = charged ? "charged or not" : charged.error();
    for (std::size_t i = 0; i < count; ++i) {
      if (decisions[i] == pending.decisions[i]) continue;
      why += " core: " + text_of(pending.decisions[i]) + " script: " + text_of(decisions[i]);
    }
    if (why.empty() || ++wrong_ > 5) return;
    for (const ScriptCheck& each : asks) {
      why += "\n  " + std::string(each.key) + " " + to_text(*each.rule) + " cost " +
             std::to_string(each.cost.units);
    }
    ADD_FAILURE() << "at " << pending.now << ": " << why;
  }

  std::vector<Pending> pending_;
  std::vector<Question> questions_;
};

// On one server, or by weir's own client on a cluster.
class RedisAgreementOn : public RedisAgreement, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()) == "one_server") return RedisAgreement::SetUp();
    if (RedisServer::program().empty()) GTEST_SKIP() << "there is no redis-server";
    cluster_.emplace();
    client_.emplace(redis::Greeting{redis::Endpoint::parse(cluster_->url()).value(),
                                    {std::string(redis::check_script()), std::string(redis::take_script())}},
                    redis::Client::Options{});
    sockets_.emplace(*net::asio_timers(context_), *client_, redis::streams(context_, nullptr),
                     &store::steady_now, redis::Sockets::no_turns(context_));
    sockets_->start();
  }
  void TearDown() override {
    if (!client_) return;
    if (steps_ > 0) {
      EXPECT_EQ(client_->counters().connects, cluster_->connections().size()) << "all of them were asked";
    }
    sockets_->stop();
  }

  void ask_all(std::span<const Question> questions,
               const std::function<void(std::size_t, const Value&)>& read) override {
    if (!client_) return RedisAgreement::ask_all(questions, read);
    std::size_t answered = 0;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      auto told = std::make_unique<redis::ToldCall>([&, i](const redis::Call::Result& result) {
        ++answered;
        ASSERT_EQ(result.cause, redis::Cause::none) << result.error;
        read(i, *result.value);
      });
      client_->call(std::move(told), questions[i].slot, questions[i].command,
                    store::steady_now() + std::chrono::seconds{30}, store::steady_now());
      sockets_->wake(1);
    }
    while (answered < questions.size()) context_.run_one();
  }
  void forget_all() override {
    if (!client_) return RedisAgreement::forget_all();
    for (const auto& each : cluster_->connections()) each->ask({"FLUSHALL"});
  }

 private:
  std::optional<RedisCluster> cluster_;
  boost::asio::io_context context_{1};
  std::optional<redis::Client> client_;
  std::optional<redis::Sockets> sockets_;
};

INSTANTIATE_TEST_SUITE_P(, RedisAgreementOn, testing::Values("one_server", "cluster"),
                         [](const auto& each) { return std::string(each.param); });

// Each trace has a key of its own, and all of them go over all combinations of gap, cost and rule. On a
// cluster the script is the same one, and its traces are shorter. A check takes every fourth of the longest.
TEST_P(RedisAgreementOn, traces_of_up_to_four_requests) {
  const int depth = (core::Chance::is_long() ? 4 : 3) - (GetParam() == std::string_view("cluster") ? 1 : 0);
  const std::size_t each = core::Chance::is_long() || depth < 3 ? 1 : 4;
  for (const std::int64_t unit : {kUs, kSecond}) {
    for (const Algorithm algorithm : kAlgorithms) {
      const std::array rules = {rule_of(algorithm, 3, 6 * unit), rule_of(algorithm, 2, 4 * unit)};
      const std::array<std::int64_t, 3> gaps = {0, unit, 6 * unit};
      const std::array<std::uint64_t, 3> costs = {0, 1, 3};
      const std::size_t choices = gaps.size() * costs.size() * rules.size();
      std::size_t traces = 1;
      for (int i = 0; i < depth; ++i) traces *= choices;
      for (std::size_t trace = Chance()() % each; trace < traces; trace += each) {
        Model model;
        const std::string key = std::string(name(algorithm)) + std::to_string(trace);
        // Across a full second, in every step with it and with the windows.
        std::int64_t now = kBegin + kSecond - unit * static_cast<std::int64_t>(trace % 7);
        step(model, std::array{ScriptCheck{&rules[0], key, Cost{2}}}, now);
        std::size_t rest = trace;
        for (int i = 0; i < depth; ++i, rest /= choices) {
          now += gaps[rest % gaps.size()];
          const std::uint64_t cost = costs[rest / gaps.size() % costs.size()];
          const core::Rule& rule = rules[rest / gaps.size() / costs.size() % rules.size()];
          step(model, std::array{ScriptCheck{&rule, key, Cost{cost}}}, now);
        }
        if (algorithm == Algorithm::sliding_window_log) continue;
        const core::Rule& rule = rules[trace / 7 % rules.size()];
        step_times(model, {&rule, key, Cost{costs[trace % costs.size()]}}, kMostTogether,
                   now + gaps[trace % 2]);
      }
      settle();
      forget_all();
      EXPECT_EQ(wrong_, 0U) << name(algorithm);
    }
  }
  std::printf("%llu steps\n", static_cast<unsigned long long>(steps_));
  EXPECT_GE(steps_, depth < 3 ? 10'000U : 50'000U);
}

// A rule of any magnitude that the script is made for.
core::Rule random_rule(Chance& chance, Algorithm algorithm) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (;;) {
    if (algorithm == Algorithm::gcra) {
      // Half of them round in microseconds, so that times and states meet exactly.
      std::int64_t interval = chance.from_one_to(kMost);
      if (chance.up_to(1) == 0 && interval < kMost / kUs) interval *= kUs;
      std::int64_t burst = chance.from_one_to(kMost / interval);
      if (chance.up_to(9) == 0) burst = kMost / interval;  // burst x T as near to 2^63 as can be
      if (chance.up_to(1) == 0) burst = 1 + (burst - 1) % 20;
      const core::Rule rule{quota_of(burst, interval), algorithm};
      if (!redis::unsuitable(rule)) return rule;
      continue;
    }
    const bool log = algorithm == Algorithm::sliding_window_log;
    const bool counter = algorithm == Algorithm::sliding_window_counter;
    const std::int64_t limit = chance.from_one_to(log ? Model::kMostLog : counter ? 0xffff'ffff : kMost);
    // A log's time is believed when the clock has stepped back, and may then be that much further ahead.
    const std::int64_t most_period = counter ? kMost / 2 : log ? kMost - (kEnd - kBegin) : kMost;
    std::int64_t period = limit * chance.from_one_to(most_period / limit);
    if (chance.up_to(1) == 0 && period < most_period / kUs) period *= kUs;
    const auto rule = core::Rule::make(Quota::make({limit, nanoseconds{period}}).value(), algorithm);
    if (rule && !redis::unsuitable(*rule)) return *rule;
  }
}

TEST_P(RedisAgreementOn, long_random_traces_with_changing_quotas_and_several_limits) {
  Chance chance;
  const std::uint64_t most = core::Chance::is_long() ? 1'000'000 : 20'000;
  for (std::uint64_t trace = 0; steps_ < most && wrong_ == 0; ++trace) {
    struct Subject {
      std::string key;
      std::array<core::Rule, 3> rules;
      std::size_t rule;
    };
    std::vector<Subject> subjects;
    for (std::int64_t i = chance.up_to(3); i >= 0; --i) {
      const Algorithm algorithm = kAlgorithms[static_cast<std::size_t>(chance.up_to(4))];
      const core::Rule first = random_rule(chance, algorithm);
      // The second is like the first, so that a change is small; the third may be anything.
      core::Rule second = first;
      if (algorithm == Algorithm::gcra) {
        const Quota& quota = first.quota;
        const std::int64_t interval = quota.emission_interval().count();
        const std::int64_t more = std::numeric_limits<std::int64_t>::max() / quota.burst() - interval;
        const std::int64_t other =
            chance.up_to(1) == 0 ? interval - interval / 3 : interval + std::min(more, interval / 3);
        second.quota = quota_of(quota.burst(), other);
      }
      if (algorithm == Algorithm::gcra && chance.up_to(1) == 0) {
        const std::int64_t full = first.quota.burst() * first.quota.emission_interval().count();
        second.kept = nanoseconds{
            chance.up_to(std::min(full, second.quota.burst() * second.quota.emission_interval().count()))};
      }
      subjects.push_back(
          {std::string(name(algorithm)) + ":{" + std::to_string(trace) + "}:" + std::to_string(i),
           {first, second, random_rule(chance, algorithm)},
           0});
    }
    Model model;
    std::int64_t now = (kBegin + chance.up_to(kEnd - kBegin)) / kUs * kUs;
    for (int i = 0; i < 200; ++i) {
      Subject& subject =
          subjects[static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(subjects.size()) - 1))];
      if (chance.up_to(20) == 0) subject.rule = static_cast<std::size_t>(chance.up_to(2));
      const Quota& quota = subject.rules[subject.rule].quota;
      const std::int64_t period = quota.rate().period.count();
      const std::int64_t spans[] = {0,
                                    0,
                                    kUs * chance.up_to(3),
                                    chance.up_to(2 * std::min(period, kEnd / 2)),
                                    quota.emission_interval().count(),
                                    period,
                                    period - now % period,
                                    kSecond - now % kSecond,
                                    chance.from_one_to(kEnd)};
      const std::int64_t span = spans[chance.up_to(8)];
      // Sometimes the clock steps back.
      const std::int64_t earlier = std::max(kBegin, now - std::min(now, span / kUs * kUs));
      if (chance.up_to(60) == 0 && model.in_range(earlier)) {
        now = earlier;
      } else if (span <= kEnd - now) {
        now += (span + kUs - 1) / kUs * kUs;
      }
      now = std::min(now, kEnd);

      std::vector<ScriptCheck> asks;
      for (Subject& each : subjects) {
        if (&each != &subject && chance.up_to(1) == 0) continue;
        const core::Rule& rule = each.rules[each.rule];
        const std::int64_t limit =
            rule.algorithm == Algorithm::gcra ? rule.quota.burst() : rule.quota.rate().count;
        const std::uint64_t costs[] = {0,
                                       1,
                                       1,
                                       static_cast<std::uint64_t>(chance.up_to(3)),
                                       static_cast<std::uint64_t>(chance.from_one_to(limit)),
                                       static_cast<std::uint64_t>(limit),
                                       static_cast<std::uint64_t>(limit) + 1,
                                       ~std::uint64_t{0} - static_cast<std::uint64_t>(chance.up_to(3))};
        // What can never pass ends all: seldom.
        asks.push_back({&rule, each.key, Cost{costs[chance.up_to(chance.up_to(9) == 0 ? 7 : 5)]}});
        if (rule.algorithm != Algorithm::sliding_window_log && asks.size() < kMostTogether &&
            chance.up_to(9) == 0) {
          asks.push_back({&each.rules[static_cast<std::size_t>(chance.up_to(2))], each.key, Cost{1}});
        }
        if (asks.size() == kMostTogether) break;
      }
      if (chance.up_to(3) == 0 && asks[0].rule->algorithm != Algorithm::sliding_window_log) {
        step_times(model, asks[0], 1 + static_cast<std::size_t>(chance.up_to(kMostTogether - 1)), now);
        continue;
      }
      step(model, asks, now);
    }
    same_states(model, now);
    if (trace % 200 == 0) forget_all();
  }
  std::printf("%llu steps\n", static_cast<unsigned long long>(steps_));
  EXPECT_EQ(wrong_, 0U);
}

// Of any magnitude: what is granted core admits too, and not one unit more.
TEST_P(RedisAgreementOn, as_much_as_there_is_is_the_greatest_number_that_core_admits) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  Chance chance;
  int partly = 0, denied = 0;
  const int traces = core::Chance::is_long() ? 300 : 100;
  for (int trace = 0; trace < traces; ++trace) {
    std::vector<core::Rule> rules;
    std::vector<std::string> keys;
    for (std::int64_t i = chance.up_to(2); i >= 0; --i) {
      const Algorithm algorithm = kAlgorithms[static_cast<std::size_t>(chance.up_to(4))];
      rules.push_back(random_rule(chance, algorithm));
      keys.push_back(std::string(name(algorithm)) + ":{take" + std::to_string(trace) +
                     "}:" + std::to_string(i));
    }
    Model model;
    std::int64_t now = kBegin + kUs * chance.up_to(kSecond);
    for (int i = 0; i < 12; ++i) {
      std::vector<ScriptCheck> asks;
      store::TakeTerms terms{.looks = chance.up_to(4) == 0};
      std::uint64_t some = kMost;
      for (std::size_t n = 0; n < rules.size(); ++n) {
        const std::int64_t limit =
            rules[n].algorithm == Algorithm::gcra ? rules[n].quota.burst() : rules[n].quota.rate().count;
        const std::int64_t units[] = {0, 1, 1, 1, 1 + chance.up_to(3), chance.from_one_to(limit)};
        terms.unit[n] = static_cast<std::uint64_t>(units[chance.up_to(5)]);
        asks.push_back({&rules[n], keys[n], Cost{terms.unit[n]}});
        if (terms.unit[n] != 0) some = std::min(some, static_cast<std::uint64_t>(limit) / terms.unit[n]);
      }
      terms.least = static_cast<std::uint64_t>(
          chance.from_one_to(static_cast<std::int64_t>(std::max<std::uint64_t>(1, some))));
      terms.most = chance.up_to(3) == 0 ? kMost
                                        : terms.least + static_cast<std::uint64_t>(chance.from_one_to(
                                                            static_cast<std::int64_t>(kMost - terms.least)));
      std::array<Decision, kMostTogether> by_script, by_core;
      const auto granted = take(asks, terms.least, terms.most, terms.looks, by_script, nanoseconds{now});
      ASSERT_TRUE(granted) << trace << " " << i << " " << granted.error();
      const auto admits = [&](std::uint64_t units) {
        Model copy = model;
        std::vector<ScriptCheck> same = asks;
        for (std::size_t n = 0; n < same.size(); ++n)
          same[n].cost = Cost{store::cost_of_units(terms.unit[n], units)};
        return copy.check_all(same, nanoseconds{now}, by_core);
      };
      ++steps_;
      const std::uint64_t is = *granted;
      ASSERT_TRUE(is == 0 ? !admits(terms.least) : is >= terms.least && is <= terms.most && admits(is))
          << trace << " " << i << " " << is;
      if (is != 0 && is < terms.most) {
        ASSERT_FALSE(admits(is + 1)) << trace << " " << i << " " << is;
      }
      if (!terms.looks) {
        ASSERT_EQ(model.check_all(asks, nanoseconds{now}, by_core), is != 0);
        for (std::size_t n = 0; n < asks.size(); ++n)
          ASSERT_EQ(by_script[n], by_core[n]) << trace << " " << i;
      }
      partly += is != 0 && is < terms.most ? 1 : 0;
      denied += is == 0 ? 1 : 0;
      const Quota& quota = rules[0].quota;
      const std::int64_t span =
          chance.up_to(1) == 0 ? 0 : chance.up_to(std::min(quota.rate().period.count(), kEnd / 4));
      if (span <= kEnd - now) now += (span + kUs - 1) / kUs * kUs;
      now = std::min(now, kEnd);
    }
    same_states(model, now);
    if (trace % 100 == 0) forget_all();
  }
  EXPECT_TRUE(partly > traces && denied > traces / 3) << partly << " " << denied;
}

// Of any class, some of them shadows, some inside a guarantee that an earlier one is.
TEST_P(RedisAgreementOn, several_limits_are_charged_as_the_table_charges_them) {
  Chance chance;
  std::vector<core::Rule> rules;
  for (const auto& [burst, interval] : {std::pair{3, 5}, {5, 2}, {2, 50}}) {
    for (const std::int64_t part : {0, 0, 1, 2}) {
      rules.push_back({quota_of(burst, interval * kUs)});
      rules.back().kept = nanoseconds{burst * interval * kUs * part / 3 + part % 2};
    }
  }
  store::Table table(1_MiB, WhenFull::deny);
  std::int64_t now = kBegin;
  int allowed = 0, inside = 0;
  const int requests = core::Chance::is_long() ? 8'000 : 3'000;
  for (int i = 0; i < requests; ++i) {
    now += kUs * chance.up_to(8);
    std::vector<ScriptCheck> asks;
    std::deque<store::Limit> limits;
    std::vector<store::Check> checks;
    std::deque<std::string> keys;
    for (std::int64_t n = chance.up_to(3); n >= 0; --n) {
      const std::string& key = keys.emplace_back("{tag}" + std::to_string(chance.up_to(3)));
      const core::Rule& rule =
          limits.emplace_back(store::Limit{rules[static_cast<std::size_t>(chance.up_to(11))]}).rule;
      const Cost cost{static_cast<std::uint64_t>(chance.up_to(3))};
      asks.push_back({&rule, key, cost});
      asks.back().shadow = chance.up_to(2) == 0;
      checks.push_back({.limit = &limits.back(),
                        .key = key,
                        .cost = cost,
                        .hash = table.hash(key, Algorithm::gcra, 0),
                        .shadow = asks.back().shadow});
      for (std::size_t earlier = 0; earlier + 1 < checks.size(); ++earlier) {
        if (!checks[earlier].shadow || chance.up_to(1) == 0) continue;
        asks.back().inside = earlier;
        checks.back().inside = static_cast<std::uint8_t>(earlier);
        inside += rule.kept.count() != 0 ? 1 : 0;
      }
    }
    std::array<Decision, kMostTogether> by_script;
    const bool charged = table.check_all(checks, nanoseconds{now}, nanoseconds{now});
    const auto charged_too = check(asks, by_script, nanoseconds{now});
    ASSERT_TRUE(charged_too) << charged_too.error();
    ASSERT_EQ(*charged_too, charged) << i;
    allowed += charged ? 1 : 0;
    for (std::size_t n = 0; n < asks.size(); ++n)
      ASSERT_EQ(by_script[n], checks[n].decision) << i << " " << n;
  }
  EXPECT_GT(inside, requests / 16);
  EXPECT_TRUE(allowed > requests / 8 && allowed < requests / 8 * 7) << allowed;
}

// Several requesters charge and some give back, after a while. What was kept is at most burst + W / T in any
// span (the walk is that of promise_test.cpp), and nobody gets more back than is owed.
TEST_F(RedisAgreement, what_is_given_back_keeps_the_promise) {
  Chance chance;
  std::uint64_t given_back = 0;
  std::uint64_t partly = 0;
  for (int trace = 0; trace < 150; ++trace) {
    const core::Rule rule{quota_of(1 + chance.up_to(9), kUs * (1 + chance.up_to(50)) + chance.up_to(1))};
    const std::int64_t interval = rule.quota.emission_interval().count();
    const std::string key = std::to_string(trace);
    struct Charge {
      std::int64_t at;
      Cost cost;
      bool kept = true;
    };
    std::vector<Charge> charges;
    std::int64_t now = kBegin + kSecond - 200 * kUs;  // over a full second
    core::gcra::State state;
    for (int i = 0; i < 60; ++i) {
      now += kUs * chance.up_to(chance.up_to(9) == 0 ? 600 : 20);
      if (!charges.empty() && chance.up_to(2) == 0) {
        Charge& charge = charges[static_cast<std::size_t>(
            chance.up_to(static_cast<std::int64_t>(std::min<std::size_t>(charges.size(), 4)) - 1))];
        if (!std::exchange(charge.kept, false)) continue;
        const ScriptCheck one{&rule, key, charge.cost};
        redis::append_give_back(connection_->out, one, nanoseconds{charge.at}, nanoseconds{now});
        connection_->flush();
        EXPECT_EQ(redis::decided_at(connection_->receive()), nanoseconds{now});
        const std::int64_t need = static_cast<std::int64_t>(charge.cost.units) * interval;
        const std::int64_t debt = static_cast<std::int64_t>(core::ahead_of(state.tat, nanoseconds{now}));
        const std::int64_t back = std::min(debt, std::max<std::int64_t>(0, charge.at + need - now));
        state.tat -= static_cast<std::uint64_t>(back);
        given_back += back > 0 ? 1 : 0;
        partly += back > 0 && back < need ? 1 : 0;
        continue;
      }
      const Cost cost{1 + static_cast<std::uint64_t>(chance.up_to(rule.quota.burst() - 1))};
      const core::gcra::Step step = core::gcra::decide(rule.quota, state, nanoseconds{now}, cost);
      if (step.changes) state = step.next;
      ASSERT_EQ(check(rule, key, cost.units, nanoseconds{now}), step.decision()) << trace << " " << i;
      if (step.verdict == Verdict::allowed) charges.insert(charges.begin(), {now, cost});
    }
    std::reverse(charges.begin(), charges.end());
    std::int64_t owed = 0;
    std::int64_t last = kBegin;
    for (const Charge& charge : charges) {
      if (!charge.kept) continue;
      owed = std::max<std::int64_t>(0, owed - (charge.at - last)) +
             static_cast<std::int64_t>(charge.cost.units) * interval;
      last = charge.at;
      ASSERT_LE(owed, rule.quota.burst() * interval) << "trace " << trace;
    }
  }
  EXPECT_GT(given_back, 500U);
  EXPECT_GT(partly, 100U);
}

TEST_F(RedisAgreement, nothing_is_given_back_where_nothing_is_owed) {
  const core::Rule rule{quota_of(10, kSecond)};
  const core::Rule slower{quota_of(10, 2 * kSecond)};
  const auto give_back = [this](const core::Rule& of, std::uint64_t cost, std::int64_t charged,
                                std::int64_t now) {
    const ScriptCheck one{&of, "key", Cost{cost}};
    redis::append_give_back(connection_->out, one, nanoseconds{charged}, nanoseconds{now});
    connection_->flush();
    EXPECT_TRUE(redis::decided_at(connection_->receive()));
    return std::string(ask({"GET", "key"}).text);
  };
  const auto state = [](std::int64_t ahead) {
    return "weir1g " + std::to_string(kBegin + ahead * kSecond) + " 1000000000";
  };
  EXPECT_EQ(give_back(rule, 5, kBegin, kBegin), "") << "there is no key";
  EXPECT_EQ(ask({"EXISTS", "key"}).integer, 0);
  ASSERT_TRUE(check(rule, "key", 5, nanoseconds{kBegin}).allowed());
  EXPECT_EQ(give_back(slower, 5, kBegin, kBegin), state(5)) << "another T";
  EXPECT_EQ(give_back(rule, 2, kBegin - 2 * kSecond, kBegin), state(5)) << "all of it has drained";
  EXPECT_EQ(give_back(rule, 2, kBegin - kSecond, kBegin), state(4)) << "one of two has drained";
  EXPECT_EQ(give_back(rule, 1, kBegin + 100 * kSecond, kBegin), state(3)) << "the clock has stepped back";
  EXPECT_EQ(give_back(rule, 9, kBegin, kBegin + kSecond), state(1)) << "more than is owed: all of it";
  EXPECT_EQ(give_back(rule, 9, kBegin, kBegin + 8 * kSecond), state(1)) << "as if never used";
  ask({"SET", "key", "weir1g 99999999999999999999 1000000000"});
  EXPECT_EQ(give_back(rule, 1, kBegin, kBegin), "weir1g 99999999999999999999 1000000000");
  const auto refused = [&] {
    const ScriptCheck one{&rule, "key", Cost{1}};
    redis::append_give_back(connection_->out, one, nanoseconds{kBegin}, nanoseconds{kBegin});
    connection_->flush();
    return std::string(connection_->receive().text);
  };
  const std::string live = std::to_string(kBegin + 5 * kSecond) + " 1000000000";
  for (const std::string& text :
       {std::string("hello"), std::string("5"), std::string(), live, "weir1f " + live}) {
    ask({"SET", "key", text});
    EXPECT_EQ(refused(), "WRONGTYPE key 1 of this request holds no state of give_back");
    EXPECT_EQ(ask({"GET", "key"}).text, text);
    EXPECT_EQ(ask({"PTTL", "key"}).integer, -1);
  }
  ask({"DEL", "key"});
  ask({"RPUSH", "key", "1"});
  EXPECT_TRUE(refused().starts_with("WRONGTYPE "));
  EXPECT_EQ(ask({"LLEN", "key"}).integer, 1);
}

TEST_F(RedisAgreement, a_key_lives_until_it_is_as_if_never_used) {
  Chance chance;
  for (int i = 0; i < 500; ++i) {
    const Algorithm algorithm = kAlgorithms[static_cast<std::size_t>(i) % kAlgorithms.size()];
    const core::Rule rule = random_rule(chance, algorithm);
    const std::int64_t now = (kBegin + chance.up_to(kEnd - kBegin)) / kUs * kUs;
    const std::string key = "key" + std::to_string(i);
    Decision decision = check(rule, key, 1, nanoseconds{now});
    if (i % 2 == 0) decision = check(rule, key, 1, nanoseconds{now});
    auto end = static_cast<std::uint64_t>(now) + static_cast<std::uint64_t>(decision.reset_after.count());
    // The counts stay until none of their windows lies within a period, though they may weigh nothing before.
    const auto period = static_cast<std::uint64_t>(rule.quota.rate().period.count());
    if (algorithm == Algorithm::sliding_window_counter)
      end = (static_cast<std::uint64_t>(now) / period + 2) * period;
    const auto end_ms = static_cast<std::int64_t>((end + 999'999) / 1'000'000);
    const Value& said = ask({"PEXPIRETIME", key});
    if (said.type == Value::Type::error) break;  // older than Redis 7
    ASSERT_EQ(said.integer, end_ms) << to_text(rule) << " at " << now;
  }
  // And by the clock of the server.
  for (const Algorithm algorithm : kAlgorithms) {
    const core::Rule rule = rule_of(algorithm, 5, 3'600 * kSecond);
    const Decision decision = check(rule, "clock", 1);
    ASSERT_TRUE(decision.allowed());
    const std::int64_t left_ms = ask({"PTTL", "clock"}).integer;
    const nanoseconds more =
        algorithm == Algorithm::sliding_window_counter ? rule.quota.rate().period : nanoseconds{0};
    EXPECT_LE(left_ms, (decision.reset_after + more) / std::chrono::milliseconds{1} + 2) << name(algorithm);
    EXPECT_GT(left_ms, decision.reset_after / std::chrono::milliseconds{1} - 1'000) << name(algorithm);
    EXPECT_EQ(ask({"DEL", "clock"}).integer, 1);
  }
}

TEST_F(RedisAgreement, a_key_is_gone_when_its_time_has_come) {
  for (const Algorithm algorithm : kAlgorithms) {
    const core::Rule rule = rule_of(algorithm, 5, 50'000 * kUs);
    ASSERT_TRUE(check(rule, name(algorithm), 5).allowed());
  }
  for (const Algorithm algorithm : kAlgorithms) {
    int tries = 0;
    while (ask({"EXISTS", name(algorithm)}).integer != 0 && ++tries < 1'000) {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_LT(tries, 1'000) << name(algorithm);
  }
}

TEST_F(RedisAgreement, a_look_and_a_denial_write_nothing) {
  const auto writes = [&] {
    const std::string info(ask({"INFO", "persistence"}).text);
    return std::atoi(info.c_str() + info.find("rdb_changes_since_last_save:") + 28);
  };
  for (const Algorithm algorithm : kAlgorithms) {
    const core::Rule rule = rule_of(algorithm, 2, 3'600 * kSecond);
    const int fresh = writes();
    EXPECT_TRUE(check(rule, "key", 0).allowed());
    EXPECT_EQ(check(rule, "key", 3).verdict, Verdict::never);
    EXPECT_EQ(writes(), fresh) << name(algorithm);
    EXPECT_EQ(ask({"EXISTS", "key"}).integer, 0);
    EXPECT_TRUE(check(rule, "key", 2).allowed());
    const int used = writes();
    EXPECT_TRUE(check(rule, "key", 0).allowed());
    EXPECT_EQ(check(rule, "key", 1).verdict, Verdict::denied);
    EXPECT_EQ(check(rule, "key", 3).verdict, Verdict::never);
    EXPECT_EQ(writes(), used) << name(algorithm);
    ask({"DEL", "key"});
    EXPECT_TRUE(check(rule, "key", 2).allowed()) << "DEL is a reset";
    ask({"DEL", "key"});
  }
}

TEST_F(RedisAgreement, a_foreign_value_is_refused_and_nothing_is_charged) {
  const core::Rule good{quota_of(5, kSecond)};
  const std::string live = std::to_string(kBegin + kSecond);
  // After each of these marks, and alone.
  const std::string marks[] = {"",        "weir1g ", "weir1f ", "weir1c ", "weir1l ",
                               "weir0g ", "weir2g ", "weir",    "Weir1g "};
  struct Row {
    std::string text;
    std::array<bool, 3> is_state;  // of gcra, of a fixed window, of the counter, after its own mark
  };
  const Row rows[] = {
      {"hello", {}},
      {"", {}},
      {" ", {}},
      {"5", {}},
      {"1.5", {}},
      {"282.5123", {}},
      {"-5 3", {}},
      {"0x10 3", {}},
      {"1e3 3", {}},
      {live + "  3", {}},
      {live + " 3 ", {}},
      {" " + live + " 3", {}},
      {live + " 3\n", {}},
      {live + ",3", {}},
      {live + " -3", {}},
      {live + " 3.5", {}},
      {live + " x", {}},
      {live + " 1 2 3", {}},
      {live + " 0", {false, true, false}},  // no T is 0
      {live + " 1", {true, true, false}},
      {live, {}},
      {"5 3", {true, true, false}},  // long ago
      {live + " 1 2", {false, false, true}},
      {live + " 1 4294967296", {}},
      {live + " 4294967296 1", {}},
      {live + " 99999999999999999999", {}},                      // above 64 bits
      {"13223372036854775807 1000000000", {true, true, false}},  // 2^63 - 1 ns ahead
      {"13223372036854775808 1000000000", {}},
      {"13223372036854775808 2000000000", {}},              // the T of the rule
      {"13223372036854775807 1000", {false, true, false}},  // more units than any rule's
      {"99999999999999999999 1000000000", {}},
      {"184467440737095516150000 1000000000", {}},
  };
  const std::array others = {rule_of(Algorithm::gcra, 7, 14 * kSecond),
                             rule_of(Algorithm::fixed_window_clock, 7, 14 * kSecond),
                             rule_of(Algorithm::sliding_window_counter, 7, 14 * kSecond),
                             rule_of(Algorithm::sliding_window_log, 7, 14 * kSecond)};
  const auto expect = [&](const core::Rule& rule, bool is_state, const std::string& what) {
    const std::string before(ask({"DUMP", "key"}).text);
    for (const std::uint64_t cost : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{8}}) {
      for (const bool first : {false, true}) {
        std::array<Decision, 2> decisions;
        std::array asks = {ScriptCheck{&good, "good", Cost{1}}, ScriptCheck{&rule, "key", Cost{cost}}};
        if (first) std::swap(asks[0], asks[1]);
        const auto charged = check(asks, decisions, nanoseconds{kBegin});
        if (is_state) {
          EXPECT_TRUE(charged) << what << ": " << charged.error();
          continue;
        }
        ASSERT_FALSE(charged) << name(rule.algorithm) << " takes " << what;
        EXPECT_EQ(charged.error(), "WRONGTYPE key " + std::to_string(first ? 1 : 2) +
                                       " of this request holds no state of " + name(rule.algorithm))
            << what;
      }
    }
    if (is_state) return;
    EXPECT_EQ(ask({"EXISTS", "good"}).integer, 0);
    EXPECT_EQ(ask({"DUMP", "key"}).text, before) << what;
    // Alone, and by the shorter way.
    std::array<Decision, 1> decisions;
    const auto alone = check(std::array{ScriptCheck{&rule, "key", Cost{1}}}, decisions, nanoseconds{kBegin});
    ASSERT_FALSE(alone) << what;
    EXPECT_TRUE(alone.error().starts_with("WRONGTYPE key 1 of")) << alone.error();
    if (rule.algorithm != Algorithm::sliding_window_log) {
      // And several times.
      const ScriptCheck one{&rule, "key", Cost{1}};
      redis::append_times(connection_->out, one, 3, nanoseconds{kBegin});
      connection_->flush();
      std::array<Decision, 3> times;
      const auto granted = redis::read_times(connection_->receive(), one, times);
      ASSERT_FALSE(granted) << what;
      EXPECT_EQ(granted.error(), alone.error());
    }
    EXPECT_EQ(ask({"DUMP", "key"}).text, before) << what;
  };
  for (const Row& row : rows) {
    for (const std::string& mark : marks) {
      for (std::size_t i = 0; i < others.size(); ++i) {
        ask({"FLUSHALL"});
        ask({"SET", "key", mark + row.text});
        expect(others[i], i < 3 && mark == marks[i + 1] && row.is_state[i], "'" + mark + row.text + "'");
      }
    }
  }
  for (const core::Rule& rule : others) {
    ask({"FLUSHALL"});
    ask({"HSET", "key", "field", "value"});
    expect(rule, false, "a hash");
    for (const char* const add : {"SADD", "ZADD", "PFADD", "XADD"}) {
      const std::string_view command(add);
      ask({"FLUSHALL"});
      if (command == "ZADD") ask({add, "key", "1", "weir1g"});
      if (command == "XADD") ask({add, "key", "*", "weir1g", live + " 1"});
      if (command == "SADD" || command == "PFADD") ask({add, "key", "weir1g " + live + " 1"});
      ASSERT_EQ(ask({"EXISTS", "key"}).integer, 1) << add;
      expect(rule, false, add);
    }
    if (rule.algorithm == Algorithm::sliding_window_log) continue;
    ask({"FLUSHALL"});
    ask({"RPUSH", "key", "weir1l 1", live + " 1"});
    expect(rule, false, "a log");
  }
  const std::vector<std::string> lists[] = {{"x"},
                                            {live},
                                            {live + " 1"},
                                            {"weir1l 1"},
                                            {"x", live + " 1"},
                                            {"1", live + " 1"},  // without the mark
                                            {"weir1g 1", live + " 1"},
                                            {"weir3l 1", live + " 1"},
                                            {"weir2l 1", live + " 1"},
                                            {"weir2l 2", live + " 1"},
                                            {"weir2l 0", "x", live + " 1"},
                                            {"weir2l 0", live + " 4294967296"},
                                            {"weir2l 0", live + " x"},
                                            {"weir1l 1.5", live + " 1"},
                                            {"weir1l 0", live + " 1"},
                                            {"weir1l 2", live + " 1", "x"},
                                            {"weir1l 9", "x", live + " 1"},
                                            {"weir1l 4294967296", live + " 1"},
                                            {"weir1l 1", "9223372036854775808 1"}};
  for (const auto& list : lists) {
    ask({"FLUSHALL"});
    for (const std::string& each : list) ask({"RPUSH", "key", each});
    expect(others[3], false, "a list with " + list[0]);
  }
}

TEST_F(RedisAgreement, a_reset_forgets_what_is_weirs_and_leaves_the_rest) {
  const auto reset = [this](const std::vector<std::string>& keys) {
    redis::append_reset(connection_->out, keys, {});
    connection_->flush();
    const Value& said = connection_->receive();
    return said.type == Value::Type::integer ? std::to_string(said.integer) : std::string(said.text);
  };
  std::vector<std::string> ours;
  for (const Algorithm algorithm : kAlgorithms) {
    ours.push_back(name(algorithm));
    ASSERT_TRUE(check(rule_of(algorithm, 5, 3'600 * kSecond), ours.back(), 1).allowed());
  }
  // A later weir's: it says that it is a limit, and so it can be forgotten, although this one cannot count
  // it.
  ask({"SET", "later", "weir9z what a later one writes"});
  ours.emplace_back("later");
  std::vector<std::string> all = ours;
  all.insert(all.begin() + 2, {"absent", "gcra"});  // one of them twice
  EXPECT_EQ(reset(all), "6");
  EXPECT_EQ(ask({"DBSIZE"}).integer, 0);
  EXPECT_EQ(reset(all), "0");

  const std::string live = std::to_string(kBegin) + " 1";
  const std::vector<std::vector<std::string>> foreign = {
      {"SET", "key", "hello"},     {"SET", "key", ""},
      {"SET", "key", "5"},         {"SET", "key", live},
      {"SET", "key", "weir"},      {"SET", "key", "weir1g"},
      {"SET", "key", "WRONGTYPE"}, {"SET", "key", " weir1g " + live},
      {"HSET", "key", "f", "v"},   {"SADD", "key", "weir1g " + live},
      {"RPUSH", "key", "x"},       {"RPUSH", "key", "1", live},
      {"RPUSH", "key", ""},        {"ZADD", "key", "1", "weir1l 1"},
      {"PFADD", "key", "weir1g"},  {"XADD", "key", "*", "weir1l 1", "x"}};
  for (const auto& command : foreign) {
    ask({"FLUSHALL"});
    connection_->out += redis::array(command);
    connection_->flush();
    ASSERT_NE(connection_->receive().type, Value::Type::error) << command[0];
    ASSERT_TRUE(check(rule_of(Algorithm::gcra, 5, 3'600 * kSecond), "ours", 1).allowed());
    const std::string before(ask({"DUMP", "key"}).text);
    const std::string why = "WRONGTYPE 1 of these keys hold something other than a limit";
    EXPECT_EQ(reset({"key"}), why) << command[0] << " " << command[2];
    EXPECT_EQ(reset({"key", "ours"}), why) << command[0] << " " << command[2];
    EXPECT_EQ(ask({"DUMP", "key"}).text, before) << command[0] << " " << command[2];
    EXPECT_EQ(ask({"PTTL", "key"}).integer, -1);
    EXPECT_EQ(ask({"EXISTS", "ours"}).integer, 0) << "the rest is forgotten";
  }
}

// As its definition has it, and whatever the log holds, a check reads some tens of its entries. The list of a
// former build is taken over.
TEST_F(RedisAgreement, a_long_log_is_read_by_halves) {
  namespace swl = core::sliding_window_log;
  constexpr std::int64_t kEntries = 50'000;
  constexpr std::int64_t kMs = 1'000 * kUs;
  Chance chance;
  const core::Rule rule = rule_of(Algorithm::sliding_window_log, 100'000, 100 * kSecond);
  const auto calls = [&](std::string_view command) {
    const std::string info(ask({"INFO", "commandstats"}).text);
    const std::string mark = "cmdstat_" + std::string(command) + ":calls=";
    const std::size_t at = info.find(mark);
    return at == std::string::npos ? 0 : std::atoi(info.c_str() + at + mark.size());
  };
  for (const bool former : {false, true}) {
    ask({"FLUSHALL"});
    ask({"EVAL",
         "local total, former = 0, ARGV[3] == '1' "
         "redis.call('RPUSH', KEYS[1], former and 'weir1l ' .. ARGV[4] or 'weir2l 0') "
         "for i = 1, ARGV[2] do local units = i % 2 + 1 total = total + units "
         "redis.call('RPUSH', KEYS[1], string.format('%d%09d %d', ARGV[1] + math.floor(i / 1000), i % 1000 * "
         "1e6, "
         "former and units or total)) end",
         "1", "key", std::to_string(kBegin / kSecond), std::to_string(kEntries), former ? "1" : "0",
         std::to_string(kEntries * 3 / 2)});
    swl::State state;
    std::vector<swl::Entry> ring(100'001);
    std::int64_t now = kBegin / kSecond * kSecond;
    for (std::int64_t i = 1; i <= kEntries; ++i) {
      const Cost units{static_cast<std::uint64_t>(i % 2 + 1)};
      ASSERT_TRUE(swl::decide(rule.quota, state, ring, nanoseconds{now + i * kMs}, units).allowed());
    }
    now += kEntries * kMs;
    ask({"CONFIG", "RESETSTAT"});
    int asked = 0;
    for (; asked < 400; ++asked) {
      constexpr std::array<std::uint64_t, 7> kCosts = {0, 1, 7, 1'000, 30'000, 99'999, 100'000};
      const Cost cost{kCosts[static_cast<std::size_t>(chance.up_to(6))]};
      now += chance.up_to(2) == 0 ? 0 : chance.up_to(500) * kMs;
      const Decision expected = swl::decide(rule.quota, state, ring, nanoseconds{now}, cost);
      ASSERT_EQ(text_of(check(rule, "key", cost.units, nanoseconds{now})), text_of(expected)) << asked;
    }
    EXPECT_LT(calls("lindex"), 60 * asked);
    EXPECT_EQ(calls("lrange"), former ? kEntries / 1'000 + 1 : 0);
    EXPECT_TRUE(ask({"LINDEX", "key", "0"}).text.starts_with("weir2l "));
    EXPECT_GT(ask({"PTTL", "key"}).integer, 0);
  }
}

// What is counted on and on does not grow beyond what a number in Lua holds.
TEST_F(RedisAgreement, the_totals_of_a_log_begin_again) {
  const core::Rule rule = rule_of(Algorithm::sliding_window_log, 10, 10 * kSecond);
  const auto at = [](std::int64_t seconds) {
    return std::to_string(kBegin / kSecond + seconds) + "000000000";
  };
  ask({"RPUSH", "key", "weir2l 8999999999999990", at(0) + " 8999999999999993", at(6) + " 8999999999999997"});
  EXPECT_EQ(check(rule, "key", 3, nanoseconds{(kBegin / kSecond + 7) * kSecond}).remaining, 0);
  EXPECT_EQ(check(rule, "key", 4, nanoseconds{(kBegin / kSecond + 11) * kSecond}).verdict, Verdict::denied);
  EXPECT_EQ(check(rule, "key", 2, nanoseconds{(kBegin / kSecond + 11) * kSecond}).remaining, 1);
  EXPECT_EQ(ask({"LINDEX", "key", "-1"}).text, at(11) + " 12");
}

TEST_F(RedisAgreement, a_log_is_asked_for_once) {
  const core::Rule log = rule_of(Algorithm::sliding_window_log, 7, 14 * kSecond);
  const core::Rule window = rule_of(Algorithm::fixed_window, 7, 14 * kSecond);
  std::array<Decision, 2> decisions;
  for (const core::Rule* first : {&log, &window}) {
    const std::array asks = {ScriptCheck{first, "key", Cost{1}}, ScriptCheck{&log, "key", Cost{1}}};
    const auto charged = check(asks, decisions);
    ASSERT_FALSE(charged);
    EXPECT_EQ(charged.error(), "ERR key 2 of this request is asked for twice");
    EXPECT_EQ(ask({"EXISTS", "key"}).integer, 0);
  }
}

TEST_F(RedisAgreement, a_script_that_was_flushed_is_an_error_and_comes_back) {
  const core::Rule rule{quota_of(5, kSecond)};
  const std::array asks = {ScriptCheck{&rule, "key", Cost{1}}};
  std::array<Decision, 1> decisions;
  ASSERT_TRUE(check(asks, decisions));
  ask({"SCRIPT", "FLUSH"});
  const auto charged = check(asks, decisions);
  ASSERT_FALSE(charged);
  EXPECT_TRUE(charged.error().starts_with("NOSCRIPT ")) << charged.error();
  load();
  ASSERT_TRUE(check(asks, decisions));
  EXPECT_EQ(decisions[0].remaining, 3);
}

TEST_F(RedisAgreement, many_connections_are_admitted_exactly_the_limit) {
  for (const Algorithm algorithm : kAlgorithms) {
    // A window by the clock that lasts until 2068 does not end while this runs.
    const core::Rule rule = rule_of(algorithm, 500, 3'100'000'000 * kSecond);
    std::atomic<int> admitted{0};
    const auto work = [&] {
      RedisConnection connection(*server_);
      const std::array asks = {ScriptCheck{&rule, name(algorithm), Cost{1}}};
      std::array<Decision, 1> decisions;
      for (int batch = 0; batch < 25; ++batch) {
        for (int i = 0; i < 10; ++i) redis::append_check(connection.out, asks);
        connection.flush();
        for (int i = 0; i < 10; ++i) {
          const auto charged = redis::read_check(connection.receive(), asks, decisions);
          if (!charged) throw std::runtime_error(charged.error());
          if (*charged) ++admitted;
        }
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(admitted, 500) << name(algorithm);
  }
}

TEST_F(RedisAgreement, in_resp3_the_answers_are_the_same) {
  ask({"HELLO", "3"});
  for (const Algorithm algorithm : kAlgorithms) {
    const core::Rule rule = rule_of(algorithm, 2, 3'600 * kSecond);
    EXPECT_EQ(check(rule, name(algorithm), 1, nanoseconds{kBegin}).remaining, 1);
    EXPECT_EQ(check(rule, name(algorithm), 2, nanoseconds{kBegin}).verdict, Verdict::denied);
  }
}

}  // namespace
}  // namespace weir::redis_agreement_test
