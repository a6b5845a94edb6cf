// Deals accepted connections to the loops in turn, as long as there are not too many.
//
// One thread, the listeners'; the connections begin on the threads of their loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/listener.hpp"
#include "net/loop.hpp"
#include "net/protocol.hpp"

namespace weir::inline v0_1::net {

class Dispatcher {
 public:
  Dispatcher(std::vector<Loop*> loops, std::size_t most_connections, LoopCounters& counters);

  // `protocol` outlives the connection.
  void take(Accepted accepted, const Protocol& protocol);
  // One that another process has answered so far, with its conversation's state. Closes it when that is not
  // understood.
  void take_over(int descriptor, Peer peer, std::string state, std::string rest, const Protocol& protocol);

 private:
  std::vector<Loop*> loops_;
  std::size_t most_connections_;
  LoopCounters& counters_;
  std::size_t next_loop_ = 0;
  std::uint64_t last_id_ = 0;
};

}  // namespace weir::net
