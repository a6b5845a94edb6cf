// SharedStore and a Redis that is nowhere: a clock that is set, commands that take their time both ways, and a
// store that decides them by src/core when they arrive.
#include "redis/shared_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "redis/one_key_test.hpp"
#include "redis/script.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Line = std::vector<std::string>;
using Limit = SharedStore::Limit;
using Outcome = SharedStore::Outcome;
using Wishes = SharedStore::Wishes;

Rule rule(std::string_view text) { return Rule::parse(text).value(); }

// ------------------------------------------------------------------------------------------------- RESP

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// Of an answer to CLUSTER SLOTS.
std::string range(int first, int last, const std::string& host) {
  return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n*3\r\n" + bulk(host) +
         ":6379\r\n" + bulk("id of " + host);
}

// One command off the front of `wire`.
Line take_command(std::string& wire) {
  std::size_t at = 1;
  const auto number = [&] {
    const std::size_t end = wire.find("\r\n", at);
    const std::size_t value = std::stoul(wire.substr(at, end - at));
    at = end + 2;
    return value;
  };
  Line words(number());
  for (std::string& word : words) {
    ++at;
    const std::size_t size = number();
    word = wire.substr(at, size);
    at += size + 2;
  }
  wire.erase(0, at);
  return words;
}

// ------------------------------------------------------------------------------------------------- Redis

// A command as it arrived, and what became of it.
struct Deed {
  std::string name;  // EVALSHA, or DEL and all that is of a greeting
  struct Part {
    std::string key;
    Rule rule;
    Cost cost;
    nanoseconds charged_at{0};  // of a give_back
  };
  std::vector<Part> parts{};
  bool gives_back = false;
  std::size_t times = 0;  // 0: not said
  std::size_t process = 0;
  std::size_t asker = 0;        // the request during which it was written, 0 for none
  nanoseconds at{0};            // of arrival, our clock
  bool ran = false;
  bool allowed = false;  // all of it
  std::vector<Decision> decisions{};
};

