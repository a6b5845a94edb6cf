#include "server/metrics.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "server/log.hpp"

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
  add(Section::clients, Type::gauge, "delayed_clients", "Connections whose wrong AUTH is not yet answered",
      connections.delayed);
  metrics.add({Section::memory, Type::gauge, "client_memory", "Bytes that connections make the server keep",
               [&connections] {
                 return Value{std::uint64_t{connections.memory.used.load(std::memory_order_relaxed)}};
               }});
  metrics.add({Section::memory, Type::gauge, "client_memory_limit",
               "Bytes above which the connections that keep the most are closed",
               [&connections] { return Value{std::uint64_t{connections.memory.most}}; }});
  add(Section::stats, Type::counter, "total_connections_received", "Connections accepted",
      connections.received);
  add(Section::stats, Type::counter, "rejected_connections", "Connections refused because too many were open",
      connections.rejected);
  metrics.add({Section::stats, Type::counter, "log_lines_dropped",
               "Lines that the reader of the log did not take", [] { return Value{log_lines_dropped()}; }});
  add(Section::stats, Type::counter, "stalled_connections", "Connections closed because they stood still",
      connections.stalled);
  add(Section::stats, Type::counter, "closed_for_client_memory",
      "Connections closed because they kept the most of too much memory", connections.memory.closed);
}

void add_store_rows(service::Metrics& metrics, const Settings& settings, const StoreStatus& status,
                    std::vector<const redis::SharedStore*> stores) {
  const auto add = [&](Type type, std::string name, std::string help, auto counter_of) {
    metrics.add({Section::store, type, std::move(name), std::move(help), [stores, counter_of] {
                   std::uint64_t total = 0;
                   for (const redis::SharedStore* store : stores)
                     total += counter_of(store->counters()).load(std::memory_order_relaxed);
                   return Value{total};
                 }});
  };
  const auto sum = [&](std::string name, std::string help, auto counter_of) {
    add(Type::counter, std::move(name), std::move(help), counter_of);
  };
  metrics.add({Section::store, Type::text, "store", "Where the shared store is",
               [text = settings.store_text] { return Value{text}; }});
  metrics.add(
      {Section::store, Type::text, "store_state",
       "Whether the shared store decides: ready, connecting, failing or down, as the worst loop sees it",
       [&status] { return Value{std::string(name_of(status.worst().state))}; }});
  add(Type::gauge, "store_under_way", "Answers that the shared store owes now",
      [](const Counters& c) -> auto& { return c.under_way; });
  add(Type::gauge, "store_waiting", "Calls that wait until the shared store can answer them in time",
      [](const Counters& c) -> auto& { return c.waiting; });
  sum("store_decided", "Requests that the shared store decided",
      [](const Counters& c) -> auto& { return c.decided; });
  sum("store_remembered", "Requests denied without asking, by a denial that still held",
      [](const Counters& c) -> auto& { return c.remembered; });
  sum("store_merged", "Requests decided in the call of another one",
      [](const Counters& c) -> auto& { return c.merged; });
  sum("store_fallbacks", "Requests that --on-store-error decided",
      [](const Counters& c) -> auto& { return c.fallbacks; });
  metrics.add({Section::store, Type::text, "store_error", "Why the shared store does not decide", [&status] {
                 std::string why = status.worst().why;
                 return why.empty() ? Value{} : Value{std::move(why)};
               }});
  for (std::size_t i = 1; i < redis::kCauseNames.size(); ++i) {
    const std::string cause(redis::kCauseNames[i]);
    sum("store_failed_" + cause, "Calls to the shared store without an answer: " + cause,
        [i](const Counters& c) -> auto& { return c.failures[i]; });
  }
}

}  // namespace weir::server
