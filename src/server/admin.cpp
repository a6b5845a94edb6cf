#include "server/admin.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <stdexcept>
#include <utility>

#include "http/problem.hpp"
#include "server/listeners.hpp"

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
  if (endpoint.address().is_loopback() || !settings.http_token.empty() || !settings.password.empty() ||
      !settings.users.empty())
    return;
  const std::string where = net::to_text(endpoint);
  if (!settings.insecure) {
    throw std::runtime_error(
        "admin: " + where +
        " is not a loopback address: give --http-token, --password or --users, or --insecure to "
        "show the metrics to anyone who can reach it, and let them steer limits");
  }
  spdlog::warn(
      "admin: {}: anyone who can reach it may read the metrics and steer limits; --http-token restricts that",
      where);
}

http::AdminPage health_page(const std::function<std::string()>& why_ill) {
  return {"/healthcheck", [&why_ill](const http::Message&, http::Reply& reply) {
            const std::string why = why_ill();
            reply.status = why.empty() ? 200 : 500;
            reply.body = why.empty() ? "OK" : why + "\n";
          }};
}

http::AdminPage config_page(const service::Service& service) {
  return {"/rlconfig", [&service](const http::Message&, http::Reply& reply) {
            const auto made = service.descriptors ? service.descriptors->current() : nullptr;
            if (made) made->append_text(reply.body);
          }};
}

}  // namespace

Admin::Admin(const Settings& settings, service::Service& service, Links links)
    : service_(service),
      links_(std::move(links)),
      api_{.forward = links_.forward},
      loop_(kNumber, service.options().clock, settings.stall_timeout, connections_, service.notices),
      each_second_(*loop_.timers),
      dispatcher_({&loop_}, kMostConnections + kLeaving, connections_),
      settings_(settings) {
  connections_.memory.most = kMostMemory;
  shared_.post = [this](std::function<void()> call) { boost::asio::post(loop_.context, std::move(call)); };
  for (const ListenAddress& wanted : settings.admin) {
    if (wanted.unix_socket.empty())
      check_reach(net::resolve("admin", wanted.tcp.host, wanted.tcp.port), settings);
    open("admin", wanted, show(http::admin_pages(service_, links_.readiness), true, wanted.most));
  }
  if (settings.ratelimit) open_ratelimit(*settings.ratelimit);
}

void Admin::start() {
  for (const Open& each : open_) {
    each.listener->start(
        [this, &protocol = each.shown->protocol](net::Accepted accepted) {
          // No number of silent connections is to keep a health check out.
          if (connections() >= kMostConnections) loop_.close_quietest();
          dispatcher_.take(std::move(accepted), protocol);
        },
        [this](const std::string& why) { service_.notices.tell(core::Notice::cannot_accept, {}, why); });
  }
  loop_.start_sweeping();
  each_second_.start(std::chrono::seconds{1}, links_.each_second);
  thread_ = std::thread([this] { loop_.context.run(); });
}

Admin::~Admin() {
  loop_.context.stop();
  if (thread_.joinable()) thread_.join();
  for (const Open& each : open_) each.listener->stop();
  loop_.close_sessions();
}

std::vector<net::Listener*> Admin::all() const {
  std::vector<net::Listener*> all;
  for (const Open& each : open_) all.push_back(each.listener.get());
  return all;
}

const Admin::Shown& Admin::show(http::AdminPages pages, bool has_api, steering::Role most) {
  Shown& shown = shown_.emplace_back();
  shown.pages = std::move(pages);
  const http::AdminApi& api = has_api ? api_ : no_api_;
  const auto converse = [this, &shown, &api, most](net::Loop&, const net::Peer& peer,
                                                   const std::function<void()>& resume) {
    return std::make_unique<http::AdminConversation>(service_, shown.pages, api, shared_, peer, resume, most);
  };
  shown.protocol = {.converse = converse,
                    .too_many = http::last_words(503, "too many connections to the admin listener"),
                    .too_large = http::last_words(503, "too many answers that are not taken"),
                    .stalled = http::last_words(408, "half a request for --stall-timeout")};
  return shown;
}

void Admin::open(const std::string& flag, const ListenAddress& wanted, const Shown& shown) {
  const bool by_path = !wanted.unix_socket.empty();
  open_.push_back({open_listener(loop_.context, settings_, flag, wanted), &shown});
  addresses_.push_back(flag + (by_path ? " unix:" : " http://") + open_.back().listener->address());
}

void Admin::open_ratelimit(const RatelimitPages& wanted) {
  open("health", wanted.health, show({health_page(links_.why_ill)}, false));
  open("config", wanted.config, show({config_page(service_)}, false));
  if (!wanted.metrics) return;
  http::AdminPage metrics = http::metrics_page(wanted.metrics_path, service_, links_.readiness);
  metrics.asks_who = false;  // by its nature
  open("metrics", *wanted.metrics, show({std::move(metrics)}, false));
}

}  // namespace weir::server