Deed read_deed(const Line& words) {
  Deed deed{words[0]};
  if (deed.name == "DEL") {
    deed.parts.push_back({words[1], rule("1/s"), Cost{0}});
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
        deed.parts.push_back({words[3 + i], Rule{quota(1, number(1), 1)}, cost(number(2) / number(1)),
                              nanoseconds{number(3)}});
      } else if (arg[0] == "gcra") {
        deed.parts.push_back({words[3 + i], Rule{quota(1, number(1), number(2) / number(1))},
                              cost(number(3) / number(1))});
      } else {
        const std::map<std::string, Algorithm> by_name = {
            {"fixed_window", Algorithm::fixed_window},
            {"fixed_window_clock", Algorithm::fixed_window_clock},
            {"sliding_window_log", Algorithm::sliding_window_log},
            {"sliding_window_counter", Algorithm::sliding_window_counter}};
        deed.parts.push_back({words[3 + i], Rule{quota(number(2), number(3), number(2)), by_name.at(arg[0])},
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
struct Redis {
  nanoseconds ahead = 1'700'000'000s;  // its clock, of ours
  std::map<std::string, weir::Words> keys;
  std::set<std::string> foreign;  // where something else lies

  std::string carry_out(Deed& deed, nanoseconds ours) {
    // In whole microseconds, as TIME has it.
    const nanoseconds now = std::chrono::floor<std::chrono::microseconds>(ours + ahead);
    if (deed.name == "DEL") return ":" + std::to_string(keys.erase(deed.parts[0].key)) + "\r\n";
    std::string states;
    std::vector<std::pair<std::string, weir::Words>> changed, debts;
    bool all = true;
    std::int64_t granted = 0;
    for (const Deed::Part& part : deed.parts) {
      if (foreign.contains(part.key)) return "-WRONGTYPE key 1 of this request holds no state of gcra\r\n";
      const bool log = part.rule.algorithm == Algorithm::sliding_window_log;  // one that is always new
      weir::Words words = keys[part.key];
      states += ahead_of(words.until, now) == 0 ? "$-1\r\n" : bulk(text_of(part.rule, words));
      if (deed.gives_back) {
        give_back(part, now);
        continue;
      }
      for (std::size_t i = 0; i < std::max<std::size_t>(1, deed.times); ++i) {
        const Step step = log ? Step{} : decide(part.rule, words, now, part.cost);
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
    return "*" + std::to_string(3 + deed.parts.size()) + "\r\n:" +
           std::to_string(deed.times > 0 ? granted : static_cast<std::int64_t>(all)) + "\r\n" +
           bulk(std::to_string(us / 1'000'000)) + bulk(std::to_string(us % 1'000'000)) + states;
  }

  // How many units are owed.
  std::int64_t owed(const std::string& key, const Rule& rule, nanoseconds ours) {
    const auto T = static_cast<std::uint64_t>(rule.quota.emission_interval().count());
    return static_cast<std::int64_t>((ahead_of(keys[key].until, ours + ahead) + T - 1) / T);
  }

 private:
  static std::string text_of(const Rule& rule, const weir::Words& words) {
    const std::string until = std::to_string(words.until) + " ";
    if (rule.algorithm != Algorithm::sliding_window_counter) return until + std::to_string(words.word);
    return until + std::to_string(words.word >> 32) + " " + std::to_string(words.word & 0xffff'ffff);
  }
  void give_back(const Deed::Part& part, nanoseconds now) {
    weir::Words& words = keys[part.key];
    const auto T = part.rule.quota.emission_interval();
    if (words.word != static_cast<std::uint64_t>(T.count())) return;
    const nanoseconds need = T * static_cast<std::int64_t>(part.cost.units);
    const nanoseconds still = std::clamp(part.charged_at + need - now, nanoseconds{0}, need);
    words.until -= std::min(static_cast<std::uint64_t>(still.count()), ahead_of(words.until, now));
  }
};

// ---------------------------------------------------------------------------------------------- the world

nanoseconds the_time;  // of all processes

// What a Redis does with a command, instead of running and answering it.
struct Fate {
  bool runs = true;
  std::optional<std::string> says{};  // empty: nothing ever
};

class World {
 public:
  struct Told {
    Outcome outcome;
    std::size_t by;
    nanoseconds at;
  };
  struct Request {
    std::size_t process;
    Rule rule;
    std::string key;
    Cost cost;
    nanoseconds asked;
    nanoseconds due;
    bool waited;  // nothing was sent for it at once
    std::vector<Limit> limits{};
    std::optional<Told> told{};
  };
  // What threads of one process share.
  struct Home {
    Table local{Table::kLeastBytes, WhenFull::deny};
    Resets resets;
  };

  explicit World(const std::string& url, SharedStore::Policy policy = {}, std::size_t processes = 1) {
    the_time = 1000s;
    requests.resize(1, {0, rule("1/s"), "", Cost{0}, 0s, 0s, false});
    deeds.resize(1);
    for (std::size_t i = 0; i < processes; ++i) add(url, policy, std::make_shared<Home>());
    run(10ms);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void add(const std::string& url, SharedStore::Policy policy, std::shared_ptr<Home> home) {
    processes_.push_back(std::make_unique<Process>(*this, processes_.size(), url, policy, std::move(home)));
    processes_.back()->store.client().start(the_time);
    settle(*processes_.back());
  }

  // What is asked. Requests count from 1.
  std::size_t check(const Rule& rule, const std::string& key, std::uint64_t cost = 1, Wishes wishes = {},
                    std::size_t process = 0) {
    Process& p = *processes_[process];
    const std::size_t id = requests.size();
    requests.push_back({process, rule, key, Cost{cost}, the_time,
                        the_time + wishes.deadline.value_or(p.store.policy().deadline), false});
    act_inside(p, id, [&] {
      const std::uint64_t calls = p.store.client().counters().calls;
      const auto outcome = p.store.check(rule, key, Cost{cost}, id, wishes);
      requests[id].waited = !outcome && p.store.client().counters().calls == calls;
      if (outcome) tell(id, *outcome, 0);
    });
    return id;
  }
  std::size_t check_all(std::vector<Limit> limits, nanoseconds deadline = 50ms, std::size_t process = 0) {
    Process& p = *processes_[process];
    const std::size_t id = requests.size();
    requests.push_back({process, rule("1/s"), "", Cost{0}, the_time, the_time + deadline, false, limits});
    act_inside(p, id, [&] {
      p.store.check_all(std::move(limits), deadline,
                        [this, id](const Outcome& outcome, std::size_t by) { tell(id, outcome, by); });
    });
    return id;
  }
  void reset(const std::string& key, std::size_t process = 0) {
    Process& p = *processes_[process];
    act_inside(p, 0, [&] { p.store.reset(key, 0); });
  }

  // What happens.
  void run(nanoseconds time) {
    const nanoseconds until = the_time + time;
    while (step(until)) {
    }
    the_time = until;
  }
  void break_connections(const std::string& host) {
    for (const auto& p : processes_) {
      for (auto& [node, connection] : p->connections) {
        if (connection.host != host || !connection.open) continue;
        connection.open = false;
        ++connection.generation;
        happen(*p, [&] { p->store.client().failed(node, "reset by peer", the_time); });
      }
    }
  }
  void later(nanoseconds time, std::function<void()> what) { events_.emplace(the_time + time, std::move(what)); }

  // What came of it: "allowed 4", "denied for 200us", "allowed 4 (timeout)", and of several "by 1: ...".
  std::string took(std::size_t id) const {
    const Request& request = requests.at(id);
    if (!request.told) return "nothing yet";
    const auto& [decision, cause, error] = request.told->outcome;
    std::string text = request.limits.empty() ? "" : "by " + std::to_string(request.told->by) + ": ";
    if (!error.empty()) return text + error;
    if (decision.verdict == Verdict::allowed) text += "allowed " + std::to_string(decision.remaining);
    if (decision.verdict == Verdict::never) text += "never";
    if (decision.verdict == Verdict::denied)
      text += "denied for " + std::to_string(decision.retry_after.value_or(-1us).count() / 1000) + "us";
    return text + (cause == Cause::none ? "" : " (" + std::string(name_of(cause)) + ")");
  }
  // The commands that have arrived since this was last asked: "3 x k" is one that says times 3.
  std::string asked() {
    std::string text;
    for (; listed_ < deeds.size(); ++listed_) {
      const Deed& deed = deeds[listed_];
      if (!text.empty()) text += " | ";
      if (deed.name == "DEL") text += "DEL ";
      if (deed.gives_back) text += "back ";
      if (deed.times > 0) text += std::to_string(deed.times) + " x ";
      for (const Deed::Part& part : deed.parts) {
        text += (&part == deed.parts.data() ? "" : " + ") + part.key;
        if (part.cost.units > 1) text += " " + std::to_string(part.cost.units);
      }
    }
    return text;
  }
  SharedStore& store(std::size_t process = 0) { return processes_[process]->store; }
  Home& home(std::size_t process = 0) { return *processes_[process]->home; }
  std::shared_ptr<Home> home_of(std::size_t process) { return processes_[process]->home; }
  bool empty() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& p) { return p->store.empty(); });
  }
  // Each request has been told once, and in time.
  void expect_all_told() const {
    for (std::size_t id = 1; id < requests.size(); ++id) {
      const Request& request = requests[id];
      ASSERT_TRUE(request.told) << "request " << id << " has no outcome";
      ASSERT_LE(request.told->at, request.due) << "request " << id << " came to its outcome late";
    }
    EXPECT_TRUE(empty());
  }

  Redis redis;
  std::string slots = "*3\r\n" + range(0, 5460, "a") + range(5461, 10922, "b") + range(10923, 16383, "c");
  std::set<std::string> down;
  std::function<nanoseconds()> latency = [] { return 100us; };
  std::function<Fate(const Deed&)> fate = [](const Deed&) { return Fate{}; };
  std::function<void(std::size_t id)> on_told = [](std::size_t) {};
  std::function<void(const Deed&, const std::vector<std::size_t>& told)> on_delivered =
      [](const Deed&, const std::vector<std::size_t>&) {};
  std::vector<Request> requests;
  std::vector<Deed> deeds;  // of EVALSHA and DEL
  std::vector<std::optional<std::int64_t>> resets;

 private:
  struct Connection {
    std::string host;
    int generation = 0;
    bool open = false;
    std::string wire;
    nanoseconds arrived{0};   // the last command, at Redis
    nanoseconds answered{0};  // the last answer, here
  };
  struct Process {
    Process(World& world, std::size_t index, const std::string& url, SharedStore::Policy policy,
            std::shared_ptr<Home> shared)
        : home(std::move(shared)),
          store(
              Endpoint::parse(url).value(), policy, home->local, home->resets, [] { return the_time; },
              [&world](std::uint64_t token, const Outcome& outcome) { world.tell(token, outcome, 0); },
              [&world](std::uint64_t, std::optional<std::int64_t> removed, std::string_view) {
                world.resets.push_back(removed);
              }),
          number(index) {
      store.on_work([this] { woken = true; });
    }
    std::shared_ptr<Home> home;
    SharedStore store;
    std::size_t number;
    std::map<Client::NodeId, Connection> connections;
    bool woken = false;
    bool busy = false;  // in the midst of the client: it may be asked more, and nothing else
  };

  void tell(std::size_t id, const Outcome& outcome, std::size_t by) {
    ASSERT_FALSE(requests.at(id).told) << "request " << id << " has two outcomes";
    requests[id].told = Told{outcome, by, the_time};
    if (delivering_ != 0 && asker_ != id) told_.push_back(id);
    on_told(id);
  }

  template <class Act>
  void act_inside(Process& p, std::size_t asker, const Act& act) {
    const std::size_t outer = std::exchange(asker_, asker);
    act();
    if (!p.busy && std::exchange(p.woken, false)) settle(p);
    asker_ = outer;
  }

  bool step(nanoseconds until) {
    nanoseconds next = events_.empty() ? nanoseconds::max() : events_.begin()->first;
    Process* who = nullptr;
    for (const auto& p : processes_) {
      const nanoseconds tick = std::max(the_time, p->store.client().next_tick());
      if (tick < next) {
        next = tick;
        who = p.get();
      }
    }
    if (next > until) return false;
    the_time = next;
    if (who != nullptr) {
      happen(*who, [&] { who->store.client().tick(the_time); });
    } else {
      const auto what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      what();
    }
    return true;
  }

  template <class Event>
  void happen(Process& p, const Event& event) {
    p.busy = true;
    event();
    p.busy = false;
    settle(p);
  }

  void settle(Process& p) {
    for (auto actions = p.store.client().take_actions(); !actions.empty();
         actions = p.store.client().take_actions()) {
      for (const Client::Action& action : actions) act(p, action);
    }
    p.woken = false;
  }

  void act(Process& p, const Client::Action& action) {
    Connection& connection = p.connections[action.node];
    const Client::NodeId node = action.node;
    if (action.kind == Client::Action::Kind::close) {
      connection.open = false;
      ++connection.generation;
    } else if (action.kind == Client::Action::Kind::connect) {
      connection.host = action.address.host;
      ++connection.generation;
      connection.wire.clear();
      later(latency(), [this, &p, &connection, node, generation = connection.generation] {
        if (connection.generation != generation) return;
        connection.open = !down.contains(connection.host);
        happen(p, [&] {
          if (connection.open) {
            p.store.client().connected(node, the_time);
          } else {
            p.store.client().failed(node, "refused", the_time);
          }
        });
      });
    } else {
      connection.wire += p.store.client().take_output(node);
      while (!connection.wire.empty()) {
        const Line words = take_command(connection.wire);
        Deed deed = read_deed(words);
        deed.process = p.number;
        deed.asker = asker_;
        connection.arrived = std::max(connection.arrived, the_time + latency());
        later(connection.arrived - the_time,
              [this, &p, &connection, node, deed, words, generation = connection.generation] {
                arrive(p, connection, node, deed, words, generation);
              });
      }
    }
  }

  void arrive(Process& p, Connection& connection, Client::NodeId node, Deed deed, const Line& words,
              int generation) {
    std::string answer = greeting(words);
    std::size_t number = 0;
    if (answer.empty()) {
      const Fate f = fate(deed);
      deed.at = the_time;
      if (f.runs) answer = redis.carry_out(deed, the_time);
      if (f.says) answer = *f.says;
      deed.ran = f.runs;
      number = deeds.size();
      deeds.push_back(deed);
    }
    if (answer.empty() || connection.generation != generation) return;
    connection.answered = std::max(connection.answered, the_time + latency());
    later(connection.answered - the_time, [this, &p, &connection, node, answer, number, generation] {
      if (connection.generation != generation) return;
      happen(p, [&] {
        delivering_ = number;
        p.store.client().received(node, answer, the_time);
        delivering_ = 0;
      });
      const std::vector<std::size_t> told = std::exchange(told_, {});
      if (number != 0) on_delivered(deeds[number], told);
    });
  }

  std::string greeting(const Line& words) const {
    if (words[0] == "EVALSHA" || words[0] == "DEL") return "";
    if (words[0] == "SCRIPT") return bulk(check_sha());
    if (words[0] == "CONFIG") return "*2\r\n" + bulk("maxmemory-policy") + bulk("noeviction");
    if (words[0] == "CLUSTER") return slots;
    return words[0] == "PING" ? "+PONG\r\n" : "+OK\r\n";
  }

  std::vector<std::unique_ptr<Process>> processes_;
  std::multimap<nanoseconds, std::function<void()>> events_;
  std::vector<std::size_t> told_;  // during this delivery
  std::size_t delivering_ = 0;
  std::size_t asker_ = 0;
  std::size_t listed_ = 1;
};

constexpr const char* kOne = "redis://a";
constexpr const char* kCluster = "redis+cluster://a,b,c";

SharedStore::Policy merging() {
  SharedStore::Policy policy;
  policy.merge = true;
  return policy;
}

// ------------------------------------------------------------------------------------------------ merging

TEST(SharedStore, asks_once_for_each) {
  World world(kOne);
  const Rule five = rule("5/s");
  for (int i = 0; i < 3; ++i) world.check(five, "k");
  world.check(five, "k", 0);
  world.check(five, "k", 6);
  world.run(199us);
  EXPECT_EQ(world.took(1), "nothing yet");
  world.run(1us);
  EXPECT_EQ(world.asked(), "k | k | k | k | k 6");
  const Line expected = {"allowed 4", "allowed 3", "allowed 2", "allowed 2", "never"};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(world.took(i + 1), expected[i]);
  EXPECT_EQ(world.store().counters().decided, 5U);
  EXPECT_EQ(world.store().counters().merged, 0U);
  EXPECT_TRUE(world.empty());
}

// What waits leaves together when the answer comes: alike neighbours in one call.
TEST(SharedStore, merges_neighbours_that_are_alike) {
  World world(kOne, merging());
  const Rule ten = rule("10/s"), twelve = rule("12/s");
  struct Row {
    const Rule& rule;
    const char* key;
    std::uint64_t cost;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {ten, "k", 1, "allowed 9"},     {ten, "k", 1, "allowed 8"},    {ten, "k", 1, "allowed 7"},
      {ten, "k", 2, "allowed 5"},     {ten, "k", 2, "allowed 3"},    {ten, "other", 1, "allowed 9"},
      {ten, "k", 0, "allowed 3"},     {ten, "k", 0, "allowed 3"},    {ten, "k", 11, "never"},
      {twelve, "k", 2, "allowed 3"},  {ten, "k", 1, "allowed 0"},    {ten, "k", 1, "denied"},
      {ten, "k", 1, "denied"},
  };
  for (const Row& row : rows) world.check(row.rule, row.key, row.cost);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | other | 2 x k | 2 x k 2 | 2 x k | k 11 | k 2 | 3 x k");
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(world.took(i + 1).starts_with(rows[i].expected)) << i << ": " << world.took(i + 1);
  EXPECT_EQ(world.store().counters().decided, rows.size());
  EXPECT_EQ(world.store().counters().merged, 5U);
  world.expect_all_told();
}

// A call takes kMostTimes at most; the others leave with it, in calls of their own.
TEST(SharedStore, merges_no_more_than_the_script_takes) {
  World world(kOne, merging());
  for (std::size_t i = 0; i < 1 + 2 * kMostTimes + 1; ++i) world.check(rule("1000/s"), "k");
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | 256 x k | 256 x k | k");
  EXPECT_EQ(world.took(2 * kMostTimes + 2), "allowed 486");
  world.expect_all_told();
}

// One that may wait no longer than the call under way does not wait for it; one that may, waits.
TEST(SharedStore, does_not_wait_behind_a_call_that_may_take_longer) {
  World world(kOne);
  world.latency = [] { return 10ms; };
  struct Row {
    nanoseconds deadline;
    nanoseconds told;
    const char* outcome;
  };
  const std::vector<Row> rows = {
      {40ms, 20ms, "allowed 9"},            // the call that the others find
      {50ms, 40ms, "allowed 6"},            // waits for it
      {39ms, 20ms, "allowed 8"},            // does not
      {25ms, 20ms, "allowed 7"},            // nor this
      {60ms, 40ms, "allowed 5"},
  };
  const nanoseconds start = the_time;
  for (const Row& row : rows) world.check(rule("10/s"), "k", 1, {.deadline = row.deadline, .merge = true});
  world.run(100ms);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(world.took(i + 1), rows[i].outcome) << i;
    EXPECT_EQ(world.requests[i + 1].told->at - start, rows[i].told) << i;
  }
  world.expect_all_told();
}

// A log has no place for many at one moment; a lease merges, wished or not.
TEST(SharedStore, merges_what_is_wished_and_what_can) {
  struct Row {
    const char* rule;
    bool policy;
    Wishes wishes;
    const char* asked;
  };
  const std::vector<Row> rows = {
      {"9/s", false, {}, "k | k | k"},
      {"9/s", true, {}, "k | 2 x k"},
      {"9/s", false, {.merge = true}, "k | 2 x k"},
      {"9/s", false, {.lease = 5}, "k 5"},
      {"9/s", false, {.lease = 1}, "k | k | k"},
      {"9/s algorithm=fixed_window", true, {}, "k | 2 x k"},
      {"9/s algorithm=sliding_window_counter", true, {}, "k | 2 x k"},
      {"9/s algorithm=sliding_window_counter", true, {.lease = 5}, "k | 2 x k"},
      {"9/s algorithm=sliding_window_log", true, {.merge = true}, "k | k | k"},
  };
  for (const Row& row : rows) {
    SharedStore::Policy policy;
    policy.merge = row.policy;
    World world(kOne, policy);
    for (int i = 0; i < 3; ++i) world.check(rule(row.rule), "k", 1, row.wishes);
    world.run(1ms);
    EXPECT_EQ(world.asked(), row.asked) << row.rule;
    world.expect_all_told();
  }
}

// What the store has decided is what core decides of the same checks one after another at that moment, in the
// order in which they came.
TEST(SharedStore, merged_checks_are_decided_as_alone) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  const std::vector<std::vector<Rule>> rules = {
      {rule("5/10ms"), rule("20/10ms burst 7")},
      {rule("5/10ms algorithm=fixed_window"), rule("9/10ms algorithm=fixed_window")},
      {rule("5/10ms algorithm=sliding_window_counter"), rule("9/10ms algorithm=sliding_window_counter")},
      {rule("5/10ms algorithm=fixed_window align=clock"), rule("6/10ms algorithm=fixed_window align=clock")},
      {rule("1/1s")},
  };
  std::uint64_t checks = 0, merged = 0, decided = 0;
  for (int trace = 0; trace < 150; ++trace) {
    SharedStore::Policy policy = merging();
    policy.remember_denials = false;
    World world(kOne, policy);
    world.redis.ahead += std::chrono::microseconds{upto(10'000'000)};
    const std::uint64_t slow = random() % 3 == 0 ? 1500 : 500;
    world.latency = [&] { return std::chrono::microseconds{upto(slow)}; };
    const bool same_deadlines = random() % 2 == 0;
    std::map<std::string, std::size_t> last_waiter;
    std::uint64_t in_others_calls = 0;
    world.on_delivered = [&](const Deed& deed, const std::vector<std::size_t>& told) {
      std::vector<std::size_t> here;
      for (const std::size_t id : told) {
        if (world.requests[id].told->outcome.cause == Cause::none) here.push_back(id);
      }
      ASSERT_EQ(here.size(), deed.decisions.size());
      ASSERT_TRUE(std::is_sorted(here.begin(), here.end()));
      in_others_calls += here.size() - 1;
      for (std::size_t i = 0; i < here.size(); ++i) {
        const World::Request& request = world.requests[here[i]];
        ASSERT_EQ(request.key, deed.parts[0].key);
        ASSERT_EQ(request.told->outcome.decision, deed.decisions[i]);
        ASSERT_EQ(request.rule.algorithm, deed.parts[0].rule.algorithm);
        const auto limit = static_cast<std::uint64_t>(request.told->outcome.decision.limit);
        ASSERT_EQ(std::min(request.cost.units, limit + 1), deed.parts[0].cost.units);
        if (!request.waited) continue;
        std::size_t& last = last_waiter[request.key];
        ASSERT_LT(last, here[i]) << "overtaken by one that came later";
        last = here[i];
      }
    };
    for (int i = 0; i < 100; ++i) {
      world.run(std::chrono::microseconds{random() % 4 == 0 ? upto(500) : 0});
      const std::size_t key = upto(rules.size() * 2 - 1) % (1 + trace % 10);
      const std::vector<Rule>& of_key = rules[key % rules.size()];
      const std::uint64_t costs[] = {1, 1, 1, 0, 2, 50};
      const nanoseconds deadlines[] = {2ms, 5ms, 50ms};
      Wishes wishes;
      if (!same_deadlines) wishes.deadline = deadlines[random() % 3];
      world.check(of_key[random() % of_key.size()], "k" + std::to_string(key), costs[random() % 6], wishes);
    }
    world.run(100ms);
    world.expect_all_told();
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "trace " << trace;
    const SharedStore::Counters& counters = world.store().counters();
    const std::uint64_t failed =
        std::accumulate(counters.failures.begin(), counters.failures.end(), std::uint64_t{0});
    EXPECT_EQ(counters.decided + failed, 100U);
    EXPECT_EQ(counters.merged, in_others_calls);
    EXPECT_TRUE(!same_deadlines || failed == 0);
    checks += 100;
    merged += in_others_calls;
    decided += counters.decided;
  }
  EXPECT_GT(merged, checks / 25);
  EXPECT_GT(decided, checks / 2);
}

// However many ask: a call, and then one for each time that it takes to be answered.
TEST(SharedStore, a_hot_key_costs_one_call_for_each_round_trip) {
  World world(kOne, merging());
  std::size_t written = 0;
  for (int i = 0; i < 2000; ++i) {
    world.check(rule("1000000/s"), "k");
    world.run(5us);
  }
  written = world.store().client().counters().calls;
  EXPECT_LE(written, 2000 * 5 / 200 + 1);
  EXPECT_GE(world.store().counters().merged, 1900U);
}

// ---------------------------------------------------------------------------------------------- failures

const Fate kNothing{false, ""};
Fate says(const std::string& text) { return {false, text + "\r\n"}; }

// A merged call fails: each of those in it, and each that waits, is decided by its own policy, and what comes
// afterwards is decided by the store.
TEST(SharedStore, everyone_in_a_call_that_fails_has_its_own_policy) {
  struct Row {
    const char* what;
    Fate fate;
    const char* cause;
  };
  const std::vector<Row> rows = {
      {"no answer", kNothing, "timeout"},
      {"an error of Redis", says("-OOM command not allowed when used memory > 'maxmemory'"), "oom"},
      {"no master", says("-READONLY You can't write against a read only replica."), "readonly"},
      {"the script is gone, again and again", says("-NOSCRIPT No matching script."), "noscript"},
      {"not the script's answer", says(":1"), "other"},
      {"not the script's states", says("*4\r\n:2\r\n$1\r\n1\r\n$1\r\n1\r\n$3\r\nxyz"), "other"},
      {"too few states", says("*3\r\n:2\r\n$1\r\n1\r\n$1\r\n1"), "other"},
      {"no RESP", says("?"), "connection"},
  };
  for (const Row& row : rows) {
    World world(kOne, merging());
    const Rule two = rule("2/s");
    world.check(two, "k");
    world.fate = [&row](const Deed& deed) { return deed.times > 0 ? row.fate : Fate{}; };
    world.check(two, "k", 1, {.on_error = OnStoreError::allow});
    world.check(two, "k", 1, {.on_error = OnStoreError::deny});
    world.check(two, "k");
    world.check(two, "k");
    world.check(two, "k");
    world.run(250us);  // the call with times 5 is under way
    const std::size_t waits = world.check(two, "k", 1, {.on_error = OnStoreError::deny});
    world.run(100ms);
    const std::string why = " (" + std::string(row.cause) + ")";
    const Line expected = {"allowed 1", "allowed ", "denied for ", "allowed 1" + why, "allowed 0" + why, "denied for "};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string took = world.took(i + 1);
      EXPECT_TRUE(took.starts_with(expected[i])) << row.what << " " << i << ": " << took;
      EXPECT_EQ(took.ends_with(why), i > 0) << row.what << " " << i << ": " << took;
    }
    EXPECT_NE(world.took(waits), "nothing yet");
    world.expect_all_told();
    world.fate = [](const Deed&) { return Fate{}; };
    world.run(1s);
    const std::size_t after = world.check(two, "k", 1, {.on_error = OnStoreError::deny});
    world.run(1ms);
    EXPECT_EQ(world.took(after), "allowed 1") << row.what;
    EXPECT_TRUE(world.empty());
  }
}

// What is not ours under a key is nobody's to decide, and everyone's own error.
TEST(SharedStore, a_foreign_value_is_an_error_for_each_that_asked) {
  World world(kOne, merging());
  world.redis.foreign.insert("k");
  for (int i = 0; i < 4; ++i) world.check(rule("2/s"), "k", 1, {.on_error = OnStoreError::allow});
  world.run(1ms);
  for (std::size_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(world.took(id), "WRONGTYPE key 1 of this request holds no state of gcra");
    EXPECT_EQ(world.requests[id].told->outcome.cause, Cause::wrongtype);
  }
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::wrongtype)], 4U);
  world.expect_all_told();
}

