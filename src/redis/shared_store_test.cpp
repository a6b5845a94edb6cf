// SharedStore and a Redis that is nowhere: a clock that is set, commands that take their time both ways, and
// a store that decides them by src/core when they arrive.
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
#include "redis/wire_test.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Line = std::vector<std::string>;

// What the requests of a test are made of.
struct Habits : SharedStore::Options {
  OnStoreError on_error = OnStoreError::local;
  bool merge = false;
};
struct Choices {
  std::uint64_t lease = 0;
  std::optional<OnStoreError> on_error{};
  std::optional<nanoseconds> deadline{};
  bool merge = false;    // or that of the habits
  std::uint32_t id = 0;  // of the limit
};
struct Limit {
  core::Rule rule;
  std::string key;
  Cost cost;
  OnStoreError on_error = OnStoreError::local;
};
// An answer: with a cause, Redis did not decide.
struct Outcome {
  Decision decision;
  Cause cause = Cause::none;
  std::string error;
};

core::Rule rule(std::string_view text) { return core::Rule::parse(text).value(); }

// ------------------------------------------------------------------------------------------------- RESP

// Of an answer to CLUSTER SLOTS.
std::string range(int first, int last, const std::string& host) {
  return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n*3\r\n" + bulk(host) +
         ":6379\r\n" + bulk("id of " + host);
}

// ------------------------------------------------------------------------------------------------- Redis

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

