#include "simulation/world.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace weir::inline v0_1::simulation {
namespace {

constexpr const char* kHosts[] = {"a", "b", "c"};

// What a snapshot reads.
class Clocks final : public store::SystemClocks {
 public:
  Clocks(const MachineClock& clock, nanoseconds world) : clock_(clock), world_(world) {}
  nanoseconds steady() const override { return clock_.steady(world_); }
  nanoseconds booted() const override { return clock_.steady(world_); }
  nanoseconds wall() const override { return clock_.wall(world_); }
  std::array<char, 16> boot_id() const override { return {'o', 'n', 'e'}; }

 private:
  const MachineClock& clock_;
  nanoseconds world_;
};

const std::string kSnapshot = "weir.snapshot";
const std::string kLimits = "limits.yaml";

// As a disk does it that has lost or changed what it has.
std::string torn(std::string bytes, std::uint32_t how) {
  const std::size_t at = bytes.size() * (how % 100) / 100;
  if (how % 2 == 0) return bytes.substr(0, at);
  bytes[at] = static_cast<char>(~bytes[at]);
  return bytes;
}

// How long a client waits for a reply before it gives its connection up.
nanoseconds patience_of(const Event& event) { return 1500ms + event.time; }

}  // namespace

World::World(const Plan& plan) : plan_(plan), chance_(plan.seed ^ 0xC0FFEE), secrets_(plan.seed) {
  const auto clock_of = [&](std::size_t machine) {
    const nanoseconds started = chance_.between(100s, 1'000'000s);
    // A year that begins on a Monday: hours, days, weeks and months begin with it.
    constexpr nanoseconds kNewYear =
        std::chrono::sys_days{std::chrono::year{2024} / 1 / 1}.time_since_epoch();
    return MachineClock(
        started, plan_.drift_ppm[machine],
        plan_.new_year > 0ns ? kNewYear - plan_.new_year - started : nanoseconds{1'700'000'000s});
  };
  for (std::size_t i = 0; i < plan_.servers; ++i) {
    Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
    machine.number = i;
    machine.clock = std::make_unique<MachineClock>(clock_of(i));
    machine.disk = std::make_unique<SimulatedDisk>(
        chance_.next(), [this, &machine](nanoseconds time) { pass(machine, time); });
  }
  for (std::size_t i = 0; i < plan_.nodes; ++i)
    nodes_.push_back(std::make_unique<RedisNode>(clock_of(plan_.servers + i)));
  of_client_.resize(plan_.clients);
  history_.disturbed.resize(plan_.servers);
  history_.asleep.resize(plan_.servers);
  history_.stuck.resize(plan_.servers);
  history_.forms.resize(plan_.servers);
  for (const auto& machine : machines_) start(*machine);
}

World::~World() = default;

History World::run() {
  // A replica that lags has what there was so long before.
  for (const Event& event : plan_.events) {
    if (event.kind != Event::Kind::store_failover || event.who >= nodes_.size()) continue;
    later(std::max(0ns, event.at - event.time), [this, &event] { lose(event); });
  }
  for (const Event& event : plan_.events) {
    later(std::max(0ns, event.at - now_), [this, &event] { happen(event); });
  }
  while (step(plan_.length)) {
  }
  now_ = plan_.length;
  history_.end = now_;
  for (const auto& machine : machines_) {
    if (!machine->server) continue;
    if (!machine->server->at_rest()) odd("something waits in server " + std::to_string(machine->number));
  }
  return std::move(history_);
}

// ------------------------------------------------------------------------------------------------- time

void World::later(nanoseconds after, std::function<void()> what) {
  queue_.push({now_ + after, ++order_, std::move(what)});
}

bool World::step(nanoseconds until) {
  if (queue_.empty() || queue_.top().at > until) return false;
  now_ = queue_.top().at;
  const auto what = std::move(const_cast<Happening&>(queue_.top()).what);
  queue_.pop();
  what();
  return true;
}

void World::check_bounds(const Machine& machine) {
  if (const std::string what = machine.server ? machine.server->beyond() : ""; !what.empty()) odd(what);
}

void World::note(std::string_view what, std::uint64_t number, std::string_view bytes) {
  const auto add = [&](std::string_view text) {
    for (const char each : text)
      history_.digest = (history_.digest ^ static_cast<unsigned char>(each)) * 0x100000001B3ULL;
  };
  add(what);
  add(bytes);
  history_.digest = (history_.digest ^ static_cast<std::uint64_t>(now_.count())) * 0x100000001B3ULL;
  history_.digest = (history_.digest ^ number) * 0x100000001B3ULL;
}

void World::odd(const std::string& what) {
  if (history_.odd.empty()) history_.odd = what + ", at " + std::to_string(now_.count()) + " ns";
}

nanoseconds World::arrival(Way& way, nanoseconds latency, nanoseconds held_until) {
  way.last = std::max({way.last, now_ + latency, way.held_until + latency, held_until + latency});
  return way.last;
}
nanoseconds World::latency_of_client() { return chance_.between(50us, 2ms); }
nanoseconds World::latency_of_store() { return chance_.between(20us, 1ms); }

void World::disturb(std::size_t server, nanoseconds for_time) {
  history_.disturbed[server].push_back({now_, now_ + for_time + kRecovery});
}
void World::disturb_all(nanoseconds for_time) {
  for (std::size_t i = 0; i < plan_.servers; ++i) disturb(i, for_time);
}

// ----------------------------------------------------------------------------------------------- clients

std::string_view World::id_of(const Event& event) const {
  const auto of = by_event_.find(event.of);
  return of == by_event_.end() ? std::string_view() : of->second->reply.id;
}

// An acquire blocks its connection, so each has one of its own.
std::uint64_t World::connection_of(const Event& event) {
  const bool own = event.kind == Event::Kind::acquire || event.bound;
  if (!own && of_client_[event.who] != 0) return of_client_[event.who];
  const std::uint64_t id = next_connection_++;
  if (!own) of_client_[event.who] = id;
  auto& made = connections_[id] = std::make_unique<Connection>(protocol_of(event.who));
  made->client = event.who;
  made->server = event.who % plan_.servers;
  made->once = own;
  made->out.last = now_ + 2 * latency_of_client();  // the greeting of TCP
  return id;
}

void World::ask(const Event& event) {
  if (event.who >= plan_.clients) return;
  if (event.kind == Event::Kind::leave) {
    if (const std::uint64_t id = of_client_[event.who]; id != 0) close(id, true);
    return;
  }
  const std::string bytes = request_of(plan_, event, protocol_of(event.who), id_of(event));
  if (bytes.empty()) return;
  const std::uint64_t id = connection_of(event);
  Connection& connection = *connections_.at(id);
  Asked& asked = history_.asked.emplace_back();
  asked.event = &event;
  asked.server = connection.server;
  asked.connection = id;
  asked.sent = now_;
  by_event_[event.number] = &asked;
  connection.open.push_back(&asked);
  if (event.bound) connection.bound = &asked;
  send(id, asked, bytes);
  if (event.patience > 0ns) {
    later(event.patience, [this, id, &asked] {
      if (asked.received == kNever && connections_.contains(id)) close(id, true);
    });
  }
  later(patience_of(event), [this, id, &asked] {
    if (asked.received == kNever && asked.ended == kNever && connections_.contains(id)) close(id, true);
  });
}

// What a client asks of what it was granted.
Event& World::next_of(const Event& granted, Event::Kind kind, std::uint32_t who) {
  Event& next = history_.followed.emplace_back();
  next.kind = kind;
  next.number = kFollowed + static_cast<std::uint32_t>(history_.followed.size());
  next.who = who;
  next.keys = granted.keys;
  next.of = granted.number;
  return next;
}

// Over whose moment a pause may lie asks before it acts. Then its call begins.
void World::follow(const Asked& asked) {
  const Event& event = *asked.event;
  const bool is_first = event.kind == Event::Kind::reserve;
  if (event.kind == Event::Kind::acquire && asked.reply.allowed()) return call(event, event.who);
  if (!is_first && event.kind != Event::Kind::moment) return;
  if (!plan_.keys[event.keys[0]].asks_first()) return;
  const auto of = is_first ? by_event_.find(event.number) : by_event_.find(event.of);
  if (of == by_event_.end()) return;
  const Event& granted = *of->second->event;
  if (is_first ? !asked.reply.allowed() : asked.reply.integer < 0) return;
  const std::int64_t ms = is_first ? asked.reply.values[3] : asked.reply.integer;
  if (ms <= 0) return call(granted, event.who);
  if (is_first && asked.reply.id.empty()) return;
  Event& next = next_of(granted, Event::Kind::moment, event.who);
  later(ms * 1ms, [this, &next] { ask(next); });
}

// Some ask for more time in the middle of it.
void World::call(const Event& granted, std::uint32_t who) {
  if (granted.call == 0ns) return;
  if (granted.number % 4 == 0) {
    Event& extends = next_of(granted, Event::Kind::extend, who);
    extends.time = granted.hold;
    later(granted.call / 2, [this, &extends] { ask(extends); });
  }
  Event& next = next_of(granted, Event::Kind::settle, who);
  next.units = granted.spends;
  later(granted.call, [this, &next] { ask(next); });
}

void World::send(std::uint64_t id, Asked& asked, std::string bytes) {
  Connection& connection = *connections_.at(id);
  if (connection.out.swallows) return;
  const nanoseconds at = arrival(connection.out, latency_of_client());
  later(at - now_, [this, id, &asked, bytes = std::move(bytes)] {
    if (!connections_.contains(id)) return;
    Machine& machine = *machines_[connections_.at(id)->server];
    when_awake(machine, [this, id, &asked, bytes] { arrive(id, asked, bytes); });
  });
}

void World::arrive(std::uint64_t id, Asked& asked, const std::string& bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  Machine& machine = *machines_[connection.server];
  // There is no such process, or no longer: the machine refuses.
  if (!machine.server || (connection.accepted && connection.life != machine.life)) {
    later(latency_of_client(), [this, id] {
      if (connections_.contains(id)) close(id, false);
    });
    return;
  }
  if (!std::exchange(connection.accepted, true)) {
    connection.life = machine.life;
    machine.server->accept(id, connection.protocol == Protocol::http);
  }
  Machine::Stuck& stuck = machine.stuck[machine.server->loop_of(id)];
  if (stuck.until > now_)
    return later(stuck.until - now_, [this, id, &asked, bytes] { arrive(id, asked, bytes); });
  note("arrive", id, bytes);
  asked.arrived = now_;
  asked.life = machine.life;
  connection.unanswered.push_back(&asked);
  const nanoseconds read = machine.server->now();
  // Most that can go wrong by it does where something is given back.
  const bool gives_back =
      asked.event->kind == Event::Kind::settle || asked.event->kind == Event::Kind::cancel;
  if (!plan_.lags || stuck.again > now_ || !chance_.percent(gives_back ? 60 : 2))
    return machine.server->receive(id, bytes, read);
  stuck.until = now_ + chance_.between(10us, chance_.one_in(2) ? kLag : 5ms);
  stuck.again = stuck.until + chance_.between(0ms, 500ms);
  history_.stuck[machine.number].push_back({now_, stuck.until});
  later(stuck.until - now_, [&machine, id, bytes, read, life = machine.life] {
    if (machine.server && machine.life == life) machine.server->receive(id, bytes, read);
  });
}

void World::reply(std::uint64_t id, const std::string& bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  note("reply", id, bytes);
  check_bounds(*machines_[found->second->server]);
  Connection& connection = *found->second;
  connection.leaving += bytes;
  std::vector<std::pair<Asked*, Reply>> told;
  const auto asked_first = [&] {
    return connection.unanswered.empty() ? nullptr : connection.unanswered.front()->event;
  };
  while (auto read = connection.replies.next(plan_, asked_first(), connection.leaving)) {
    if (connection.unanswered.empty()) {
      ++history_.replies_too_many;
      continue;
    }
    Asked& asked = *connection.unanswered.front();
    connection.unanswered.pop_front();
    asked.departed = now_;
    told.emplace_back(&asked, *std::move(read));
  }
  if (connection.back.swallows) return;
  const nanoseconds at = arrival(connection.back, latency_of_client());
  later(at - now_, [this, id, told = std::move(told)] {
    const auto still = connections_.find(id);
    if (still == connections_.end()) return;
    nanoseconds keeps{0};
    for (const auto& [asked, what] : told) {
      asked->received = now_;
      asked->reply = what;
      std::erase(still->second->open, asked);
      if (asked->event->bound && what.allowed()) keeps = asked->event->keeps;
      follow(*asked);
    }
    if (!still->second->once || !still->second->open.empty()) return;
    if (keeps == 0ns) return close(id, true);
    later(keeps, [this, id] { close(id, true); });
  });
}

void World::close(std::uint64_t id, bool tells_server) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  note("close", id);
  const std::unique_ptr<Connection> connection = std::move(found->second);
  connections_.erase(found);
  for (Asked* const asked : connection->open) asked->ended = now_;
  Asked* const bound = connection->bound;
  if (bound != nullptr) bound->left = now_;
  if (of_client_[connection->client] == id) of_client_[connection->client] = 0;
  Machine& machine = *machines_[connection->server];
  if (!tells_server || connection->out.swallows || !connection->accepted) return;
  const nanoseconds at = arrival(connection->out, latency_of_client());
  later(at - now_, [this, id, &machine, life = connection->life, bound] {
    when_awake(machine, [this, &machine, id, life, bound] {
      if (!machine.server || machine.life != life) return;
      machine.server->gone(id, bound != nullptr && bound->event->resets);
      if (bound != nullptr) bound->told_left = now_;
    });
  });
}

// ----------------------------------------------------------------------------------------------- servers

template <class Act>
void World::when_awake(Machine& machine, Act act) {
  if (machine.asleep_until <= now_) return act();
  later(machine.asleep_until - now_, [this, &machine, act] { when_awake(machine, act); });
}

// The world goes on while a thread of that machine waits for its disk.
void World::pass(Machine& machine, nanoseconds time) {
  const std::uint64_t life = machine.life;
  for (nanoseconds until = now_ + time; now_ < plan_.length; until = std::max(until, machine.asleep_until)) {
    until = std::min(until, plan_.length);
    while (step(until)) {
    }
    now_ = std::max(now_, until);
    if (machine.asleep_until <= now_) break;
  }
  if (machine.life != life || !machine.server) throw SimulatedDisk::Killed();
}

tl::expected<std::string, std::string> World::read_limits(Machine& machine, std::size_t most) {
  machine.reading.form = machine.form;
  auto read = machine.disk->read_whole(kLimits, most);
  machine.reading.failed = !read;
  return read;
}

// Each server reads its file again, once it is another one.
void World::reload(Machine& machine, std::uint32_t form) {
  if (!plan_.by_file) return;
  machine.disk->put(kLimits, plan_.limits_file(machine.form = form));
  if (form != Plan::wrong) machine.limits_form = form;
  const auto server = machine.server;
  if (!server) return;
  if (machine.reading.under_way) {
    return later(50ms, [this, &machine, life = machine.life] {
      if (machine.life == life) reload(machine, machine.form);
    });
  }
  machine.reading.under_way = true;
  try {
    const std::vector<std::string> errors = server->service.limits->reload();
    const bool is_wrong = machine.reading.failed || machine.reading.form == Plan::wrong;
    if (errors.empty() == is_wrong) odd(is_wrong ? "a wrong limits file was taken" : errors[0]);
    if (!is_wrong) history_.forms[machine.number].push_back({now_, machine.reading.form});
    machine.reading.under_way = false;
  } catch (const SimulatedDisk::Killed&) {
    // It has begun another life meanwhile.
  }
}

// False: the disk does not let it start.
bool World::opens(Machine& machine, const store::SystemClocks& clocks,
                  std::optional<store::SnapshotFile>& file) {
  const bool broken = machine.disk->broken;
  if (!machine.disk->has(kSnapshot)) {
    if (machine.saved_at > 0ns) odd("a snapshot that was saved is gone");
    return !broken;
  }
  auto opened = store::SnapshotFile::open(kSnapshot, clocks, *machine.disk);
  if (opened.has_value() == (broken || machine.torn))
    odd(opened ? "a torn snapshot was taken" : opened.error());
  if (broken) return false;
  if (opened) {
    file.emplace(*std::move(opened));
  } else {
    machine.disk->remove(kSnapshot);
    machine.disk->sync_folder_of(kSnapshot);
    machine.saved_at = 0ns;
  }
  machine.torn = false;
  return true;
}

std::unique_ptr<Server> World::make_server(Machine& machine, core::HashKey seed) {
  const auto alive = [&machine, life = machine.life] { return machine.server && machine.life == life; };
  Surroundings around;
  around.world = [this] { return now_; };
  around.at = [this, &machine, alive](nanoseconds time, std::function<void()> what) {
    later(std::max(0ns, machine.clock->world_at(time) - now_),
          [this, &machine, alive, what = std::move(what)] {
            when_awake(machine, [this, &machine, alive, what] {
              if (!alive()) return;
              note("timer", machine.number);
              what();
              check_bounds(machine);
            });
          });
  };
  around.reply = [this](std::uint64_t id, const std::string& bytes) { reply(id, bytes); };
  around.hang_up = [this, &machine](std::uint64_t id) {
    odd("server " + std::to_string(machine.number) + " closed connection " + std::to_string(id));
  };
  around.connect = [this, &machine](std::size_t loop, redis::Client::NodeId id, const std::string& host) {
    connect(machine, loop, id, host);
  };
  around.send = [this, &machine](std::size_t loop, redis::Client::NodeId id, const std::string& bytes) {
    Machine::Link& link = machine.links[{loop, id}];
    link.wire += bytes;
    while (!link.wire.empty()) carry(machine, loop, id, redis::take_command(link.wire));
  };
  around.close = [&machine](std::size_t loop, redis::Client::NodeId id) {
    Machine::Link& link = machine.links[{loop, id}];
    link.open = false;
    ++link.generation;
  };
  return std::make_unique<Server>(
      plan_, *machine.clock, seed, [this] { return core::HashKey{secrets_.next(), secrets_.next()}; },
      std::move(around),
      [this, &machine](const std::string&, std::size_t most) { return read_limits(machine, most); });
}

void World::start(Machine& machine) {
  ++machine.life;
  note("start", machine.number);
  core::HashKey seed{chance_.next(), chance_.next()};
  const Clocks clocks(*machine.clock, now_);
  std::optional<store::SnapshotFile> file;
  // Until it serves, nobody notices how long that takes.
  const bool slow = std::exchange(machine.disk->slow, false);
  const bool starts = opens(machine, clocks, file);
  if (starts) {
    machine.server = make_server(machine, file ? file->seed() : seed);
    if (file) restore(*machine.server, *file);
    reload(machine, machine.limits_form);
  }
  machine.disk->slow = slow;
  if (!starts) return later(100ms, [this, &machine] { start(machine); });
  machine.server->start();
}

void World::restore(Server& server, store::SnapshotFile& file) {
  const auto restored =
      file.restore_into(server.embedded.table(), server.now(), &server.embedded.reservations());
  if (!restored) odd(restored.error());
}

void World::save(Machine& machine) {
  const auto server = machine.server;
  if (!server || machine.saving || plan_.store != Plan::Store::embedded || machine.asleep_until > now_)
    return;
  const nanoseconds began = now_;
  machine.saving = true;
  try {
    const auto saved = store::save_snapshot(server->embedded.table(), kSnapshot, Clocks(*machine.clock, now_),
                                            &server->embedded.reservations(), *machine.disk);
    machine.saving = false;
    if (saved) machine.saved_at = began;
    if (!saved && saved.error() != "snapshot 'weir.snapshot': cannot write: No space left on device" &&
        !saved.error().ends_with("Input/output error"))  // it is read again
      odd(saved.error());
  } catch (const SimulatedDisk::Killed&) {
    // It has begun another life meanwhile.
  }
}

void World::kill(Machine& machine, nanoseconds for_time, const Event& event) {
  if (!machine.server) return;
  note("kill", machine.number);
  ++machine.life;
  machine.server.reset();
  machine.saving = machine.reading.under_way = false;
  machine.asleep_until = 0ns;
  machine.stuck.clear();
  for (auto& [where, link] : machine.links) {
    link.open = false;
    ++link.generation;
  }
  std::vector<std::uint64_t> cut;
  for (const auto& [id, connection] : connections_) {
    if (connection->server == machine.number) cut.push_back(id);
  }
  for (const std::uint64_t id : cut) close(id, false);
  disturb(machine.number, for_time);
  machine.disk->close_all();
  if (event.kind == Event::Kind::power_loss) machine.disk->lose_power();
  if (plan_.store == Plan::Store::embedded) {
    if (event.kind == Event::Kind::kill && event.of != 0 && machine.disk->has(kSnapshot)) {
      machine.disk->put(kSnapshot, torn(machine.disk->bytes_of(kSnapshot), event.of));
      machine.torn = true;
    }
    history_.losses.push_back({machine.number, machine.torn ? 0ns : machine.saved_at, now_});
  }
  later(for_time, [this, &machine] { start(machine); });
}

// ------------------------------------------------------------------------------------------------- store

std::size_t World::node_of(const std::string& host) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (host == kHosts[i]) return i;
  }
  return 0;
}

