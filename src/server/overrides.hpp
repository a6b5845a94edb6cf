// The overrides of a server: where they lie, and the thread on which they change.
//
// Made and ended by the main thread; steer() may be called by any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "server/every.hpp"
#include "server/in_turn.hpp"
#include "server/settings.hpp"
#include "service/overrides.hpp"
#include "service/service.hpp"
#include "steering/shared_keeper.hpp"

namespace weir::inline v0_1::server {

// Those that the server begins with; null without a limits file. Throws std::runtime_error when what they lie
// in cannot be used.
// `ask` is how a shared store is asked, when there is one: it must be callable once the server runs.
std::unique_ptr<service::Overrides> open_overrides(const Settings& settings, service::Service& service,
                                                   steering::SharedKeeper::Ask ask);

// The thread, while the server runs; and twice a second it looks for what has ended, and with a store for
// what other servers have set.
class OverridesThread {
 public:
  OverridesThread(service::Service& service, net::Timers& timers);
  ~OverridesThread();
  OverridesThread(const OverridesThread&) = delete;
  OverridesThread& operator=(const OverridesThread&) = delete;

  void stop() { looks_again_.stop(); }  // on the thread of the timers

 private:
  void look();

  service::Service& service_;
  std::atomic<bool> looks_{false};
  InTurn thread_;
  Every looks_again_;
};

}  // namespace weir::server
