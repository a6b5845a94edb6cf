// One process of `weir serve` without its sockets, threads and clocks: event loops with the store, the
// conversations and what they share, put together as src/server does it.
//
// It says what it wants (bytes to a client, a turn, actions of the store's client) by its Surroundings, and
// is called by the world for everything that happens to it. One thread.
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
#include "http/conversation.hpp"
#include "net/conversation.hpp"
#include "redis/shared_store.hpp"
#include "resp/conversation.hpp"
#include "resp/resp_loop.hpp"
#include "service/service.hpp"
#include "simulation/machine_clock.hpp"
#include "simulation/plan.hpp"
#include "store/embedded_store.hpp"
#include "store/snapshot.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::simulation {

// What a server needs of the world.
struct Surroundings {
  std::function<nanoseconds()> world;  // what time it is
  // To be called soon: the server's next turn.
  std::function<void(std::function<void()>)> turn;
  // A reply leaves for the client of that connection; and that connection ends.
  std::function<void(std::uint64_t connection, const std::string& bytes)> reply;
  std::function<void(std::uint64_t connection)> hang_up;
  std::function<void(std::size_t loop, const redis::Client::Action& action)> act;
};

class Server {
 public:
  static constexpr std::size_t kMemory = std::size_t{1} << 20;
  static constexpr nanoseconds kLeasesEvery = 100ms;

  struct Loop {
    Loop(Server& server, std::size_t its_number);

    Server& its;
    std::size_t number;
    std::unique_ptr<redis::SharedStore> shared;  // null: the store is this process' own
    waiting::AcquiringStore acquiring;
    resp::RespLoop resp;
    http::HttpLoop http;
    std::optional<nanoseconds> leases_at{};  // when to look for those that have ended
    store::Store& store() { return shared ? static_cast<store::Store&>(*shared) : its.embedded; }
  };
  struct Session {
    std::size_t loop;
    std::unique_ptr<net::Conversation> conversation;
    std::string rest{};  // not taken yet
    bool turning = false;
  };

