#include "server/info.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <type_traits>

namespace weir::server {
namespace {

template <class Value>
std::string line(std::string_view name, Value value) {
  if constexpr (std::is_convertible_v<Value, std::string_view>) {
    return std::string(name) + ":" + std::string(value) + "\r\n";
  } else {
    return std::string(name) + ":" + std::to_string(value) + "\r\n";
  }
}

// Of all loops together: each has a store of its own.
std::string tell_store(const Service& service, const redis::SharedStore* own) {
  std::uint64_t decided = 0;
  std::uint64_t remembered = 0;
  std::uint64_t merged = 0;
  std::uint64_t fallbacks = 0;
  std::array<std::uint64_t, redis::kCauseNames.size()> failures{};
  bool ready = true;
  for (const redis::SharedStore* store : service.stores) {
    const redis::SharedStore::Counters& counters = store->counters();
    decided += counters.decided.load(std::memory_order_relaxed);
    remembered += counters.remembered.load(std::memory_order_relaxed);
    merged += counters.merged.load(std::memory_order_relaxed);
    fallbacks += counters.fallbacks.load(std::memory_order_relaxed);
    ready = ready && counters.ready.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < failures.size(); ++i) {
      failures[i] += counters.failures[i].load(std::memory_order_relaxed);
    }
  }
  std::string text = "# Store\r\n" + line("store", service.settings.store_text) +
                     line("store_state", ready ? "ready" : "failing") + line("store_decided", decided) +
                     line("store_remembered", remembered) + line("store_merged", merged) +
                     line("store_fallbacks", fallbacks);
  if (own != nullptr && !own->client().ready()) text += line("store_error", own->client().last_error());
  for (std::size_t i = 1; i < failures.size(); ++i) {
    text += line("store_failed_" + std::string(redis::kCauseNames[i]), failures[i]);
  }
  return text + "\r\n";
}

}  // namespace

Info tell_info(const Service& service, std::span<const std::string> sections, const redis::SharedStore* own) {
  const Service::Counters& c = service.counters;
  const Settings& settings = service.settings;
  const auto asked = [sections](std::string_view section) {
    return sections.empty() || std::any_of(sections.begin(), sections.end(), [section](const auto& each) {
             return each == section || each == "all" || each == "default" || each == "everything";
           });
  };
  Info info;
  std::string& text = info.text;
  if (asked("server")) {
    const auto uptime =
        std::chrono::floor<std::chrono::seconds>(store::steady_now() - service.started).count();
    text += "# Server\r\n" + line("redis_version", kRedisVersion) + line("redis_mode", "standalone") +
            line("weir_version", WEIR_VERSION) + line("process_id", getpid()) +
            line("uptime_in_seconds", uptime) + line("threads", settings.threads) + "\r\n";
  }
  if (asked("clients")) {
    text += "# Clients\r\n" + line("connected_clients", service.connections.now.load()) +
            line("maxclients", settings.max_connections) + "\r\n";
  }
  if (asked("memory")) {
    text += "# Memory\r\n" + line("used_memory", service.table.allocated_bytes()) +
            line("maxmemory", settings.memory) + line("maxmemory_policy", "noeviction") + "\r\n";
  }
  if (asked("persistence")) {
    text += "# Persistence\r\n" + line("loading", 0) + line("snapshots", c.snapshots.load()) +
            line("snapshot_errors", c.snapshot_errors.load()) + "\r\n";
  }
  if (asked("stats")) {
    text += "# Stats\r\n" + line("total_connections_received", service.connections.received.load()) +
            line("rejected_connections", service.connections.rejected.load()) +
            line("stalled_connections", service.connections.stalled.load()) +
            line("total_commands_processed", c.commands.load()) +
            line("protocol_errors", c.protocol_errors.load()) +
            line("auth_failures", c.auth_failures.load()) + line("denied", c.denied.load()) +
            line("refused_for_lack_of_room", service.table.refused()) + "\r\n";
  }
  if (asked("store") && !service.stores.empty()) text += tell_store(service, own);
  if (asked("replication")) text += "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n";
  if (asked("keyspace")) {
    info.counted_keys = true;
    const std::uint64_t live = service.live();
    const std::string keys = std::to_string(live);
    text += "# Keyspace\r\n" + line("live_keys", live) + line("capacity", service.table.capacity());
    if (live > 0) text += "db0:keys=" + keys + ",expires=" + keys + ",avg_ttl=0\r\n";
    text += "\r\n";
  }
  return info;
}

}  // namespace weir::server
