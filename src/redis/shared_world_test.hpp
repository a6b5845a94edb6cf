// For tests: SharedStore over a simulated Redis, with a clock that is set and commands that take their time
// both ways. Several processes may share the Redis. Nodes may take time for a command, and pause; processes
// may sleep, and their clocks step forward.
//
// Not for: what is said on a single connection (world_test.hpp).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "redis/asked_request_test.hpp"
#include "redis/script.hpp"
#include "redis/shared_store.hpp"
#include "redis/simulated_redis_test.hpp"
#include "redis/slot.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::redis {

// Of a cluster's three; see SharedWorld::map.
inline std::string host_of(const std::string& key) {
  return slot_of(key) <= 5460 ? "a" : slot_of(key) <= 10922 ? "b" : "c";
}

// What a Redis does with a command, instead of running and answering it.
struct Fate {
  bool runs = true;
  const char* says = nullptr;  // empty: nothing, nor to what comes after
  bool loses_answer = false;   // and answers what comes after, which nothing real does
};
inline const Fate kNothing{false, ""};
inline Fate says(const char* text) { return {false, text}; }

class SharedWorld {
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
    nanoseconds due;  // on the clock of the process
    bool waited;      // nothing was sent for it at once
    std::vector<Limit> limits{};
    std::optional<Told> told{};
    bool cancelled = false;
  };
  // So that what happens can be repeated: hashes and jitter too.
  const core::Random random = [made = std::uint64_t{0}]() mutable { return core::HashKey{++made, 2}; };

  // What threads of one process share.
  struct Home {
    explicit Home(const core::Random& random)
        : local(store::Table::kLeastBytes, WhenFull::deny, random(), store::Reservations::kMemory, random) {}
    store::EmbeddedStore local;
    ProcessMemory memory{DenialMemory::kBytes, {1, 2}};
  };

  explicit SharedWorld(const std::string& url, Habits habits = {}, std::size_t processes = 1) {
    cluster = url.starts_with("redis+cluster");
    requests.resize(1, {0, rule("1/s"), "", Cost{0}, 0s, 0s, false});
    deeds.resize(1);
    for (std::size_t i = 0; i < processes; ++i) add(url, habits, std::make_shared<Home>(random));
    run(10ms);
  }
  SharedWorld(const SharedWorld&) = delete;
  SharedWorld& operator=(const SharedWorld&) = delete;

  void add(const std::string& url, Habits habits, std::shared_ptr<Home> home) {
    habits.random = random;
    processes_.push_back(std::make_unique<Process>(processes_.size(), url, habits, std::move(home), now));
    processes_.back()->store.client().start(now);
    settle(*processes_.back());
  }

  // What is asked. Requests count from 1.
  std::size_t check(const core::Rule& rule, const std::string& key, std::uint64_t cost = 1,
                    Choices choices = {}, std::size_t process = 0) {
    Process& p = *processes_[process];
    const std::size_t id = requests.size();
    const nanoseconds patience = choices.deadline.value_or(p.habits.deadline);
    requests.push_back({process, rule, key, Cost{cost}, now, p.time() + patience, false});
    AskedRequest& question = ask(id);
    question.add({.rule = rule,
                  .id = choices.id,
                  .name = name_of_limit(choices.id),
                  .on_store_error = choices.on_error.value_or(p.habits.on_error),
                  .sharing = {.lease = choices.lease,
                              .lease_for = choices.lease_for,
                              .merge = choices.merge || p.habits.merge}},
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
  std::size_t check_all(std::vector<Limit> limits, nanoseconds deadline = 50ms, std::size_t process = 0,
                        store::Verb verb = store::Verb::check) {
    Process& p = *processes_[process];
    const std::size_t id = requests.size();
    requests.push_back({process, rule("1/s"), "", Cost{0}, now, p.time() + deadline, false, limits});
    AskedRequest& question = ask(id);
    for (const Limit& limit : limits) {
      question.add({.rule = limit.rule,
                    .on_store_error = limit.on_error,
                    .local_share = limit.local_share,
                    .sharing = {.lease = limit.lease}},
                   limit.key, limit.cost);
      question.list.back().shadow = limit.shadow;
      question.list.back().inside = limit.inside;
    }
    question.verb = verb;
    question.patience = deadline;
    act_inside(p, id, [&] { submit(p, question); });
    return id;
  }
  void reset(const std::string& key, std::size_t process = 0) { reset(Strings{key}, process); }
  void reset(const Strings& keys, std::size_t process = 0) {
    Process& p = *processes_[process];
    AskedRequest& question = ask(0);
    question.verb = store::Verb::reset;
    for (const std::string& key : keys) question.add({.rule = rule("1/s")}, key, Cost{});
    act_inside(p, 0, [&] { submit(p, question); });
  }
  // Several requests of one check each, in one batch.
  void check_batch(const core::Rule& rule, const Strings& keys) {
    Process& p = *processes_[0];
    std::vector<store::Request*> batch;
    for (const std::string& key : keys) {
      const std::size_t id = requests.size();
      requests.push_back({0, rule, key, Cost{1}, now, now + p.habits.deadline, false});
      AskedRequest& question = ask(id);
      question.add({.rule = rule}, key, Cost{1});
      question.checks = question.list;
      batch.push_back(&question);
    }
    act_inside(p, 0, [&] { p.store.submit(batch, {now, now}); });
  }
  // A request that the test keeps.
  void submit(store::Request& request, std::size_t process = 0) {
    Process& p = *processes_[process];
    store::Request* const batch[] = {&request};
    act_inside(p, 0, [&] { p.store.submit(batch, {p.time(), p.time()}); });
  }
  void cancel(std::size_t id) {
    AskedRequest& question = question_of(id);
    processes_[requests[id].process]->store.cancel(question);
    EXPECT_EQ(question.state, store::Request::State::idle);
    EXPECT_EQ(question.ticket, nullptr);
    requests[id].cancelled = true;
  }
  void give_back(std::size_t id) {
    AskedRequest& question = question_of(id);
    Process& p = *processes_[requests[id].process];
    question.remember();
    act_inside(p, 0, [&] { p.store.give_back(question, p.time()); });
  }

  void end_leases(std::size_t process, bool all) {
    Process& p = *processes_[process];
    act_inside(p, 0, [&] { p.store.end_leases(all); });
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
        when_awake(*p, [this, &its = *p, node, &connection, generation = ++connection.generation] {
          if (connection.generation != generation) return;
          happen(its, [&] { its.store.client().failed(node, "reset by peer", its.time()); });
        });
      }
    }
  }
  // A node runs no command for so long; those that come wait.
  void pause(const std::string& host, nanoseconds time) {
    nodes_[host].free_at = std::max(nodes_[host].free_at, now + time);
  }
  // A process does nothing for so long; then it hears what has come, or sees first what is due.
  void sleep(std::size_t process, nanoseconds time, bool hears_first) {
    Process& p = *processes_[process];
    p.asleep_until = now + time;
    p.deaf_until = p.asleep_until + (hears_first ? 0ns : 1ns);
    p.jumped_at = std::max(p.jumped_at, now + time + 1ns);
  }
  bool asleep(std::size_t process) const { return processes_[process]->deaf_until > now; }
  // The clock of a process jumps ahead.
  void step(std::size_t process, nanoseconds time) {
    Process& p = *processes_[process];
    p.ahead += time;
    p.jumped_at = std::max(p.jumped_at, now);
  }
  nanoseconds time_of(std::size_t process) const { return processes_[process]->time(); }
  // The world's clock: what was due before could not be done before.
  nanoseconds jumped_at(std::size_t process) const { return processes_[process]->jumped_at; }
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
      if (deed.name != "EVALSHA") text += deed.name + " ";
      if (deed.gives_back) text += "back ";
      if (deed.times > 0) text += std::to_string(deed.times) + " x ";
      for (const Deed::Part& part : deed.parts) {
        text += (&part == deed.parts.data() ? "" : " + ") + part.key;
        if (part.cost.units > 1) text += " " + std::to_string(part.cost.units);
      }
    }
    return text;
  }
  const AskedRequest& question(std::size_t id) const { return *by_id_.at(id); }
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

  nanoseconds now = 1000s;  // of all processes whose clock has not stepped
  std::uint64_t happened = 0;
  SimulatedRedis redis;
  std::string map = slots({{0, 5460, "a"}, {5461, 10922, "b"}, {10923, 16383, "c"}});
  bool cluster = false;
  std::set<std::string> down;
  std::function<nanoseconds()> latency = [] { return 100us; };
  std::function<nanoseconds()> work = [] { return 0ns; };  // that a node takes for a command
  std::function<Fate(const Deed&)> fate = [](const Deed&) { return Fate{}; };
  std::function<void(std::size_t id)> on_told = [](std::size_t) {};
  std::function<void(const Deed&)> on_delivering = [](const Deed&) {};
  std::function<void(const Deed&, const std::vector<std::size_t>& told)> on_delivered =
      [](const Deed&, const std::vector<std::size_t>&) {};
  std::vector<Request> requests;
  std::vector<Deed> deeds;  // the calls
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
  struct Node {
    nanoseconds free_at{0};
    std::deque<std::function<void()>> line;
  };
  struct Process {
    Process(std::size_t index, const std::string& url, const Habits& its_habits, std::shared_ptr<Home> shared,
            const nanoseconds& world)
        : now(world),
          home(std::move(shared)),
          habits(its_habits),
          store(Endpoint::parse(url).value(), habits, home->local, home->memory, [this] { return time(); }),
          number(index) {
      store.on_work([this](std::size_t calls) {
        woken = true;
        wakes.push_back(calls);
      });
    }
    nanoseconds time() const { return now + ahead; }
    const nanoseconds& now;
    nanoseconds ahead{0};         // its clock, of the world's
    nanoseconds asleep_until{0};  // the world's clock
    nanoseconds deaf_until{0};
    nanoseconds jumped_at{0};
    std::shared_ptr<Home> home;
    Habits habits;
    SharedStore store;
    std::size_t number;
    std::map<Client::NodeId, Connection> connections;
    bool woken = false;
    std::vector<std::size_t> wakes;  // calls each
    bool busy = false;               // in the midst of the client: it may be asked more, and nothing else
  };

  AskedRequest& question_of(std::size_t id) { return *by_id_.at(id); }

  AskedRequest& ask(std::size_t id) {
    AskedRequest& question =
        questions_.emplace_back(id, [this](const AskedRequest& answered) { tell(answered); });
    by_id_[id] = &question;
    return question;
  }

  void submit(Process& p, AskedRequest& question) {
    question.checks = question.list;
    store::Request* const batch[] = {&question};
    p.store.submit(batch, {p.time(), p.time()});
    question.forget();
    if (question.state == store::Request::State::answered) tell(question);
  }

  void tell(const AskedRequest& question) {
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
      // next_tick() may be the end of time.
      const nanoseconds tick =
          std::max(std::max(p->time(), p->store.client().next_tick()) - p->ahead, p->asleep_until);
      if (tick < next) {
        next = tick;
        who = p.get();
      }
    }
    if (next > until) return false;
    ++happened;
    now = next;
    if (who != nullptr) {
      happen(*who, [&] { who->store.client().tick(who->time()); });
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
        when_awake(p, [this, &p, &connection, node, generation] {
          if (connection.generation != generation) return;
          connection.open = !down.contains(connection.host);
          happen(p, [&] {
            if (connection.open) {
              p.store.client().connected(node, p.time());
            } else {
              p.store.client().failed(node, "refused", p.time());
            }
          });
        });
      });
    } else {
      connection.wire += p.store.client().take_output(node);
      while (!connection.wire.empty()) {
        Deed deed = read_deed(take_command(connection.wire));
        deed.process = p.number;
        deed.asker = asker_;
        connection.arrived = std::max(connection.arrived, now + latency());
        later(connection.arrived - now,
              [this, &p, &connection, node, deed, generation = connection.generation] {
                take_turn(connection.host, [this, &p, &connection, node, deed, generation] {
                  arrive(p, connection, node, deed, generation);
                });
              });
      }
    }
  }

  void arrive(Process& p, Connection& connection, Client::NodeId node, Deed deed, int generation) {
    const bool greets = deed.parts.empty();
    std::string answer = greets ? redis.answer(deed.words, map, now) : "";
    std::size_t number = 0;
    bool lost = false;
    if (!greets) {
      for (const Deed::Part& part : deed.parts) EXPECT_TRUE(!cluster || host_of(part.key) == connection.host);
      const Fate f = fate(deed);
      deed.at = now;
      if (f.runs) answer = redis.carry_out(deed, now);
      if (f.says != nullptr) answer = f.says + std::string(*f.says == 0 ? "" : "\r\n");
      deed.ran = f.runs;
      lost = f.loses_answer;
      number = deeds.size();
      deeds.push_back(deed);
    }
    if (connection.generation != generation || lost) return;
    // Nothing is answered after what is not: answers are told by their order.
    connection.silent = connection.silent || answer.empty();
    if (connection.silent) return;
    connection.answered = std::max(connection.answered, now + latency());
    later(connection.answered - now, [this, &p, &connection, node, answer, number, generation] {
      when_awake(p, [this, &p, &connection, node, answer, number, generation] {
        if (connection.generation != generation) return;
        happen(p, [&] {
          if (number != 0) on_delivering(deeds[number]);
          delivering_ = number;
          p.store.client().received(node, answer, p.time());
          delivering_ = 0;
        });
        const std::vector<std::size_t> told = std::exchange(told_, {});
        if (number != 0) on_delivered(deeds[number], told);
      });
    });
  }

  template <class Act>
  void when_awake(const Process& p, Act act) {
    if (p.deaf_until <= now) return act();
    later(p.deaf_until - now, [this, &p, act] { when_awake(p, act); });
  }

  // A node does one thing after another.
  void take_turn(const std::string& host, std::function<void()> what) {
    Node& node = nodes_[host];
    node.line.push_back(std::move(what));
    if (node.line.size() == 1) serve(node);
  }
  void serve(Node& node) {
    for (; !node.line.empty() && node.free_at <= now; node.line.pop_front()) {
      node.free_at = now + work();
      node.line.front()();
    }
    if (!node.line.empty()) later(node.free_at - now, [this, &node] { serve(node); });
  }

  std::deque<AskedRequest> questions_;
  std::unordered_map<std::size_t, AskedRequest*> by_id_;
  std::map<std::string, Node> nodes_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::multimap<nanoseconds, std::function<void()>> events_;
  std::vector<std::size_t> told_;  // during this delivery
  std::size_t delivering_ = 0;
  std::size_t asker_ = 0;
  std::size_t listed_ = 1;
};

