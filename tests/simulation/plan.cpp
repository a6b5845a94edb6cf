#include "simulation/plan.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "simulation/plan_calls.hpp"
#include "simulation/plan_lines.hpp"
#include "simulation/world.hpp"

namespace weir::inline v0_1::simulation {
namespace {

using Kind = Event::Kind;

constexpr const char* kNames[] = {"check",
                                  "look",
                                  "reserve",
                                  "acquire",
                                  "cancel",
                                  "settle",
                                  "charge",
                                  "refund",
                                  "moment",
                                  "extend",
                                  "reset",
                                  "leave",
                                  "break_connection",
                                  "half_open",
                                  "stall_out",
                                  "stall_back",
                                  "kill",
                                  "power_loss",
                                  "sleep",
                                  "disk_slow",
                                  "disk_full",
                                  "disk_broken",
                                  "upgrade",
                                  "reload",
                                  "store_break",
                                  "store_stall",
                                  "store_stall_back",
                                  "save",
                                  "store_down",
                                  "store_lost",
                                  "store_failover",
                                  "store_pause",
                                  "store_flush",
                                  "store_step"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::kinds));

// A plan in the making.
class Maker {
 public:
  Maker(std::uint64_t seed, const PlanOptions& options)
      : options_(options),
        calls_(seed % 10 == 0 || seed % 10 == 7),
        lines_(seed % 10 == 3 || seed % 10 == 8),
        of_part_(seed ^ 0xCA11),
        requests_(calls_ || lines_ ? options.requests / 2 : options.requests),
        chance_(seed) {
    plan_.seed = seed;
  }

  Plan make() {
    choose_shape();
    choose_keys();
    ask();
    if (!plan_.by_file && plan_.lease == 0 && !alone_) play_scenes();
    if (calls_) add_calls(plan_, of_part_, options_.requests / 2, asked_until_, next_);
    if (lines_) add_lines(plan_, of_part_, options_.requests / 2, asked_until_, next_);
    go_wrong();
    end();
    std::sort(plan_.events.begin(), plan_.events.end(), [](const Event& a, const Event& b) {
      return a.at != b.at ? a.at < b.at : a.number < b.number;
    });
    return std::move(plan_);
  }

 private:
  void choose_shape() {
    const std::uint64_t store = lines_ ? chance_.below(3) : chance_.below(10);
    plan_.store = store < 3 ? Plan::Store::embedded : store < 8 ? Plan::Store::redis : Plan::Store::cluster;
    const bool is_shared = plan_.store != Plan::Store::embedded;
    plan_.servers = 1 + chance_.below(is_shared ? 4 : 2);
    plan_.loops = 1 + chance_.below(2);
    plan_.clients = plan_.servers * (1 + chance_.below(4));
    plan_.nodes = plan_.store == Plan::Store::embedded ? 0 : plan_.store == Plan::Store::redis ? 1 : 3;
    constexpr OnStoreError kOnError[] = {OnStoreError::local, OnStoreError::local, OnStoreError::local,
                                         OnStoreError::allow, OnStoreError::deny};
    plan_.on_store_error = kOnError[chance_.below(5)];
    constexpr double kShares[] = {1, 1, 0.5, 0.25, 0.1};
    plan_.local_share = kShares[chance_.below(5)];
    if (is_shared && chance_.percent(15)) plan_.lease = static_cast<std::uint64_t>(chance_.between(2, 8));
    plan_.merge = is_shared && chance_.percent(25);
    plan_.by_file = plan_.store != Plan::Store::cluster && chance_.percent(30);
    settles_ = plan_.lease == 0 && chance_.percent(25);
    waits_ = !settles_ || chance_.percent(50);
    if (plan_.store == Plan::Store::redis && chance_.percent(12)) stand_alone();
    if (!is_shared && settles_) plan_.loops = 2;
    plan_.lags = !is_shared && plan_.loops > 1 && chance_.percent(70);
    if (plan_.lags) plan_.servers = 1;
    if (chance_.percent(20)) plan_.reservation_memory = std::size_t{16} << 10;
    if (chance_.percent(20)) plan_.waiters = 5;
    const std::uint64_t http = std::vector<std::uint64_t>{0, 30, 50, 100}[chance_.below(4)];
    for (std::size_t i = 0; i < plan_.clients; ++i) plan_.http.push_back(chance_.percent(http));
    for (std::size_t i = 0; i < plan_.servers + plan_.nodes; ++i)
      plan_.drift_ppm.push_back(chance_.between(-200, 200));
    if (calls_) suit_calls();
    if (lines_) suit_lines();
  }