Deed read_deed(const Line& words) {
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

// Of a cluster's three; see World::slots.
std::string host_of(const std::string& key) {
  return slot_of(key) <= 5460 ? "a" : slot_of(key) <= 10922 ? "b" : "c";
}

// All nodes together: every key is on one of them.
struct Redis {
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

// ---------------------------------------------------------------------------------------------- the world

// What a Redis does with a command, instead of running and answering it.
struct Fate {
  bool runs = true;
  const char* says = nullptr;  // empty: nothing, nor to what comes after
};

class World {
 public:
  struct Told {
    Outcome outcome;
    std::size_t by;
    nanoseconds at;
    Source source;
  };
  struct Request {
    std::size_t process;
    core::Rule rule;
    std::string key;
    Cost cost;
    nanoseconds asked;
    nanoseconds due;
    bool waited;  // nothing was sent for it at once
    std::vector<Limit> limits{};
    std::optional<Told> told{};
    bool cancelled = false;
  };
  // What threads of one process share.
  struct Home {
    store::EmbeddedStore local{store::Table::kLeastBytes};
    Resets resets;
  };

  explicit World(const std::string& url, Habits habits = {}, std::size_t processes = 1) {
    cluster = url.starts_with("redis+cluster");
    requests.resize(1, {0, rule("1/s"), "", Cost{0}, 0s, 0s, false});
    deeds.resize(1);
    for (std::size_t i = 0; i < processes; ++i) add(url, habits, std::make_shared<Home>());
    run(10ms);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void add(const std::string& url, Habits habits, std::shared_ptr<Home> home) {
    processes_.push_back(
        std::make_unique<Process>(processes_.size(), url, habits, std::move(home), [this] { return now; }));
    processes_.back()->store.client().start(now);
    settle(*processes_.back());
  }

  // What is asked. Requests count from 1.
  std::size_t check(const core::Rule& rule, const std::string& key, std::uint64_t cost = 1,
                    Choices choices = {}, std::size_t process = 0) {
    Process& p = *processes_[process];
    const std::size_t id = requests.size();
    const nanoseconds patience = choices.deadline.value_or(p.habits.deadline);
    requests.push_back({process, rule, key, Cost{cost}, now, now + patience, false});
    Question& question = ask(id);
    question.add({.rule = rule,
                  .id = choices.id,
                  .on_store_error = choices.on_error.value_or(p.habits.on_error),
                  .sharing = {.lease = choices.lease, .merge = choices.merge || p.habits.merge}},
                 key, Cost{cost});
    question.patience = choices.deadline.value_or(0ns);
    act_inside(p, id, [&] {
      const std::uint64_t calls = p.store.client().counters().calls;
      submit(p, question);
      requests[id].waited =
          question.state == store::Request::State::submitted && p.store.client().counters().calls == calls;
    });
    return id;
  }
  std::size_t check_all(std::vector<Limit> limits, nanoseconds deadline = 50ms, std::size_t process = 0) {
    Process& p = *processes_[process];
    const std::size_t id = requests.size();
    requests.push_back({process, rule("1/s"), "", Cost{0}, now, now + deadline, false, limits});
    Question& question = ask(id);
    for (const Limit& limit : limits)
      question.add({.rule = limit.rule, .on_store_error = limit.on_error}, limit.key, limit.cost);
    question.patience = deadline;
    act_inside(p, id, [&] { submit(p, question); });
    return id;
  }
  void reset(const std::string& key, std::size_t process = 0) { reset(Line{key}, process); }
  void reset(const Line& keys, std::size_t process = 0) {
    Process& p = *processes_[process];
    Question& question = ask(0);
    question.verb = store::Verb::reset;
    for (const std::string& key : keys) question.add({.rule = rule("1/s")}, key, Cost{});
    act_inside(p, 0, [&] { submit(p, question); });
  }
  // Several requests of one check each, in one batch.
  void check_batch(const core::Rule& rule, const Line& keys) {
    Process& p = *processes_[0];
    std::vector<store::Request*> batch;
    for (const std::string& key : keys) {
      const std::size_t id = requests.size();
      requests.push_back({0, rule, key, Cost{1}, now, now + p.habits.deadline, false});
      Question& question = ask(id);
      question.add({.rule = rule}, key, Cost{1});
      question.checks = question.list;
      batch.push_back(&question);
    }
    act_inside(p, 0, [&] { p.store.submit(batch, {now, now}); });
  }
  void cancel(std::size_t id) {
    Question& question = question_of(id);
    processes_[requests[id].process]->store.cancel(question);
    EXPECT_EQ(question.state, store::Request::State::idle);
    EXPECT_EQ(question.ticket, nullptr);
    requests[id].cancelled = true;
  }
  void give_back(std::size_t id) {
    Question& question = question_of(id);
    Process& p = *processes_[requests[id].process];
    question.remember();
    act_inside(p, 0, [&] { p.store.give_back(question, now); });
  }

  // What happens.
  void run(nanoseconds time) {
    const nanoseconds until = now + time;
    while (step(until)) {
    }
    now = until;
  }
  void break_connections(const std::string& host) {
    for (const auto& p : processes_) {
      for (auto& [node, connection] : p->connections) {
        if (connection.host != host || !connection.open) continue;
        connection.open = false;
        ++connection.generation;
        happen(*p, [&] { p->store.client().failed(node, "reset by peer", now); });
      }
    }
  }
  void later(nanoseconds time, std::function<void()> what) { events_.emplace(now + time, std::move(what)); }

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
  std::vector<std::size_t>& wakes() { return processes_[0]->wakes; }
  Home& home(std::size_t process = 0) { return *processes_[process]->home; }
  std::shared_ptr<Home> home_of(std::size_t process) { return processes_[process]->home; }
  bool empty() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& p) { return p->store.empty(); });
  }
  // Each request has been told once, and in time.
  void expect_all_told() const {
    for (std::size_t id = 1; id < requests.size(); ++id) {
      const Request& request = requests[id];
      if (request.cancelled) continue;
      ASSERT_TRUE(request.told) << "request " << id << " has no outcome";
      ASSERT_LE(request.told->at, request.due) << "request " << id << " came to its outcome late";
    }
    EXPECT_TRUE(empty());
  }

  nanoseconds now = 1000s;  // of all processes
  Redis redis;
  std::string slots = "*3\r\n" + range(0, 5460, "a") + range(5461, 10922, "b") + range(10923, 16383, "c");
  bool cluster = false;
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
    bool silent = false;
    std::string wire;
    nanoseconds arrived{0};   // the last command, at Redis
    nanoseconds answered{0};  // the last answer, here
  };
  struct Process {
    Process(std::size_t index, const std::string& url, const Habits& its_habits, std::shared_ptr<Home> shared,
            core::Clock clock)
        : home(std::move(shared)),
          habits(its_habits),
          store(Endpoint::parse(url).value(), habits, home->local, home->resets, std::move(clock)),
          number(index) {
      store.on_work([this](std::size_t calls) {
        woken = true;
        wakes.push_back(calls);
      });
    }
    std::shared_ptr<Home> home;
    Habits habits;
    SharedStore store;
    std::size_t number;
    std::map<Client::NodeId, Connection> connections;
    bool woken = false;
    std::vector<std::size_t> wakes;  // calls each
    bool busy = false;               // in the midst of the client: it may be asked more, and nothing else
  };

  // A request, and what its asker keeps of it.
  struct Question : store::Request {
    World* world = nullptr;
    std::size_t id = 0;  // 0: a reset
    std::deque<store::Limit> limits;
    Line names;
    std::vector<std::unique_ptr<char[]>> keys;
    std::vector<store::Check> list;

    void add(store::Limit limit, const std::string& key, Cost cost) {
      keys.push_back(std::make_unique<char[]>(key.size()));
      list.push_back({.limit = &limits.emplace_back(std::move(limit)),
                      .key = {keys.back().get(), key.size()},
                      .cost = cost});
      names.push_back(key);
      remember();
    }
    // The bytes of the keys are another's after submit(), until give_back() needs them again.
    void forget() {
      for (std::size_t i = 0; i < list.size(); ++i) std::fill_n(keys[i].get(), names[i].size(), '!');
    }
    void remember() {
      for (std::size_t i = 0; i < list.size(); ++i)
        std::copy(names[i].begin(), names[i].end(), keys[i].get());
    }
  };

  Question& question_of(std::size_t id) {
    return *std::find_if(questions_.begin(), questions_.end(),
                         [id](const Question& q) { return q.id == id; });
  }

  Question& ask(std::size_t id) {
    Question& question = questions_.emplace_back();
    question.world = this;
    question.id = id;
    question.on_answer = [](store::Request& request) {
      auto& its = static_cast<Question&>(request);
      its.world->tell(its);
    };
    return question;
  }

  void submit(Process& p, Question& question) {
    question.checks = question.list;
    store::Request* const batch[] = {&question};
    p.store.submit(batch, {now, now});
    question.forget();
    if (question.state == store::Request::State::answered) tell(question);
  }

  static Outcome outcome_of(const Question& question) {
    Outcome outcome{question.decision(), Cause::none, {}};
    if (question.fault != Fault::none) {
      outcome.cause = question.fault == Fault::foreign_value ? Cause::wrongtype : Cause::other;
      outcome.error = question.why;
    } else if (question.source == Source::fallback) {
      const auto named = std::find(kCauseNames.begin(), kCauseNames.end(), question.why);
      EXPECT_NE(named, kCauseNames.end()) << question.why;
      outcome.cause = static_cast<Cause>(named - kCauseNames.begin());
    }
    EXPECT_EQ(question.charged, question.fault == Fault::none && question.allowed());
    return outcome;
  }

  void tell(const Question& question) {
    const std::size_t id = question.id;
    if (id == 0) {
      resets.push_back(question.fault == Fault::none
                           ? std::optional(static_cast<std::int64_t>(question.forgotten))
                           : std::nullopt);
      return;
    }
    ASSERT_FALSE(requests.at(id).told) << "request " << id << " has two outcomes";
    requests[id].told = Told{outcome_of(question), question.by, now, question.source};
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
      const nanoseconds tick = std::max(now, p->store.client().next_tick());
      if (tick < next) {
        next = tick;
        who = p.get();
      }
    }
    if (next > until) return false;
    now = next;
    if (who != nullptr) {
      happen(*who, [&] { who->store.client().tick(now); });
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
      connection.silent = false;
      later(latency(), [this, &p, &connection, node, generation = connection.generation] {
        if (connection.generation != generation) return;
        connection.open = !down.contains(connection.host);
        happen(p, [&] {
          if (connection.open) {
            p.store.client().connected(node, now);
          } else {
            p.store.client().failed(node, "refused", now);
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
        connection.arrived = std::max(connection.arrived, now + latency());
        later(connection.arrived - now,
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
      for (const Deed::Part& part : deed.parts) EXPECT_TRUE(!cluster || host_of(part.key) == connection.host);
      const Fate f = fate(deed);
      deed.at = now;
      if (f.runs) answer = redis.carry_out(deed, now);
      if (f.says != nullptr) answer = f.says + std::string(*f.says == 0 ? "" : "\r\n");
      deed.ran = f.runs;
      number = deeds.size();
      deeds.push_back(deed);
    }
    if (connection.generation != generation) return;
    // Nothing is answered after what is not: answers are told by their order.
    connection.silent = connection.silent || answer.empty();
    if (connection.silent) return;
    connection.answered = std::max(connection.answered, now + latency());
    later(connection.answered - now, [this, &p, &connection, node, answer, number, generation] {
      if (connection.generation != generation) return;
      happen(p, [&] {
        delivering_ = number;
        p.store.client().received(node, answer, now);
        delivering_ = 0;
      });
      const std::vector<std::size_t> told = std::exchange(told_, {});
      if (number != 0) on_delivered(deeds[number], told);
    });
  }

  std::string greeting(const Line& words) const {
    if (words[0] == "EVALSHA" || words[0] == "DEL") return "";
    if (words[0] == "SCRIPT") return bulk(check_sha());
    if (words[0] == "CONFIG") return "*2\r\n" + bulk("maxmemory-habits") + bulk("noeviction");
    if (words[0] == "CLUSTER") return slots;
    return words[0] == "PING" ? "+PONG\r\n" : "+OK\r\n";
  }

  std::deque<Question> questions_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::multimap<nanoseconds, std::function<void()>> events_;
  std::vector<std::size_t> told_;  // during this delivery
  std::size_t delivering_ = 0;
  std::size_t asker_ = 0;
  std::size_t listed_ = 1;
};

constexpr const char* kOne = "redis://a";
constexpr const char* kCluster = "redis+cluster://a,b,c";

Habits merging() {
  Habits habits;
  habits.merge = true;
  return habits;
}

// A key of that host's.
std::string on(const std::string& host, const std::string& name) {
  for (int i = 0;; ++i) {
    const std::string key = name + std::to_string(i);
    if (host_of(key) == host) return key;
  }
}
const std::string kA = on("a", "a"), kB = on("b", "b"), kC = on("c", "c");
constexpr OnStoreError kLocal = OnStoreError::local, kAllow = OnStoreError::allow, kDeny = OnStoreError::deny;

std::vector<Limit> limits(const std::string& key_of_a, const std::string& rule_of_a, std::uint64_t cost_of_a,
                          const std::string& key_of_b, const std::string& rule_of_b, std::uint64_t cost_of_b,
                          OnStoreError on_error_of_a = kLocal, OnStoreError on_error_of_b = kLocal) {
  return {{rule(rule_of_a), key_of_a, Cost{cost_of_a}, on_error_of_a},
          {rule(rule_of_b), key_of_b, Cost{cost_of_b}, on_error_of_b}};
}

// ------------------------------------------------------------------------------------------------ merging

TEST(SharedStore, asks_once_for_each) {
  World world(kOne);
  const core::Rule five = rule("5/s");
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
  const core::Rule ten = rule("10/s"), twelve = rule("12/s");
  struct Row {
    const core::Rule& rule;
    const char* key;
    std::uint64_t cost;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {ten, "k", 1, "allowed 9"},    {ten, "k", 1, "allowed 8"}, {ten, "k", 1, "allowed 7"},
      {ten, "k", 2, "allowed 5"},    {ten, "k", 2, "allowed 3"}, {ten, "other", 1, "allowed 9"},
      {ten, "k", 0, "allowed 3"},    {ten, "k", 0, "allowed 3"}, {ten, "k", 11, "never"},
      {twelve, "k", 2, "allowed 3"}, {ten, "k", 1, "allowed 0"}, {ten, "k", 1, "denied"},
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
      {40ms, 20ms, "allowed 9"},  // the call that the others find
      {50ms, 40ms, "allowed 6"},  // waits for it
      {39ms, 20ms, "allowed 8"},  // does not
      {25ms, 20ms, "allowed 7"},  // nor this
      {60ms, 40ms, "allowed 5"},
  };
  const nanoseconds start = world.now;
  for (const Row& row : rows) world.check(rule("10/s"), "k", 1, {.deadline = row.deadline, .merge = true});
  world.run(100ms);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(world.took(i + 1), rows[i].outcome) << i;
    EXPECT_EQ(world.requests[i + 1].told->at - start, rows[i].told) << i;
  }
  world.expect_all_told();
}

// Who comes when several calls have left waits for the last of them.
TEST(SharedStore, waits_for_the_last_of_several_calls) {
  World world(kOne, merging());
  nanoseconds way = 100us;
  world.latency = [&way] { return way; };
  world.fate = [&way](const Deed& deed) {
    if (deed.parts[0].cost.units == 2) way = 10ms;  // its answer
    return Fate{};
  };
  const core::Rule nine = rule("9/s");
  world.check(nine, "k");
  world.check(nine, "k", 1);
  world.check(nine, "k", 2);
  world.run(250us);
  const std::size_t last = world.check(nine, "k");
  world.run(5ms);
  EXPECT_EQ(world.took(2), "allowed 7");
  EXPECT_EQ(world.took(3), "nothing yet");
  EXPECT_EQ(world.store().client().counters().calls, 3U);
  way = 0us;
  world.run(10ms);
  EXPECT_EQ(world.asked(), "k | k | k 2 | k");
  EXPECT_EQ(world.took(last), "allowed 4");
}

// A log has no place for many at one moment; a lease merges, wished or not.
TEST(SharedStore, merges_what_is_wished_and_what_can) {
  struct Row {
    const char* rule;
    bool habits;
    Choices choices;
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
    Habits habits;
    habits.merge = row.habits;
    World world(kOne, habits);
    for (int i = 0; i < 3; ++i) world.check(rule(row.rule), "k", 1, row.choices);
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
  const std::vector<std::vector<core::Rule>> rules = {
      {rule("5/10ms"), rule("20/10ms burst 7")},
      {rule("5/10ms algorithm=fixed_window"), rule("9/10ms algorithm=fixed_window")},
      {rule("5/10ms algorithm=sliding_window_counter"), rule("9/10ms algorithm=sliding_window_counter")},
      {rule("5/10ms algorithm=fixed_window align=clock"), rule("6/10ms algorithm=fixed_window align=clock")},
      {rule("1/1s")},
  };
  std::uint64_t checks = 0, merged = 0, decided = 0;
  for (int trace = 0; trace < 150; ++trace) {
    Habits habits = merging();
    habits.remember_denials = false;
    World world(kOne, habits);
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
        const core::Rule& asked = deed.parts[0].rule;
        ASSERT_EQ(request.rule.algorithm, asked.algorithm);
        ASSERT_EQ(request.rule.quota.emission_interval(), asked.quota.emission_interval());
        ASSERT_EQ(request.rule.quota.burst(), asked.quota.burst());
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
      const std::size_t key = upto(rules.size() * 2 - 1) % static_cast<std::size_t>(1 + trace % 10);
      const std::vector<core::Rule>& of_key = rules[key % rules.size()];
      const std::uint64_t costs[] = {1, 1, 1, 0, 2, 50};
      const nanoseconds deadlines[] = {2ms, 5ms, 50ms};
      Choices choices;
      if (!same_deadlines) choices.deadline = deadlines[random() % 3];
      world.check(of_key[random() % of_key.size()], "k" + std::to_string(key), costs[random() % 6], choices);
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
Fate says(const char* text) { return {false, text}; }

// A merged call fails: each of those in it, and each that waits, is decided by its own habits, and what comes
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
    const core::Rule two = rule("2/s");
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
    const Line expected = {"allowed 1",       "allowed ",        "denied for ",
                           "allowed 1" + why, "allowed 0" + why, "denied for "};
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

// Of those that travel together the one with the least time says how long the call may take.
TEST(SharedStore, a_merged_call_takes_no_longer_than_any_in_it_may_wait) {
  for (const auto& [second, third] : {std::pair{40ms, 20ms}, {20ms, 40ms}}) {
    World world(kOne);
    const nanoseconds start = world.now;
    world.fate = [](const Deed& deed) { return deed.times > 0 ? kNothing : Fate{}; };
    world.check(rule("9/s"), "k", 1, {.deadline = 10ms, .merge = true});
    world.check(rule("9/s"), "k", 1, {.deadline = second, .merge = true});
    world.check(rule("9/s"), "k", 1, {.deadline = third, .merge = true});
    world.run(50ms);
    EXPECT_EQ(world.took(2), "allowed 8 (timeout)");
    EXPECT_EQ(world.took(3), "allowed 7 (timeout)");
    EXPECT_EQ(world.requests[3].told->at - start, 20ms);
    world.expect_all_told();
  }
}

TEST(SharedStore, an_answer_that_is_not_the_scripts_decides_nothing) {
  for (const char* answer : {":1", "*0", "*4\r\n:0\r\n$1\r\n1\r\n$1\r\n1\r\n$3\r\nxyz", "+OK",
                             "*4\r\n:0\r\n$1\r\n1\r\n$1\r\n1\r\n$-1"}) {
    World world(kOne);
    world.fate = [answer](const Deed&) { return says(answer); };
    world.check(rule("2/s"), "k");
    world.check_all({{rule("2/s"), "l", Cost{1}, OnStoreError::local}});
    world.run(1ms);
    EXPECT_EQ(world.took(1), "allowed 1 (other)") << answer;
    EXPECT_EQ(world.took(2), "by 0: allowed 1 (other)") << answer;
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

// Not even charged here, nor allowed for want of a store: who does not look at the error is denied.
TEST(SharedStore, a_foreign_value_is_decided_by_nobody) {
  for (const OnStoreError on_error : {OnStoreError::local, OnStoreError::allow}) {
    World world(kOne);
    world.redis.foreign.insert("k");
    const std::size_t one = world.check(rule("5/s"), "k", 2, {.on_error = on_error});
    const std::size_t all =
        world.check_all({{rule("5/s"), "k", Cost{1}, on_error}, {rule("9/s"), "l", Cost{1}, on_error}});
    world.run(1ms);
    EXPECT_EQ(world.requests[one].told->outcome.decision, Decision{});
    EXPECT_EQ(world.requests[all].told->outcome.decision, Decision{});
    EXPECT_EQ(world.took(all), "by 0: WRONGTYPE key 1 of this request holds no state of gcra");
    world.down = {"a"};
    world.break_connections("a");
    EXPECT_EQ(world.took(world.check(rule("5/s"), "k", 0)), "allowed 5 (connection)");
    EXPECT_EQ(world.took(world.check(rule("9/s"), "l", 0)), "allowed 9 (connection)");
  }
}

TEST(SharedStore, decides_at_once_by_the_policy_while_the_store_is_away) {
  World world(kOne, merging());
  world.down = {"a"};
  world.break_connections("a");
  world.run(1ms);
  const core::Rule two = rule("2/s");
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
  for (const OnStoreError on_error : {OnStoreError::local, OnStoreError::allow, OnStoreError::deny})
    EXPECT_EQ(world.took(world.check(two, "k", 3, {.on_error = on_error})), "never (connection)");
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::connection)], 8U);
  EXPECT_EQ(world.store().counters().decided, 0U);
  world.expect_all_told();
}

// Anything may happen to anybody, outcomes lead to new checks, and still: one outcome for each, in time, by
// its own habits when Redis did not decide; and when Redis is well again, so are we.
TEST(SharedStore, whatever_fails_each_check_is_told_once_and_in_time) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  const auto in_a_hundred = [&random](std::uint64_t n) { return random() % 100 < n; };
  const std::vector<Fate> fates = {kNothing,         kNothing,
                                   Fate{true, ""},   says("-NOSCRIPT No matching script."),
                                   says("-OOM no"),  says("-READONLY no"),
                                   says("-BUSY no"), says("-WRONGTYPE no"),
                                   says("$2\r\nno"), says("*0"),
                                   says("no")};
  for (int trace = 0; trace < 150; ++trace) {
    const bool cluster = in_a_hundred(40);
    Habits habits;
    habits.merge = in_a_hundred(50);
    habits.deadline = 10ms;
    World world(cluster ? kCluster : kOne, habits);
    world.latency = [&] { return std::chrono::microseconds{upto(1000)}; };
    const std::uint64_t troubles = upto(20);
    world.fate = [&](const Deed&) {
      return in_a_hundred(troubles) ? fates[random() % fates.size()] : Fate{};
    };
    int again = 100;
    std::vector<OnStoreError> policies(1);
    const auto ask = [&] {
      Choices choices;
      if (in_a_hundred(50)) choices.deadline = std::chrono::microseconds{1 + upto(20'000)};
      choices.on_error = static_cast<OnStoreError>(random() % 3);
      choices.lease = in_a_hundred(30) ? upto(5) : 0;
      choices.merge = in_a_hundred(30);
      const std::string key = "k" + std::to_string(upto(3));
      if (in_a_hundred(10)) {
        policies.push_back(*choices.on_error);
        world.check_all({{rule("20/s"), key, Cost{1}, *choices.on_error},
                         {rule("10/s"), "other " + key, Cost{1}, *choices.on_error}},
                        10ms);
      } else {
        policies.push_back(*choices.on_error);
        world.check(rule(in_a_hundred(50) ? "20/s" : "10/s"), key, upto(2), choices);
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

// ------------------------------------------------------------------------------------------------ leases

TEST(SharedStore, a_lease_is_shared_out_to_who_waits_first_come_first_served) {
  World world(kOne);
  const core::Rule twenty = rule("20/s");
  struct Row {
    std::uint64_t cost;
    const char* expected;
  };
  // Who asks is told what it would have been told alone. Of 6 units one has begun to melt then. A look is not
  // answered by what is left of a lease, and what that is not enough for asks for what it needs.
  const std::vector<Row> rows = {{1, "allowed 19"}, {2, "allowed 2"},  {0, "allowed 14"},
                                 {2, "allowed 0"},  {1, "allowed 13"}, {1, "allowed 12"}};
  for (const Row& row : rows) world.check(twenty, "k", row.cost, {.lease = 6});
  world.run(200us);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 6 | k | 2 x k");
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(world.took(i + 1), rows[i].expected) << i;
  EXPECT_EQ(world.store().counters().leased, 2U);
  EXPECT_EQ(world.store().counters().decided, 4U);
  world.expect_all_told();
}

// When no lease is available, the check asks for what it needs, and those that wait continue to wait.
TEST(SharedStore, a_lease_that_is_denied_falls_back_to_what_is_needed) {
  World world(kOne);
  const core::Rule five = rule("5/s");
  world.check(five, "k", 3);
  world.check(five, "k", 1, {.lease = 4});
  world.check(five, "k", 1, {.lease = 4});
  world.check(five, "k", 1, {.lease = 4});
  world.run(10ms);
  EXPECT_EQ(world.asked(), "k 3 | k 4 | 3 x k");
  EXPECT_EQ(world.took(1), "allowed 2");
  EXPECT_EQ(world.took(2), "allowed 1");
  EXPECT_EQ(world.took(3), "allowed 0");
  EXPECT_EQ(world.took(4), "denied for 199800us");
  world.expect_all_told();
}

// A check that waits and wants as much as the lease is denied with it.
TEST(SharedStore, a_lease_that_is_denied_is_a_denial) {
  World world(kOne);
  world.check(rule("5/s"), "k", 3);
  world.check(rule("5/s"), "k", 1, {.lease = 4});
  world.check(rule("5/s"), "k", 4, {.lease = 4});
  world.run(10ms);
  EXPECT_EQ(world.asked(), "k 3 | k 4 | k");
  EXPECT_EQ(world.took(3), "denied for 400000us");
}

TEST(SharedStore, a_lease_that_fails_is_none) {
  World world(kOne);
  world.fate = [](const Deed&) { return says("-OOM no"); };
  world.check(rule("5/s"), "k", 1, {.lease = 4, .on_error = OnStoreError::allow});
  world.run(1ms);
  EXPECT_EQ(world.took(1), "allowed 5 (oom)");
  world.fate = [](const Deed&) { return Fate{}; };
  world.check(rule("5/s"), "k", 1, {.lease = 4});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 4 | k 4");
}

// A lease is no more than the burst, and for a cost above it, it is what is needed; never above what the rule
// admits at all.
TEST(SharedStore, asks_for_no_lease_that_nobody_can_have) {
  struct Row {
    std::uint64_t lease, cost;
    const char* asked;
    const char* expected;
  };
  for (const Row& row :
       {Row{3, 1, "k 3", "allowed 4"}, Row{50, 1, "k 5", "allowed 4"}, Row{2, 4, "k 4", "allowed 1"},
        Row{3, 6, "k 6", "never"}, Row{3, 0, "k", "allowed 5"}, Row{0, 1, "k", "allowed 4"}}) {
    World world(kOne);
    world.check(rule("5/s"), "k", row.cost, {.lease = row.lease});
    world.run(10ms);
    EXPECT_EQ(world.asked().substr(0, 3), row.asked) << row.lease << " for " << row.cost;
    EXPECT_TRUE(world.took(1).starts_with(row.expected)) << world.took(1);
  }
}

// Who choices no lease asks, though there is one.
TEST(SharedStore, a_lease_is_spent_by_who_wishes_one) {
  World world(kOne);
  const core::Rule ten = rule("10/s");
  world.check(ten, "k", 1, {.lease = 5});
  world.check(ten, "k", 1, {.merge = true});
  world.run(1ms);
  world.check(ten, "k", 1);
  world.run(1ms);
  world.check(ten, "k", 1, {.lease = 5});
  world.check(ten, "k", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 5 | k | k");
  EXPECT_EQ(world.took(3), "allowed 3");
  EXPECT_EQ(world.took(5), "allowed 1");
}

// The price: others may be denied what nobody spends, for lease x T and no longer.
TEST(SharedStore, a_lease_keeps_others_out_until_it_has_melted) {
  World world(kOne, {}, 2);
  const core::Rule ten = rule("10/s");
  world.check(ten, "k", 1, {.lease = 10}, 0);
  world.run(1ms);
  const std::size_t denied = world.check(ten, "k", 10, {}, 1);
  world.run(1ms);
  EXPECT_EQ(world.took(denied), "denied for 999000us");
  world.run(999ms);
  const std::size_t allowed = world.check(ten, "k", 10, {}, 1);
  world.run(1ms);
  EXPECT_EQ(world.took(allowed), "allowed 0");
}

// At most burst + W / T in any span W over all processes, with leases, merging and waits, and without resets.
TEST(SharedStore, leases_of_many_processes_keep_the_promise) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  std::uint64_t leased = 0;
  for (int trace = 0; trace < 120; ++trace) {
    World world(kOne, {}, 3);
    world.redis.ahead += std::chrono::microseconds{upto(10'000'000)};
    const std::uint64_t slow = random() % 3 == 0 ? 500 : 30;
    world.latency = [&] { return std::chrono::microseconds{1 + upto(slow)}; };
    const core::Rule r{
        Quota::make({1, std::chrono::microseconds{5 + upto(200)}}, 1 + static_cast<std::int64_t>(upto(40)))
            .value()};
    std::vector<std::pair<nanoseconds, std::uint64_t>> admitted;
    std::set<std::size_t> by_store;
    world.on_delivered = [&](const Deed& deed, const std::vector<std::size_t>& told) {
      std::size_t here = 0;
      for (const std::size_t id : told) {
        if (here == std::max<std::size_t>(1, deed.times) || !(deed.allowed || deed.times > 0)) break;
        ++here;
        by_store.insert(id);
        if (world.requests[id].told->outcome.decision.allowed())
          admitted.emplace_back(deed.at, world.requests[id].cost.units);
      }
    };
    const std::uint64_t leases[] = {2 + upto(20), 2 + upto(5), 0};
    // No check passes one that waits, came before it, and wants no more.
    world.on_told = [&](std::size_t id) {
      const World::Request& request = world.requests[id];
      if (!request.told->outcome.decision.allowed() || request.cost.units == 0) return;
      for (std::size_t before = 1; before < id; ++before) {
        const World::Request& other = world.requests[before];
        if (other.told || other.process != request.process || other.cost.units == 0) continue;
        EXPECT_GT(other.cost.units, request.cost.units) << id << " was let past " << before;
      }
    };
    const std::uint64_t pause = upto(9) * static_cast<std::uint64_t>(r.quota.emission_interval() / 1us);
    for (int i = 0; i < 150; ++i) {
      world.run(std::chrono::microseconds{random() % 3 == 0 ? upto(pause) : 0});
      const std::size_t process = upto(2);
      world.check(r, "k", random() % 4 == 0 ? upto(3) : 1,
                  {.lease = leases[process], .merge = trace % 2 == 0}, process);
    }
    world.run(100ms);
    world.expect_all_told();
    for (std::size_t id = 1; id < world.requests.size(); ++id) {
      const World::Request& request = world.requests[id];
      ASSERT_EQ(request.told->outcome.cause, Cause::none);
      if (request.told->outcome.decision.allowed() && !by_store.contains(id))
        admitted.emplace_back(request.told->at, request.cost.units);
    }
    std::sort(admitted.begin(), admitted.end());
    const nanoseconds T = r.quota.emission_interval();
    nanoseconds sum{0}, last{0};
    for (const auto& [at, units] : admitted) {
      sum = std::max(nanoseconds{0}, sum - (at - last)) + T * static_cast<std::int64_t>(units);
      last = at;
      ASSERT_LE(sum, T * r.quota.burst()) << "trace " << trace;
    }
    for (std::size_t i = 0; i < 3; ++i) leased += world.store(i).counters().leased;
  }
  EXPECT_GT(leased, 300U);
}

// ------------------------------------------------------------------------------------------------ denials

// What was denied is denied here until its retry_after. A smaller request that passes makes it longer than it
// said, and it is asked for again.
TEST(SharedStore, a_denial_is_recalled_until_something_has_passed) {
  struct Row {
    std::uint64_t cost;
    const char* asked;
    const char* expected;
  };
  for (const bool remembers : {true, false}) {
    Habits habits;
    habits.remember_denials = remembers;
    World world(kOne, habits);
    for (const Row& row :
         {Row{4, "k 4", "allowed 1"}, Row{3, "k 3", "denied for 1998000us"},
          Row{3, "", "denied for 1996000us"}, Row{2, "", "denied for 994000us"}, Row{0, "k", "allowed 1"},
          Row{3, "k 3", "denied for 1990000us"}, Row{1, "k", "allowed 0"},
          Row{3, "k 3", "denied for 2986000us"}, Row{6, "k 6", "never"}}) {
      const std::size_t id = world.check(rule("5/5s"), "k", row.cost);
      world.run(2ms);
      EXPECT_EQ(world.took(id).substr(0, 14), std::string(row.expected).substr(0, 14));
      EXPECT_TRUE(!remembers || world.asked() == row.asked) << row.cost;
    }
    EXPECT_EQ(world.store().counters().remembered, remembers ? 2U : 0U);
    EXPECT_EQ(world.store().counters().decided, remembers ? 7U : 9U);
  }
}

// However long the answer was on its way: whom the store would let in is asked for.
TEST(SharedStore, a_denial_is_recalled_no_longer_than_the_store_would_deny) {
  for (const auto& ways : {std::pair{1ms, 1ms}, {1ms, 20ms}, {20ms, 1ms}}) {
    World world(kOne);
    bool there = false;
    world.latency = [&] { return (there = !there) ? ways.first : ways.second; };
    world.check(rule("1/s"), "k", 1, {.merge = true});
    world.check(rule("1/s"), "k", 1, {.merge = true});
    world.run(40ms + 2ms);
    EXPECT_EQ(world.took(2),
              "denied for " + std::to_string(1'000'000 - (ways.first + ways.second) / 1us) + "us");
    EXPECT_TRUE(world.took(world.check(rule("1/s"), "k")).starts_with("denied"));
    EXPECT_EQ(world.asked(), "k | k");
    world.run(1s - 42ms);
    const std::size_t after = world.check(rule("1/s"), "k");
    world.run(50ms);
    EXPECT_EQ(world.took(after), "allowed 0");
  }
}

TEST(SharedStore, a_merged_denial_is_recalled) {
  World world(kOne, merging());
  for (int i = 0; i < 4; ++i) world.check(rule("2/s"), "k");
  world.run(1ms);
  EXPECT_EQ(world.took(world.check(rule("2/s"), "k")), "denied for 499200us");
  EXPECT_EQ(world.asked(), "k | 3 x k");
}

// Only of gcra.
TEST(SharedStore, a_denial_by_a_window_is_not_recalled) {
  World world(kOne);
  for (int i = 0; i < 3; ++i) {
    world.check(rule("1/s algorithm=fixed_window"), "k");
    world.run(1ms);
  }
  EXPECT_EQ(world.asked(), "k | k | k");
}

TEST(SharedStore, every_command_has_the_prefix) {
  World world("redis+cluster://a?prefix=p:", merging());
  const std::string a = on("a", "p:a").substr(2), b = on("b", "p:b").substr(2);
  world.check(rule("9/s"), a);
  world.check(rule("9/s"), a);
  world.check(rule("9/s"), a);
  world.run(1ms);
  world.check_all(limits(a, "9/s", 1, b, "9/s", 10));
  world.check_all(limits("{t}a", "9/s", 1, "{t}b", "9/s", 1));
  world.run(1ms);
  world.reset(a);
  world.run(1ms);
  const std::string pa = "p:" + a;
  EXPECT_EQ(world.asked(), pa + " | 2 x " + pa + " | " + pa + " | p:" + b + " 10 | p:{t}a + p:{t}b | back " +
                               pa + " | DEL " + pa);
}

TEST(SharedStore, a_key_is_in_the_slot_that_it_has_with_the_prefix) {
  World world("redis+cluster://a?prefix=weir:");
  for (int i = 0; i < 8; ++i) world.check(rule("9/s"), "k" + std::to_string(i));
  world.run(1ms);
  EXPECT_EQ(world.store().counters().decided, 8U);
}

// Numbers that the script does not count are refused before it is asked.
TEST(SharedStore, unsuitable_rules_are_not_asked_for) {
  World world(kOne);
  EXPECT_EQ(world.took(world.check(core::Rule{Quota::make({1, 1ns}, 9'100'000'000'000'000).value()}, "k")),
            "burst: 9100000000000000 is above the most that gcra counts in Redis (9000000000000000)");
  EXPECT_EQ(world.asked(), "");
}

TEST(SharedStore, a_share_of_the_limit_is_what_is_admitted_locally) {
  Habits habits;
  habits.local_share = 0.4;
  World world(kOne, habits);
  world.down = {"a"};
  world.break_connections("a");
  EXPECT_EQ(world.took(world.check(rule("10/s"), "k")), "allowed 3 (connection)");
  EXPECT_EQ(world.took(world.check(rule("1/s"), "l")), "allowed 0 (connection)");
  EXPECT_EQ(world.took(world.check_all(limits("m", "10/s", 2, "n", "5/s", 1))),
            "by 1: allowed 1 (connection)");
}

// ------------------------------------------------------------------------------------- several limits of one

// In one Redis, or with a hash tag: one call, which charges all or none. The limit that decides is the one
// denied for longest, or where all allow the one with the least left.
TEST(SharedStore, several_limits_of_one_slot_are_one_call) {
  struct Row {
    const char *rule_a, *rule_b;
    std::uint64_t cost_a, cost_b;
    const char* expected;
    std::int64_t owed_a, owed_b;
  };
  const std::vector<Row> rows = {
      {"5/s", "9/s", 1, 1, "by 0: allowed 4", 1, 1},
      {"9/s", "5/s", 1, 1, "by 1: allowed 4", 1, 1},
      {"9/s", "5/s", 6, 1, "by 0: allowed 3", 6, 1},
      {"5/s", "5/s", 1, 1, "by 0: allowed 4", 1, 1},
      {"5/s", "5/s", 0, 2, "by 1: allowed 3", 0, 2},
      {"5/s", "9/s", 6, 1, "by 0: never", 0, 0},
      {"9/s", "5/s", 1, 6, "by 1: never", 0, 0},
      {"5/s algorithm=fixed_window", "5/s", 1, 2, "by 1: allowed 3", 1, 2},
      {"5/s algorithm=sliding_window_counter", "5/s algorithm=fixed_window", 3, 2, "by 0: allowed 2", 1, 1},
  };
  for (const bool cluster : {false, true}) {
    for (const Row& row : rows) {
      World world(cluster ? kCluster : kOne);
      const std::size_t id =
          world.check_all(limits("{t}a", row.rule_a, row.cost_a, "{t}b", row.rule_b, row.cost_b));
      world.run(1ms);
      EXPECT_EQ(world.took(id), row.expected);
      EXPECT_EQ(world.asked().find('|'), std::string::npos);
      if (rule(row.rule_a).algorithm != Algorithm::gcra) continue;
      EXPECT_EQ(world.redis.owed("{t}a", rule(row.rule_a), world.now), row.owed_a) << row.expected;
      EXPECT_EQ(world.redis.owed("{t}b", rule(row.rule_b), world.now), row.owed_b) << row.expected;
      world.expect_all_told();
    }
  }
  World world(kOne);
  world.check(rule("1/s"), "k");
  world.check(rule("1/2s"), "l");
  world.run(1ms);
  const std::vector<Limit> three = {{rule("9/s"), "m", Cost{1}, kLocal},
                                    {rule("1/s"), "k", Cost{1}, kLocal},
                                    {rule("1/2s"), "l", Cost{1}, kLocal}};
  const std::size_t id = world.check_all(three);
  const std::size_t never = world.check_all(limits("k", "1/s", 1, "m", "9/s", 10));
  const std::size_t never_first = world.check_all(limits("m", "9/s", 10, "k", "1/s", 1));
  world.run(1ms);
  EXPECT_EQ(world.took(id), "by 2: denied for 1999000us");
  EXPECT_EQ(world.took(never), "by 1: never");
  EXPECT_EQ(world.took(never_first), "by 0: never");
  EXPECT_EQ(world.redis.owed("m", rule("9/s"), world.now), 0);
}

// The store's own: `decided` counts it once.
TEST(SharedStore, several_limits_count_as_one_check) {
  World world(kCluster);
  world.check_all(limits(kA, "5/s", 1, kB, "5/s", 1));
  world.run(1ms);
  EXPECT_EQ(world.took(1), "by 0: allowed 4");
  EXPECT_EQ(world.asked(), kA + " | " + kB);
  EXPECT_EQ(world.store().counters().decided, 1U);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kC ? Fate{} : says("-OOM no"); };
  const std::vector<Limit> three = {{rule("5/s"), kC, Cost{1}, OnStoreError::allow},
                                    {rule("5/s"), kA, Cost{1}, OnStoreError::allow},
                                    {rule("5/s"), kB, Cost{1}, OnStoreError::allow}};
  world.check_all(three);
  world.run(1ms);
  EXPECT_EQ(world.took(2), "by 0: allowed 4");
  EXPECT_EQ(world.store().counters().decided, 1U);
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::oom)], 1U);
  world.expect_all_told();
}

// Across slots: when one refuses, fails, or holds what is not ours, the others are given back.
TEST(SharedStore, what_was_charged_across_slots_is_given_back) {
  struct Row {
    const char* what;
    std::uint64_t cost_b;
    bool foreign_b;
    Fate fate_b;
    OnStoreError on_error_b;
    std::string expected;
    std::string asked;
    std::int64_t owed_a, owed_b;
  };
  const std::string both = kA + " 3 | " + kB;
  const std::string back = " | back " + kA + " 3";
  const std::vector<Row> rows = {
      {"allowed", 1, false, {}, kLocal, "by 1: allowed 1", both, 3, 1},
      {"denied", 2, false, {}, kLocal, "by 1: allowed 0", both + " 2", 3, 2},
      {"never", 3, false, {}, kLocal, "by 1: never", both + " 3" + back, 0, 0},
      {"foreign",
       1,
       true,
       {},
       kLocal,
       "by 1: WRONGTYPE key 1 of this request holds no state of gcra",
       both + back,
       0,
       0},
      {"fails, allow", 1, false, says("-OOM no"), kAllow, "by 0: allowed 2", both, 3, 0},
      {"fails, deny", 1, false, says("-OOM no"), kDeny, "by 1: denied for 1000000us (oom)", both + back, 0,
       0},
      {"fails, local", 1, false, says("-OOM no"), kLocal, "by 1: allowed 1 (oom)", both, 3, 0},
      {"no script of ours", 1, false, says(":1"), kDeny, "by 1: denied for 1000000us (other)", both + back, 0,
       0},
      {"no answer", 1, false, kNothing, kDeny, "by 1: denied for 1000000us (timeout)", both + back, 0, 0},
      {"no answer, charged",
       1,
       false,
       {true, ""},
       kDeny,
       "by 1: denied for 1000000us (timeout)",
       both + back,
       0,
       1},
  };
  for (const Row& row : rows) {
    World world(kCluster);
    if (row.foreign_b) world.redis.foreign.insert(kB);
    world.fate = [&row](const Deed& deed) { return deed.parts[0].key == kB ? row.fate_b : Fate{}; };
    const std::size_t id =
        world.check_all(limits(kA, "5/10s", 3, kB, "2/10s", row.cost_b, kDeny, row.on_error_b), 5ms);
    world.run(20ms);
    EXPECT_EQ(world.took(id), row.expected) << row.what;
    EXPECT_EQ(world.asked(), row.asked) << row.what;
    EXPECT_EQ(world.redis.owed(kA, rule("5/10s"), world.now), row.owed_a) << row.what;
    EXPECT_EQ(world.redis.owed(kB, rule("2/10s"), world.now), row.owed_b) << row.what;
    world.expect_all_told();
  }
}

// Only what has not drained: nobody is let in twice for it.
TEST(SharedStore, gives_back_less_what_has_drained) {
  World world(kCluster, {}, 2);
  const core::Rule one = rule("5/5s");
  world.check(rule("2/10s"), kB, 2, {}, 1);
  world.run(1ms);
  world.latency = [] { return 500ms; };
  world.check_all(limits(kA, "5/5s", 2, kB, "2/10s", 1), 3s);
  world.run(300ms);
  world.check(one, kA, 1, {.deadline = 3s}, 1);
  world.run(3s);
  EXPECT_EQ(world.took(2), "by 1: denied for 4499100us");
  // At 0.5 s it was charged 2, at 0.8 s others 1. At 1.5 s, when 2 of the 3 were owed, half of the 2 had
  // drained.
  EXPECT_EQ(world.asked(), kB + " 2 | " + kA + " 2 | " + kB + " | " + kA + " | back " + kA + " 2");
  EXPECT_EQ(world.took(3), "allowed 2");
  EXPECT_EQ(nanoseconds(world.redis.keys[kA].until) - world.redis.ahead, 1002'511ms);
  world.expect_all_told();
}

// What was just denied is denied without asking anybody, and nothing is charged.
TEST(SharedStore, several_limits_recall_a_denial) {
  for (const bool cluster : {false, true}) {
    World world(cluster ? kCluster : kOne);
    world.check(rule("1/s"), kB);
    world.run(1ms);
    world.check_all(limits(kA, "5/s", 1, kB, "1/s", 1));
    world.run(1ms);
    EXPECT_EQ(world.took(2), "by 1: denied for 999000us");
    world.asked();
    EXPECT_EQ(world.took(world.check_all(limits(kA, "5/s", 1, kB, "1/s", 1))), "by 1: denied for 998200us");
    EXPECT_EQ(world.took(world.check_all(limits(kA, "5/s", 1, kB, "1/2s", 1))), "nothing yet");
    EXPECT_EQ(world.took(world.check(rule("1/s"), kB)), "denied for 998200us");
    world.run(2ms);
    EXPECT_EQ(world.redis.owed(kA, rule("5/s"), world.now), 0);
    for (int i = 0; i < 2; ++i) {
      world.check(rule("1/s"), kA);
      world.check(rule("1/5s"), kC);
    }
    world.run(1ms);
    EXPECT_EQ(world.took(world.check_all(limits(kA, "1/s", 1, kC, "1/5s", 1))), "by 1: denied for 4999200us");
    EXPECT_EQ(world.took(world.check_all(limits(kC, "1/5s", 1, kA, "1/s", 1))), "by 0: denied for 4999200us");
    EXPECT_GE(world.store().counters().remembered, 4U);
    world.expect_all_told();
  }
}

TEST(SharedStore, other_algorithms_across_slots_are_refused) {
  World world(kCluster);
  const std::size_t across =
      world.check_all(limits(kA, "5/s", 1, kB, "5/s algorithm=fixed_window", 1, kAllow, kAllow));
  const std::size_t together =
      world.check_all(limits("{t}a", "5/s", 1, "{t}b", "5/s algorithm=fixed_window", 1));
  world.run(1ms);
  EXPECT_EQ(world.took(across),
            "by 1: the keys of this request lie in different slots of the cluster, and what fixed_window has "
            "charged cannot be given back: let them share a {hash tag}");
  EXPECT_EQ(world.took(together), "by 0: allowed 4");
  EXPECT_EQ(world.asked(), "{t}a + {t}b");
  world.expect_all_told();
}

// Of a failure each limit's own habits makes what it says, and the local table too is charged all or none.
TEST(SharedStore, several_limits_that_fail_have_their_own_policies) {
  struct Row {
    OnStoreError a, b;
    std::uint64_t cost_a, cost_b;
    const char* expected;
    std::int64_t left_a, left_b;  // in the local table afterwards
  };
  const std::vector<Row> rows = {
      {kLocal, kLocal, 2, 1, "by 1: allowed 2 (connection)", 3, 2},
      {kLocal, kLocal, 2, 3, "by 1: allowed 0 (connection)", 3, 0},
      {kLocal, kLocal, 2, 4, "by 1: never (connection)", 5, 3},
      {kLocal, kLocal, 6, 3, "by 0: never (connection)", 5, 3},
      {kLocal, kDeny, 2, 1, "by 1: denied for 1000000us (connection)", 5, 3},
      {kDeny, kLocal, 2, 1, "by 0: denied for 1000000us (connection)", 5, 3},
      {kLocal, kAllow, 3, 1, "by 0: allowed 2 (connection)", 2, 3},
      {kAllow, kLocal, 2, 3, "by 1: allowed 0 (connection)", 5, 0},
      {kAllow, kAllow, 2, 1, "by 1: allowed 3 (connection)", 5, 3},
      {kDeny, kAllow, 2, 1, "by 0: denied for 1000000us (connection)", 5, 3},
      {kDeny, kDeny, 0, 1, "by 1: denied for 1000000us (connection)", 5, 3},
  };
  for (const bool cluster : {false, true}) {
    for (const Row& row : rows) {
      World world(cluster ? kCluster : kOne);
      world.down = {"a", "b", "c"};
      for (const char* host : {"a", "b", "c"}) world.break_connections(host);
      world.run(1ms);
      const std::size_t id =
          world.check_all(limits(kA, "5/s", row.cost_a, kB, "3/s", row.cost_b, row.a, row.b));
      EXPECT_EQ(world.took(id), row.expected);
      EXPECT_EQ(world.requests.at(world.check(rule("5/s"), kA, 0)).told->outcome.decision.remaining,
                row.left_a);
      EXPECT_EQ(world.requests.at(world.check(rule("3/s"), kB, 0)).told->outcome.decision.remaining,
                row.left_b);
      world.expect_all_told();
    }
  }
}

// When a limit that the store decides denies, what another is to have been charged here is not charged.
TEST(SharedStore, what_the_store_denies_is_not_charged_locally) {
  World world(kCluster);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kA ? says("-OOM no") : Fate{}; };
  world.check_all(limits(kA, "5/s", 2, kB, "3/s", 4));
  world.run(1ms);
  EXPECT_EQ(world.took(1), "by 1: never");
  world.check(rule("5/s"), kA, 0);
  world.run(1ms);
  EXPECT_EQ(world.took(2), "allowed 5 (oom)");
}

TEST(SharedStore, what_is_denied_locally_is_not_charged_in_the_store) {
  World world(kCluster);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kB ? says("-OOM no") : Fate{}; };
  world.check_all(limits(kA, "5/10s", 2, kB, "1/10s", 1));
  world.run(1ms);
  world.check_all(limits(kA, "5/10s", 3, kB, "1/10s", 1));
  world.run(1ms);
  EXPECT_EQ(world.took(1), "by 1: allowed 0 (oom)");
  EXPECT_EQ(world.took(2), "by 1: denied for 9999000us (oom)");
  EXPECT_EQ(world.redis.owed(kA, rule("5/10s"), world.now), 2);
}

// An error comes before any decision.
TEST(SharedStore, a_foreign_value_among_several_is_what_is_told) {
  for (const bool first : {false, true}) {
    World world(kCluster, {}, 2);
    world.check(rule("1/s"), kA, 1, {}, 1);
    world.redis.foreign.insert(kB);
    world.run(1ms);
    const std::vector<Limit> some = limits(kA, "1/s", 1, kB, "1/s", 1);
    world.check_all(first ? std::vector<Limit>{some[1], some[0]} : some);
    world.run(1ms);
    EXPECT_EQ(world.took(2), std::string(first ? "by 0" : "by 1") +
                                 ": WRONGTYPE key 1 of this request holds no state of gcra");
  }
}

// A node that does not answer holds up nobody beyond the deadline, and what comes afterwards is nobody's.
TEST(SharedStore, several_limits_are_told_by_the_deadline) {
  for (const bool answered : {false, true}) {
    World world(kCluster);
    world.fate = [&](const Deed& deed) {
      return deed.parts[0].key == kB && !deed.gives_back ? Fate{answered, ""} : Fate{};
    };
    const nanoseconds start = world.now;
    world.check_all(limits(kA, "5/s", 2, kB, "3/s", 1, kDeny, kDeny), 7ms);
    world.check_all(limits(kA, "5/s", 1, kC, "3/s", 1, kDeny, kDeny), 7ms);
    world.run(50ms);
    EXPECT_EQ(world.took(1), "by 1: denied for 1000000us (timeout)");
    EXPECT_EQ(world.requests[1].told->at - start, 7ms);
    EXPECT_EQ(world.took(2), "by 0: allowed 2");
    world.expect_all_told();
  }
}

// What was charged for nobody is given back, and may come late, or never: no key ever admits more than it
// promises over all processes.
TEST(SharedStore, several_limits_across_slots_keep_each_promise) {
  std::mt19937_64 random(seed());
  const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };
  std::size_t given_back = 0, allowed = 0;
  for (int trace = 0; trace < 120; ++trace) {
    Habits habits;
    habits.on_error = kDeny;
    habits.deadline = 20ms;
    World world(kCluster, habits, 3);
    world.redis.ahead += std::chrono::microseconds{upto(10'000'000)};
    const std::uint64_t slow = random() % 2 == 0 ? 3000 : 300;
    world.latency = [&] { return std::chrono::microseconds{1 + upto(slow)}; };
    const std::uint64_t troubles = random() % 2 == 0 ? 0 : 10;
    world.fate = [&](const Deed& deed) {
      if (random() % 100 >= troubles) return Fate{};
      return deed.gives_back || random() % 2 == 0 ? kNothing : Fate{true, ""};
    };
    std::vector<Limit> all;
    for (const std::string& key : {kA, kB, kC}) {
      const Quota quota = Quota::make({1, std::chrono::microseconds{100 + upto(2000)}},
                                      1 + static_cast<std::int64_t>(upto(9)))
                              .value();
      all.push_back({core::Rule{quota}, key, Cost{1}, kDeny});
    }
    for (int i = 0; i < 150; ++i) {
      world.run(std::chrono::microseconds{random() % 3 == 0 ? upto(1000) : 0});
      std::vector<Limit> some;
      for (Limit limit : all) {
        limit.cost.units = 1 + upto(2) % static_cast<std::uint64_t>(limit.rule.quota.burst());
        if (random() % 3 != 0) some.push_back(limit);
      }
      if (some.size() > 1) world.check_all(some, 20ms, upto(2));
      const Limit& one = all[upto(2)];
      if (random() % 4 == 0) world.check(one.rule, one.key, 1, {}, upto(2));
    }
    world.run(1s);
    world.expect_all_told();
    for (const Limit& limit : all) {
      const nanoseconds T = limit.rule.quota.emission_interval();
      nanoseconds sum{0}, last{0};
      for (const Deed& deed : world.deeds) {
        if (!deed.ran || deed.parts[0].key != limit.key) continue;
        given_back += deed.gives_back ? 1 : 0;
        if (deed.gives_back || !deed.allowed) continue;
        ASSERT_NE(deed.asker, 0U);
        const Outcome& outcome = world.requests[deed.asker].told->outcome;
        if (outcome.cause != Cause::none || !outcome.decision.allowed()) continue;
        ++allowed;
        sum = std::max(nanoseconds{0}, sum - (deed.at - last)) +
              T * static_cast<std::int64_t>(deed.parts[0].cost.units);
        last = deed.at;
        ASSERT_LE(sum, T * limit.rule.quota.burst()) << "trace " << trace;
      }
    }
    // Each that was charged for nobody is given back once, and nothing else is.
    std::map<std::pair<std::size_t, std::string>, int> owed;
    for (const Deed& deed : world.deeds) {
      if (deed.gives_back || deed.asker == 0 || world.requests[deed.asker].limits.empty()) continue;
      const Outcome& outcome = world.requests[deed.asker].told->outcome;
      if (deed.allowed && !outcome.decision.allowed() && troubles == 0)
        ++owed[{deed.process, deed.parts[0].key}];
    }
    for (const Deed& deed : world.deeds) {
      if (deed.gives_back && troubles == 0) --owed[{deed.process, deed.parts[0].key}];
    }
    for (const auto& [what, count] : owed)
      EXPECT_EQ(count, 0) << "process " << what.first << " " << what.second;
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "trace " << trace;
  }
  EXPECT_GT(given_back, 500U);
  EXPECT_GT(allowed, 1000U);
}

// ------------------------------------------------------------------------------------------------- resets

// A check sent before a reset and answered after it, and one sent after it, before it is answered: neither is
// told what was decided before it, unless by a question that was already under way.
TEST(SharedStore, a_reset_while_a_denial_is_on_its_way_is_not_forgotten) {
  for (const bool merge : {false, true}) {
    World world(kOne);
    const core::Rule one = rule("1/s");
    world.check(one, "k");
    world.run(1ms);
    world.check(one, "k", 1, {.merge = merge});
    world.check(one, "k", 1, {.merge = merge});
    world.run(50us);
    world.reset("k");
    world.check(one, "k", 1, {.merge = merge});
    world.run(1ms);
    const Line expected = {"denied for 999000us", merge ? "allowed 0" : "denied for 999000us",
                           merge ? "denied for 1000000us" : "allowed 0"};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(world.took(i + 2), expected[i]) << merge << i;
    EXPECT_EQ(world.resets, (std::vector<std::optional<std::int64_t>>{1}));
    world.expect_all_told();
  }
}

TEST(SharedStore, a_reset_while_a_lease_is_on_its_way_is_not_forgotten) {
  World world(kOne);
  const core::Rule nine = rule("9/s");
  world.check(nine, "k", 1, {.lease = 5});
  world.check(nine, "k", 1, {.lease = 5});
  world.run(50us);
  world.reset("k");
  world.check(nine, "k", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k 5 | DEL k | 2 x k");
  EXPECT_EQ(world.took(1), "allowed 8");
  EXPECT_EQ(world.took(2), "allowed 8");
  EXPECT_EQ(world.took(3), "allowed 7");
  EXPECT_EQ(world.store().counters().leased, 0U);
}

// Not from its answer on: from the moment that it is asked for.
TEST(SharedStore, what_is_asked_behind_a_reset_does_not_recall_what_was_before_it) {
  World world(kOne);
  world.check(rule("1/s"), "k", 1);
  world.check(rule("1/s"), "k", 1);
  world.check(rule("9/s"), "leased", 1, {.lease = 5});
  world.run(1ms);
  world.asked();
  world.reset("k");
  world.reset("leased");
  const std::size_t denied = world.check(rule("1/s"), "k", 1);
  const std::size_t leased = world.check(rule("9/s"), "leased", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "DEL k | DEL leased | k | leased 5");
  EXPECT_EQ(world.took(denied), "allowed 0");
  EXPECT_EQ(world.took(leased), "allowed 8");
}

// Two event loops of one process: what one has had reset, or has given back, the other does not remember.
TEST(SharedStore, a_reset_by_another_event_loop_is_not_forgotten) {
  World world(kOne);
  world.add(kOne, {}, world.home_of(0));
  world.run(1ms);
  world.check(rule("1/s"), "k");
  world.check(rule("1/s"), "k");
  world.check(rule("9/s"), "leased", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.took(2), "denied for 1000000us");
  EXPECT_EQ(world.took(world.check(rule("1/s"), "k")), "denied for 999200us");
  world.reset("k", 1);
  world.reset("leased", 1);
  world.run(1ms);
  world.asked();
  world.check(rule("1/s"), "k");
  world.check(rule("9/s"), "leased", 1, {.lease = 5});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | leased 5");
  EXPECT_EQ(world.took(5), "allowed 0");
}

// Nor one that was asked for when the reset was on its way.
TEST(SharedStore, a_denial_that_overtakes_a_reset_by_another_event_loop_is_not_remembered) {
  World world(kOne);
  world.add(kOne, {}, world.home_of(0));
  world.run(1ms);
  world.check(rule("1/s"), "k");
  world.run(1ms);
  world.latency = [] { return 1ms; };
  world.reset("k", 1);
  world.latency = [] { return 100us; };
  world.check(rule("1/s"), "k");
  world.run(5ms);
  EXPECT_EQ(world.asked(), "k | k | DEL k");
  EXPECT_EQ(world.took(2), "denied for 999000us");
  const std::size_t after = world.check(rule("1/s"), "k");
  world.run(1ms);
  EXPECT_EQ(world.took(after), "allowed 0");
}

// Not even when it was asked before the reset and answered after it.
TEST(SharedStore, a_denial_that_a_reset_by_another_event_loop_overtakes_is_not_remembered) {
  for (const bool all : {false, true}) {
    World world(kOne);
    world.add(kOne, {}, world.home_of(0));
    world.run(1ms);
    world.check(rule("1/s"), "k");
    world.run(1ms);
    nanoseconds way = 100us;
    world.latency = [&way] { return way; };
    world.fate = [&way](const Deed& deed) {
      way = deed.process == 0 ? 10ms : 100us;  // its answer
      return Fate{};
    };
    if (all) {
      world.check_all(limits("l", "9/s", 1, "k", "1/s", 1));
    } else {
      world.check(rule("1/s"), "k");
    }
    world.run(500us);
    way = 100us;
    world.reset("k", 1);
    world.run(20ms);
    EXPECT_EQ(world.resets.size(), 1U);
    EXPECT_EQ(world.took(2), all ? "by 1: denied for 999000us" : "denied for 999000us");
    world.fate = [](const Deed&) { return Fate{}; };
    const std::size_t after = world.check(rule("1/s"), "k");
    world.run(30ms);
    EXPECT_EQ(world.took(after), "allowed 0");
  }
}

TEST(SharedStore, a_denial_for_what_is_given_back_is_not_remembered) {
  World world(kCluster);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kB ? says("-OOM no") : Fate{}; };
  world.check_all(limits(kA, "1/s", 1, kB, "1/s", 1, kDeny, kDeny));
  world.check(rule("1/s"), kA);
  world.run(10ms);
  EXPECT_EQ(world.took(1), "by 1: denied for 1000000us (oom)");
  EXPECT_EQ(world.took(2), "denied for 1000000us");
  const std::size_t after = world.check(rule("1/s"), kA);
  world.run(10ms);
  EXPECT_EQ(world.took(after), "allowed 0");
}

TEST(SharedStore, a_reset_that_nobody_answers_says_so) {
  World world(kOne);
  world.reset("nobody");
  world.run(1ms);
  world.fate = [](const Deed&) { return says("-NOPERM no"); };
  world.reset("k");
  world.run(1ms);
  world.fate = [](const Deed&) { return kNothing; };
  world.reset("k");
  world.run(60ms);
  EXPECT_EQ(world.resets, (std::vector<std::optional<std::int64_t>>{0, std::nullopt, std::nullopt}));
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::auth)], 1U);
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::timeout)], 1U);
  EXPECT_TRUE(world.empty());
}

// ---------------------------------------------------------------------------------------- what a store owes

// The calls of a batch leave in one write, and the owner of the sockets is told once how many there are.
TEST(SharedStore, a_batch_leaves_in_one_write) {
  World world(kOne);
  world.wakes().clear();
  world.check_batch(rule("9/s"), {"a", "b", "a", "c"});
  EXPECT_EQ(world.wakes(), (std::vector<std::size_t>{4}));
  world.run(1ms);
  EXPECT_EQ(world.asked(), "a | b | a | c");
  EXPECT_EQ(world.took(3), "allowed 7");
  world.expect_all_told();
}

TEST(SharedStore, a_reset_of_many_keys_is_one_command_for_each_slot) {
  for (const bool cluster : {false, true}) {
    World world(cluster ? kCluster : kOne);
    for (const std::string key : {"{t}1", "{t}2", kA.c_str(), kB.c_str()}) world.check(rule("9/s"), key);
    world.run(1ms);
    world.asked();
    world.reset(Line{"{t}1", kA, "{t}2", "{t}none", kB, "{t}1"});
    world.run(1ms);
    const std::string asked = world.asked();
    EXPECT_EQ(std::count(asked.begin(), asked.end(), '|'), cluster ? 2 : 0) << asked;
    EXPECT_NE(asked.find("{t}2 + {t}none"), std::string::npos) << asked;
    EXPECT_EQ(world.resets, (std::vector<std::optional<std::int64_t>>{4}));
    EXPECT_TRUE(world.empty());
  }
}

TEST(SharedStore, a_reset_that_fails_in_one_slot_says_so) {
  World world(kCluster);
  world.check(rule("9/s"), kA);
  world.run(1ms);
  world.fate = [](const Deed& deed) { return deed.parts[0].key == kB ? says("-OOM no") : Fate{}; };
  world.reset(Line{kA, kB, kC});
  world.run(1ms);
  EXPECT_EQ(world.resets, (std::vector<std::optional<std::int64_t>>{std::nullopt}));
  EXPECT_EQ(world.redis.owed(kA, rule("9/s"), world.now), 0);
  EXPECT_EQ(world.store().counters().failures[static_cast<std::size_t>(Cause::oom)], 1U);
  EXPECT_TRUE(world.empty());
}

TEST(SharedStore, limits_with_an_id_have_states_of_their_own) {
  World world(kOne);
  EXPECT_EQ(world.took(world.check(rule("1/s"), "k")), "nothing yet");
  for (const std::uint32_t id : {1U, 2U, 11U}) world.check(rule("1/s"), "k", 1, {.id = id});
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | limit#1:k | limit#2:k | limit#11:k");
  for (std::size_t id = 1; id <= 4; ++id) EXPECT_EQ(world.took(id), "allowed 0");
  // What is remembered of one says nothing of another.
  world.check(rule("1/s"), "k", 1, {.id = 1});
  world.run(1ms);
  EXPECT_TRUE(world.took(world.check(rule("1/s"), "k", 1, {.id = 1})).starts_with("denied"));
  const std::size_t other = world.check(rule("1/s"), "k", 1, {.id = 3});
  world.run(1ms);
  EXPECT_EQ(world.took(other), "allowed 0");
}

TEST(SharedStore, what_was_charged_is_given_back_as_far_as_it_is_owed) {
  struct Row {
    const char* rule;
    std::uint64_t cost;
    nanoseconds after;
    const char* asked;
    std::int64_t owed;
  };
  for (const Row& row :
       {Row{"5/5s", 3, 0s, "back k 3", 0}, Row{"5/5s", 3, 1s, "back k 3", 0}, Row{"5/5s", 6, 0s, "", 0},
        Row{"5/5s", 0, 0s, "", 0}, Row{"5/5s algorithm=fixed_window", 3, 0s, "", 0}}) {
    World world(kOne);
    const std::size_t id = world.check(rule(row.rule), "k", row.cost);
    world.run(1ms);
    world.asked();
    world.run(row.after);
    world.give_back(id);
    world.run(1ms);
    EXPECT_EQ(world.asked(), row.asked) << row.rule << " " << row.cost;
    if (rule(row.rule).algorithm == Algorithm::gcra) {
      EXPECT_EQ(world.redis.owed("k", rule(row.rule), world.now), row.owed) << row.cost;
    }
  }
}

// What others were admitted for meanwhile stays: of 3 units charged 2 s ago one has not drained.
TEST(SharedStore, what_has_drained_is_not_given_back) {
  World world(kOne);
  const std::size_t id = world.check(rule("5/5s"), "k", 3);
  world.run(2s);
  world.check(rule("5/5s"), "k", 4);
  world.run(1ms);
  EXPECT_EQ(world.took(2), "allowed 0");
  world.give_back(id);
  world.run(1ms);
  const std::size_t look = world.check(rule("5/5s"), "k", 0);
  world.run(1ms);
  EXPECT_EQ(world.took(look), "allowed 1");
}

TEST(SharedStore, all_of_several_limits_are_given_back) {
  World world(kCluster);
  const std::size_t id = world.check_all(limits(kA, "5/5s", 2, kB, "9/9s", 3));
  world.run(1ms);
  world.give_back(id);
  world.run(1ms);
  EXPECT_EQ(world.asked(), kA + " 2 | " + kB + " 3 | back " + kA + " 2 | back " + kB + " 3");
  EXPECT_EQ(world.redis.owed(kA, rule("5/5s"), world.now), 0);
  EXPECT_EQ(world.redis.owed(kB, rule("9/9s"), world.now), 0);
}

TEST(SharedStore, what_the_fallback_charged_goes_back_to_it) {
  World world(kOne);
  world.down = {"a"};
  world.break_connections("a");
  const std::size_t one = world.check(rule("5/5s"), "k", 3);
  EXPECT_EQ(world.requests[one].told->source, Source::fallback);
  const std::size_t two = world.check_all(limits("k", "5/5s", 1, "l", "9/9s", 4));
  world.give_back(one);
  EXPECT_EQ(world.took(world.check(rule("5/5s"), "k", 0)), "allowed 4 (connection)");
  world.give_back(two);
  EXPECT_EQ(world.took(world.check(rule("5/5s"), "k", 0)), "allowed 5 (connection)");
  EXPECT_EQ(world.took(world.check(rule("9/9s"), "l", 0)), "allowed 9 (connection)");
  const std::size_t uncounted = world.check(rule("5/5s"), "k", 3, {.on_error = kAllow});
  world.give_back(uncounted);
  EXPECT_EQ(world.took(world.check(rule("5/5s"), "k", 0)), "allowed 5 (connection)");
  EXPECT_EQ(world.asked(), "");
}

// One slot is decided by Redis and the other here: what goes back is what the decider charged, on its clock.
TEST(SharedStore, of_a_request_charged_in_both_places_one_part_is_given_back) {
  for (const bool fallback_decides : {false, true}) {
    World world(kCluster);
    world.fate = [](const Deed& deed) { return deed.parts[0].key == kB ? says("-OOM no") : Fate{}; };
    const std::size_t id =
        world.check_all(limits(kA, "9/9s", 1, kB, fallback_decides ? "5/5s" : "99/99s", 1));
    world.run(1ms);
    EXPECT_EQ(world.requests[id].told->source, fallback_decides ? Source::fallback : Source::store);
    world.give_back(id);
    world.run(1ms);
    EXPECT_EQ(world.redis.owed(kA, rule("9/9s"), world.now), fallback_decides ? 1 : 0);
    const std::size_t look = world.check(rule(fallback_decides ? "5/5s" : "99/99s"), kB, 0);
    world.run(1ms);
    EXPECT_EQ(world.took(look), fallback_decides ? "allowed 5 (oom)" : "allowed 98 (oom)");
  }
}

TEST(SharedStore, who_decided_is_told) {
  World world(kOne);
  world.check(rule("1/s"), "k");
  world.check(rule("1/s"), "k");
  world.check(rule("9/s"), "l", 1, {.lease = 5});
  world.run(1ms);
  const std::size_t remembered = world.check(rule("1/s"), "k");
  const std::size_t leased = world.check(rule("9/s"), "l", 1, {.lease = 5});
  EXPECT_EQ(world.requests[1].told->source, Source::store);
  EXPECT_EQ(world.requests[remembered].told->source, Source::remembered);
  EXPECT_EQ(world.requests[leased].told->source, Source::leased);
  world.give_back(leased);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | k | l 5 | back l");
}

// ------------------------------------------------------------------------------------------------- cancel

TEST(SharedStore, a_cancelled_check_is_charged_and_not_answered) {
  World world(kOne);
  const std::size_t id = world.check(rule("9/9s"), "k", 2);
  world.cancel(id);
  world.run(1ms);
  EXPECT_EQ(world.took(id), "nothing yet");
  EXPECT_EQ(world.redis.owed("k", rule("9/9s"), world.now), 2);
  world.expect_all_told();
}

TEST(SharedStore, a_cancelled_check_that_waits_is_not_asked) {
  World world(kOne, merging());
  for (int i = 0; i < 4; ++i) world.check(rule("9/s"), "k");
  world.cancel(3);
  world.run(1ms);
  EXPECT_EQ(world.asked(), "k | 2 x k");
  EXPECT_EQ(world.took(3), "nothing yet");
  world.expect_all_told();
}

// Neither is the fallback charged for a request that nothing waits for.
TEST(SharedStore, a_cancelled_check_that_fails_charges_nothing_here) {
  World world(kOne);
  world.fate = [](const Deed&) { return says("-OOM no"); };
  world.cancel(world.check(rule("9/s"), "k", 2));
  world.cancel(world.check_all(limits("k", "9/s", 1, "l", "9/s", 1)));
  world.run(1ms);
  const std::size_t look = world.check(rule("9/s"), "k", 0);
  world.run(1ms);
  EXPECT_EQ(world.took(look), "allowed 9 (oom)");
  EXPECT_EQ(world.store().counters().fallbacks, 1U);
  world.expect_all_told();
}

// What one slot charged for a cancelled request goes back when another refuses, or fails.
TEST(SharedStore, a_cancelled_request_of_several_is_still_all_or_none) {
  struct Row {
    std::uint64_t cost_b;
    Fate fate_b;
    std::int64_t owed_a;
  };
  for (const Row& row : {Row{1, {}, 3}, Row{3, {}, 0}, Row{1, says("-OOM no"), 0}}) {
    World world(kCluster);
    world.fate = [&row](const Deed& deed) { return deed.parts[0].key == kB ? row.fate_b : Fate{}; };
    world.cancel(world.check_all(limits(kA, "5/10s", 3, kB, "2/10s", row.cost_b)));
    world.run(10ms);
    EXPECT_EQ(world.redis.owed(kA, rule("5/10s"), world.now), row.owed_a);
    world.expect_all_told();
  }
}

TEST(SharedStore, two_checks_of_one_key_and_limit_are_refused) {
  World world(kOne);
  EXPECT_EQ(world.took(world.check_all(limits("k", "9/s", 1, "k", "5/s", 1))),
            "by 1: two checks of a request have the same limit and key");
  EXPECT_EQ(world.asked(), "");
}

}  // namespace
}  // namespace weir::redis