// Keys in Redis are named as they are asked for.
inline constexpr const char* kOne = "redis://a?prefix=";
inline constexpr const char* kCluster = "redis+cluster://a,b,c?prefix=";

inline Habits merging() {
  Habits habits;
  habits.merge = true;
  return habits;
}

// A key of that host's.
inline std::string on(const std::string& host, const std::string& name) {
  for (int i = 0;; ++i) {
    const std::string key = name + std::to_string(i);
    if (host_of(key) == host) return key;
  }
}
inline const std::string kA = on("a", "a"), kB = on("b", "b"), kC = on("c", "c");
inline constexpr OnStoreError kLocal = OnStoreError::local, kAllow = OnStoreError::allow,
                              kDeny = OnStoreError::deny;

inline std::vector<Limit> limits(const std::string& key_of_a, const std::string& rule_of_a,
                                 std::uint64_t cost_of_a, const std::string& key_of_b,
                                 const std::string& rule_of_b, std::uint64_t cost_of_b,
                                 OnStoreError on_error_of_a = kLocal, OnStoreError on_error_of_b = kLocal) {
  return {{rule(rule_of_a), key_of_a, Cost{cost_of_a}, on_error_of_a},
          {rule(rule_of_b), key_of_b, Cost{cost_of_b}, on_error_of_b}};
}

}  // namespace weir::redis