  // In two worlds of ten, whose seeds end in 0 and 7, half of what is asked is about the life of a call. What
  // is in that way left to chance has other worlds for it.
  void suit_calls() {
    plan_.lease = 0;
    plan_.reservation_memory = std::size_t{1} << 20;
    if (!alone_ && plan_.store != Plan::Store::cluster) plan_.by_file = of_part_.one_in(2);
  }

  // In two others, whose seeds end in 3 and 8, half of it is of those in line, in the process.
  void suit_lines() {
    plan_.lags = plan_.by_file = false;
    plan_.reservation_memory = std::size_t{1} << 20;
    plan_.waiters = 10'000;
  }

  // One server with a store of its own, which is away often, while much is booked ahead: what the fallback
  // then admits can be told to the unit.
  void stand_alone() {
    alone_ = true;
    plan_.servers = 1;
    plan_.clients = 1 + chance_.below(6);
    plan_.on_store_error = OnStoreError::local;
    plan_.local_share = 1;
    plan_.lease = 0;
    settles_ = plan_.by_file = false;
    waits_ = true;
  }

  void choose_keys() {
    // A request may meet 16 limits of a file.
    // Which its keys of calls are among.
    const std::int64_t most = calls_ && plan_.by_file ? 7 : plan_.by_file ? 15 : 16;
    const auto count = static_cast<std::size_t>(chance_.between(3, most));
    for (std::size_t i = 0; i < count; ++i) {
      Key key;
      key.name = "k" + std::to_string(i);
      key.burst = chance_.one_in(4) ? chance_.between(1, 3) : chance_.between(1, 40);
      key.interval = chance_.between(2, chance_.one_in(2) ? 20 : 500) * 1ms;
      key.resets = chance_.percent(10);
      key.reserves = plan_.lease == 0 && chance_.percent(settles_ || alone_ ? 90 : 50);
      key.changes = !plan_.by_file && chance_.percent(15);
      if (plan_.by_file && key.reserves) key.at_most = key.burst;
      if (plan_.by_file && key.burst > 3) {
        if (chance_.percent(40)) key.leaves = key.burst / 2;
        if (key.reserves && chance_.percent(50)) key.at_most = key.burst / 2;
      }
      plan_.keys.push_back(key);
    }
  }

  Event& add(nanoseconds at, Kind kind) {
    Event& event = plan_.events.emplace_back();
    event.at = at;
    event.kind = kind;
    event.number = next_++;
    return event;
  }

  // Half of what is asked is of a few keys, which are asked for more than they have.
  std::uint32_t any_key() {
    const std::size_t hot = std::min<std::size_t>(3, plan_.keys.size());
    return static_cast<std::uint32_t>(chance_.below(chance_.percent(50) ? hot : plan_.keys.size()));
  }
  std::uint64_t any_cost(const Key& key) {
    if (chance_.percent(settles_ ? 40 : 70)) return 1;
    return static_cast<std::uint64_t>(chance_.between(1, key.burst + (chance_.one_in(20) ? 1 : 0)));
  }

  void ask() {
    double rate = 0;
    for (const Key& key : plan_.keys) rate += 1e9 / static_cast<double>(key.interval.count());
    rate *= 0.3 + static_cast<double>(chance_.below(300)) / 100;
    auto gap =
        std::clamp(nanoseconds{static_cast<std::int64_t>(1e9 / rate)}, nanoseconds{100us}, nanoseconds{50ms});
    if (options_.length > 0ns) gap = options_.length / static_cast<std::int64_t>(requests_);
    nanoseconds at = kStart;
    std::vector<Reserved> reserved;
    for (std::size_t i = 0; i < requests_; ++i) {
      at += chance_.between(0ns, 2 * gap);
      one(at, reserved);
    }
    asked_until_ = at;
  }

