// What all calls of one shared store work with (store_calls.hpp).
//
// One thread, the store's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/clock_function.hpp"
#include "core/random.hpp"
#include "redis/client.hpp"
#include "redis/fallback.hpp"
#include "redis/kept_check.hpp"
#include "redis/knowledge.hpp"
#include "redis/merge_queue.hpp"
#include "redis/store_tally.hpp"
#include "store/reservation_id.hpp"
#include "store/store.hpp"
#include "weir/source.hpp"

namespace weir::inline v0_1::redis {

struct StoreOptions {
  using nanoseconds = std::chrono::nanoseconds;
  nanoseconds deadline = kStoreDeadline;  // of a request without a patience of its own
  bool remember_denials = true;
  double local_share = 1;  // of each limit, when the embedded store decides
  // The stores of this process that lease apart from each other: what a limit leases is divided among them.
  std::uint64_t lease_parts = 1;
  core::Random random = core::random_key;
  // Told of the hash of a key (store::Check) when something of it was given back, or charged from outside, by
  // what was asked here.
  std::function<void(std::uint64_t)> owed_changed = [](std::uint64_t) {};
  // The same, when it was paused: nobody acts before `end`, and whether the key is afresh then.
  std::function<void(std::uint64_t, nanoseconds end, bool afresh)> paused = [](std::uint64_t, nanoseconds,
                                                                               bool) {};
};

// The calls of each key that wait in order while the store is busy.
class Lines {
 public:
  void stand(std::uint64_t key) { ++lines_[key]; }
  void leave(std::uint64_t key) {
    const auto line = lines_.find(key);
    if (--line->second == 0) lines_.erase(line);
  }
  bool has(std::uint64_t key) const { return lines_.contains(key); }

 private:
  std::unordered_map<std::uint64_t, std::size_t> lines_;
};

struct StoreParts {
  using nanoseconds = std::chrono::nanoseconds;

  StoreParts(Endpoint its_endpoint, StoreOptions its_options, store::EmbeddedStore& local,
             ProcessMemory& memory, core::ClockFunction its_clock);
  StoreParts(const StoreParts&) = delete;
  StoreParts& operator=(const StoreParts&) = delete;

  // A check that outlives submit().
  KeptCheck keep(const store::Check& check) const;
  // A cluster's; 0 for the others.
  std::uint16_t slot(std::string_view name) const;
  // What reservations keep beside a state of gcra; nothing where they cannot be.
  std::string line_of(std::string_view name) const;
  nanoseconds patience_of(const store::Request& request) const;
  // The owner of the sockets is told what has been asked since it last was, and when something is due sooner.
  void wake();

  Endpoint endpoint;
  StoreOptions options;
  Fallback fallback;
  Knowledge known;
  core::ClockFunction clock;
  StoreTally tally;
  MergeQueue merging;
  Lines lines;
  store::ReservationIds ids;
  std::function<void(std::size_t calls)> on_work = [](std::size_t) {};
  std::uint64_t told_calls = 0;     // that the owner of the sockets has been told of
  bool found_former_state = false;  // by tells_former_state()
  Client client;                    // last: its end must not call what is gone
};

}  // namespace weir::redis
