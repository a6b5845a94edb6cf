// Where a call goes, for each kind of endpoint: one Redis, the master that sentinels name, or the masters of
// a cluster. What differs between the three is here and nowhere else.
//
// One thread, the client's, whose nodes it shares. It sends nothing: it says what to ask, and reads the
// answer.
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
  // How a question is asked now and then.
  struct Asks {
    std::chrono::nanoseconds every;  // while all is well
    bool believes_one;               // the same node is asked until there is reason for another
  };
  // What an answer means.
  struct Told {
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
  virtual std::optional<Asks> asks() const { return std::nullopt; }
  virtual std::vector<std::string_view> question() const { return {}; }
  virtual Told read(NodeId /*from*/, const resp::Value&) { return {}; }

  // Nodes send calls on to each other, by MOVED and ASK.
  virtual bool redirects() const { return false; }
  virtual void moved(std::uint16_t /*slot*/, NodeId /*to*/) {}

 protected:
  explicit Topology(Nodes& nodes) : nodes_(nodes) {}
  Nodes& nodes_;
};

}  // namespace weir::redis
