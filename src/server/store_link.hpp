// The sockets of one loop's shared store, and its lines in the log.
//
// The loop's thread, but for error(). Neither the store nor the context is owned.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "redis/shared_store.hpp"
#include "redis/sockets.hpp"
#include "server/settings.hpp"

namespace weir::server {

class StoreLink {
 public:
  // `tells`: this one logs; one of several loops does. Throws what redis::tls_for() throws.
  StoreLink(boost::asio::io_context& context, redis::SharedStore& store, const redis::Endpoint& endpoint,
            const Settings& settings, core::Clock clock, bool tells);

  // Why the store does not answer; empty when it does. Any thread.
  std::string error() const;

  void start() { sockets_.start(); }
  void stop() { sockets_.stop(); }

 private:
  void keep_error();
  void note_state();
  void note_eviction();

  redis::SharedStore& store_;
  const Settings& settings_;
  core::Clock clock_;
  bool tells_;
  std::optional<boost::asio::ssl::context> tls_;
  redis::Sockets sockets_;
  std::string logged_state_;
  std::chrono::nanoseconds logged_at_ = std::chrono::seconds{-1};
  bool eviction_checked_ = false;
  mutable std::mutex mutex_;  // of what other threads read
  std::string error_;
};

}  // namespace weir::server
