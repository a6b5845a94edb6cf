// The sockets of one loop's shared store, and what the log says of it.
//
// The loop's thread. Neither the store nor the context is owned.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "redis/shared_store.hpp"
#include "redis/sockets.hpp"
#include "server/settings.hpp"

namespace weir::server {

class StoreLink {
 public:
  // `tells`: this one logs; of several loops one does. Throws what redis::tls_for() throws.
  StoreLink(boost::asio::io_context& context, redis::SharedStore& store, const Settings& settings,
            std::chrono::nanoseconds (*clock)(), bool tells);

  void start() { sockets_.start(); }
  void stop() { sockets_.stop(); }

 private:
  void note_state();
  void note_eviction();

  redis::SharedStore& store_;
  const Settings& settings_;
  std::chrono::nanoseconds (*clock_)();
  bool tells_;
  std::optional<boost::asio::ssl::context> tls_;
  redis::Sockets sockets_;
  std::string logged_state_;
  std::chrono::nanoseconds logged_at_ = std::chrono::seconds{-1};
  bool eviction_checked_ = false;
};

}  // namespace weir::server
