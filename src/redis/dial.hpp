// Connects to one of a host's addresses: the first that accepts, when they are tried side by side (RFC 8305,
// "Happy Eyeballs"). An address that drops packets delays the others by a fraction of a second; one that
// refuses, not at all.
//
// The thread of the io_context. Not for: names (lookup.hpp), and what is said over the connection.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "net/timer.hpp"

namespace weir::inline v0_1::redis {

class Dial : public std::enable_shared_from_this<Dial> {
 public:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
  // The connection and the number of its address; or why the last address failed, when all have.
  using Done =
      std::function<void(const boost::system::error_code&, boost::asio::ip::tcp::socket, std::size_t number)>;

  // The order in which to try them: the families alternate, beginning with that of the first; and the whole
  // begins with the one numbered `first`, after the last with the first again. At most 16.
  static Endpoints order(const Endpoints& found, std::size_t first);

  // `done` is called once, and not from here.
  static std::shared_ptr<Dial> start(boost::asio::io_context& context, Endpoints endpoints, Done done);

  Dial(boost::asio::io_context& context, Endpoints endpoints, Done done);
  // `done` is not called.
  void cancel();

 private:
  void try_next();
  void tried(std::size_t number, const boost::system::error_code& error);
  void finish(const boost::system::error_code& error, boost::asio::ip::tcp::socket socket,
              std::size_t number);

  boost::asio::io_context& context_;
  const Endpoints endpoints_;
  Done done_;                                          // empty: done or cancelled
  std::vector<boost::asio::ip::tcp::socket> sockets_;  // by the number of their address
  std::size_t open_ = 0;                               // attempts without an outcome
  std::unique_ptr<net::Timer> next_;
};

}  // namespace weir::redis
