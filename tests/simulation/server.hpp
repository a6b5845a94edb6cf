// One process of `weir serve`: the workers of src/server, their loops, sessions and sockets, as they ship. Of
// the world they are handed a clock, timers, and connections to the store; their clients' connections are
// pairs of sockets (far_ends.hpp).
//
// It says by its Surroundings what it does, and is called by the world for everything that happens to it. One
// thread: between two calls of turn() it stands still.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "net/dispatcher.hpp"
#include "server/worker.hpp"
#include "service/service.hpp"
#include "simulation/far_ends.hpp"
#include "simulation/machine_clock.hpp"
#include "simulation/plan.hpp"
#include "simulation/store_connection.hpp"
#include "simulation/virtual_timers.hpp"
#include "store/embedded_store.hpp"
#include "store/snapshot.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::simulation {

// What a server needs of the world.
struct Surroundings {
  std::function<nanoseconds()> world;  // what time it is
  // To be called when the server's clock shows that, or when it runs again.
  std::function<void(nanoseconds time, std::function<void()>)> at;
  // A reply leaves for the client of that connection; and that connection ends.
  std::function<void(std::uint64_t connection, std::string bytes)> reply;
  std::function<void(std::uint64_t connection)> hang_up;
  // Of a loop's connection to a node of the store.
  std::function<void(std::size_t loop, redis::Client::NodeId, const std::string& host)> connect;
  std::function<void(std::size_t loop, redis::Client::NodeId, std::string bytes)> send;
  std::function<void(std::size_t loop, redis::Client::NodeId)> close;
};

class Server {
 public:
  static constexpr std::size_t kMemory = std::size_t{1} << 20;

