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

namespace weir::inline v0_1::server {

// Those that the server begins with; null without a limits file. Throws std::runtime_error when what they lie
// in cannot be used.
std::unique_ptr<service::Overrides> open_overrides(const Settings& settings, service::Service& service);

// The thread, while the server runs; and each second it forgets those that have ended.
class OverridesThread {
 public:
  OverridesThread(service::Service& service, net::Timers& timers);
  ~OverridesThread();
  OverridesThread(const OverridesThread&) = delete;
  OverridesThread& operator=(const OverridesThread&) = delete;

  void stop() { ends_.stop(); }  // on the thread of the timers

 private:
  service::Service& service_;
  std::atomic<bool> looks_{false};
  InTurn thread_;
  Every ends_;
};

}  // namespace weir::server
