// Where a call goes, for each kind of endpoint: one Redis, the master that sentinels name, or the masters of
// a cluster. What differs between the three is here and nowhere else.
//
// One thread, the client's, whose nodes it shares. It sends nothing: it says what to ask, when and whom, and
// reads the answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/node.hpp"
#include "redis/slot.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::redis {

class Topology {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  // What an answer means.
  struct Meaning {
    bool again = false;            // something is missing: to be asked again soon
    bool ask_another = false;      // not the same node
    std::string error{};           // why the answer is of no use
    std::optional<Cause> cause{};  // of that
    NodeId no_longer_master = kNoNode;
    NodeId to_connect = kNoNode;
  };

  static std::unique_ptr<Topology> of(const Endpoint& endpoint, Nodes& nodes);
  virtual ~Topology() = default;

  // Once for each address of the endpoint.
  virtual void seed(NodeId) {}
  // kNoNode when it is not known.
  virtual NodeId node_of(std::uint16_t slot) const = 0;
  virtual bool ready() const = 0;
  // The master that all calls go to, where there is one.
  virtual NodeId master() const { return kNoNode; }

  // The endpoint's addresses, and those that are asked, are sentinels.
  virtual bool asks_sentinels() const { return false; }
  virtual std::vector<std::string_view> question() const { return {}; }

  // Nodes send calls on to each other, by MOVED and ASK.
  virtual bool redirects() const { return false; }
  virtual void moved(std::uint16_t /*slot*/, NodeId /*to*/) {}

  // When to ask: when something has changed, and now and then anyway.
  nanoseconds due() const;
  // The node to ask, when it is time; it is being asked then.
  std::optional<NodeId> whom_to_ask(nanoseconds now, Jitter& jitter);
  Meaning answered(NodeId from, const resp::Value& value);
  void ask_soon(bool soon = true) { soon_ = soon; }
  // The connection to that node has ended.
  void lost(NodeId node);
  bool has_answer() const { return told_; }
  // Whether a call without a node has something to wait for: nothing has been told yet, and a node that could
  // tell has not failed.
  bool may_come() const;

 protected:
  // How a question is asked now and then.
  struct Asks {
    nanoseconds every;  // while all is well
    bool believes_one;  // the same node is asked until there is reason for another
  };

  explicit Topology(Nodes& nodes) : nodes_(nodes) {}
  Nodes& nodes_;

 private:
  virtual std::optional<Asks> asks() const { return std::nullopt; }
  virtual Meaning read(NodeId /*from*/, const resp::Value&) { return {}; }

  bool told_ = false;    // the topology, or that there is none
  bool asking_ = false;  // a question is under way
  bool soon_ = false;
  bool another_ = false;  // than the one that was asked last
  nanoseconds asked_at_{0};
  nanoseconds ask_at_{0};
  std::size_t asked_last_ = 0;  // the node
};

}  // namespace weir::redis
