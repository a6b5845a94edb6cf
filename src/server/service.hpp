// What every connection of one server shares: the table, the credentials, the counters, and the two things
// that a command can ask of the program. Counters are relaxed: they are read for people, not for decisions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "net/loop.hpp"
#include "redis/shared_store.hpp"
#include "server/credentials.hpp"
#include "server/settings.hpp"
#include "store/clock.hpp"
#include "store/embedded_store.hpp"
#include "store/table.hpp"

namespace weir::server {

struct Service {
  // What the program itself keeps resident, connections apart: --memory is to be what the operator sees.
  static constexpr std::size_t kProgramBytes = 8_MiB;

  Service(const Settings& from, core::HashKey seed)
      : settings(from),
        embedded(table_bytes(from.memory), from.when_full, seed),
        credentials(from.user, from.password) {}

  static std::size_t table_bytes(std::size_t memory) {
    return memory > kProgramBytes + store::Table::kLeastBytes ? memory - kProgramBytes
                                                              : store::Table::kLeastBytes;
  }

  // Keys in use. In a large table an estimate: an event loop must not stand still to count a billion slots.
  std::uint64_t live() const { return table.live(now(), 64); }

  const Settings& settings;
  store::EmbeddedStore embedded;
  store::Table& table = embedded.table();
  Credentials credentials;
  // Guesses at the password, for each address: what a limiter's own server should not leave unlimited.
  KeyedLimiter auth_failures{Quota::per_second(1).with_burst(10), {.memory = 1_MiB}};
  redis::Resets resets;
  std::vector<const redis::SharedStore*> stores;  // one for each loop, or none; not changed after start
  std::function<void(bool save)> shut_down;       // safe to call from any thread; returns at once
  std::chrono::nanoseconds (*now)() =
      &store::steady_now;  // the clock that every decision of this server is made by
  std::chrono::nanoseconds started = store::steady_now();

  struct Counters {
    std::atomic<std::uint64_t> commands{0};
    std::atomic<std::uint64_t> denied{0};
    std::atomic<std::uint64_t> protocol_errors{0};
    std::atomic<std::uint64_t> auth_failures{0};
    std::atomic<std::uint64_t> snapshots{0};
    std::atomic<std::uint64_t> snapshot_errors{0};
  } counters;
  net::Counters connections;
};

}  // namespace weir::server
