// Ends a server that nobody needs any more: nobody has been connected for a while, or its socket's file has
// gone, so that nobody can connect. And keeps its log short.
//
// The thread of the main loop, by the real clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "net/loop.hpp"
#include "net/timer.hpp"
#include "server/every.hpp"
#include "server/settings.hpp"

namespace weir::inline v0_1::server {

class LocalWatch {
 public:
  // `end` is called once, with why. What is handed in must outlive it.
  LocalWatch(net::Timers& timers, std::string socket, Settings::Local its,
             const net::LoopCounters& connections, std::function<void(const std::string& why)> end);

  void start();
  void stop() { looks_.stop(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::string why_end();
  void look();

  const std::string socket_;
  const Settings::Local local_;
  const net::LoopCounters& connections_;
  const std::function<void(const std::string&)> end_;
  std::uint64_t file_ = 0;  // the socket's
  std::uint64_t came_ = 0;  // connections, at the last look
  Clock::time_point idle_since_ = Clock::now();
  Every looks_;
};

}  // namespace weir::server
