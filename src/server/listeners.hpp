// What the server listens on, by the settings.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
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
  // Opens all of them. Throws std::runtime_error with one line that says what and where; clients
  // beyond this machine are served only with a password, TLS or --insecure. The settings must outlive it.
  Listeners(boost::asio::io_context& context, const Settings& settings, net::Protocol resp,
            net::Protocol http, net::Protocol rls, core::Notices& notices);

  // "127.0.0.1:6390" or a path; of HTTP "http://127.0.0.1:6391" or "http unix:/path"; of gRPC
  // "grpc://127.0.0.1:8081" or "grpc unix:/path".
  const std::vector<std::string>& addresses() const { return addresses_; }
  // In the order of the settings: RESP, HTTP, gRPC.
  std::vector<net::Listener*> all() const;
  // Of a plain connection, by Protocol::name; null: there is none.
  const net::Protocol* plain(std::string_view name) const;
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
  // One protocol, over TCP and over Unix sockets, which are never TLS.
  struct Spoken {
    net::Protocol tcp;
    net::Protocol by_path;
  };
  struct Open {
    std::unique_ptr<net::Listener> listener;
    const net::Protocol* protocol;
  };

  std::string open_tcp(boost::asio::io_context& context, const std::string& flag, const HostPort& wanted,
                       bool asks_who, const Spoken& spoken);
  void open_all(boost::asio::io_context& context, const std::string& flag,
                const std::vector<ListenAddress>& wanted, const std::string& scheme, bool asks_who,
                const Spoken& spoken);
  std::string open_unix(boost::asio::io_context& context, const std::string& flag, const std::string& path,
                        const Spoken& spoken);

  const Settings& settings_;
  core::Notices& notices_;
  Tls tls_;
  Spoken resp_;
  Spoken http_;
  Spoken rls_;
  std::vector<Open> open_;
  std::vector<std::string> addresses_;
};

}  // namespace weir::server