std::string World::map() const {
  return redis::slots({{0, 5460, "a"}, {5461, 10922, "b"}, {10923, 16383, "c"}});
}

void World::connect(Machine& machine, std::size_t loop, redis::Client::NodeId id, const std::string& host) {
  Machine::Link& link = machine.links[{loop, id}];
  link.node = node_of(host);
  link.open = false;
  link.wire.clear();
  link.out = link.back = {};
  const nanoseconds there = arrival(link.out, latency_of_store(), machine.store_out.held_until);
  link.back.last = there;
  const nanoseconds back = arrival(link.back, latency_of_store(), machine.store_back.held_until);
  later(back - now_, [this, &machine, loop, id, generation = ++link.generation] {
    when_awake(machine, [this, &machine, loop, id, generation] {
      Machine::Link& its = machine.links[{loop, id}];
      if (its.generation != generation || !machine.server) return;
      its.open = !nodes_[its.node]->down;
      note("connect", machine.number);
      StoreConnection& made = machine.server->to_store(loop, id);
      its.open ? made.connects() : made.fails("refused");
      machine.server->turn();
    });
  });
}

void World::carry(Machine& machine, std::size_t loop, redis::Client::NodeId id, redis::Strings command) {
  Machine::Link& link = machine.links[{loop, id}];
  const nanoseconds there = arrival(link.out, latency_of_store(), machine.store_out.held_until);
  const auto run = [this, &machine, loop, id, generation = link.generation,
                    command = std::move(command)](const auto& self) -> void {
    Machine::Link& its = machine.links[{loop, id}];
    RedisNode& node = *nodes_[its.node];
    // What had left before its process or its connection ended is run all the same.
    if (node.down) return;
    // Not at that very time: what came meanwhile goes on in the order in which it came.
    if (node.free_at >= now_ && node.free_at > 0ns) {
      later(node.free_at - now_ + 1ns, [self] { self(self); });
      return;
    }
    const std::string answer = node.answer(command, map(), now_);
    note("store", its.node, answer);
    if (its.generation != generation) return;
    const nanoseconds back = arrival(its.back, latency_of_store(), machine.store_back.held_until);
    later(back - now_, [this, &machine, loop, id, generation, answer] {
      if (machine.links[{loop, id}].generation != generation || !machine.server) return;
      // Also into a machine that stands still.
      machine.server->to_store(loop, id).arrives(answer);
      when_awake(machine, [&machine, life = machine.life] {
        if (machine.server && machine.life == life) machine.server->turn();
      });
    });
  };
  later(there - now_, [run] { run(run); });
}

