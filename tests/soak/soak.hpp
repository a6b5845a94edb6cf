// One round of the soak: some processes on one Redis, what they ask, and what goes wrong meanwhile; all by
// chance, on a clock of its own. The Ledger checks.
//
// One thread. What happens depends on the seed alone.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "soak/ledger.hpp"

namespace weir::inline v0_1::soak {

using redis::Fate;
using redis::Habits;

// What is broken on purpose, to see that the soak notices.
enum class Sabotage : std::uint8_t {
  none,
  answers_of_others,  // an answer is lost and those after it are not, so that they are told to the wrong
                      // requests
  forgets_the_debt,   // the fallback begins at rest
  forgets_a_key,      // the store does
  gives_back_twice,
};

class Soak {
 public:
  explicit Soak(std::uint64_t seed, Sabotage sabotage = Sabotage::none)
      : random_(seed),
        sabotage_(sabotage),
        shape_(any_shape()),
        world_(shape_.url, shape_.habits),
        keys_(any_keys()) {
    for (std::size_t i = 1; i < shape_.homes.size(); ++i) {
      const bool thread = shape_.homes[i] == shape_.homes[i - 1];
      world_.add(shape_.url, shape_.habits,
                 thread ? world_.home_of(i - 1) : std::make_shared<SharedWorld::Home>(world_.random));
    }
    ledger_ = std::make_unique<Ledger>(world_, keys_, shape_.homes, shape_.habits.local_share);
    world_.latency = [this] { return way_ + nanoseconds{below(way_.count() / 2 + 1)}; };
    world_.work = [this] { return work_; };
    world_.fate = [this](const Deed& deed) { return fate(deed); };
    break_it();
  }
  Soak(const Soak&) = delete;
  Soak& operator=(const Soak&) = delete;

  // Until that number of things have happened; then the weather clears up.
  void run(std::uint64_t events) {
    while (world_.happened + ledger_->tally.requests < events && good()) {
      change_weather();
      const nanoseconds end = world_.now + weather_lasts_;
      while (world_.now < end && good()) {
        world_.run(gap());
        act();
        misfortune();
        look();
      }
    }
    if (good()) recover();
  }

  std::uint64_t events() const { return world_.happened + ledger_->tally.requests; }
  const std::string& wrong() const { return ledger_->wrong; }
  const Ledger::Tally& tally() const { return ledger_->tally; }
  std::string text() const {
    return shape_.url + ", " + std::to_string(shape_.homes.size()) + " event loops of " +
           std::to_string(shape_.homes.back() + 1) + " processes";
  }

