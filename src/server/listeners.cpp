#include "server/listeners.hpp"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/number.hpp"
#include "net/tls.hpp"

namespace weir::inline v0_1::server {
namespace {

namespace asio = boost::asio;

asio::ssl::context make_tls(const Settings& settings) {
  asio::ssl::context tls(asio::ssl::context::tls_server);
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                  asio::ssl::context::no_tlsv1_1);
  // 10,000 idle connections would otherwise keep 34 KiB of OpenSSL buffers each.
  SSL_CTX_set_mode(tls.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  // A client that comes again shows its ticket, and needs no new handshake: of our making, or with a client's
  // certificate OpenSSL refuses every one. The tickets are all: sessions that the server keeps would be up to
  // 20,000, with their clients' certificates, and of those no bound on memory knows.
  constexpr std::string_view kOurs = "weir";
  SSL_CTX_set_session_id_context(tls.native_handle(), reinterpret_cast<const unsigned char*>(kOurs.data()),
                                 static_cast<unsigned>(kOurs.size()));
  SSL_CTX_set_session_cache_mode(tls.native_handle(), SSL_SESS_CACHE_OFF);
  net::show_certificate(tls, "tls", settings.tls_cert, settings.tls_key);
  if (!settings.tls_ca.empty()) {
    net::trust(tls, "tls-ca", settings.tls_ca);
    if (!settings.tls_client_name.empty()) {
      X509_VERIFY_PARAM* const wants = SSL_CTX_get0_param(tls.native_handle());
      X509_VERIFY_PARAM_set_hostflags(wants, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
      X509_VERIFY_PARAM_set1_host(wants, settings.tls_client_name.data(), settings.tls_client_name.size());
    }
    tls.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
  }
  return tls;
}

// A client that names protocols and not this one is told so; one that names none is taken at its word.
int choose_h2(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
              unsigned offered_size, void*) {
  static constexpr unsigned char kH2[] = {2, 'h', '2'};  // what is chosen lies in it
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kH2, sizeof kH2, offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// `asks_who`: its clients show a password or the like.
void check_reach(const std::string& flag, const asio::ip::tcp::endpoint& endpoint, bool asks_who,
                 const Settings& settings) {
  if (endpoint.address().is_loopback() || asks_who || !settings.tls_ca.empty()) return;
  const std::string where = net::to_text(endpoint);
  // gRPC has no secret.
  const std::string secret = flag == "rls"    ? ""
                             : flag == "http" ? "--http-token, --password, --users or "
                                              : "--password, --users or ";
  if (settings.tls_cert.empty() && !settings.insecure) {
    throw std::runtime_error(flag + ": " + where + " is not a loopback address: give " + secret +
                             "--tls-cert, or --insecure to serve anyone who can reach it");
  }
  if (!settings.warn_of_reach) return;
  spdlog::warn("{}: {}: anyone who can reach it may do everything; {}--tls-ca restricts that", flag, where,
               secret);
}

int given(const Settings& settings, const std::string& flag, const std::string& address) {
  const auto found = std::find_if(settings.given.begin(), settings.given.end(), [&](const GivenSocket& each) {
    return each.flag == flag && each.address == address;
  });
  return found == settings.given.end() ? -1 : found->descriptor;
}

}  // namespace

std::unique_ptr<net::Listener> open_listener(asio::io_context& context, const Settings& settings,
                                             const std::string& flag, const ListenAddress& wanted) {
  if (!wanted.unix_socket.empty()) {
    const int its = given(settings, flag, wanted.unix_socket);
    return its >= 0 ? net::listen_on(context, flag, its)
                    : net::listen_unix(context, flag, wanted.unix_socket, settings.local ? 0600U : 0660U);
  }
  const auto endpoint = net::resolve(flag, wanted.tcp.host, wanted.tcp.port);
  const int its = given(settings, flag, net::to_text(endpoint));
  return its >= 0 ? net::listen_on(context, flag, its) : net::listen_tcp(context, flag, endpoint);
}

ListenAddress read_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (text.starts_with('/') || colon == std::string::npos) return {.tcp = {}, .unix_socket = text};
  std::string host = text.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const auto port = core::parse_integer(text.substr(colon + 1)).value_or(0);
  return {.tcp = {host, static_cast<std::uint16_t>(port)}, .unix_socket = {}};
}

Listeners::Listeners(asio::io_context& context, const Settings& settings, const Speak& resp,
                     const Speak& http, const Speak& rls, core::Notices& notices)
    : settings_(settings), notices_(notices), tls_(read_tls()) {
  const bool password = !settings.password.empty() || !settings.users.empty();
  auto* const tls = tls_ ? &tls_->tls : nullptr;
  open_all(context, settings.resp, "", {"resp", password, tls, resp});
  if (!settings.unix_socket.empty()) {
    const ListenAddress by_path{
        .tcp = {}, .unix_socket = settings.unix_socket, .most = settings.most_by_unix_socket};
    addresses_.push_back(open(context, by_path, {"unix-socket", password, tls, resp}));
  }
  open_all(context, settings.http, tls_ ? "https" : "http",
           {"http", password || !settings.http_token.empty(), tls, http});
  open_all(context, settings.rls, tls_ ? "grpcs" : "grpc", {"rls", false, tls_ ? &tls_->h2 : nullptr, rls});
  if (addresses_.empty())
    throw std::runtime_error("nothing to listen on: give --resp, --unix-socket, --http or --rls");
}

void Listeners::open_all(asio::io_context& context, const std::vector<ListenAddress>& wanted,
                         const std::string& scheme, const Spoken& spoken) {
  for (const ListenAddress& each : wanted) {
    const std::string where = open(context, each, spoken);
    addresses_.push_back(!each.unix_socket.empty() ? scheme.substr(0, 4) + " unix:" + where
                         : scheme.empty()          ? where
                                                   : scheme + "://" + where);
  }
}

std::string Listeners::open(asio::io_context& context, const ListenAddress& wanted, const Spoken& spoken) {
  const bool by_path = !wanted.unix_socket.empty();
  if (!by_path)
    check_reach(spoken.flag, net::resolve(spoken.flag, wanted.tcp.host, wanted.tcp.port), spoken.asks_who,
                settings_);
  Open& open =
      open_.emplace_back(Open{open_listener(context, settings_, spoken.flag, wanted),
                              std::make_unique<net::Protocol>(spoken.speak(wanted.most)),
                              std::make_unique<net::Protocol>(spoken.speak(wanted.most)), wanted.most});
  if (!by_path) open.protocol->tls = spoken.tls;
  return open.listener->address();
}

std::vector<net::Listener*> Listeners::all() const {
  std::vector<net::Listener*> all;
  for (const Open& each : open_) all.push_back(each.listener.get());
  return all;
}

const net::Protocol* Listeners::plain(std::string_view name, int connection) const {
  const Open* found = nullptr;
  for (const Open& each : open_) {
    if (each.plain->name != name) continue;
    if (net::came_by(connection, each.listener->descriptor())) return each.plain.get();
    if (found == nullptr || each.most < found->most) found = &each;
  }
  return found != nullptr ? found->plain.get() : nullptr;
}

void Listeners::start(net::Dispatcher& dispatcher) {
  for (const Open& each : open_) {
    each.listener->start(
        [&dispatcher, protocol = each.protocol.get()](net::Accepted accepted) {
          dispatcher.take(std::move(accepted), *protocol);
        },
        [this](const std::string& why) { notices_.tell(core::Notice::cannot_accept, {}, why); });
  }
}

Listeners::Tls Listeners::read_tls() const {
  if (settings_.tls_cert.empty()) return std::nullopt;
  TlsPair read{make_tls(settings_), make_tls(settings_)};
  SSL_CTX_set_alpn_select_cb(read.h2.native_handle(), choose_h2, nullptr);
  return read;
}

void Listeners::use(Tls tls) {
  if (tls && tls_) *tls_ = *std::move(tls);
}

void Listeners::stop() {
  for (const Open& each : open_) each.listener->stop();
}

}  // namespace weir::server
