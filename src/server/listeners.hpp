// What the server listens on, by the settings.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/notices.hpp"
#include "net/dispatcher.hpp"
#include "net/listener.hpp"
#include "server/settings.hpp"

namespace weir::inline v0_1::server {

class Listeners {
 public:
  // Opens all of them. Throws std::runtime_error with one line that says what and where; clients
  // beyond this machine are served only with a password, TLS or --insecure. The settings must outlive it.
  Listeners(boost::asio::io_context& context, const Settings& settings, net::Protocol resp,
            net::Protocol http, core::Notices& notices);

  // "127.0.0.1:6390" or a path; of HTTP "http://127.0.0.1:6391" or "http unix:/path".
  const std::vector<std::string>& addresses() const { return addresses_; }
  void start(net::Dispatcher& dispatcher);
  void stop();

  // Reads the TLS files again, or throws as the constructor does; nothing without such files. Any thread.
  using Tls = std::optional<boost::asio::ssl::context>;
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
  std::string open_unix(boost::asio::io_context& context, const std::string& flag, const std::string& path,
                        const Spoken& spoken);

  const Settings& settings_;
  core::Notices& notices_;
  Tls tls_;
  Spoken resp_;
  Spoken http_;
  std::vector<Open> open_;
  std::vector<std::string> addresses_;
};

}  // namespace weir::server
