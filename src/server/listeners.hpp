// What the server listens on, by the settings.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/notices.hpp"
#include "net/dispatcher.hpp"
#include "net/listener.hpp"
#include "server/settings.hpp"

namespace weir::inline v0_1::server {

// That of the settings, if this process was given it, or a new one. Throws as net::resolve() and listen_tcp()
// do.
std::unique_ptr<net::Listener> open_listener(boost::asio::io_context& context, const Settings& settings,
                                             const std::string& flag, const ListenAddress& wanted);

// Of net::Listener::address().
ListenAddress read_address(const std::string& text);

class Listeners {
 public:
  // A protocol as it is spoken where nobody has more than that role.
  using Speak = std::function<net::Protocol(steering::Role most)>;

  // Opens all of them. Throws std::runtime_error with one line that says what and where; clients
  // beyond this machine are served only with a password, users, TLS or --insecure. The settings must outlive
  // it.
  Listeners(boost::asio::io_context& context, const Settings& settings, const Speak& resp, const Speak& http,
            const Speak& rls, core::Notices& notices);

  // "127.0.0.1:6390" or a path; of HTTP "http://127.0.0.1:6391" or "http unix:/path"; of gRPC
  // "grpc://127.0.0.1:8081" or "grpc unix:/path".
  const std::vector<std::string>& addresses() const { return addresses_; }
  // In the order of the settings: RESP, HTTP, gRPC.
  std::vector<net::Listener*> all() const;
  // Of a plain connection that another process has accepted, by Protocol::name: that of the listener by which
  // it came, or, where none is known to, of the one at which anybody may least. Null: there is none.
  const net::Protocol* plain(std::string_view name, int connection) const;
  void start(net::Dispatcher& dispatcher);
  void stop();

  // Reads the TLS files again, or throws as the constructor does; nothing without such files. Any thread.
  struct TlsPair {
    boost::asio::ssl::context tls;
    boost::asio::ssl::context h2;  // the same, for what speaks HTTP/2 alone
  };
  using Tls = std::optional<TlsPair>;
  Tls read_tls() const;
  // Connections from then on are shown what was read.
  void use(Tls tls);

 private:
  struct Open {
    std::unique_ptr<net::Listener> listener;
    std::unique_ptr<net::Protocol> protocol;
    std::unique_ptr<net::Protocol> plain;  // the same without TLS
    steering::Role most;
  };
  // What the listeners of a flag have in common.
  struct Spoken {
    std::string flag;
    bool asks_who;
    boost::asio::ssl::context* tls;  // over TCP; Unix sockets are never TLS
    const Speak& speak;
  };

  void open_all(boost::asio::io_context& context, const std::vector<ListenAddress>& wanted,
                const std::string& scheme, const Spoken& spoken);
  std::string open(boost::asio::io_context& context, const ListenAddress& wanted, const Spoken& spoken);

  const Settings& settings_;
  core::Notices& notices_;
  Tls tls_;
  std::vector<Open> open_;
  std::vector<std::string> addresses_;
};

}  // namespace weir::server
