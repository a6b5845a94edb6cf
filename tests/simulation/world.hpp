// A world: servers, clients, the nodes of the store, the networks between them and the clocks of each
// machine, in one thread and in virtual time. It lives through a plan and tells what happened.
//
// Not for: judging (referee.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulation/chance.hpp"
#include "simulation/dialect.hpp"
#include "simulation/history.hpp"
#include "simulation/machine_clock.hpp"
#include "simulation/plan.hpp"
#include "simulation/redis_node.hpp"
#include "simulation/server.hpp"
#include "simulation/simulated_disk.hpp"

namespace weir::inline v0_1::simulation {

// What is asked on by what was told has numbers from there.
inline constexpr std::uint32_t kFollowed = 1U << 31;

class World {
 public:
  explicit World(const Plan& plan);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Lives through all of the plan, and then until nothing is left of its faults.
  History run();

 private:
  // One way of a network: what is sent over it arrives in order, and later while it is held up.
  struct Way {
    nanoseconds last{0};
    nanoseconds held_until{0};
    bool swallows = false;
  };
  struct Machine {
    std::unique_ptr<MachineClock> clock;
    std::unique_ptr<SimulatedDisk> disk;
    std::shared_ptr<Server> server;  // null: it is not running
    std::uint64_t life = 0;
    nanoseconds asleep_until{0};
    struct Link {  // of a loop to a node of the store
      std::size_t node = 0;
      int generation = 0;
      bool open = false;
      std::string wire{};
      Way out{}, back{};
    };
    std::map<std::pair<std::size_t, redis::Client::NodeId>, Link> links;
    Way store_out{}, store_back{};  // what holds up all of them
    nanoseconds saved_at{0};        // what the snapshot is of; 0: there is none
    bool torn = false;              // the snapshot, by somebody else
    bool saving = false;
    struct Stuck {
      nanoseconds until{0};
      nanoseconds again{0};  // not before that
    };
    std::map<std::size_t, Stuck> stuck{};  // by loop
    std::uint32_t limits_form = 0;         // to start with
    std::uint32_t form = 0;                // of the limits file on the disk
    struct {
      bool under_way = false;
      bool failed = false;
      std::uint32_t form = 0;
    } reading{};  // of the limits file
    std::size_t number = 0;
  };
  struct Connection {
    explicit Connection(Protocol its) : protocol(its), replies(its) {}
    const Protocol protocol;
    Replies replies;
    std::size_t client = 0;
    std::size_t server = 0;
    std::uint64_t life = 0;
    Way out{}, back{};
    bool once = false;  // it is closed after its first reply
    bool accepted = false;
    std::deque<Asked*> unanswered{};  // arrived, in order
    std::deque<Asked*> open{};        // asked, in order, and not received
    std::string leaving{};            // of the server: half a reply
    Asked* bound = nullptr;           // what ends with it
  };
  struct Happening {
    nanoseconds at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator>(const Happening& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void later(nanoseconds after, std::function<void()> what);
  bool step(nanoseconds until);
  void happen(const Event& event);
  void happen_to_client(const Event& event);
  void happen_to(Machine& machine, const Event& event);
  void happen_to_node(std::size_t number, const Event& event);
  void note(std::string_view what, std::uint64_t number, std::string_view bytes = {});
  void odd(const std::string& what);
  void check_bounds(const Machine& machine);

  // Clients.
  void ask(const Event& event);
  Protocol protocol_of(std::size_t client) const {
    return plan_.http.at(client) ? Protocol::http : Protocol::resp;
  }
  std::string_view id_of(const Event& event) const;
  std::uint64_t connection_of(const Event& event);
  void follow(const Asked& asked);
  Event& next_of(const Event& granted, Event::Kind kind, std::uint32_t who);
  void call(const Event& granted, std::uint32_t who);
  void send(std::uint64_t connection, Asked& asked, std::string bytes);
  void arrive(std::uint64_t connection, Asked& asked, const std::string& bytes);
  void close(std::uint64_t connection, bool tells_server);

  // Servers.
  void start(Machine& machine);
  bool opens(Machine& machine, const store::SystemClocks& clocks, std::optional<store::SnapshotFile>& file);
  std::unique_ptr<Server> make_server(Machine& machine, core::HashKey seed);
  void restore(Server& server, store::SnapshotFile& file);
  tl::expected<std::string, std::string> read_limits(Machine& machine, std::size_t most);
  void pass(Machine& machine, nanoseconds time);
  void kill(Machine& machine, nanoseconds for_time, const Event& event);
  void save(Machine& machine);
  void reload(Machine& machine, std::uint32_t form);
  void reply(std::uint64_t connection, const std::string& bytes);
  template <class Act>
  void when_awake(Machine& machine, Act act);

  // The store.
  void connect(Machine& machine, std::size_t loop, redis::Client::NodeId id, const std::string& host);
  void carry(Machine& machine, std::size_t loop, redis::Client::NodeId id, redis::Strings command);
  void cut(Machine& machine, const std::function<bool(const Machine::Link&)>& which);
  void cut_node(std::size_t node);
  void lose(const Event& event);

  nanoseconds arrival(Way& way, nanoseconds latency, nanoseconds held_until = nanoseconds{0});
  nanoseconds latency_of_client();
  nanoseconds latency_of_store();
  void disturb(std::size_t server, nanoseconds for_time);
  void disturb_all(nanoseconds for_time);
  std::size_t node_of(const std::string& host) const;
  std::string map() const;

  const Plan& plan_;
  Chance chance_;
  Chance secrets_;  // of the servers: hashes, ids and jitter
  nanoseconds now_{0};
  std::uint64_t order_ = 0;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> queue_;
  std::vector<std::unique_ptr<RedisNode>> nodes_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::uint64_t> of_client_;  // its connection; 0: none
  std::uint64_t next_connection_ = 1;
  std::unordered_map<std::uint32_t, Asked*> by_event_;
  History history_;
};

// How long a fault may be felt after its end: what the documentation gives the parts of weir to be back.
inline constexpr nanoseconds kRecovery = std::chrono::seconds{2};

}  // namespace weir::simulation
