// The nodes that a client talks to: what is known of each connection, and what is on its way over it.
//
// Plain data, one thread. A node is never removed, so that its number stays good; after kMany, one that has
// left the cluster gives its number to one that joins. Not for: deciding what to do (client.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "redis/calls.hpp"
#include "redis/cause.hpp"
#include "redis/endpoint.hpp"
#include "redis/window.hpp"

namespace weir::inline v0_1::redis {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

// A question to a node, in the order in which the answers come. The call's number may be another's by then:
// then nobody waits for the answer, and it is owed all the same.
struct Question {
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
  // A call for when the node is up, and has room.
  struct Waiting {
    CallRef call;
    bool asking;
  };

  static constexpr std::size_t kFew = 256;

  Address address;
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
  std::deque<Question> questions{};
  std::size_t untaken = 0;                       // how many questions, the last ones, are still in `out`
  std::array<std::deque<Waiting>, 2> waiting{};  // by rank, in order
  Window window{};
  nanoseconds busy_until{0};  // a call that waited could not leave in time lately
  bool loading_script = false;
  std::string eviction{};  // its maxmemory-policy; empty: it has not said

  bool up() const { return state == State::up; }
  bool has_room() const { return questions.size() < window.size(); }
  // For calls that come now: what is under way takes a quarter of a deadline, and what waits here may take
  // half as long. A few may wait anyway, which costs next to nothing.
  std::size_t room() const {
    const std::size_t most = window.size() + std::max(window.size() / 2, kFew);
    return most - std::min(most, questions.size() + waits());
  }
  std::deque<Waiting>& lane(Rank rank) { return waiting[rank == Rank::first ? 0 : 1]; }
  std::size_t waits() const { return waiting[0].size() + waiting[1].size(); }
};

class Nodes {
 public:
  Node& operator[](NodeId id) { return nodes_[id]; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }

  // The node of that address; a new one when it is not known yet.
  NodeId at(const Address& address, bool sentinel) {
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

 private:
  static constexpr std::size_t kMany = 256;

  std::deque<Node> nodes_;
  NodeId seeds_ = 0;
};

}  // namespace weir::redis