  struct Reserved {
    std::uint32_t event;
    std::uint64_t units;
  };
  void one(nanoseconds at, std::vector<Reserved>& reserved) {
    const std::uint32_t number = any_key();
    const Key& key = plan_.keys[number];
    const auto client = static_cast<std::uint32_t>(chance_.below(plan_.clients));
    const std::uint64_t what = chance_.below(100);
    if (what < 1) {
      add(at, Kind::leave).who = client;
      return;
    }
    if (what < (settles_ ? 40 : 12) && !reserved.empty()) {
      Event& event = add(at, what < 7 ? Kind::cancel : Kind::settle);
      event.who = client;
      const Reserved& of =
          reserved[reserved.size() - 1 - chance_.below(std::min<std::size_t>(reserved.size(), 12))];
      event.of = of.event;
      event.units = chance_.below(
          settles_ && !chance_.one_in(10) ? of.units : static_cast<std::uint64_t>(2 * key.burst));
      return;
    }
    if (key.resets && what < (settles_ ? 42 : 20)) {
      Event& event = add(at, Kind::reset);
      event.who = client;
      event.keys = {number};
      return;
    }
    const bool reserves = key.reserves && chance_.percent(50);
    Event& event = add(at, !reserves             ? (chance_.one_in(30) ? Kind::look : Kind::check)
                           : chance_.percent(60) ? Kind::reserve
                                                 : Kind::acquire);
    event.who = client;
    event.keys = {number};
    event.units = any_cost(key);
    event.bulk = plan_.by_file && chance_.percent(30);
    if (reserves) {
      event.time = waits_ ? chance_.between(0, 1000) * 1ms : 0ms;
      if (chance_.percent(settles_ ? 90 : 50)) event.hold = chance_.between(10, 3000) * 1ms;
      // What was reserved by other numbers for later keeps the promise of those alone.
      event.slower = key.changes && chance_.percent(50);
      if (event.slower) event.time = 0ms;
      plan_.longest_wait = std::max(plan_.longest_wait, event.time);
      if (event.kind == Kind::reserve) reserved.push_back({event.number, event.units});
      return;
    }
    event.slower = key.changes && chance_.percent(30);
    if (chance_.percent(15)) {
      const std::uint32_t other = any_key();
      if (other != number) event.keys.push_back(other);
      event.units = 1;
    } else if (event.kind == Kind::check && chance_.percent(15)) {
      event.least = event.units;
      event.units += chance_.below(static_cast<std::uint64_t>(2 * key.burst));
    }
  }

