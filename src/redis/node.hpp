// The nodes that a client talks to: how each connection is, and what is on its way over it.
//
// One thread. A node is never removed, so that its number stays good; after kMany, one that has left the
// cluster gives its number to one that joins. Not for: deciding what is asked (client.hpp), and how much at a
// time (admission.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/admission.hpp"
#include "redis/cause.hpp"
#include "redis/endpoint.hpp"

namespace weir::inline v0_1::redis {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};
inline constexpr std::chrono::nanoseconds kAnswerAtMost =
    std::chrono::milliseconds{500};  // to what is not a call

// Times that differ from one process to the next, so that not all come at once.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : random_((seed * 0x9E3779B97F4A7C15) | 1) {}
  // Between half as long and half as much again.
  std::chrono::nanoseconds operator()(std::chrono::nanoseconds about) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const auto part = random_ % static_cast<std::uint64_t>(about.count());
    return about / 2 + std::chrono::nanoseconds{static_cast<std::int64_t>(part)};
  }

 private:
  std::uint64_t random_;
};

// A question to a node, in the order in which the answers come. The call's number may be another's by then:
// then nobody waits for the answer, and it is owed all the same.
struct SentCommand {
  enum class Kind : std::uint8_t {
    call,
    asking,
    auth,
    database,
    last_greeting,
    script,
    topology,
    eviction_policy,
    modules,
    ping,
  } kind;
  CallRef call;  // of a call
  std::chrono::nanoseconds sent_at;
  std::chrono::nanoseconds patience;  // of its asker
  std::size_t owed;                   // answers, when it was sent
};

struct Node {
  using nanoseconds = std::chrono::nanoseconds;
  enum class State : std::uint8_t { down, connecting, greeting, up };

  NodeAddress address;
  bool sentinel = false;
  bool gone = false;  // no longer in the cluster: not to be connected again
  State state = State::down;
  bool ever_failed = false;
  int failures = 0;
  bool asked = false;               // for the topology, and has not answered
  Cause cause = Cause::connection;  // of the last failure
  std::string error{};
  nanoseconds tried_at{0};  // the last connect
  nanoseconds since{0};     // when it came up
  nanoseconds retry_at{0};  // when down
  nanoseconds heard{0};     // the last bytes
  std::string out{};
  std::string in{};
  std::deque<SentCommand> questions{};
  std::size_t untaken = 0;  // how many questions, the last ones, are still in `out`
  Admission admission{};
  bool loading_script = false;
  std::string eviction{};  // its maxmemory-policy; empty: it has not said

  bool up() const { return state == State::up; }
  bool has_room() const { return admission.has_room(questions.size()); }
  std::size_t room() const { return admission.room(questions.size()); }

  // Into `out`: a question about the node itself, or a call.
  void ask(SentCommand::Kind kind, std::span<const std::string_view> words, nanoseconds now);
  void send(const OpenCall& call, CallRef ref, nanoseconds now);
  std::string take_output();

  void go_up(nanoseconds now);
  // Its connection has ended. What it owed, and the calls that waited, nobody answers any more.
  struct Lost {
    std::deque<SentCommand> questions;
    std::vector<CallRef> calls;  // that waited
  };
  Lost go_down(Cause why, std::string what, nanoseconds now, Jitter& jitter);
  // Calls that waited here.
  std::vector<CallRef> take_waiting();
  // When something falls due: a greeting, an answer, or a ping. `silence`: how long it may say nothing while
  // it owes an answer to a call, or as long as that answer may take.
  nanoseconds due(nanoseconds silence) const;
};

class Nodes {
 public:
  Node& operator[](NodeId id) { return nodes_[id]; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }

  // The node of that address; a new one when it is not known yet.
  NodeId at(const NodeAddress& address, bool sentinel) {
    for (NodeId id = 0; id < size(); ++id) {
      if (nodes_[id].address == address && nodes_[id].sentinel == sentinel) {
        nodes_[id].gone = false;
        return id;
      }
    }
    NodeId id = size();
    if (nodes_.size() >= kMany) {
      id = seeds_;
      while (id < size() && !(nodes_[id].gone && nodes_[id].state == Node::State::down)) ++id;
    }
    if (id == size()) nodes_.emplace_back();
    Node fresh;
    fresh.address = address;
    fresh.sentinel = sentinel;
    nodes_[id] = std::move(fresh);
    return id;
  }
  // Those so far are the endpoint's own and keep their numbers.
  void keep_these() { seeds_ = size(); }

  bool any_up(bool sentinel) const {
    return std::any_of(begin(), end(),
                       [sentinel](const Node& node) { return node.up() && node.sentinel == sentinel; });
  }
  struct Load {
    std::size_t under_way = 0;  // answers that are owed, to calls or not
    std::size_t waiting = 0;    // calls that have not been sent
  };
  Load load() const;
  // How many calls may be made now that their node sends or answers in time; of several nodes, the one with
  // the most room. Without a node that is up they need none.
  std::size_t room() const;
  // How long a bare round trip takes, to the node where it takes longest; 0: not known yet.
  std::chrono::nanoseconds round_trip() const;

 private:
  static constexpr std::size_t kMany = 256;

  std::deque<Node> nodes_;
  NodeId seeds_ = 0;
};

}  // namespace weir::redis
