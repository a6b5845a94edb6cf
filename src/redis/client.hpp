// The conversation with a Redis or Valkey, single, Sentinel or Cluster, without a socket: events in, actions
// out.
//
// The owner of the sockets (sockets.hpp; a simulation in tests) tells what happened and carries out what is
// wanted. Here are greeting, pipelining, EVALSHA with one reload, MOVED and ASK, deadlines, and when to try a
// dead node again; where a call goes, and which node knows, is the Topology's.
//
// What is safe: only calls that Redis reports as not run (NOSCRIPT, MOVED, ASK, TRYAGAIN) are sent again. A
// call without an answer by its deadline fails; its outcome is unknown, and it is not sent again. The answer
// is owed all the same: it is told from the next by its order, and dropped. The connection ends when nothing
// at all has come for as long as an answer may take, and all calls that were sent over it fail with it.
//
// No node is sent more than it answers in time (window.hpp). The rest waits here, by rank and then in order.
// Of the usual rank a call is passed over when it has less time left than an answer takes; it fails at its
// deadline, as `overload`: it was not sent. What waits is bounded by kMostBytes.
//
// The circuit breaker is the connection: a call for a node that has failed and is not up again fails at once,
// with the node's last cause, and the node is tried again after 10 to 600 ms, with jitter; the greeting,
// which needs an answer, is the probe. Only a node that was never tried lets its calls wait.
//
// One thread. The owner's clock is handed in; it must not go back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/histogram.hpp"
#include "redis/calls.hpp"
#include "redis/cause.hpp"
#include "redis/endpoint.hpp"
#include "redis/node.hpp"
#include "redis/topology.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::redis {

class Client {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  using NodeId = redis::NodeId;

  struct Result {
    Cause cause;
    std::string_view error;    // with a cause: what Redis said, or what happened; a view
    const resp::Value* value;  // without one; a view
  };
  // Called from inside the other members, call() too, once for each call, by the first tick() at or after
  // its deadline; it may make new calls and nothing else. The views end with it.
  using OnResult = std::function<void(std::uint64_t tag, const Result&)>;

  struct Action {
    enum class Kind : std::uint8_t { connect, close, write } kind;
    NodeId node;
    Address address;  // of connect
  };

  // `silence`: how long a node that owes an answer may say nothing, or as long as that answer may take.
  Client(Endpoint endpoint, std::string script, std::uint64_t seed, OnResult on_result,
         nanoseconds silence = std::chrono::milliseconds{50});

  // A script besides the first, loaded where Redis says that it does not know one. Before start().
  void also_load(std::string script) { more_scripts_.push_back(std::move(script)); }
  // How to read from an answer to a call when, by the node's clock, it was decided; nothing when it does not
  // say. Before start().
  void read_times(std::function<std::optional<nanoseconds>(const resp::Value&)> read) {
    read_time_ = std::move(read);
  }
  void start(nanoseconds now);
  // Sends `command`, whole RESP, to the node of the key's slot. `tag` comes back with the result. Nothing is
  // sent at or after the deadline.
  void call(std::uint64_t tag, std::uint16_t slot, std::string command, nanoseconds deadline, nanoseconds now,
            Rank rank = Rank::usual);

  // Asked before a call leaves that had to wait: whether anybody still waits for its result. If not it fails,
  // as `overload`.
  void ask_before_sending(std::function<bool(std::uint64_t tag)> wanted) { wanted_ = std::move(wanted); }
  // Whether a call for that slot would have to wait for others.
  bool busy(std::uint16_t slot) const;
  // How long the answer to a call of that slot may take if it is made now, as its node has answered of late.
  nanoseconds needed(std::uint16_t slot, nanoseconds patience, nanoseconds now) const;
  // tick() calls `ring` at that time, or soon after; it may make calls, and set the alarm again.
  void set_alarm(nanoseconds at) { alarm_ = at; }
  void on_alarm(std::function<void(nanoseconds now)> ring) { ring_ = std::move(ring); }

  // What happened to a node's connection, the one of the last `connect`; nothing is told of it after a
  // `close`. failed() too leads to a `close`, whether or not there is still a socket.
  void connected(NodeId node, nanoseconds now);
  void failed(NodeId node, std::string_view why, nanoseconds now);
  void received(NodeId node, std::string_view bytes, nanoseconds now);
  // Bytes have come that received() will be told of: the node is not silent.
  void heard(NodeId node, nanoseconds now);
  // To be called at next_tick() or soon after; next_tick() is later than `now` then. Any other member may
  // bring it forward, even into the past.
  void tick(nanoseconds now);
  nanoseconds next_tick() const;

  // What is to be done since the last call; a node to `write` has bytes in
  // take_output(). In order: bytes that are left when a `close` comes are gone.
  std::vector<Action> take_actions();
  // Bytes to send; the owner takes them away, and asks again after a write that took long. Empty unless the
  // node is connected.
  std::string take_output(NodeId node);

