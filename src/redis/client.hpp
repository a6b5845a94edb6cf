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
// No node is sent more than it answers in time (send_window.hpp). The rest waits here, by rank and then in
// order. Of the usual rank a call is passed over when it has less time left than an answer takes; it fails at
// its deadline, as `overload`: it was not sent. What waits is bounded by kMostBytes.
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
#include "redis/greeting.hpp"
#include "redis/node.hpp"
#include "redis/setup.hpp"
#include "redis/topology.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::redis {

class Client {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  using NodeId = redis::NodeId;

  struct Action {
    enum class Kind : std::uint8_t { connect, close, write } kind;
    NodeId node;
    NodeAddress address;  // of connect
  };

  struct Options {
    std::uint64_t seed = 0;  // of what is left to chance
    // How long a node that owes an answer may say nothing, or as long as that answer may take.
    nanoseconds silence = std::chrono::milliseconds{50};
    // Given each answer to a call: how to read from it when, by the node's clock, it was decided; nothing
    // when it does not say.
    std::function<std::optional<nanoseconds>(const resp::Value&)> read_time = [](const resp::Value&) {
      return std::optional<nanoseconds>{};
    };
    // Called by tick() at the time of the alarm, or soon after; it may make calls, and set the alarm again.
    std::function<void(nanoseconds now)> ring = [](nanoseconds) {};
  };
  Client(Greeting greeting, Options options);

  void start(nanoseconds now);
  // Sends `command`, whole RESP, to the node of the key's slot; `call` may be answered from inside. Nothing
  // is sent at or after the deadline.
  void call(std::unique_ptr<Call> call, std::uint16_t slot, std::string command, nanoseconds deadline,
            nanoseconds now, Rank rank = Rank::usual);

  // Whether a call for that slot would have to wait for others.
  bool busy(std::uint16_t slot) const;
  // How long the answer to a call of that slot may take if it is made now, as its node has answered of late.
  nanoseconds needed(std::uint16_t slot, nanoseconds patience, nanoseconds now) const;
  nanoseconds alarm() const { return alarm_; }
  void set_alarm(nanoseconds at) { alarm_ = at; }

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
  Nodes::Load load() const { return nodes_.load(); }
  std::size_t room() const { return nodes_.room(); }
  nanoseconds round_trip() const { return nodes_.round_trip(); }
  // Whether anything has failed since the start.
  bool has_failed() const { return last_.error != kNotYet; }
  // What the last failure was, for people; one line, and never the password.
  const std::string& last_error() const { return last_.error; }
  // "noeviction" and so on, as it was at the last connection or a minute ago; of several nodes, that of one
  // that evicts. Empty when none has said.
  const std::string& eviction_policy() const { return setup_.eviction_policy(); }
  // Whether a node has the module redis-cell, to which the values that weir writes are fatal, and nothing
  // keeps their keys apart from those that the module is asked for.
  bool endangers_redis_cell() const { return setup_.endangers_redis_cell(); }
  struct Counters {
    std::uint64_t calls = 0;
    std::uint64_t connects = 0;
    std::uint64_t script_loads = 0;
    std::uint64_t redirects = 0;
    std::uint64_t refreshes = 0;
    // How long answers to calls took, from when the call was handed to its connection; late ones too, and
    // those that say to ask again. Any thread may read it.
    core::Histogram took;
  };
  const Counters& counters() const { return counters_; }
  const core::Histogram& took() const { return counters_.took; }

 private:
  static constexpr std::string_view kNotYet = "not connected yet";
  struct Failure {
    Cause cause = Cause::connection;
    std::string error{kNotYet};
  };

  // Calls and answers.
  void place(std::uint32_t call, nanoseconds now);
  void place_unplaced(nanoseconds now);
  void forward(std::uint32_t call, NodeId to, bool asking, nanoseconds now);
  void send(NodeId id, std::uint32_t call, bool asking, nanoseconds now);
  void send_waiting(NodeId id, nanoseconds now);
  void finish(std::uint32_t call, const Call::Result& result);
  void answer(NodeId id, const SentCommand& question, const resp::Value& value, nanoseconds now);
  void answer_call(NodeId id, const SentCommand& question, const resp::Value& value, nanoseconds now);
  void answer_late(NodeId id, const resp::Value& value, nanoseconds now);
  void load_scripts(NodeId id, nanoseconds now);
  void end_if_refused(NodeId id, Cause cause, std::string_view error, nanoseconds now);
  bool redirect(NodeId id, std::uint32_t call, std::string_view error, nanoseconds now);
  void learn_topology(NodeId id, const resp::Value& value, nanoseconds now);

  // Nodes and time.
  void ask(NodeId id, SentCommand::Kind kind, std::span<const std::string_view> words, nanoseconds now);
  void wants_write(NodeId id);
  void connect(NodeId id, nanoseconds now);
  void go_up(NodeId id, nanoseconds now);
  void go_down(NodeId id, Cause cause, std::string_view why, nanoseconds now);
  void fall_due(nanoseconds now);
  nanoseconds due(const Node& node, bool any_up) const;
  void ask_topology(nanoseconds now);
  void ask_eviction(nanoseconds now);

  Greeting greeting_;
  Options options_;
  Jitter jitter_;
  Nodes nodes_;
  Calls calls_;
  std::unique_ptr<Topology> topology_;
  std::vector<CallRef> unplaced_;  // calls that wait for the topology
  nanoseconds alarm_ = nanoseconds::max();
  resp::ReplyParser parser_;
  std::vector<Action> actions_;
  Failure last_;
  Setup setup_;
  Counters counters_;
};

}  // namespace weir::redis
