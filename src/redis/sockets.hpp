// The sockets of a Client: TCP, TLS and Unix, on an event loop of Boost.Asio.
//
// Everything runs on the thread of the io_context; the Client must outlive it. Calls made in one turn of the
// loop travel in one write.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/clock_function.hpp"
#include "net/timer.hpp"
#include "net/tls.hpp"
#include "redis/client.hpp"

namespace weir::inline v0_1::redis {

// For connections to the endpoint; nothing when it has no TLS. Throws as net::client_tls() does, for the
// flags store-tls-ca, store-tls-cert and store-tls-key, and std::invalid_argument for a certificate without
// TLS.
std::optional<boost::asio::ssl::context> tls_for(const Endpoint& endpoint, const net::TlsFiles& files);

class Sockets {
 public:
  // `tls` may be null when the endpoint has none. `clock` is the one that the Client is told.
  Sockets(boost::asio::io_context& context, net::Timers& timers, Client& client,
          boost::asio::ssl::context* tls, core::ClockFunction clock);
  ~Sockets();
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  void start();
  // After calls have been made: what they want is done before the loop's next turn, or at once.
  void wake(std::size_t calls);
  // Called when something has happened to a connection.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  // Closes everything; nothing is called any more.
  void stop();

 private:
  class Connection;
  template <class Stream>
  class StreamConnection;

  void pump();
  void arm();
  void tick();
  bool has_unread() const;
  void open(Client::NodeId node, const NodeAddress& address);

  boost::asio::io_context& context_;
  Client& client_;
  boost::asio::ssl::context* tls_;
  core::ClockFunction clock_;
  const std::unique_ptr<net::Timer> timer_;
  std::chrono::nanoseconds armed_for_{0};
  int reads_first_ = 0;  // how often the tick that is due has waited for what has come
  bool quiet_ = false;   // nothing had come when it looked last
  std::unordered_map<Client::NodeId, std::shared_ptr<Connection>> connections_;
  std::unordered_map<Client::NodeId, std::size_t> first_address_;  // to try, of those that a host has
  std::function<void()> changed_ = [] {};
  std::size_t waiting_ = 0;  // calls since the last write
  bool waking_ = false;
  bool stopped_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that outlive us
};

}  // namespace weir::redis
