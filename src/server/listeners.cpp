#include "server/listeners.hpp"

#include <openssl/ssl.h>
#include <spdlog/spdlog.h>

#include <stdexcept>
#include <utility>

#include "net/tls.hpp"

namespace weir::server {
namespace {

namespace asio = boost::asio;

asio::ssl::context make_tls(const Settings& settings) {
  asio::ssl::context tls(asio::ssl::context::tls_server);
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                  asio::ssl::context::no_tlsv1_1);
  // 10,000 idle connections would otherwise keep 34 KiB of OpenSSL buffers each.
  SSL_CTX_set_mode(tls.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  net::show_certificate(tls, "tls", settings.tls_cert, settings.tls_key);
  if (!settings.tls_ca.empty()) {
    net::trust(tls, "tls-ca", settings.tls_ca);
    tls.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
  }
  return tls;
}

void check_reach(const asio::ip::tcp::endpoint& endpoint, const Settings& settings) {
  const bool asks_who = !settings.password.empty() || !settings.tls_ca.empty();
  if (endpoint.address().is_loopback() || asks_who) return;
  const std::string where = net::to_text(endpoint);
  if (settings.tls_cert.empty() && !settings.insecure) {
    throw std::runtime_error("resp: " + where +
                             " is not a loopback address: give --password or --tls-cert, or --insecure to "
                             "serve anyone who can reach it");
  }
  spdlog::warn("resp: {}: anyone who can reach it may do everything; --password or --tls-ca restricts that",
               where);
}

}  // namespace

Listeners::Listeners(asio::io_context& context, const Settings& settings, net::Protocol resp,
                     core::Notices& notices)
    : settings_(settings), notices_(notices), tcp_protocol_(resp), unix_protocol_(std::move(resp)) {
  if (!settings.tls_cert.empty()) {
    tls_.emplace(make_tls(settings));
    tcp_protocol_.tls = &*tls_;
  }
  for (const Endpoint& wanted : settings.resp) {
    const auto endpoint = net::resolve("resp", wanted.host, wanted.port);
    check_reach(endpoint, settings);
    tcp_.push_back(net::listen_tcp(context, "resp", endpoint));
    addresses_.push_back(tcp_.back()->address());
  }
  if (!settings.unix_socket.empty()) {
    unix_ = net::listen_unix(context, "unix-socket", settings.unix_socket);
    addresses_.push_back(unix_->address());
  }
  if (addresses_.empty()) throw std::runtime_error("nothing to listen on: give --resp or --unix-socket");
}

void Listeners::start(net::Dispatcher& dispatcher) {
  for (const auto& listener : tcp_) start(*listener, tcp_protocol_, dispatcher);
  if (unix_) start(*unix_, unix_protocol_, dispatcher);
}

void Listeners::start(net::Listener& listener, const net::Protocol& protocol, net::Dispatcher& dispatcher) {
  listener.start([&](net::Accepted accepted) { dispatcher.take(std::move(accepted), protocol); },
                 [this](const std::string& why) { notices_.tell(core::Notice::cannot_accept, {}, why); });
}

void Listeners::reload() {
  if (tls_) *tls_ = make_tls(settings_);
}

void Listeners::stop() {
  for (const auto& listener : tcp_) listener->stop();
  if (unix_) unix_->stop();
}

}  // namespace weir::server
