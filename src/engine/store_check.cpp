#include "engine/store_check.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>

#include "core/printable.hpp"
#include "core/random.hpp"
#include "engine/bench.hpp"
#include "engine/cases.hpp"
#include "redis/script.hpp"

namespace weir::inline v0_1::engine {
namespace {

using Kind = Outcome::Kind;
using std::chrono::steady_clock;

// After that many cases in a row without an answer no further one is asked.
constexpr int kMostSilent = 8;

std::vector<const EngineCase*> all_cases() {
  std::vector<const EngineCase*> all;
  for (const auto& cases : {connection_cases(), setup_cases(), clock_cases(), expiry_cases(),
                            script_engine_cases(), cluster_cases(), weir_script_cases()})
    for (const EngineCase& each : cases) all.push_back(&each);
  return all;
}

std::string random_name() {
  const core::HashKey key = core::random_key();
  std::string text;
  for (std::uint64_t left = key.k0, i = 0; i < 16; ++i, left >>= 4) text += "0123456789abcdef"[left & 15];
  return text;
}

// "Valkey 8.1.1": an engine says by which of these it is not the Redis whose version it also tells.
std::string engine_of(Bench& bench) {
  struct Name {
    std::string_view field;
    std::string_view engine;
  };
  constexpr std::array kNames = {Name{"valkey_version", "Valkey"}, Name{"dragonfly_version", "Dragonfly"},
                                 Name{"garnet_version", "Garnet"}, Name{"kvrocks_version", "Kvrocks"},
                                 Name{"redis_version", "Redis"}};
  try {
    for (const Name& each : kNames) {
      if (const auto version = bench.info("server", std::string(each.field)))
        return std::string(each.engine) + " " + bench.shown(*version);
    }
  } catch (const NoAnswer&) {
    bench.connect_again();
  }
  return "";
}

Outcome run_one(const EngineCase& its, Bench& bench) {
  try {
    return its.run(bench);
  } catch (const Seen& why) {
    return fails(why.what());
  } catch (const NoAnswer& why) {
    return {Kind::silent, why.what()};
  }
}

// The connection may owe answers that nobody has read. Whether there is one again.
bool begin_again(Bench& bench) {
  try {
    bench.connect_again();
    return true;
  } catch (const Seen&) {
    return false;
  } catch (const NoAnswer&) {
    return false;
  }
}

Speed measure(Bench& bench) {
  constexpr std::size_t kCalls = 300;
  constexpr std::size_t kInFlight = 64;
  constexpr std::size_t kRounds = 100;
  const core::Rule rule{Quota::make({1000, std::chrono::seconds{1}}, 1000).value()};
  std::string command;
  const std::string key = bench.key("speed");
  redis::append_check(command, std::array{redis::ScriptCheck{&rule, key, Cost{1}}});
  const auto micros = [](steady_clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  std::vector<double> calls;
  for (std::size_t i = 0; i < kCalls; ++i) {
    const auto begin = steady_clock::now();
    bench.wire().send(command);
    bench.receive();
    calls.push_back(micros(steady_clock::now() - begin));
  }
  std::sort(calls.begin(), calls.end());
  std::string many;
  for (std::size_t i = 0; i < kInFlight; ++i) many += command;
  const auto begin = steady_clock::now();
  for (std::size_t round = 0; round < kRounds; ++round) {
    bench.wire().send(many);
    for (std::size_t i = 0; i < kInFlight; ++i) bench.receive();
  }
  const double seconds = micros(steady_clock::now() - begin) / 1e6;
  return {calls[kCalls / 2], calls[kCalls * 99 / 100], static_cast<double>(kRounds * kInFlight) / seconds};
}

}  // namespace

void StoreCheck::run() {
  const auto endpoint = redis::Endpoint::parse(url);
  if (!endpoint) throw std::runtime_error(endpoint.error());
  shown_url = endpoint->text();
  Bench bench(*endpoint, open, random_name());
  bench.deadline = deadline;
  const std::vector<const EngineCase*> cases = all_cases();
  int silent = 0;
  try {
    for (const EngineCase* its : cases) {
      if (stopped()) throw Stopped("interrupted");
      Outcome outcome = run_one(*its, bench);
      outcome.seen = core::printable(outcome.seen);
      told.push_back({its, outcome});
      on_told(told.back());
      const bool failed = outcome.kind == Kind::fails || outcome.kind == Kind::silent;
      silent = outcome.kind == Kind::silent ? silent + 1 : 0;
      if (failed && (its->is_vital || silent == kMostSilent || !begin_again(bench))) break;
      if (its->name == "database" && !failed) engine = engine_of(bench);
    }
    if (with_speed && told.size() == cases.size()) speed.push_back(measure(bench));
  } catch (const Stopped&) {
    was_stopped = true;
  } catch (const NoAnswer&) {
    // While the engine's name was asked for, or its speed: what was told stands.
  }
  not_asked = cases.size() - told.size();
  is_deleting = true;
  left_nothing = bench.delete_keys();
}

std::size_t StoreCheck::count(Kind kind) const {
  return static_cast<std::size_t>(std::count_if(
      told.begin(), told.end(), [kind](const ToldCase& each) { return each.outcome.kind == kind; }));
}

int StoreCheck::exit_code() const {
  if (count(Kind::fails) > 0) return 1;
  return count(Kind::silent) > 0 || not_asked > 0 ? 2 : 0;
}

}  // namespace weir::engine
