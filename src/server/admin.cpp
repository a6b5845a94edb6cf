#include "server/admin.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <stdexcept>
#include <utility>

#include "http/problem.hpp"

namespace weir::inline v0_1::server {
namespace {

// Its loop is none of those that decide: the first of those gives freed memory back to the system.
constexpr std::size_t kNumber = 1'000;
// Scrapers and health checks are few.
constexpr std::size_t kMostConnections = 64;
// One that is closed to make room is counted until the end of the turn.
constexpr std::size_t kLeaving = 64;
constexpr std::size_t kMostMemory = 64_MiB;

void check_reach(const boost::asio::ip::tcp::endpoint& endpoint, const Settings& settings) {
  if (endpoint.address().is_loopback() || !settings.http_token.empty() || !settings.password.empty()) return;
  const std::string where = net::to_text(endpoint);
  if (!settings.insecure) {
    throw std::runtime_error("admin: " + where +
                             " is not a loopback address: give --http-token or --password, or --insecure to "
                             "show the metrics to anyone who can reach it");
  }
  spdlog::warn("admin: {}: anyone who can reach it may read the metrics; --http-token restricts that", where);
}

}  // namespace

Admin::Admin(const Settings& settings, service::Service& service,
             http::AdminConversation::Readiness readiness)
    : service_(service),
      readiness_(std::move(readiness)),
      protocol_{.converse =
                    [this](net::Loop&, const net::Peer& peer, const std::function<void()>&) {
                      return std::make_unique<http::AdminConversation>(service_, readiness_, room_, peer);
                    },
                .too_many = http::last_words(503, "too many connections to the admin listener"),
                .too_large = http::last_words(503, "too many answers that are not taken"),
                .stalled = http::last_words(408, "half a request for --stall-timeout")},
      loop_(kNumber, service.options().clock, settings.stall_timeout, connections_, service.notices),
      dispatcher_({&loop_}, kMostConnections + kLeaving, connections_) {
  connections_.memory.most = kMostMemory;
  for (const ListenAddress& wanted : settings.admin) open(wanted, settings);
  for (const auto& listener : listeners_) {
    listener->start(
        [this](net::Accepted accepted) {
          // No number of silent connections is to keep a health check out.
          if (connections() >= kMostConnections) loop_.close_quietest();
          dispatcher_.take(std::move(accepted), protocol_);
        },
        [this](const std::string& why) { service_.notices.tell(core::Notice::cannot_accept, {}, why); });
  }
  loop_.start_sweeping();
  thread_ = std::thread([this] { loop_.context.run(); });
}

Admin::~Admin() {
  loop_.context.stop();
  thread_.join();
  for (const auto& listener : listeners_) listener->stop();
  loop_.close_sessions();
}

void Admin::open(const ListenAddress& wanted, const Settings& settings) {
  if (!wanted.unix_socket.empty()) {
    listeners_.push_back(net::listen_unix(loop_.context, "admin", wanted.unix_socket));
    addresses_.push_back("admin unix:" + listeners_.back()->address());
    return;
  }
  const auto endpoint = net::resolve("admin", wanted.tcp.host, wanted.tcp.port);
  check_reach(endpoint, settings);
  listeners_.push_back(net::listen_tcp(loop_.context, "admin", endpoint));
  addresses_.push_back("admin http://" + listeners_.back()->address());
}

}  // namespace weir::server
