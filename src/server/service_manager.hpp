// What the program tells the service manager that started it: that it is ready, reloads, ends, and that its
// loops are alive. By sd_notify(3)'s protocol, which that page allows a program to speak itself: datagrams of
// `NAME=value` lines to the socket that NOTIFY_SOCKET names. Does nothing where none is named.
//
// The thread of the timers, but for the constructor. The contexts are not owned and must outlive it.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/every.hpp"

namespace weir::inline v0_1::server {

class ServiceManager {
 public:
  // `loops` are those that must be alive; the timers are of one of them. Reads the environment, and takes it
  // away: a program that we start is not to speak in our name.
  ServiceManager(net::Timers& timers, std::vector<boost::asio::io_context*> loops);

  // From now on it is also told, if it asked for that (WATCHDOG_USEC), that every loop still runs what it is
  // given.
  void ready();
  void reloading();
  void stopping();

 private:
  void tell(std::string_view what) const;
  void ask_loops();

  std::vector<boost::asio::io_context*> loops_;
  Every next_;
  std::string socket_;
  std::chrono::microseconds watchdog_{0};  // 0: it did not ask
  std::atomic<std::size_t> unheard_{0};    // loops that have not run what they were last given
};

}  // namespace weir::server