  // Whether calls can be answered: the master is up, or any of a cluster's that serves slots.
  bool ready() const { return topology_->ready(); }
  std::size_t open_calls() const { return calls_.open(); }
  struct Load {
    std::size_t under_way = 0;  // answers that are owed, to calls or not
    std::size_t waiting = 0;    // calls that have not been sent
  };
  Load load() const;
  // How many calls may be made now that their node sends or answers in time; of several nodes, the one with
  // the most room. Without a node that is up they need none.
  std::size_t room() const;
  // How long a bare round trip takes, to the node where it takes longest; 0: not known yet.
  nanoseconds round_trip() const;
  // Whether anything has failed since the start.
  bool has_failed() const { return last_error_ != kNotYet; }
  // What the last failure was, for people; one line, and never the password.
  const std::string& last_error() const { return last_error_; }
  // "noeviction" and so on, as it was at the last connection or a minute ago; of several nodes, that of one
  // that evicts. Empty when none has said.
  const std::string& eviction_policy() const { return eviction_policy_; }
  // Whether a node has the module redis-cell, to which the values that weir writes are fatal, and nothing
  // keeps their keys apart from those that the module is asked for.
  bool endangers_redis_cell() const { return endangers_redis_cell_; }
  struct Counters {
    std::uint64_t calls = 0;
    std::uint64_t connects = 0;
    std::uint64_t script_loads = 0;
    std::uint64_t redirects = 0;
    std::uint64_t refreshes = 0;
  };
  const Counters& counters() const { return counters_; }
  // How long answers to calls took, from when the call was handed to its connection; late ones too, and those
  // that say to ask again. Any thread may read it.
  const core::Histogram& took() const { return took_; }

 private:
  static constexpr int kMostHops = 16;
  static constexpr std::string_view kNoAnswer = "no answer by the deadline";
  static constexpr std::string_view kNotYet = "not connected yet";
  static constexpr nanoseconds kBusyFor = std::chrono::seconds{1};
  static constexpr std::string_view kNoRoom = "more is asked than is answered in time";
  // Of all calls that have no result: a call that would have to wait is not taken then.
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;

  // client.cpp: calls and answers.
  void place(std::uint32_t call, nanoseconds now);
  void place_unplaced(nanoseconds now);
  bool topology_may_come() const;
  void forward(std::uint32_t call, NodeId to, bool asking, nanoseconds now);
  void send(NodeId id, std::uint32_t call, bool asking, nanoseconds now);
  void send_waiting(NodeId id, nanoseconds now);
  void ask(NodeId id, Question::Kind kind, std::span<const std::string_view> words, nanoseconds now);
  void wants_write(NodeId id);
  void finish(std::uint32_t call, const Result& result);
  void answer(NodeId id, const Question& question, const resp::Value& value, nanoseconds now);
  void answer_call(NodeId id, const Question& question, const resp::Value& value, nanoseconds now);
  void answer_late(NodeId id, const resp::Value& value, nanoseconds now);
  void end_if_refused(NodeId id, Cause cause, std::string_view error, nanoseconds now);
  bool redirect(NodeId id, std::uint32_t call, std::string_view error, nanoseconds now);
  void learn_eviction();
  void learn_topology(NodeId id, const resp::Value& value, nanoseconds now);

  // client_connections.cpp: nodes and time.
  void connect(NodeId id, nanoseconds now);
  void greet(NodeId id, nanoseconds now);
  void go_up(NodeId id, nanoseconds now);
  void go_down(NodeId id, Cause cause, std::string_view why, nanoseconds now);
  std::string shown(std::string_view why) const;
  bool worth_retrying(const Node& node) const;
  void fall_due(nanoseconds now);
  nanoseconds due(const Node& node) const;
  nanoseconds topology_due() const;
  void ask_topology(nanoseconds now);
  nanoseconds eviction_due() const;
  void ask_eviction(nanoseconds now);
  nanoseconds jittered(nanoseconds about);

  Endpoint endpoint_;
  std::string script_;
  std::vector<std::string> more_scripts_;
  OnResult on_result_;
  nanoseconds silence_;
  std::function<std::optional<nanoseconds>(const resp::Value&)> read_time_ = [](const resp::Value&) {
    return std::optional<nanoseconds>{};
  };
  std::function<bool(std::uint64_t)> wanted_ = [](std::uint64_t) { return true; };
  std::function<void(nanoseconds)> ring_ = [](nanoseconds) {};
  nanoseconds alarm_ = nanoseconds::max();
  std::uint64_t random_;
  Nodes nodes_;
  Calls calls_;
  std::unique_ptr<Topology> topology_;
  std::vector<CallRef> unplaced_;  // calls that wait for the topology
  bool told_ = false;              // the topology, or that there is none
  bool asking_ = false;            // for the topology: a question is under way
  bool ask_soon_ = false;
  bool ask_another_ = false;
  nanoseconds asked_at_{0};
  nanoseconds ask_at_{0};
  std::size_t asked_last_ = 0;  // the node that was asked last
  resp::ReplyParser parser_;
  std::vector<Action> actions_;
  std::string last_error_{kNotYet};
  Cause last_cause_ = Cause::connection;
  std::string eviction_policy_;
  nanoseconds ask_eviction_at_{0};
  bool endangers_redis_cell_ = false;
  Counters counters_;
  core::Histogram took_;
};

}  // namespace weir::redis
