// Listening sockets: TCP and Unix.
//
// One listener for all loops: with a listening socket for each, the kernel would deal few connections
// unevenly. Runs on the thread of the given context. Not for: what becomes of a connection
// (dispatcher.hpp).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weir::inline v0_1::net {

// An accepted connection.
struct Accepted {
  int descriptor;       // non-blocking; the receiver closes it
  std::string address;  // of the peer, without its port; "unix" for one that came by a Unix socket
  std::uint16_t port = 0;
  bool local = false;  // from this machine: by loopback, or by a Unix socket
};

class Listener {
 public:
  virtual ~Listener() = default;

  // Where it listens: "127.0.0.1:6390" with the real port, or a path.
  virtual std::string address() const = 0;
  // When accepting fails (out of descriptors or memory), it calls `trouble` with the reason and pauses:
  // trying again at once would only spin.
  virtual void start(std::function<void(Accepted)> take, std::function<void(const std::string&)> trouble) = 0;
  // Accepts nothing until go_on(): those that come wait in the kernel.
  virtual void pause() = 0;
  virtual void go_on() = 0;
  virtual void stop() = 0;  // accepts nothing more

  virtual int descriptor() const = 0;
  // Whether the file of a Unix socket is removed when it stops.
  virtual void own_file(bool yes) = 0;
  virtual bool owns_file() const = 0;
};

// These throw std::runtime_error with one line: `flag`, where, and what is wrong.
boost::asio::ip::tcp::endpoint resolve(const std::string& flag, const std::string& host, std::uint16_t port);
std::unique_ptr<Listener> listen_tcp(boost::asio::io_context& context, const std::string& flag,
                                     const boost::asio::ip::tcp::endpoint& endpoint);
// A socket file on which no program answers was left by one that was killed, and is replaced; anything else
// at the path is not ours to remove. The file is removed when it stops, unless another has taken its place.
std::unique_ptr<Listener> listen_unix(boost::asio::io_context& context, const std::string& flag,
                                      const std::string& path, unsigned mode = 0660);

// Of a socket that listens already; it takes the descriptor, and does not own the file. `what` begins the
// message when it is another kind of socket.
std::unique_ptr<Listener> listen_on(boost::asio::io_context& context, const std::string& what,
                                    int descriptor);

// Whether the connection came by that listening socket, or by another at the same address.
bool came_by(int connection, int listening);

// Which file is at that path, so that another in its place is told apart; 0: there is none.
std::uint64_t file_at(const std::string& path);

std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace weir::net