  // On keys of their own, which nobody else asks for, what chance alone rarely brings together: several holds
  // of a full key that are settled one after the other, by other numbers in between or after the key has
  // idled, and then as many checks as would find what was given back twice.
  void play_scenes() {
    const std::size_t stages = 1 + chance_.below(3);
    for (std::size_t i = 0; i < stages; ++i) {
      Key key;
      key.name = "s" + std::to_string(i);
      key.burst = chance_.between(4, 20);
      key.interval = chance_.between(5, 100) * 1ms;
      key.reserves = true;
      key.changes = chance_.percent(40);
      plan_.keys.push_back(key);
      const auto number = static_cast<std::uint32_t>(plan_.keys.size() - 1);
      const nanoseconds drains = key.interval * key.burst * (key.changes ? 2 : 1);
      nanoseconds at = 600ms;
      for (int scenes = 0; scenes < 40 && at < asked_until_; ++scenes) {
        play(at, number, drains);
        at += 3 * drains + chance_.between(0ms, drains);
      }
    }
  }
  Event& of_scene(nanoseconds at, Kind kind, std::uint32_t number, std::uint64_t units, bool slower) {
    Event& event = add(at, kind);
    event.who = static_cast<std::uint32_t>(chance_.below(plan_.clients));
    event.keys = {number};
    event.units = units;
    event.slower = slower;
    return event;
  }
  void take_all(nanoseconds at, std::uint32_t number, bool slower) {
    for (std::int64_t i = 0; i <= plan_.keys[number].burst; ++i) of_scene(at, Kind::check, number, 1, slower);
  }
  void settle(nanoseconds at, const Reserved& held) {
    Event& event = add(at, Kind::settle);
    event.who = static_cast<std::uint32_t>(chance_.below(plan_.clients));
    event.of = held.event;
    event.units = chance_.one_in(3) ? chance_.below(held.units + 1) : 0;
  }
  // At most `most` holds, of at most `left` units together.
  std::vector<Reserved> hold(nanoseconds& at, std::uint32_t number, std::size_t most, std::uint64_t left,
                             bool slower) {
    std::vector<Reserved> held;
    while (left > 0 && held.size() < most) {
      const std::uint64_t units = 1 + chance_.below(left);
      left -= units;
      Event& event = of_scene(at += 1ms, Kind::reserve, number, units, slower);
      event.hold = 10s;
      held.push_back({event.number, units});
    }
    return held;
  }
  void play(nanoseconds at, std::uint32_t number, nanoseconds drains) {
    const Key& key = plan_.keys[number];
    const auto burst = static_cast<std::uint64_t>(key.burst);
    const bool slower = key.changes && chance_.one_in(2);
    const auto other = [&] { return key.changes && chance_.percent(70) ? !slower : slower; };
    if (chance_.percent(plan_.lags ? 80 : 20)) return settle_as_it_drains(at, number, slower);
    const bool fills = chance_.one_in(2);
    for (const Reserved& each : hold(at, number, 4, fills ? burst : burst / 2, slower)) {
      at += chance_.between(1ms, drains / 3);
      if (chance_.percent(fills ? 30 : 70)) take_all(at, number, other());
      settle(at + 2ms, each);
      if (chance_.percent(40)) take_all(at + 4ms, number, other());
    }
    take_all(at + 6ms, number, other());
  }
  // While others take what has drained. A thread that lags may settle by what it was before.
  void settle_as_it_drains(nanoseconds at, std::uint32_t number, bool slower) {
    const Key& key = plan_.keys[number];
    const auto held = hold(at, number, 1, static_cast<std::uint64_t>(key.burst), slower).front();
    const nanoseconds drained = key.interval * (slower ? 2 : 1) * static_cast<std::int64_t>(held.units);
    at += drained - std::min(drained, chance_.between(1ms, 150ms));
    settle(at, held);
    for (int i = 0; i < 5; ++i) take_all(at += chance_.between(1ms, 50ms), number, slower);
  }

  // One server after the other starts with another limits file.
  void upgrade() {
    const auto form = static_cast<std::uint32_t>(chance_.between(Plan::half_burst, Plan::half_rate));
    nanoseconds at = chance_.between(700ms, std::max<nanoseconds>(asked_until_ * 2 / 3, 700ms));
    for (std::size_t i = 0; i < plan_.servers; ++i) {
      Event& event = add(at, Kind::upgrade);
      event.who = static_cast<std::uint32_t>(i);
      event.of = form;
      event.time = chance_.between(10ms, 500ms);
      faulty_until_ = std::max(faulty_until_, at + event.time);
      at += event.time + chance_.between(0ms, 1500ms);
    }
  }

