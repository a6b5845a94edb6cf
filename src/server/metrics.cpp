#include "server/metrics.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace weir::server {
namespace {

using service::Metric;
using service::Section;
using Type = Metric::Type;
using Value = Metric::Value;
using Counters = redis::SharedStore::Counters;

}  // namespace

void add_connection_rows(service::Metrics& metrics, const net::Counters& connections) {
  const auto add = [&](Section section, Type type, std::string name, std::string help,
                       const std::atomic<std::uint64_t>& counter) {
    metrics.add({section, type, std::move(name), std::move(help),
                 [&counter] { return Value{counter.load(std::memory_order_relaxed)}; }});
  };
  add(Section::clients, Type::gauge, "connected_clients", "Connections open now", connections.now);
  add(Section::stats, Type::counter, "total_connections_received", "Connections accepted",
      connections.received);
  add(Section::stats, Type::counter, "rejected_connections", "Connections refused because too many were open",
      connections.rejected);
  add(Section::stats, Type::counter, "stalled_connections", "Connections closed because they stood still",
      connections.stalled);
}

void add_store_rows(service::Metrics& metrics, const Settings& settings,
                    std::vector<const redis::SharedStore*> stores, std::vector<const StoreLink*> links) {
  const auto sum = [&](std::string name, std::string help, auto counter_of) {
    metrics.add({Section::store, Type::counter, std::move(name), std::move(help), [stores, counter_of] {
                   std::uint64_t total = 0;
                   for (const redis::SharedStore* store : stores)
                     total += counter_of(store->counters()).load(std::memory_order_relaxed);
                   return Value{total};
                 }});
  };
  metrics.add({Section::store, Type::text, "store", "Where the shared store is",
               [text = settings.store_text] { return Value{text}; }});
  metrics.add({Section::store, Type::text, "store_state", "Whether the shared store answers", [stores] {
                 const bool ready = std::all_of(stores.begin(), stores.end(), [](const auto* store) {
                   return store->counters().ready.load(std::memory_order_relaxed);
                 });
                 return Value{std::string(ready ? "ready" : "failing")};
               }});
  sum("store_decided", "Requests that the shared store decided",
      [](const Counters& c) -> auto& { return c.decided; });
  sum("store_remembered", "Requests denied without asking, by a denial that still held",
      [](const Counters& c) -> auto& { return c.remembered; });
  sum("store_merged", "Requests decided in the call of another one",
      [](const Counters& c) -> auto& { return c.merged; });
  sum("store_fallbacks", "Requests that --on-store-error decided",
      [](const Counters& c) -> auto& { return c.fallbacks; });
  metrics.add({Section::store, Type::text, "store_error", "Why the shared store does not answer", [links] {
                 for (const StoreLink* link : links) {
                   if (std::string error = link->error(); !error.empty()) return Value{std::move(error)};
                 }
                 return Value{};
               }});
  for (std::size_t i = 1; i < redis::kCauseNames.size(); ++i) {
    const std::string cause(redis::kCauseNames[i]);
    sum("store_failed_" + cause, "Calls to the shared store without an answer: " + cause,
        [i](const Counters& c) -> auto& { return c.failures[i]; });
  }
}

}  // namespace weir::server
