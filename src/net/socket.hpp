// What a session needs of its socket, plain or TLS. Nothing here blocks.
//
// Its loop's thread; the session owns it. A program that uses TLS sockets ignores SIGPIPE: OpenSSL writes
// without MSG_NOSIGNAL.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/poller.hpp"

namespace weir::inline v0_1::net {

class Socket {
 public:
  enum class Status : std::uint8_t {
    done,
    again,   // nothing could be done yet; `want` says what to wait for
    end,     // the peer sends nothing more
    broken,  // the connection is unusable
  };
  struct Outcome {
    Status status = Status::done;
    // What to wait for before the next call. TLS may need to read in order to write, and the reverse.
    Want want = Want::nothing;
    std::size_t bytes = 0;  // read or written; with done and a `want`, fewer than were to be written
    // Of receive(): bytes that left the kernel for it, which with TLS are more; and whether a next call may
    // find more without the poller's telling.
    std::size_t taken = 0;
    bool more = false;
  };

  virtual ~Socket() = default;

  virtual Outcome handshake() = 0;  // a plain one has none
  // Why the handshake failed, in OpenSSL's words; empty when it has not, or when the peer just went.
  struct HandshakeFailure {
    bool plain = false;  // what came was not TLS
    std::string_view why;
  };
  virtual HandshakeFailure refusal() const { return {}; }
  // After the handshake: the common name of the peer's certificate, which has been verified; empty where it
  // has shown none, or one with none or several.
  virtual std::string peer_certificate() const { return {}; }
  virtual Outcome receive(std::span<char> buffer) = 0;
  // Bytes that could not be written must begin the next call's.
  virtual Outcome send(std::string_view bytes) = 0;
  // Tells the peer that nothing more comes; reading continues.
  virtual Outcome end_output() = 0;
  // The peer has ended its side, whatever there is to be read before that, or the connection is unusable.
  virtual bool has_ended() const = 0;
  // Bytes that have arrived, as receive() counts `taken`.
  virtual std::size_t unread() const = 0;
  // Calls on_ready() from now on whenever this is so; false when that cannot be.
  virtual bool watch(Want want, Poller::Watched& watched) = 0;
  virtual Want watching() const = 0;
  // Where another process could go on with it; -1: it could not.
  virtual int plain_descriptor() const { return -1; }
  virtual void close() = 0;  // nothing else is called after it
  // The memory of this connection that is not the kernel's: what it always costs, and what it costs besides
  // at present.
  virtual std::size_t at_rest() const = 0;
  virtual std::size_t kept() const = 0;
};

// Both take the descriptor: a connected socket that does not block.
std::unique_ptr<Socket> plain_socket(Poller& poller, int descriptor);
// `tls` may be shared by threads.
std::unique_ptr<Socket> tls_socket(Poller& poller, int descriptor, boost::asio::ssl::context& tls);

}  // namespace weir::net
