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

namespace weir::server {

class Listeners {
 public:
  // Opens all of them. Throws std::runtime_error with one line that says what and where; clients
  // beyond this machine are served only with a password, TLS or --insecure. The settings must outlive it.
  Listeners(boost::asio::io_context& context, const Settings& settings, net::Protocol resp,
            core::Notices& notices);

  const std::vector<std::string>& addresses() const { return addresses_; }
  void start(net::Dispatcher& dispatcher);
  void stop();

  // Reads the TLS files again; connections from then on are shown what is in them. Throws as the constructor
  // does, and then nothing has changed.
  void reload();

 private:
  void start(net::Listener& listener, const net::Protocol& protocol, net::Dispatcher& dispatcher);

  const Settings& settings_;
  core::Notices& notices_;
  std::optional<boost::asio::ssl::context> tls_;
  net::Protocol tcp_protocol_;
  net::Protocol unix_protocol_;  // never TLS
  std::vector<std::unique_ptr<net::Listener>> tcp_;
  std::unique_ptr<net::Listener> unix_;
  std::vector<std::string> addresses_;
};

}  // namespace weir::server