TEST(SharedStore, decides_at_once_by_the_policy_while_the_store_is_away) {
  World world(kOne, merging());
  world.down = {"a"};
  world.break_connections("a");
  world.run(1ms);
  const Rule two = rule("2/s");
  struct Row {
    OnStoreError on_error;
    const char* expected;
  };
  for (const Row& row : {Row{OnStoreError::local, "allowed 1 (connection)"},
                         Row{OnStoreError::local, "allowed 0 (connection)"},
                         Row{OnStoreError::local, "denied for 500000us (connection)"},
                         Row{OnStoreError::allow, "allowed 2 (connection)"},
                         Row{OnStoreError::deny, "denied for 1000000us (connection)"}}) {
    EXPECT_EQ(world.took(world.check(two, "k", 1, {.on_error = row.on_error})), row.expected);
  }
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::connection)], 5U);
  EXPECT_EQ(world.store().counters().decided, 0U);
  world.expect_all_told();
}

// Anything may happen to anybody, outcomes lead to new checks, and still: one outcome for each, in time, by
// its own policy when Redis did not decide; and when Redis is well again, so are we.
TEST(SharedStore, whatever_fails_each_check_is_told_once_and_in_time) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  const auto in_a_hundred = [&random](std::uint64_t n) { return random() % 100 < n; };
  const std::vector<Fate> fates = {kNothing,
                                   kNothing,
                                   Fate{true, ""},
                                   says("-NOSCRIPT No matching script."),
                                   says("-OOM no"),
                                   says("-READONLY no"),
                                   says("-BUSY no"),
                                   says("-WRONGTYPE no"),
                                   says("$2\r\nno"),
                                   says("*0"),
                                   says("no")};
  for (int trace = 0; trace < 150; ++trace) {
    const bool cluster = in_a_hundred(40);
    SharedStore::Policy policy;
    policy.merge = in_a_hundred(50);
    policy.deadline = 10ms;
    World world(cluster ? kCluster : kOne, policy);
    world.latency = [&] { return std::chrono::microseconds{upto(1000)}; };
    const std::uint64_t troubles = upto(20);
    world.fate = [&](const Deed&) { return in_a_hundred(troubles) ? fates[random() % fates.size()] : Fate{}; };
    int again = 100;
    std::vector<OnStoreError> policies(1);
    const auto ask = [&] {
      Wishes wishes;
      if (in_a_hundred(50)) wishes.deadline = std::chrono::microseconds{1 + upto(20'000)};
      wishes.on_error = static_cast<OnStoreError>(random() % 3);
      wishes.lease = in_a_hundred(30) ? upto(5) : 0;
      wishes.merge = in_a_hundred(30);
      const std::string key = "k" + std::to_string(upto(3));
      if (in_a_hundred(10)) {
        policies.push_back(*wishes.on_error);
        world.check_all({{rule("20/s"), key, Cost{1}, *wishes.on_error},
                         {rule("10/s"), "other " + key, Cost{1}, *wishes.on_error}},
                        10ms);
      } else {
        policies.push_back(*wishes.on_error);
        world.check(rule(in_a_hundred(50) ? "20/s" : "10/s"), key, upto(2), wishes);
      }
    };
    world.on_told = [&](std::size_t) {
      if (again > 0 && in_a_hundred(50)) {
        --again;
        ask();
      }
    };
    for (int i = 0; i < 60; ++i) {
      world.run(std::chrono::microseconds{upto(1000)});
      ask();
      if (in_a_hundred(2)) world.break_connections("a");
      if (in_a_hundred(2)) world.reset("k" + std::to_string(upto(3)));
      if (in_a_hundred(2)) world.down = {"a"};
      if (in_a_hundred(20)) world.down.clear();
    }
    again = 0;
    world.down.clear();
    world.fate = [](const Deed&) { return Fate{}; };
    world.run(2s);
    world.expect_all_told();
    for (std::size_t id = 1; id < world.requests.size(); ++id) {
      const Outcome& outcome = world.requests[id].told->outcome;
      EXPECT_EQ(outcome.error.empty(), outcome.cause != Cause::wrongtype);
      if (outcome.cause == Cause::none || !outcome.error.empty()) continue;
      EXPECT_TRUE(policies[id] != OnStoreError::allow || outcome.decision.allowed());
      const bool look = world.requests[id].limits.empty() && world.requests[id].cost.units == 0;
      EXPECT_TRUE(policies[id] != OnStoreError::deny || look || !outcome.decision.allowed());
    }
    for (int key = 0; key < 4; ++key) {
      const std::size_t id = world.check(rule("20/s"), "k" + std::to_string(key), 1, {.merge = true});
      world.run(10ms);
      EXPECT_EQ(world.took(id), "allowed 19");
    }
    ASSERT_TRUE(world.empty());
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "trace " << trace;
  }
}

// END
}  // namespace
}  // namespace weir::redis