  void go_wrong() {
    const std::size_t count = 3 + chance_.below(10);
    const bool upgrades = plan_.by_file && chance_.percent(50);
    if (upgrades) upgrade();
    // Some are well for most of their time.
    const nanoseconds first_at = chance_.percent(20) ? asked_until_ * 3 / 4 : 600ms;
    for (std::size_t i = 0; i < count; ++i) {
      const nanoseconds at = chance_.between(first_at, std::max<nanoseconds>(asked_until_, first_at + 100ms));
      const bool is_shared = plan_.nodes > 0;
      const auto first = static_cast<std::uint64_t>(Kind::break_connection);
      auto kind = static_cast<Kind>(first + chance_.below(static_cast<std::uint64_t>(Kind::kinds) - first));
      constexpr Kind kOfAlone[] = {Kind::store_down, Kind::store_pause, Kind::store_stall,
                                   Kind::store_stall_back, Kind::store_break};
      if (alone_) kind = kOfAlone[chance_.below(5)];
      constexpr Kind kOfServers[] = {Kind::kill, Kind::power_loss, Kind::sleep, Kind::disk_slow,
                                     Kind::disk_full};
      if (!is_shared && kind >= Kind::store_break && kind != Kind::save) kind = kOfServers[chance_.below(5)];
      // Without a snapshot and a limits file nobody uses a disk.
      if (is_shared && !plan_.by_file && kind >= Kind::disk_slow && kind <= Kind::disk_broken)
        kind = Kind::store_stall_back;
      if ((kind == Kind::reload && !plan_.by_file) || kind == Kind::upgrade) kind = Kind::break_connection;
      Event& event = add(at, kind);
      event.who = static_cast<std::uint32_t>(chance_.below(kind <= Kind::stall_back ? plan_.clients
                                                           : kind <= Kind::save     ? plan_.servers
                                                                                    : plan_.nodes));
      event.time = chance_.one_in(2) ? chance_.between(1ms, 100ms) : chance_.between(100ms, 3s);
      if (kind == Kind::store_step) {
        event.time = chance_.between(1, chance_.one_in(3) ? 3'600'000 : 3'000) * 1ms;
        if (chance_.one_in(2)) event.time = -event.time;
      }
      if (kind == Kind::reload)
        event.of = static_cast<std::uint32_t>(chance_.below(upgrades ? Plan::half_burst : Plan::forms));
      if (kind == Kind::kill && chance_.one_in(3))
        event.of = static_cast<std::uint32_t>(chance_.between(1, 99));
      faulty_until_ = std::max(faulty_until_, at + (kind == Kind::store_step ? 0ns : event.time));
    }
    // A server saves now and then.
    if (plan_.nodes == 0) {
      for (nanoseconds at = 700ms; at < asked_until_;
           at += std::max(chance_.between(200ms, 5s), asked_until_ / 2000))
        add(at, Kind::save).who = static_cast<std::uint32_t>(chance_.below(plan_.servers));
    }
  }

  // What there is at the end is asked for by everybody: then all have to agree.
  void end() {
    const auto number = static_cast<std::uint32_t>(plan_.keys.size());
    const auto per_place =
        static_cast<std::int64_t>(plan_.nodes > 0 ? plan_.clients : plan_.clients / plan_.servers);
    plan_.keys.push_back({"end", per_place, nanoseconds{1h}});
    nanoseconds at = std::max(asked_until_ + plan_.longest_wait, faulty_until_) + kRecovery + 100ms;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < plan_.clients; ++i) {
        Event& event = add(at += 30ms, Kind::check);
        event.who = static_cast<std::uint32_t>(i);
        event.keys = {number};
      }
    }
    plan_.length = at + 4s;
  }

  const PlanOptions options_;
  const bool calls_;
  const bool lines_;
  Chance of_part_;
  const std::size_t requests_;
  Chance chance_;
  Plan plan_;
  bool settles_ = false;  // much of what is asked costs less than was reserved
  bool waits_ = true;
  bool alone_ = false;
  std::uint32_t next_ = 1;
  nanoseconds asked_until_{0};
  nanoseconds faulty_until_{0};
};

}  // namespace

namespace {

std::string penalty_of(const Key& key) {
  const auto text_of = [](nanoseconds time) { return std::to_string(time / 1ms) + "ms"; };
  if (key.most_penalty == 0ns) return text_of(key.penalty);
  return "{ for: " + text_of(key.penalty) + ", growing: 2, most: " + text_of(key.most_penalty) + " }";
}

}  // namespace