void World::cut(Machine& machine, const std::function<bool(const Machine::Link&)>& which) {
  for (auto& [where, link] : machine.links) {
    if (!link.open || !which(link)) continue;
    link.open = false;
    later(latency_of_store(), [this, &machine, link_of = where, generation = ++link.generation] {
      when_awake(machine, [&machine, link_of, generation] {
        if (machine.links[link_of].generation != generation || !machine.server) return;
        machine.server->to_store(link_of.first, link_of.second).fails("reset by peer");
        machine.server->turn();
      });
    });
  }
}

void World::cut_node(std::size_t node) {
  for (const auto& machine : machines_)
    cut(*machine, [node](const Machine::Link& link) { return link.node == node; });
}

void World::lose(const Event& event) {
  // What the replica has by now is what there is when it takes over.
  later(event.at - now_, [this, &event, keys = nodes_[event.who]->data().keys()] {
    history_.losses.push_back({event.who, event.at - event.time, now_});
    nodes_[event.who]->data().keep(keys);
    nodes_[event.who]->data().flush_scripts();
  });
}

// -------------------------------------------------------------------------------------------- what happens

void World::happen(const Event& event) {
  if (!event.is_fault()) return ask(event);
  note("fault", event.number);
  if (event.kind == Event::Kind::save) return save(*machines_[event.who % plan_.servers]);
  ++history_.faults;
  if (event.kind <= Event::Kind::stall_back) return happen_to_client(event);
  if (event.kind <= Event::Kind::store_stall_back)
    return happen_to(*machines_[event.who % plan_.servers], event);
  if (!nodes_.empty()) happen_to_node(event.who % nodes_.size(), event);
}

