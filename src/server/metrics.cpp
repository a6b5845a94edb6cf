#include "server/metrics.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/histogram.hpp"
#include "server/log.hpp"

namespace weir::inline v0_1::server {
namespace {

using service::Metric;
using service::Section;
using Type = Metric::Type;
using Value = Metric::Value;
using Counters = redis::SharedStore::Counters;

std::uint64_t sum_of(const std::unordered_map<std::uint64_t, std::uint64_t>& numbers) {
  std::uint64_t sum = 0;
  for (const auto& each : numbers) sum += each.second;
  return sum;
}

}  // namespace

void add_connection_rows(service::Metrics& metrics, const net::LoopCounters& connections) {
  const auto add = [&](Section section, Type type, std::string name, std::string help,
                       const std::atomic<std::uint64_t>& counter, std::string exported) {
    metrics.add({section, type, std::move(name), std::move(help),
                 [&counter] { return Value{counter.load(std::memory_order_relaxed)}; }, false,
                 std::move(exported)});
  };
  add(Section::clients, Type::gauge, "connected_clients", "Connections open now", connections.now, "");
  add(Section::clients, Type::gauge, "delayed_clients", "Connections whose wrong AUTH is not yet answered",
      connections.delayed, "weir_delayed_connections");
  metrics.add({Section::memory, Type::gauge, "client_memory",
               "Bytes that connections make the server keep beside themselves",
               [&connections] {
                 return Value{std::uint64_t{connections.memory.used.load(std::memory_order_relaxed)}};
               },
               false, "weir_client_bytes"});
  metrics.add({Section::memory, Type::gauge, "client_memory_limit",
               "Bytes above which the connections that keep the most are closed",
               [&connections] { return Value{std::uint64_t{connections.memory.most}}; }, false,
               "weir_client_bytes_max"});
  add(Section::stats, Type::counter, "total_connections_received", "Connections accepted",
      connections.received, "weir_connections_accepted_total");
  add(Section::stats, Type::counter, "rejected_connections", "Connections refused because too many were open",
      connections.rejected, "weir_connections_refused_total");
  metrics.add({Section::stats, Type::counter, "log_lines_dropped",
               "Lines that the reader of the log did not take", [] { return Value{log_lines_dropped()}; },
               false, "weir_log_lines_dropped_total"});
  add(Section::stats, Type::counter, "stalled_connections", "Connections closed because they stood still",
      connections.stalled, "weir_connections_stalled_total");
  add(Section::stats, Type::counter, "closed_for_client_memory",
      "Connections closed because they kept the most of too much memory", connections.memory.closed,
      "weir_connections_closed_for_memory_total");
}

void add_reservation_rows(service::Metrics& metrics, const store::Reservations& reservations) {
  const auto row = [&](Type type, std::string name, std::string help, std::string shown, auto member) {
    metrics.add({Section::keyspace, type, std::move(name), std::move(help),
                 [&reservations, member] { return reservations.counts().*member; }, false, std::move(shown)});
  };
  using Counts = store::Reservations::Counts;
  row(Type::gauge, "reservations", "Reservations that can be cancelled or settled", "weir_reservations",
      &Counts::open);
  row(Type::counter, "reservations_refused",
      "Reservations and pauses that were refused, because --reservation-memory was full",
      "weir_reservations_refused_total", &Counts::refused);
  row(Type::counter, "pauses_not_kept",
      "Penalties, and pauses of a snapshot, that were not kept, because --reservation-memory was full",
      "weir_pauses_not_kept_total", &Counts::pauses_not_kept);
  row(Type::counter, "holds_expired", "Holds that their time has ended: nobody settled them",
      "weir_holds_expired_total", &Counts::holds_expired);
  metrics.add({Section::memory, Type::gauge, "reservation_memory", "Bytes that reservations keep",
               [&reservations] { return Value{std::uint64_t{reservations.memory().bytes()}}; }, false,
               "weir_reservation_bytes"});
  metrics.add({Section::memory, Type::gauge, "reservation_memory_limit", "The most that they may keep",
               [&reservations] { return Value{std::uint64_t{reservations.memory().bound()}}; }, false,
               "weir_reservation_bytes_max"});
  const store::PenaltyBook& book = reservations.penalties();
  metrics.add({Section::keyspace, Type::counter, "penalties_not_kept",
               "Penalties of which the next does not grow, because --penalty-memory was full",
               [&book] { return Value{book.not_kept()}; }, false, "weir_penalties_not_kept_total"});
  metrics.add({Section::memory, Type::gauge, "penalty_memory", "Bytes that growing penalties keep",
               [&book] { return Value{std::uint64_t{book.bytes()}}; }, false, "weir_penalty_book_bytes"});
  metrics.add({Section::memory, Type::gauge, "penalty_memory_limit", "The most that they may keep",
               [&book] { return Value{std::uint64_t{book.most_bytes()}}; }, false,
               "weir_penalty_book_bytes_max"});
}

void add_waiting_rows(service::Metrics& metrics, const waiting::House& house) {
  metrics.add({Section::clients, Type::gauge, "blocked_clients", "Connections that wait for their moment",
               [&house] { return Value{std::uint64_t{house.waiting()}}; }, false, "weir_waiters"});
  metrics.add({Section::stats, Type::counter, "waiters_turned_away",
               "Requests that were denied because as many waited as may",
               [&house] { return Value{house.turned_away()}; }, false, "weir_waiters_turned_away_total"});
}

void add_slot_rows(service::Metrics& metrics, const service::Service& service, const waiting::House& house,
                   store::Reservations* own) {
  metrics.add({Section::keyspace, Type::gauge, "slot_waiters",
               "Acquires that stand in line for a slot in this server",
               [&house] { return Value{sum_of(house.queues.slot_waiters())}; }});
  if (own == nullptr) return;
  metrics.add({Section::keyspace, Type::gauge, "in_flight", "Open holds that have a slot",
               [&service, own] { return Value{sum_of(own->in_flight(service.now()))}; }, true});
}

void add_store_rows(service::Metrics& metrics, const Settings& settings, const StoreStatus& status,
                    std::vector<const redis::SharedStore*> stores) {
  const auto total_of = [stores](auto counter_of) {
    std::uint64_t total = 0;
    for (const redis::SharedStore* store : stores)
      total += counter_of(store->counters()).load(std::memory_order_relaxed);
    return total;
  };
  const auto add = [&](Type type, std::string name, std::string help, auto counter_of,
                       std::string exported = "") {
    metrics.add({Section::store, type, std::move(name), std::move(help),
                 [total_of, counter_of] { return Value{total_of(counter_of)}; }, false, std::move(exported)});
  };
  const auto sum = [&](std::string name, std::string help, auto counter_of, std::string exported = "") {
    add(Type::counter, std::move(name), std::move(help), counter_of, std::move(exported));
  };
  metrics.add({Section::store, Type::text, "store", "Where the shared store is",
               [text = settings.store_text] { return Value{text}; }});
  metrics.add(
      {Section::store, Type::text, "store_state",
       "Whether the shared store decides: ready, connecting, failing or down, as the worst loop sees it",
       [&status] { return Value{std::string(name_of(status.worst().state))}; }});
  add(
      Type::gauge, "store_under_way", "Answers that the shared store owes now",
      [](const Counters& c) -> auto& { return c.under_way; }, "weir_store_under_way");
  add(
      Type::gauge, "store_waiting", "Calls that wait until the shared store can answer them in time",
      [](const Counters& c) -> auto& { return c.waiting; }, "weir_store_waiting");
  sum("store_decided", "Requests that the shared store decided",
      [](const Counters& c) -> auto& { return c.decided; });
  sum(
      "store_remembered", "Requests denied without asking, by a denial that still held",
      [](const Counters& c) -> auto& { return c.remembered; }, "weir_remembered_denials_total");
  sum(
      "store_leased", "Requests allowed without asking, by units that were taken ahead",
      [](const Counters& c) -> auto& { return c.leased; }, "weir_leased_total");
  sum(
      "store_merged", "Requests decided in the call of another one",
      [](const Counters& c) -> auto& { return c.merged; }, "weir_store_merged_total");
  sum("store_fallbacks", "Requests that --on-store-error decided",
      [](const Counters& c) -> auto& { return c.fallbacks; });
  const auto took = [stores] {
    core::Histogram::Total total;
    for (const redis::SharedStore* store : stores) store->client().took().add_to(total);
    return total;
  };
  metrics.add({Section::store, Type::counter, "store_answers", "Answers of the shared store",
               [took] { return Value{took().count()}; }});
  metrics.add(
      {Section::store, Type::counter, "store_answers_usec", "Microseconds that those took together", [took] {
         const auto usec = std::chrono::floor<std::chrono::microseconds>(took().sum);
         return Value{static_cast<std::uint64_t>(usec.count())};
       }});
  metrics.add({Section::store, Type::text, "store_error", "Why the shared store does not decide", [&status] {
                 std::string why = status.worst().why;
                 return why.empty() ? Value{} : Value{std::move(why)};
               }});
  for (std::size_t i = 1; i < redis::kCauseNames.size(); ++i) {
    const std::string cause(redis::kCauseNames[i]);
    sum("store_failed_" + cause, "Calls to the shared store without an answer: " + cause,
        [i](const Counters& c) -> auto& { return c.failures[i]; });
  }
  metrics.add([total_of, took, &status](service::Exposition& to) {
    using Kind = service::Exposition::Kind;
    to.family(Kind::gauge, "weir_store_up", "Whether the shared store decides, as the worst loop sees it");
    to.sample({}, std::uint64_t{status.worst().state == redis::Health::State::ready});
    to.family(Kind::counter, "weir_store_requests_total",
              "Requests to the shared store by what came of them");
    to.sample({{"result", "decided"}}, total_of([](const Counters& c) -> auto& { return c.decided; }));
    for (std::size_t i = 1; i < redis::kCauseNames.size(); ++i) {
      to.sample({{"result", redis::kCauseNames[i]}},
                total_of([i](const Counters& c) -> auto& { return c.failures[i]; }));
    }
    to.family(Kind::histogram, "weir_store_seconds",
              "From when a call was sent to the shared store until its answer");
    to.sample({}, took());
  });
}

}  // namespace weir::server