  // `seed` is the table's; whatever else is random comes from `random`. `open`: of the limits file, if there
  // is one.
  Server(const Plan& plan, const MachineClock& clock, core::HashKey seed, core::Random random,
         Surroundings surroundings, limits::OpenFile open)
      : plan_(plan),
        clock_(clock),
        random_(std::move(random)),
        surroundings_(std::move(surroundings)),
        embedded(kMemory, WhenFull::deny, seed, plan.reservation_memory, random_),
        service({.on_store_error = plan.on_store_error,
                 .sharing = {.lease = plan.lease, .merge = plan.merge},
                 .threads = static_cast<unsigned>(plan.loops),
                 .clock = [this] { return now(); },
                 .wall_clock = [this] { return clock_.wall(surroundings_.world()); }},
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
    for (std::size_t i = 0; i < plan.loops; ++i) loops.push_back(std::make_unique<Loop>(*this, i));
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  nanoseconds now() const { return clock_.steady(surroundings_.world()); }

  void start() {
    for (const auto& loop : loops) {
      if (!loop->shared) continue;
      loop->shared->client().start(now());
      settle(*loop);
    }
  }

  // A client's connection.
  void accept(std::uint64_t connection, bool is_http) {
    Session& session = sessions_[connection];
    session.loop = connection % loops.size();
    Loop& loop = *loops[session.loop];
    const net::Peer peer{connection, "10.0.0." + std::to_string(connection % 250)};
    const auto resume = [this, connection] { turn_of(connection); };
    if (is_http) {
      session.conversation = std::make_unique<http::Conversation>(service, loop.http, peer, resume);
    } else {
      session.conversation = std::make_unique<resp::Conversation>(service, loop.resp, peer, resume);
    }
  }
  std::size_t loop_of(std::uint64_t connection) const { return sessions_.at(connection).loop; }
  // `read`: what its loop's clock showed when it had these bytes.
  void receive(std::uint64_t connection, std::string_view bytes, nanoseconds read) {
    const auto found = sessions_.find(connection);
    if (found == sessions_.end()) return;
    found->second.rest += bytes;
    feed(connection, found->second, read);
  }
  void gone(std::uint64_t connection) {
    const auto found = sessions_.find(connection);
    if (found == sessions_.end()) return;
    Loop& loop = *loops[found->second.loop];
    sessions_.erase(found);
    settle(loop);
  }

  // The earliest time, by this server's clock, at which that loop has something to do.
  static nanoseconds next(const Loop& loop) {
    nanoseconds next = loop.acquiring.next_deadline().value_or(nanoseconds::max());
    if (loop.shared) next = std::min(next, loop.shared->client().next_tick());
    if (loop.leases_at) next = std::min(next, *loop.leases_at);
    return next;
  }
  void tick(Loop& loop) {
    if (loop.shared && loop.shared->client().next_tick() <= now()) loop.shared->client().tick(now());
    if (const auto due = loop.acquiring.next_deadline(); due && *due <= now()) loop.acquiring.advance(now());
    if (loop.leases_at && *loop.leases_at <= now()) {
      loop.leases_at.reset();
      loop.shared->end_leases(false);
    }
    settle(loop);
  }
  // Something happened to the store's connection.
  template <class Event>
  void happen(Loop& loop, const Event& event) {
    event(loop.shared->client());
    settle(loop);
  }

  // What has a bound and is beyond it; empty: nothing.
  std::string beyond() const {
    const store::ReservationMemory& reserved = embedded.reservations().memory();
    if (embedded.table().allocated_bytes() > kMemory) return "the table is above its memory";
    if (reserved.bytes() > plan_.reservation_memory) return "reservations are above their memory";
    if (house.waiting() > plan_.waiters) return "more wait than may";
    return "";
  }
  // Nothing that was asked is open.
  bool at_rest() const {
    for (const auto& loop : loops) {
      if (loop->shared && (!loop->shared->empty() || loop->shared->client().open_calls() > 0)) return false;
    }
    return house.waiting() == 0;
  }
  std::uint64_t fallbacks() const {
    std::uint64_t sum = 0;
    for (const auto& loop : loops) {
      if (loop->shared) sum += loop->shared->counters().fallbacks.load();
    }
    return sum;
  }

 private:
  void feed(std::uint64_t connection, Session& session, nanoseconds read) {
    if (session.conversation->waiting()) return;
    std::string out;
    Loop& loop = *loops[session.loop];
    const std::size_t used = session.conversation->feed(session.rest, out, {read, read});
    session.rest.erase(0, used);
    const bool closes = session.conversation->closing();
    if (!closes && !session.conversation->waiting() && session.conversation->busy()) turn_of(connection);
    settle(loop);
    if (!out.empty()) surroundings_.reply(connection, out);
    if (closes) surroundings_.hang_up(connection);
  }
  void turn_of(std::uint64_t connection) {
    Session& session = sessions_.at(connection);
    if (std::exchange(session.turning, true)) return;
    surroundings_.turn([this, connection] {
      const auto found = sessions_.find(connection);
      if (found == sessions_.end()) return;
      found->second.turning = false;
      feed(connection, found->second, now());
    });
  }
  void settle(Loop& loop) {
    if (!loop.shared || std::exchange(settling_, true)) return;
    redis::Client& client = loop.shared->client();
    for (auto actions = client.take_actions(); !actions.empty(); actions = client.take_actions()) {
      for (const redis::Client::Action& action : actions) surroundings_.act(loop.number, action);
    }
    loop.shared->note_state();
    if (!loop.leases_at && loop.shared->has_leases()) loop.leases_at = now() + kLeasesEvery;
    settling_ = false;
  }

  std::unique_ptr<redis::SharedStore> make_shared();

  const Plan& plan_;
  const MachineClock& clock_;
  core::Random random_;
  Surroundings surroundings_;
  bool settling_ = false;

 public:
  store::EmbeddedStore embedded;
  redis::ProcessMemory memory;
  service::Service service;
  waiting::House house{plan_.waiters};
  std::vector<std::unique_ptr<Loop>> loops;

 private:
  std::map<std::uint64_t, Session> sessions_;  // last: their questions are in the stores
};

inline Server::Loop::Loop(Server& server, std::size_t its_number)
    : its(server),
      number(its_number),
      shared(server.make_shared()),
      acquiring(
          store(), server.house, [&server] { return server.now(); }, [] {},
          [this] {
            its.surroundings_.turn([this] {
              acquiring.advance(its.now());
              its.settle(*this);
            });
          }),
      resp(server.service, store(), &acquiring),
      http(server.service, store(), &acquiring) {}

inline std::unique_ptr<redis::SharedStore> Server::make_shared() {
  if (plan_.store == Plan::Store::embedded) return nullptr;
  const bool cluster = plan_.store == Plan::Store::cluster;
  const char* const url = cluster ? "redis+cluster://a,b,c?prefix=" : "redis://a?prefix=";
  return std::make_unique<redis::SharedStore>(
      redis::Endpoint::parse(url).value(),
      redis::SharedStore::Options{
          .local_share = plan_.local_share, .lease_parts = plan_.loops, .random = random_},
      embedded, memory, [this] { return now(); });
}

}  // namespace weir::simulation