const char* name_of(Event::Kind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string to_text(const Event& event) {
  char line[200];
  std::snprintf(line, sizeof(line), "%12.6f s  #%-6u %-16s who %u",
                static_cast<double>(event.at.count()) / 1e9, event.number, name_of(event.kind), event.who);
  std::string text = line;
  for (const std::uint32_t key : event.keys) text += " k" + std::to_string(key);
  if (event.kind == Kind::charge && event.form == Event::Form::remaining) text += " remaining";
  if (event.kind == Kind::charge && event.form == Event::Form::pause)
    text += event.afresh ? " pause afresh" : " pause";
  if (!event.is_fault()) text += " cost " + std::to_string(event.units);
  if (event.least != 0) text += " at least " + std::to_string(event.least);
  if (event.time != 0ns) text += " time " + std::to_string(event.time.count() / 1000) + "us";
  if (event.hold != 0ns) text += " hold " + std::to_string(event.hold.count() / 1000) + "us";
  if (event.of != 0) text += " of " + std::to_string(event.of);
  if (event.as_charged) text += " as charged";
  if (event.call != 0ns)
    text += " settled after " + std::to_string(event.call.count() / 1000) + "us at " +
            std::to_string(event.spends);
  if (event.patience != 0ns) text += " leaves after " + std::to_string(event.patience.count() / 1000) + "us";
  if (event.bound) text += " bound for " + std::to_string(event.keeps.count() / 1000) + "us";
  if (event.resets) text += " to its reset";
  if (event.bulk) text += " bulk";
  if (event.slower) text += " slower";
  return text;
}

std::string Plan::to_text() const {
  constexpr const char* kStores[] = {"embedded", "redis", "cluster"};
  constexpr const char* kOnError[] = {"local", "allow", "deny"};
  std::string text = std::string(kStores[static_cast<int>(store)]) + ", " + std::to_string(servers) +
                     " servers of " + std::to_string(loops) + " loops, " + std::to_string(clients) +
                     " clients, " + std::to_string(std::count(http.begin(), http.end(), true)) + " by HTTP";
  if (store != Store::embedded) {
    text += std::string(", on_store_error ") + kOnError[static_cast<int>(on_store_error)];
    if (local_share < 1) text += " " + std::to_string(static_cast<int>(local_share * 100)) + "%";
    if (lease > 0) text += ", lease " + std::to_string(lease);
    if (merge) text += ", merge";
  }
  if (by_file) return text + ", by this limits file:\n" + limits_file(0);
  for (const Key& key : keys) text += "\n  " + key.name + "  " + key.rule();
  return text;
}

std::string Plan::limits_file(std::uint32_t form) const {
  std::string text = "version: 1\nclasses: [critical, default, bulk]\nlimits:\n";
  const auto add = [&](const Key& key) {
    text += "  " + key.name + ":\n    by: [" + key.name + "]\n";
    text += key.use == Key::For::slots ? "    in_flight: " + std::to_string(key.burst) + "\n"
                                       : "    rate: " + rate_by(key, form) + "\n";
    if (key.use == Key::For::charges || key.use == Key::For::calendar) text += "    refunds: true\n";
    if (key.penalty > 0ns) text += "    penalty: " + penalty_of(key) + "\n";
    if (key.use == Key::For::slots) text += "    hold: { ttl: 3s }\n";
    if (key.reserves && key.use != Key::For::slots && key.use != Key::For::checks)
      text += "    hold: { estimate: 1, ttl: 3s }\n";
    if (key.reserves) text += "    max_wait: 1s\n";
    if (key.leaves > 0) text += "    leave: { bulk: 50% }\n";
    if (key.reserves && key.use == Key::For::checks)
      text += std::string("    hold: { estimate: 1, ttl: 3s") +
              (key.at_most < key.burst ? ", at_most: 50%" : "") + " }\n";
  };
  if (form == reversed) {
    std::for_each(keys.rbegin(), keys.rend(), add);
  } else {
    std::for_each(keys.begin(), keys.end(), add);
  }
  return form == wrong ? text + "    rat: 1/s\n" : text;
}

// Whatever the form, it is of the same period: a state belongs to that.
std::string Plan::rate_by(const Key& key, std::uint32_t form) const {
  if (key.use == Key::For::calendar) return key.rule();
  const Key its = by_form(key, form);
  const nanoseconds period = 2 * key.interval;
  return std::to_string(period / its.interval) + "/" + std::to_string(period / 1ms) + "ms burst " +
         std::to_string(its.burst);
}

Key Plan::by_form(const Key& key, std::uint32_t form) const {
  Key its = key;
  if (key.reserves || key.use != Key::For::checks || key.name == "end") return its;
  if (form == half_burst && key.burst > 1) its.burst /= 2;
  if (form == half_rate) its.interval *= 2;
  return its;
}

Plan make_plan(std::uint64_t seed, const PlanOptions& options) { return Maker(seed, options).make(); }

}  // namespace weir::simulation
