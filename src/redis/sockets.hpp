// What a Client wants of its connections, done: what it says is sent, what comes is handed to it, and it is
// ticked when it wants to be.
//
// Everything runs on the thread of the io_context; the Client must outlive it. Calls made in one turn of the
// loop travel in one write. Not for: descriptors (streams.hpp).
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/clock_function.hpp"
#include "net/timer.hpp"
#include "redis/client.hpp"

namespace weir::inline v0_1::redis {

class Sockets {
 public:
  class Connection;
  // Begins a connection to that address of the node; it says how that ends, and not from here.
  using Open = std::function<std::shared_ptr<Connection>(Sockets&, Client::NodeId, const NodeAddress&)>;

  // What comes of one thing that happens on the thread is done together at its end.
  struct Turns {
    std::function<void(const std::function<void()>& work)> make;
    std::function<void(std::function<void()> work)> later;
  };
  // Each by itself.
  static Turns no_turns(boost::asio::io_context& context);

  // `clock` is the one that the Client is told. The timers are not kept.
  Sockets(net::Timers& timers, Client& client, Open open, core::ClockFunction clock, Turns turns);
  ~Sockets();
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  void start();
  // After calls have been made: what they want is done at the end of the turn that is being made, or at once.
  void wake(std::size_t calls);
  // Called when something has happened to a connection.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  // Closes everything; nothing is called any more.
  void stop();

 private:
  void pump();
  void arm();
  void tick();
  bool has_unread() const;

  Client& client_;
  const Open open_;
  core::ClockFunction clock_;
  const Turns turns_;
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

// One connection. When it has ended it says so once, and never calls again; close() keeps it from saying so.
class Sockets::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Sockets& sockets, Client::NodeId node) : sockets_(sockets), node_(node) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  // There may be something to send.
  virtual void flush() = 0;
  // Whether bytes have come that have not been read.
  virtual bool has_unread() = 0;
  void close() {
    closed_ = true;
    shut();
  }

 protected:
  virtual void shut() = 0;

  bool closed() const { return closed_; }
  // With which of the addresses that its host has it is to begin. The next attempt begins with another than
  // one that has been of no use, until one has answered.
  std::size_t first_address() { return sockets_.first_address_[node_]++; }
  // The one with that number has been connected to, or is the last that could not be.
  void tried(std::size_t number) {
    number_ = number;
    sockets_.first_address_[node_] = number + 1;
  }
  void opened();
  std::string take_output() { return sockets_.client_.take_output(node_); }
  void received(std::string_view bytes);
  void ended(const std::string& why);

 private:
  Sockets& sockets_;
  const Client::NodeId node_;
  bool closed_ = false;
  bool heard_ = false;
  std::size_t number_ = 0;  // of the address
};

}  // namespace weir::redis
