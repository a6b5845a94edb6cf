// The conversation with a Redis or Valkey, single, Sentinel or Cluster, without a socket: events in, actions
// out.
//
// The owner of the sockets (src/redis/sockets.hpp; in tests there is none) tells what happened and carries
// out what is wanted. Everything that decides lives here: greeting, pipelining, EVALSHA with one reload,
// MOVED and ASK, the slot map, Sentinel, deadlines, and when to try a dead node again.
//
// What is safe: a call is sent again only after an answer that says it was not run (NOSCRIPT, MOVED, ASK,
// TRYAGAIN). A call without an answer by its deadline fails, its connection is closed, and so fail all calls
// after it: their outcome is unknown, and none of them is sent again.
//
// The circuit breaker is the connection: a call for a node that has failed and is not up again fails at once,
// with the node's last cause, and the node is tried again after 10 to 600 ms, with jitter; the greeting,
// which needs an answer, is the probe. Only a node that was never tried lets its calls wait.
//
// One thread. The owner's clock is handed in; it must not go back.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "redis/cause.hpp"
#include "redis/endpoint.hpp"
#include "redis/slot.hpp"
#include "resp/value.hpp"

namespace weir::redis {

class Client {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  using NodeId = std::uint32_t;

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

  Client(Endpoint endpoint, std::string script, std::uint64_t seed, OnResult on_result);

  void start(nanoseconds now);
  // Sends `command`, whole RESP, to the node of the key's slot. `tag` comes back with the result. Nothing is
  // sent at or after the deadline.
  void call(std::uint64_t tag, std::uint16_t slot, std::string command, nanoseconds deadline,
            nanoseconds now);

  // What happened to a node's connection: the one of the last `connect`, and nothing of it once there is a
  // `close`. failed() too leads to a `close`, whether or not there is still a socket.
  void connected(NodeId node, nanoseconds now);
  void failed(NodeId node, std::string_view why, nanoseconds now);
  void received(NodeId node, std::string_view bytes, nanoseconds now);
  // To be called at next_tick() or soon after; next_tick() is later than `now` then. Any other member may
  // bring it forward, even to what is past.
  void tick(nanoseconds now);
  nanoseconds next_tick() const;

  // What is to be done since the last call; a node to `write` has bytes in
  // take_output(). In order: bytes that are left when a `close` comes are gone.
  std::vector<Action> take_actions();
  // Bytes to send; the owner takes them away, and asks again after a write that took long. Empty unless the
  // node is connected.
  std::string take_output(NodeId node);

  // Whether calls can be answered: the master is up, or any of a cluster's that serves slots.
  bool ready() const;
  std::size_t open_calls() const { return calls_.size() - free_calls_.size(); }
  // Whether anything has failed since the start.
  bool has_failed() const { return last_error_ != kNotYet; }
  // What the last failure was, for people; one line, and never the password.
  const std::string& last_error() const { return last_error_; }
  // "noeviction" and so on, as the first node up has it; empty when it did not say.
  const std::string& eviction_policy() const { return eviction_policy_; }
  struct Counters {
    std::uint64_t calls = 0;
    std::uint64_t connects = 0;
    std::uint64_t script_loads = 0;
    std::uint64_t redirects = 0;
    std::uint64_t refreshes = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  enum class State : std::uint8_t { down, connecting, greeting, up };
  enum class Sent : std::uint8_t {
    call,
    asking,
    auth,
    database,
    last_greeting,
    script,
    slots,
    master,
    policy,
    ping
  };
  struct Pending {
    Sent what;
    std::uint32_t call;
    nanoseconds sent_at;
  };
  // A call that waits; its number may be somebody else's by the time.
  struct Ticket {
    std::uint32_t call;
    std::uint32_t generation;
  };
  struct Node {
    Address address;
    bool sentinel = false;
    bool gone = false;  // no longer of the cluster: not to be connected again
    State state = State::down;
    bool ever_failed = false;
    int failures = 0;
    bool asked = false;               // for the map or the master, and has not answered
    Cause cause = Cause::connection;  // of the last failure
    std::string error;
    nanoseconds tried_at{0};  // the last connect
    nanoseconds since{0};     // of being up
    nanoseconds retry_at{0};  // of down
    std::string out;
    std::string in;
    std::deque<Pending> pending;
    std::size_t untaken = 0;  // how many of pending, the last ones, are still in `out`
    struct Waiting {
      Ticket ticket;
      bool asking;
    };
    std::vector<Waiting> waiting;  // calls for when it is up
    bool loading_script = false;
    nanoseconds heard{0};  // of it, last
  };
  struct Call {
    std::uint64_t tag = 0;
    std::string command;
    std::uint16_t slot = 0;
    std::uint16_t hops = 0;
    std::uint16_t again = 0;  // TRYAGAINs
    nanoseconds deadline{0};
    NodeId node = 0;  // that it was sent to
    std::uint32_t generation = 0;
    bool open = false;
    bool asking = false;  // was sent after an ASKING
  };
  struct Due {
    nanoseconds at;
    Ticket ticket;
    bool retry;  // else: its deadline
    friend bool operator>(const Due& a, const Due& b) { return a.at > b.at; }
  };

