// The connections of several loops, for an operator who is a client of one of them.
//
// Each loop is asked in a turn of its own, one after the other, so none waits for another, and nothing is
// locked. Those that ask for a list while one is made share the next one: however many ask, one list is made
// at a time. What each makes of it takes long where there are many connections, so each is given it in a turn
// of its own: however many ask, another connection waits for one of them.
//
// Made for one loop, and used on its thread; the loops must outlive it.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "net/clients.hpp"
#include "net/loop.hpp"

namespace weir::inline v0_1::net {

class LoopClients final : public Clients {
 public:
  // Of all loops that share the counters of this one.
  explicit LoopClients(Loop& mine) : mine_(mine) {}

  void list(std::function<void(const Rows&)> done) override;
  void close(std::vector<std::uint64_t> ids, std::function<void(std::size_t)> done) override;
  void end_wait(std::uint64_t id, bool with_error, std::function<void(std::size_t)> done) override;
  void post(std::function<void()> call) override;

 private:
  using ListCallback = std::function<void(const Rows&)>;

  void make_list();
  void hand_out(Rows list, std::vector<ListCallback> askers, std::size_t next);

  Loop& mine_;
  std::vector<ListCallback> askers_;  // of the next list
  bool making_ = false;
};

}  // namespace weir::net
