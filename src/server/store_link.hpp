// The sockets of one loop's shared store, and what the loop says of the store.
//
// The loop's thread. Neither the loop, the store nor the status is owned.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/clock_function.hpp"
#include "net/loop.hpp"
#include "redis/shared_store.hpp"
#include "redis/sockets.hpp"
#include "server/settings.hpp"
#include "server/store_status.hpp"

namespace weir::inline v0_1::server {

class StoreLink {
 public:
  // `open`: how connections are made; empty: as the settings say. Throws what store_tls() throws.
  StoreLink(net::Loop& loop, redis::SharedStore& store, const Settings& settings, core::ClockFunction clock,
            StoreStatus& status, redis::Sockets::Open open);

  // For the connections that are opened from then on.
  void use(boost::asio::ssl::context tls);

  // Called after every turn in which something has come from the store, or was sent.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  void start() { sockets_.start(); }
  void stop() { sockets_.stop(); }

 private:
  void note();
  void note_eviction();
  void note_round_trip();

  const std::size_t number_;  // of the loop
  redis::SharedStore& store_;
  StoreStatus& status_;
  core::ClockFunction clock_;
  const std::chrono::nanoseconds deadline_;
  std::optional<boost::asio::ssl::context> tls_;
  redis::Sockets sockets_;
  std::function<void()> changed_ = [] {};
  std::uint64_t noted_changes_ = 0;
  std::chrono::nanoseconds noted_at_{0};
  std::string noted_eviction_;
  bool noted_redis_cell_ = false;
  bool noted_former_state_ = false;
  std::optional<std::chrono::nanoseconds>
      far_since_;  // when a round trip came to take longer than the deadline
};

}  // namespace weir::server
