// Whether an engine, Redis or one that claims to be one, is one on which weir's scripts hold: some sixty
// cases, one after the other.
//
// One thread. What it sends, and what it leaves alone: bench.hpp. Not for: how fast it is, but for what
// measure() says.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/outcome.hpp"
#include "engine/wire.hpp"
#include "weir/source.hpp"

namespace weir::inline v0_1::engine {

struct ToldCase {
  const EngineCase* of;
  Outcome outcome;
};

struct Speed {
  double call_us;            // one check, and its answer: the median
  double slowest_call_us;    // of a hundred the slowest
  double checks_per_second;  // with 64 in flight
};

struct StoreCheck {
  std::string url;  // without a password
  Open open;
  std::function<bool()> stopped;                 // whether somebody wants it to end
  std::function<void(const ToldCase&)> on_told;  // after each case
  bool with_speed = false;
  std::chrono::nanoseconds deadline = kStoreDeadline;  // --store-deadline of the servers

  // Filled by run().
  std::string shown_url;
  std::string engine;  // "Redis 7.0.15"; empty: it does not say
  std::vector<ToldCase> told;
  std::size_t not_asked = 0;
  bool was_stopped = false;
  bool is_deleting = false;
  bool left_nothing = true;  // our keys are deleted
  std::vector<Speed> speed;  // one, or none

  // Throws std::runtime_error for a URL that it cannot read.
  void run();
  // For the wire, which waits: the check is to end, and its keys are not being deleted.
  bool interrupted() const { return !is_deleting && stopped(); }
  std::size_t count(Outcome::Kind kind) const;
  // 0: it holds; 1: it does not; 2: no answer, or not all of them.
  int exit_code() const;
};

}  // namespace weir::engine