  static constexpr NodeId kNobody = ~NodeId{0};
  static constexpr int kMostHops = 16;
  // From here on a node that has left the cluster gives its number to one that joins.
  static constexpr std::size_t kManyNodes = 256;

  NodeId node_at(const Address& address, bool sentinel);
  NodeId route(std::uint16_t slot) const;
  bool waits(Ticket ticket) const {
    return calls_[ticket.call].open && calls_[ticket.call].generation == ticket.generation;
  }
  void place_unplaced(nanoseconds now);
  bool worth_retrying(const Node& node) const;
  bool any_up(bool sentinel) const;
  bool may_be_told() const;
  nanoseconds answer_due(const Node& node) const;
  nanoseconds look_at() const;
  std::string shown(std::string_view why) const;
  void place(std::uint32_t call, nanoseconds now);
  void send(NodeId id, std::uint32_t call, bool asking, nanoseconds now);
  void send_internal(NodeId id, Sent what, std::initializer_list<std::string_view> words, nanoseconds now);
  void finish(std::uint32_t call, const Result& result);
  void again(std::uint32_t call, NodeId to, bool asking, nanoseconds now);
  void connect(NodeId id, nanoseconds now);
  void greet(NodeId id, nanoseconds now);
  void go_up(NodeId id, nanoseconds now);
  void go_down(NodeId id, Cause cause, std::string_view why, nanoseconds now);
  void answer(NodeId id, const Pending& pending, const resp::Value& value, nanoseconds now);
  void answer_call(NodeId id, std::uint32_t call, const resp::Value& value, nanoseconds now);
  void read_slots(NodeId id, const resp::Value& value, nanoseconds now);
  void read_master(NodeId id, const resp::Value& value, nanoseconds now);
  void look_around(nanoseconds now);
  void wants_write(NodeId id);
  void schedule(Due due);
  nanoseconds jittered(nanoseconds about);

  Endpoint endpoint_;
  std::string script_;
  OnResult on_result_;
  std::uint64_t random_;
  std::deque<Node> nodes_;  // never removed, so that an id stays good
  std::size_t seeds_ = 0;   // how many, the first ones, are the endpoint's own
  std::vector<Call> calls_;
  std::vector<std::uint32_t> free_calls_;
  std::vector<Due> due_;          // a heap
  std::vector<Ticket> unplaced_;  // calls that wait for a slot map or a master
  std::vector<NodeId> slots_;     // of a cluster
  NodeId master_ = kNobody;       // of single and sentinel
  bool refreshing_ = false;       // a question for the map or the master is under way
  bool refresh_wanted_ = false;
  nanoseconds asked_at_{0};
  nanoseconds refresh_at_{0};
  std::size_t refresher_ = 0;  // who was asked last
  bool ask_another_ = false;
  bool told_ = false;  // the map or the master, or that there is none
  resp::ReplyParser parser_;
  std::vector<Action> actions_;
  static constexpr std::string_view kNotYet = "not connected yet";
  std::string last_error_{kNotYet};
  Cause last_cause_ = Cause::connection;
  std::string eviction_policy_;
  Counters counters_;
};

}  // namespace weir::redis
