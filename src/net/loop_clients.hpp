// The connections of several loops, for an operator who is a client of one of them.
//
// Each loop is asked in a turn of its own, one after the other, so none waits for another, and nothing is
// locked. Made for one loop, and used on its thread; the loops must outlive it.
#pragma once

#include <functional>
#include <vector>

#include "net/clients.hpp"
#include "net/loop.hpp"

namespace weir::net {

class LoopClients final : public Clients {
 public:
  // Of all loops that share the counters of this one.
  explicit LoopClients(Loop& mine) : mine_(mine) {}

  void list(std::function<void(std::vector<Client>)> done) override;
  void close(std::vector<std::uint64_t> ids, std::function<void(std::size_t)> done) override;

 private:
  Loop& mine_;
};

}  // namespace weir::net
