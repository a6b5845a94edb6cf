// One client connection: moves bytes between a socket and a RespFront.
//
// A plain connection at rest holds no buffers: it waits until its socket is readable, reads into its thread's
// buffer, and keeps only what was half sent. While replies wait to be taken nothing more is read, so a client
// that does not read its answers fills its own socket and then stands still, until the loop closes it.
//
// Everything here runs on its loop's thread. A session lives until it is closed.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "redis/shared_store.hpp"
#include "redis/sockets.hpp"
#include "server/poller.hpp"
#include "server/resp_front.hpp"

namespace weir::server {

namespace asio = boost::asio;
// With its executor's type spelt out: the default one is called through pointers.
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type>;

class Session;

// What the connections of one thread share.
struct Loop {
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;

  std::vector<char> read_buffer = std::vector<char>(kReadBytes);
  std::string replies;
  RespFront::Scratch pending;
  // Before the context, whose end is the end of the sessions that still wait in it.
  std::unordered_set<Session*> sessions;
  asio::io_context context{1};
  asio::steady_timer sweep{context};
  Poller poller{context};
  // Read once a second by the sweep: precise enough for timeouts of seconds.
  std::chrono::nanoseconds coarse_now = store::steady_now();

  // With --store: the decisions of this loop's connections, and the sockets to make them over.
  std::optional<asio::ssl::context> store_tls;
  std::unique_ptr<redis::SharedStore> store;
  std::unique_ptr<redis::Sockets> sockets;
  std::string store_state;  // as it was last logged
  std::chrono::nanoseconds store_logged = std::chrono::seconds{-1};
  bool eviction_checked = false;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  // The caller has counted it in connections_now; its end takes it out again.
  Session(Loop& loop, Service& service, std::uint64_t id, std::string address);
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  virtual void start() = 0;
  // Answers what has arrived, then closes.
  virtual void drain() = 0;
  virtual void close() = 0;

  // Closes the connection if it has been standing still for longer than it may.
  void close_if_stalled();

 protected:
  struct Moment {
    std::chrono::nanoseconds arrived;
    std::chrono::nanoseconds now;
  };
  Moment just_now() const;
  // Runs what has come so far, and appends the replies to `out`.
  void take(std::string_view fresh, std::string& out, Moment when);
  void note_progress(bool progress, bool waiting);
  // The answers that take() was waiting for have come; called in a turn of its own.
  virtual void resume() = 0;

  Loop& loop_;
  Service& service_;
  RespFront front_;
  std::string rest_;        // bytes of a command that is not yet whole, or not yet run
  bool lingering_ = false;  // our side is closed: what still comes is thrown away until theirs is too
  std::chrono::nanoseconds stalled_since_{0};  // 0: not standing still
};

// Takes the descriptor, a connected socket that does not block.
std::shared_ptr<Session> make_session(Loop& loop, Service& service, int descriptor, std::uint64_t id,
                                      std::string address);
std::shared_ptr<Session> make_tls_session(Loop& loop, Service& service, asio::ssl::context& tls,
                                          Socket socket, std::uint64_t id, std::string address);

}  // namespace weir::server
