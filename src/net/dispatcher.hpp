// Deals accepted connections to the loops in turn, as long as there are not too many.
//
// One thread, the listeners'; the connections begin on the threads of their loops.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/conversation.hpp"
#include "net/listener.hpp"
#include "net/loop.hpp"

namespace weir::net {

// The other end of a connection.
struct Peer {
  std::uint64_t id;     // no other connection of this program has it
  std::string address;  // without its port
};

// The protocol of a listener's connections.
struct Protocol {
  // Called on the loop's thread; `resume` is what the conversation calls when its answers have come.
  std::function<std::unique_ptr<Conversation>(Loop& loop, Peer peer, std::function<void()> resume)> converse;
  // What a plain connection is sent when there are too many.
  std::string too_many;
  boost::asio::ssl::context* tls = nullptr;  // the caller's; without one, connections are plain
};

class Dispatcher {
 public:
  Dispatcher(std::vector<Loop*> loops, std::size_t most_connections, Counters& counters);

  // `protocol` outlives the connection.
  void take(Accepted accepted, const Protocol& protocol);

 private:
  std::vector<Loop*> loops_;
  std::size_t most_connections_;
  Counters& counters_;
  std::size_t next_loop_ = 0;
  std::uint64_t last_id_ = 0;
};

}  // namespace weir::net