void World::happen_to_client(const Event& event) {
  const std::uint64_t id = of_client_[event.who % plan_.clients];
  if (id == 0) return;
  Connection& connection = *connections_.at(id);
  if (event.kind == Event::Kind::break_connection) return close(id, true);
  if (event.kind == Event::Kind::half_open) {
    connection.out.swallows = connection.back.swallows = true;
  } else {
    (event.kind == Event::Kind::stall_out ? connection.out : connection.back).held_until = now_ + event.time;
  }
}

void World::happen_to(Machine& machine, const Event& event) {
  using Kind = Event::Kind;
  switch (event.kind) {
    case Kind::upgrade:
      machine.limits_form = event.of;
      [[fallthrough]];
    case Kind::kill:
    case Kind::power_loss:
      return kill(machine, event.time, event);
    case Kind::disk_slow:
    case Kind::disk_full:
    case Kind::disk_broken: {
      SimulatedDisk& disk = *machine.disk;
      bool& what = event.kind == Kind::disk_slow   ? disk.slow
                   : event.kind == Kind::disk_full ? disk.full
                                                   : disk.broken;
      what = true;
      return later(event.time, [&what] { what = false; });
    }
    case Kind::sleep:
      machine.asleep_until = std::max(machine.asleep_until, now_ + event.time);
      history_.asleep[machine.number].push_back({now_, machine.asleep_until});
      return disturb(machine.number, event.time);
    case Kind::store_break:
      disturb(machine.number, 0ns);
      return cut(machine, [](const Machine::Link&) { return true; });
    case Kind::reload:
      return reload(machine, event.of);
    default:
      disturb(machine.number, event.time);
      (event.kind == Kind::store_stall ? machine.store_out : machine.store_back).held_until =
          now_ + event.time;
  }
}

void World::happen_to_node(std::size_t number, const Event& event) {
  using Kind = Event::Kind;
  RedisNode& node = *nodes_[number];
  switch (event.kind) {
    case Kind::store_down:
    case Kind::store_lost:
      if (node.down) return;
      node.down = true;
      cut_node(number);
      disturb_all(event.time);
      if (event.kind == Kind::store_lost) {
        history_.losses.push_back({number, 0ns, now_});
        node.data().keep({});
      }
      return later(event.time, [this, &node] {
        node.down = false;
        node.data().flush_scripts();
        note("up", 0);
      });
    case Kind::store_failover:
      cut_node(number);
      return disturb_all(0ns);
    case Kind::store_pause:
      node.free_at = std::max(node.free_at, now_ + event.time);
      return disturb_all(event.time);
    case Kind::store_flush:
      return node.data().flush_scripts();
    default:
      node.clock.step_wall(event.time);
      history_.steps.push_back({number, now_, event.time});
  }
}

}  // namespace weir::simulation
