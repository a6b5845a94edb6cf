// Listening sockets: TCP and Unix.
//
// One listener for all loops: with a listening socket for each, the kernel would deal few connections
// unevenly. The thread of the context that it is given. Not for: what becomes of a connection
// (dispatcher.hpp).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weir::net {

// A connection that has come.
struct Accepted {
  int descriptor;       // does not block; the taker's to close
  std::string address;  // of the peer, without its port; "unix" for one of this machine
};

class Listener {
 public:
  virtual ~Listener() = default;

  // Where it listens: "127.0.0.1:6390" with the real port, or a path.
  virtual std::string address() const = 0;
  // When accepting fails (out of descriptors or memory), `trouble` is told why, and it pauses: trying again
  // at once would only spin.
  virtual void start(std::function<void(Accepted)> take, std::function<void(const std::string&)> trouble) = 0;
  virtual void stop() = 0;  // nothing is taken any more
};

// All of these throw std::runtime_error with one line: `flag`, where, and what is wrong.
boost::asio::ip::tcp::endpoint resolve(const std::string& flag, const std::string& host, std::uint16_t port);
std::unique_ptr<Listener> listen_tcp(boost::asio::io_context& context, const std::string& flag,
                                     const boost::asio::ip::tcp::endpoint& endpoint);
// A socket file that nobody answers is left from a program that was killed, and is replaced; anything else at
// the path is not ours to remove. The file is gone with the listener.
std::unique_ptr<Listener> listen_unix(boost::asio::io_context& context, const std::string& flag,
                                      const std::string& path);

std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace weir::net