  // `seed` is the table's; whatever else is random comes from `random`. `open`: of the limits file, if there
  // is one.
  Server(const Plan& plan, const MachineClock& clock, core::HashKey seed, core::Random random,
         Surroundings surroundings, limits::OpenFile open)
      : plan_(plan),
        clock_(clock),
        around_(std::move(surroundings)),
        settings_(settings_of(plan, random)),
        embedded(kMemory, WhenFull::deny, seed, plan.reservation_memory, random),
        service({.on_store_error = plan.on_store_error,
                 .sharing = {.lease = plan.lease, .merge = plan.merge},
                 .allow_refunds = true,
                 .threads = settings_.threads,
                 .clock = [this] { return now(); },
                 .wall_clock = [this] { return clock_.wall(around_.world()); }},
                embedded.table()) {
    if (plan.by_file) {
      service.limits = std::make_unique<service::LimitsInForce>(
          service::LimitsInForce::Options{.path = "limits.yaml",
                                          .setting = {.on_store_error = plan.on_store_error,
                                                      .sharing = service.options().sharing,
                                                      .wall = service.wall_ahead(),
                                                      .max_wait = service.options().max_wait},
                                          .shared = plan.nodes > 0,
                                          .wall_clock = service.options().wall_clock,
                                          .open = std::move(open)});
    }
    std::vector<net::Loop*> loops;
    for (std::size_t i = 0; i < plan.loops; ++i) {
      workers_.push_back(std::make_unique<server::Worker>(i, settings_, service, embedded, &memory_, status_,
                                                          house_, rls_counts_, connections_,
                                                          links_to_world(i)));
      loops.push_back(&workers_.back()->loop());
    }
    house_.queues.hear(embedded.reservations());
    dispatcher_ =
        std::make_unique<net::Dispatcher>(std::move(loops), settings_.max_connections, connections_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    killed_ = true;
    for (const auto& worker : workers_) worker->loop().close_sessions();
  }

  nanoseconds now() const { return read_ ? *read_ : clock_.steady(around_.world()); }

  void start() {
    for (const auto& worker : workers_) worker->start();
    turn();
  }

  // A client's connection.
  void accept(std::uint64_t connection, bool is_http) {
    loop_of_[connection] = accepted_++ % workers_.size();  // as the dispatcher deals them
    dispatcher_->take({clients_.connect(connection), "10.0.0." + std::to_string(connection % 250)},
                      is_http ? http_ : resp_);
    turn();
  }
  std::size_t loop_of(std::uint64_t connection) const { return loop_of_.at(connection); }
  // `read`: what its loop's clock showed when it had these bytes.
  void receive(std::uint64_t connection, std::string_view bytes, nanoseconds read) {
    if (!clients_.has(connection)) return;
    clients_.send(connection, bytes);
    read_ = read;
    turn();
    read_.reset();
  }
  // `resets`: by an RST, as of a process that ends with an answer unread; over RESP.
  void gone(std::uint64_t connection, bool resets = false) {
    loop_of_.erase(connection);
    if (resets && clients_.has(connection)) {
      clients_.go_deaf(connection);
      clients_.send(connection, "*1\r\n$4\r\nPING\r\n");
      turn();
    }
    clients_.close(connection);
    turn();
  }

  // What happens to a connection to the store; the server hears of it when it has its turn.
  StoreConnection& to_store(std::size_t loop, redis::Client::NodeId node) { return *links_.at({loop, node}); }
  // The loops go on until there is nothing more to do.
  void turn() {
    for (bool ran = true; ran;) {
      ran = clients_.push();
      for (const auto& worker : workers_) {
        boost::asio::io_context& context = worker->loop().context;
        if (context.stopped()) context.restart();
        ran = context.poll() > 0 || ran;
      }
      const auto left = [this](std::uint64_t id) { around_.hang_up(id); };
      ran = clients_.pull(around_.reply, left) || ran;
    }
  }

  // What has a bound and is beyond it; empty: nothing.
  std::string beyond() const {
    const store::ReservationMemory& reserved = embedded.reservations().memory();
    if (embedded.table().allocated_bytes() > kMemory) return "the table is above its memory";
    if (reserved.bytes() > plan_.reservation_memory) return "reservations are above their memory";
    if (house_.waiting() > plan_.waiters) return "more wait than may";
    return "";
  }
  // Nothing that was asked is open.
  bool at_rest() const {
    for (const auto& worker : workers_) {
      if (worker->shared() != nullptr && !worker->shared()->empty()) return false;
    }
    return house_.waiting() == 0;
  }

 private:
  static server::Settings settings_of(const Plan& plan, const core::Random& random) {
    server::Settings settings;
    settings.threads = static_cast<unsigned>(plan.loops);
    if (plan.store == Plan::Store::embedded) return settings;
    const bool cluster = plan.store == Plan::Store::cluster;
    settings.store_text = cluster ? "redis+cluster://a,b,c?prefix=" : "redis://a?prefix=";
    settings.store = redis::Endpoint::parse(settings.store_text).value();
    settings.store_options = {.local_share = plan.local_share, .random = random};
    return settings;
  }

  server::WorldLinks links_to_world(std::size_t loop) {
    return {.make_timers = [this](auto&) { return std::make_unique<VirtualTimers>(time_); },
            .open_connection =
                [this, loop](redis::Sockets& sockets, redis::Client::NodeId node,
                             const redis::NodeAddress& address) {
                  const auto made = std::make_shared<StoreConnection>(
                      sockets, node, workers_[loop]->loop().context, way_to(loop, node));
                  links_[{loop, node}] = made;
                  if (!killed_) around_.connect(loop, node, address.host);
                  return made;
                }};
  }
  StoreConnection::Way way_to(std::size_t loop, redis::Client::NodeId node) {
    return {.send =
                [this, loop, node](std::string bytes) {
                  if (!killed_) around_.send(loop, node, std::move(bytes));
                },
            .close =
                [this, loop, node] {
                  if (!killed_) around_.close(loop, node);
                }};
  }

  const Plan& plan_;
  const MachineClock& clock_;
  const Surroundings around_;
  const VirtualTime time_{[this] { return now(); },
                          [this](nanoseconds time, std::function<void()> what) {
                            if (killed_) return;
                            around_.at(time, [this, what = std::move(what)] {
                              what();
                              turn();
                            });
                          }};
  const server::Settings settings_;
  bool killed_ = false;
  std::optional<nanoseconds> read_;  // a loop lags: what its clock showed

 public:
  store::EmbeddedStore embedded;

 private:
  redis::ProcessMemory memory_{redis::DenialMemory::kBytes, {1, 2}};

 public:
  service::Service service;

 private:
  server::StoreStatus status_{settings_.store_text, settings_.threads};
  waiting::House house_{plan_.waiters};
  rls::RlsCounts rls_counts_;
  net::LoopCounters connections_;
  const net::Protocol resp_{.converse =
                                [this](net::Loop& loop, const net::Peer& peer, std::function<void()> resume) {
                                  return workers_[loop.number]->converse(peer, std::move(resume));
                                },
                            .too_many = {}};
  const net::Protocol http_{.converse =
                                [this](net::Loop& loop, const net::Peer& peer, std::function<void()> resume) {
                                  return workers_[loop.number]->converse_http(peer, std::move(resume));
                                },
                            .too_many = {}};
  FarEnds clients_;
  std::size_t accepted_ = 0;
  std::map<std::uint64_t, std::size_t> loop_of_;
  std::map<std::pair<std::size_t, redis::Client::NodeId>, std::shared_ptr<StoreConnection>> links_;
  std::vector<std::unique_ptr<server::Worker>> workers_;
  std::unique_ptr<net::Dispatcher> dispatcher_;
};

}  // namespace weir::simulation