 private:
  using Kind = Key::Kind;
  struct Shape {
    std::string url;
    Habits habits;
    std::vector<std::size_t> homes;
  };

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool chance(double share) { return static_cast<double>(random_() >> 11) * 0x1p-53 < share; }
  nanoseconds between(nanoseconds least, nanoseconds most) {
    // Any magnitude is as likely as any other.
    const double part = static_cast<double>(random_() >> 11) * 0x1p-53;
    return nanoseconds{static_cast<std::int64_t>(
        static_cast<double>(least.count()) *
        std::pow(static_cast<double>(most / 1ns) / static_cast<double>(least / 1ns), part))};
  }
  template <class List>
  auto any(const List& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(list))))];
  }
  bool good() const { return ledger_->wrong.empty() && !testing::Test::HasFailure(); }

  Shape any_shape() {
    Shape shape;
    shape.url = chance(0.3) ? redis::kCluster : redis::kOne;
    shape.habits.deadline = chance(0.7) ? nanoseconds{50ms} : between(10ms, 200ms);
    shape.habits.remember_denials = chance(0.7);
    shape.habits.local_share = chance(0.6) ? 1 : 0.25;
    shape.homes = {0};
    for (std::int64_t i = below(4); i > 0; --i)
      shape.homes.push_back(shape.homes.back() + (chance(0.6) ? 1 : 0));
    return shape;
  }

  core::Rule any_rule() {
    return core::Rule{Quota::make({1, between(300us, 200ms)}, 1 + between(1ns, 40ns).count()).value()};
  }

  std::vector<Key> any_keys() {
    constexpr std::array kWhenFailing = {OnStoreError::local, OnStoreError::local, OnStoreError::local,
                                         OnStoreError::allow, OnStoreError::deny};
    std::vector<Key> keys;
    for (const Kind kind : {Kind::plain, Kind::given_back, Kind::leased, Kind::joint, Kind::reset,
                            Kind::foreign, Kind::window}) {
      for (int i = 0; i < 3; ++i) {
        Key key{kind, std::string(1, "pgljrxw"[static_cast<int>(kind)]) + std::to_string(i), any_rule(),
                any(kWhenFailing)};
        key.merge = chance(0.4);
        if (kind == Kind::leased) {
          key.rule = core::Rule{Quota::make({1, between(2ms, 100ms)}, 8 + below(40)).value()};
          key.lease = 2 + static_cast<std::uint64_t>(below(key.burst() / 2));
        }
        if (kind == Kind::window)
          key.rule = redis::rule(
              any(std::array{"9/20ms algorithm=fixed_window", "5/100ms algorithm=sliding_window_counter"}));
        keys.push_back(key);
      }
    }
    for (int i = 0; i < 200; ++i)
      keys.push_back({Kind::flood, "f" + std::to_string(i), core::Rule{Quota::make({1, 2ms}, 2).value()}});
    return keys;
  }
  const Key& key_of(Kind kind) {
    if (kind == Kind::flood) return keys_[static_cast<std::size_t>(21 + below(200))];
    return keys_[static_cast<std::size_t>(3 * static_cast<int>(kind) + below(3))];
  }

  // ----------------------------------------------------------------------------------------- what is asked

  nanoseconds gap() { return nanoseconds{1 + below(2 * gap_.count())}; }

  void act() {
    const auto process = static_cast<std::size_t>(below(static_cast<std::int64_t>(shape_.homes.size())));
    if (world_.asleep(process)) return;
    const std::int64_t what = below(100);
    if (what < 1) return cancel();
    if (what < 3) return give_back();
    if (what < 4) return reset(process);
    if (what < 12) return check_all(process);
    constexpr std::array kKinds = {Kind::plain, Kind::plain, Kind::given_back, Kind::leased, Kind::leased,
                                   Kind::joint, Kind::reset, Kind::foreign,    Kind::window};
    for (std::int64_t burst = chance(0.1) ? below(20) : 1; burst > 0; --burst)
      check(process, key_of(chance(flood_) ? Kind::flood : any(kKinds)));
  }

  std::uint64_t any_cost(const Key& key) {
    if (chance(0.8)) return 1;
    if (chance(0.2)) return 0;
    return 1 + static_cast<std::uint64_t>(below(key.burst() + 1));
  }
  nanoseconds any_patience() { return chance(0.7) ? shape_.habits.deadline : between(1ms, 200ms); }

  void check(std::size_t process, const Key& key) {
    const std::size_t id = world_.check(
        key.rule, key.name, any_cost(key),
        {.lease = key.lease, .on_error = key.on_error, .deadline = any_patience(), .merge = key.merge},
        process);
    note(id);
  }
  void check_all(std::size_t process) {
    std::vector<redis::Limit> limits;
    for (std::size_t i = 0; i < 3; ++i) {
      const Key& key = keys_[3 * static_cast<std::size_t>(Kind::joint) + i];
      if (!chance(0.3)) limits.push_back({key.rule, key.name, Cost{any_cost(key)}, key.on_error});
    }
    if (limits.size() > 1) note(world_.check_all(limits, any_patience(), process));
  }
  void note(std::size_t id) {
    ledger_->asked(id);
    last_ = id;
  }
  std::size_t any_recent() {
    return last_ -
           static_cast<std::size_t>(below(static_cast<std::int64_t>(std::min<std::size_t>(last_, 100))));
  }
  void cancel() {
    if (last_ == 0) return;
    const std::size_t id = any_recent();
    const SharedWorld::Request& request = world_.requests[id];
    if (request.told || request.cancelled || world_.asleep(request.process)) return;
    world_.cancel(id);
    ledger_->cancelled(id);
  }
  void give_back() {
    for (int tries = 0; tries < 50 && last_ > 0; ++tries) {
      const std::size_t id = any_recent();
      const SharedWorld::Request& request = world_.requests[id];
      const AskedRequest& question = world_.question(id);
      const bool kind = question.names[0][0] == 'g' || question.names[0][0] == 'j';
      if (!request.told || !kind || !question.charged || request.told->at < world_.now - 500ms ||
          world_.asleep(request.process) || !given_back_.insert(id).second)
        continue;
      ledger_->given_back(id);
      return world_.give_back(id);
    }
  }
  void reset(std::size_t process) {
    redis::Strings names;
    for (int i = 0; i < 3; ++i) {
      if (chance(0.5)) names.push_back(key_of(Kind::reset).name);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.empty()) return;
    ++resets_;
    world_.reset(names, process);
  }

  // -------------------------------------------------------------------------------------- what goes wrong

  // What lasts for a while.
  void change_weather() {
    weather_lasts_ = between(50ms, 2s);
    way_ = chance(0.3) ? between(5us, 500us) : between(500us, 33ms);  // and up to half as much again
    work_ = chance(0.4) ? 0ns : between(10us, 2ms);
    // Of what the store can do, 0.5 to 20 times; where that is as good as anything, some hundreds a second.
    gap_ = work_ == 0ns
               ? between(200us, 10ms)
               : nanoseconds{static_cast<std::int64_t>(
                     static_cast<double>(work_.count()) /
                     std::exp(std::log(0.5) + std::log(40.0) * static_cast<double>(below(1000)) / 1000))};
    // No more than some thousands of requests.
    weather_lasts_ = std::min(weather_lasts_, gap_ * 3000);
    flood_ = chance(0.3) ? 0.9 : 0.1;
    constexpr std::array kSays = {"-OOM command not allowed",  "-NOREPLICAS not enough good replicas",
                                  "-NOPERM no permissions",    "-BUSY Redis is busy",
                                  "-CLUSTERDOWN hash slot",    "-NOSCRIPT no matching script",
                                  "-LOADING Redis is loading", "-READONLY a read only replica",
                                  "-ERR something else",       ":1"};
    says_ = any(kSays);
    refuses_ = chance(0.6) ? 0 : chance(0.5) ? 0.03 : 1;
    silent_ = chance(0.8) ? 0 : 0.005;
    calm_ = chance(0.3) ? nanoseconds{1h} : between(20ms, 2s);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string& name = keys_[3 * static_cast<std::size_t>(Kind::foreign) + i].name;
      if (chance(0.5)) {
        if (world_.redis.put_foreign(name)) ledger_->overwritten(name);
      } else {
        world_.redis.take_foreign(name);
      }
    }
  }

  Fate fate(const Deed& deed) {
    // A reset is answered by a number.
    if (chance(refuses_) && !(deed.name == "reset" && *says_ == ':')) return redis::says(says_);
    if (chance(silent_)) return {chance(0.5), ""};
    return sabotaged(deed);
  }

  // What happens at a moment.
  void misfortune() {
    if (world_.now < next_misfortune_) return;
    next_misfortune_ = world_.now + between(1ms, 2 * calm_);
    const std::string host = world_.cluster ? std::string(1, static_cast<char>('a' + below(3))) : "a";
    const auto process = static_cast<std::size_t>(below(static_cast<std::int64_t>(shape_.homes.size())));
    switch (below(7)) {
      case 0:
      case 1:
        return world_.pause(host, between(5ms, 500ms));
      case 2:
        if (chance(0.3)) return fall(host);
        return world_.break_connections(host);
      case 3: {
        const nanoseconds by = std::chrono::floor<std::chrono::microseconds>(
            between(1ms, chance(0.1) ? nanoseconds{1h} : nanoseconds{2s}));
        step_store(by);
        if (chance(0.7)) world_.later(between(10ms, 1s), [this, by] { step_store(-by); });
        return;
      }
      case 4: {
        const nanoseconds by = std::chrono::floor<std::chrono::microseconds>(
            between(1ms, chance(0.1) ? nanoseconds{1h} : nanoseconds{2s}));
        step_store(-by);
        world_.later(between(10ms, 1s), [this, by] { step_store(by); });
        return;
      }
      case 5:
        for (std::size_t i = 0; i < shape_.homes.size(); ++i) {
          if (shape_.homes[i] == shape_.homes[process] && !world_.asleep(i))
            world_.sleep(i, between(5ms, 500ms), chance(0.5));
        }
        return;
      default: {
        const nanoseconds by = between(1ms, chance(0.1) ? nanoseconds{1h} : nanoseconds{2s});
        for (std::size_t i = 0; i < shape_.homes.size(); ++i) {
          if (shape_.homes[i] == shape_.homes[process]) world_.step(i, by);
        }
      }
    }
  }
  void fall(const std::string& host) {
    world_.down.insert(host);
    world_.break_connections(host);
    world_.later(between(5ms, 500ms), [this, host] { world_.down.erase(host); });
  }
  void step_store(nanoseconds by) {
    world_.redis.ahead += by;
    ledger_->store_stepped(by);
  }

  // ----------------------------------------------------------------------------------------- what is broken

  Fate sabotaged(const Deed& deed) {
    if (sabotage_ == Sabotage::answers_of_others && deed.name == "EVALSHA" && chance(0.001))
      return {true, nullptr, true};
    if (sabotage_ == Sabotage::forgets_a_key && chance(0.01)) world_.redis.forget(deed.parts[0].key);
    if (sabotage_ == Sabotage::gives_back_twice && deed.gives_back) {
      Deed again = deed;
      world_.redis.carry_out(again, world_.now);
    }
    return {};
  }
  void break_it() {
    if (sabotage_ != Sabotage::forgets_the_debt) return;
    world_.on_delivered = [this, then = world_.on_delivered](const Deed& deed,
                                                             const std::vector<std::size_t>& told) {
      then(deed, told);
      store::Table& table = world_.home(deed.process).local.table();
      for (const Deed::Part& part : deed.parts)
        table.reset(store::Table::place_of(table.hash(part.key, Algorithm::gcra, 0)),
                    world_.time_of(deed.process));
    };
  }

  // ------------------------------------------------------------------------------------------------ looking

  void look() {
    if (++looks_ % 64 != 0) return;
    ledger_->settle();
    for (std::size_t i = 0; i < shape_.homes.size(); ++i) {
      if (world_.asleep(i)) continue;
      world_.store(i).note_state();
      world_.end_leases(i, false);
    }
  }

  // The weather clears up: soon nothing is left of it.
  void recover() {
    refuses_ = silent_ = flood_ = 0;
    work_ = 0ns;
    way_ = 100us;
    world_.redis.take_all_foreign();
    world_.run(3s);
    for (std::size_t i = 0; i < shape_.homes.size(); ++i) world_.end_leases(i, true);
    world_.run(1s);
    ledger_->settle();
    ledger_->finish();
    if (world_.resets.size() != resets_) ledger_->say("a reset was not answered once");
    if (!world_.empty()) ledger_->say("something still waits for an answer");
    for (std::size_t i = 0; i < shape_.homes.size(); ++i) {
      redis::Client& client = world_.store(i).client();
      if (!client.ready()) ledger_->say("not ready: " + client.last_error());
      if (client.open_calls() + client.load().waiting != 0) ledger_->say("calls are left");
      for (const Key& key : keys_) {
        if (key.kind == Kind::flood || !good()) continue;
        const std::size_t id = world_.check(key.rule, key.name, 0, {.on_error = key.on_error}, i);
        ledger_->asked(id);
        world_.run(10ms);
        const auto& told = world_.requests[id].told;
        if (!told || told->source != Source::store) ledger_->say("in fine weather: " + world_.took(id));
      }
    }
    ledger_->finish();
  }

  std::mt19937_64 random_;
  Sabotage sabotage_;
  Shape shape_;
  SharedWorld world_;
  std::vector<Key> keys_;
  std::unique_ptr<Ledger> ledger_;

  nanoseconds way_{100us};
  nanoseconds work_{0};
  nanoseconds gap_{1ms};
  nanoseconds weather_lasts_{0};
  double flood_ = 0, refuses_ = 0, silent_ = 0;
  nanoseconds calm_{1s};  // about so long between misfortunes
  nanoseconds next_misfortune_{0};
  const char* says_ = "";
  std::size_t last_ = 0;
  std::size_t resets_ = 0;
  std::uint64_t looks_ = 0;
  std::set<std::size_t> given_back_;
};

}  // namespace weir::soak
