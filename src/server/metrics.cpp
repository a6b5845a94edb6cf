#include "server/metrics.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/histogram.hpp"
#include "server/log.hpp"

namespace weir::inline v0_1::server {
namespace {

using service::Section;
using Counters = redis::SharedStore::Counters;

std::uint64_t sum_of(const std::unordered_map<std::uint64_t, std::uint64_t>& numbers) {
  std::uint64_t sum = 0;
  for (const auto& each : numbers) sum += each.second;
  return sum;
}

}  // namespace

void add_connection_rows(service::Metrics& metrics, const net::LoopCounters& connections) {
  metrics.gauge(Section::clients, "connected_clients", "", "Connections open now", connections.now);
  metrics.gauge(Section::clients, "delayed_clients", "weir_delayed_connections",
                "Connections whose wrong AUTH is not yet answered", connections.delayed);
  metrics.gauge(Section::memory, "client_memory", "weir_client_bytes",
                "Bytes that connections make the server keep beside themselves", connections.memory.used);
  metrics.gauge(Section::memory, "client_memory_limit", "weir_client_bytes_max",
                "Bytes above which the connections that keep the most are closed",
                [&connections] { return connections.memory.most; });
  metrics.counter(Section::stats, "total_connections_received", "weir_connections_accepted_total",
                  "Connections accepted", connections.received);
  metrics.counter(Section::stats, "rejected_connections", "weir_connections_refused_total",
                  "Connections refused because too many were open", connections.rejected);
  metrics.counter(Section::stats, "log_lines_dropped", "weir_log_lines_dropped_total",
                  "Lines that the reader of the log did not take", log_lines_dropped);
  metrics.counter(Section::stats, "stalled_connections", "weir_connections_stalled_total",
                  "Connections closed because they stood still", connections.stalled);
  metrics.counter(Section::stats, "closed_for_client_memory", "weir_connections_closed_for_memory_total",
                  "Connections closed because they kept the most of too much memory",
                  connections.memory.closed);
}

void add_reservation_rows(service::Metrics& metrics, const store::Reservations& reservations) {
  metrics.gauge(Section::keyspace, "reservations", "weir_reservations",
                "Reservations that can be cancelled or settled",
                [&reservations] { return reservations.counts().open; });
  metrics.counter(Section::keyspace, "reservations_refused", "weir_reservations_refused_total",
                  "Reservations and pauses that were refused, because --reservation-memory was full",
                  [&reservations] { return reservations.counts().refused; });
  metrics.counter(
      Section::keyspace, "pauses_not_kept", "weir_pauses_not_kept_total",
      "Penalties, and pauses of a snapshot, that were not kept, because --reservation-memory was full",
      [&reservations] { return reservations.counts().pauses_not_kept; });
  metrics.counter(Section::keyspace, "holds_expired", "weir_holds_expired_total",
                  "Holds that their time has ended: nobody settled them",
                  [&reservations] { return reservations.counts().holds_expired; });
  metrics.gauge(Section::memory, "reservation_memory", "weir_reservation_bytes",
                "Bytes that reservations keep", [&reservations] { return reservations.memory().bytes(); });
  metrics.gauge(Section::memory, "reservation_memory_limit", "weir_reservation_bytes_max",
                "The most that they may keep", [&reservations] { return reservations.memory().bound(); });
  const store::PenaltyBook& book = reservations.penalties();
  metrics.counter(Section::keyspace, "penalties_not_kept", "weir_penalties_not_kept_total",
                  "Penalties of which the next does not grow, because --penalty-memory was full",
                  [&book] { return book.not_kept(); });
  metrics.gauge(Section::memory, "penalty_memory", "weir_penalty_book_bytes",
                "Bytes that growing penalties keep", [&book] { return book.bytes(); });
  metrics.gauge(Section::memory, "penalty_memory_limit", "weir_penalty_book_bytes_max",
                "The most that they may keep", [&book] { return book.most_bytes(); });
}

void add_waiting_rows(service::Metrics& metrics, const waiting::House& house) {
  metrics.gauge(Section::clients, "blocked_clients", "weir_waiters", "Connections that wait for their moment",
                [&house] { return house.waiting(); });
  metrics.counter(Section::stats, "waiters_turned_away", "weir_waiters_turned_away_total",
                  "Requests that were denied because as many waited as may",
                  [&house] { return house.turned_away(); });
}

void add_slot_rows(service::Metrics& metrics, const service::Service& service, const waiting::House& house,
                   store::Reservations* own) {
  metrics.gauge(Section::keyspace, "slot_waiters", "",
                "Acquires that stand in line for a slot in this server",
                [&house] { return sum_of(house.queues.slot_waiters()); });
  if (own == nullptr) return;
  const auto in_flight = [&service, own] { return sum_of(own->in_flight(service.now())); };
  metrics.gauge(Section::keyspace, "in_flight", "", "Open holds that have a slot", in_flight).slow = true;
}

// A function that adds up a counter of all stores.
auto summing(std::vector<const redis::SharedStore*> stores) {
  return [stores = std::move(stores)](auto counter_of) {
    return [stores, counter_of] {
      std::uint64_t total = 0;
      for (const redis::SharedStore* store : stores)
        total += std::invoke(counter_of, store->counters()).load(std::memory_order_relaxed);
      return total;
    };
  };
}

void add_store_rows(service::Metrics& metrics, const Settings& settings, const StoreStatus& status,
                    std::vector<const redis::SharedStore*> stores) {
  const auto sum = summing(stores);
  const auto failures = [sum](std::size_t i) {
    return sum([i](const Counters& c) -> auto& { return c.failures[i]; });
  };
  metrics.text(Section::store, "store", "Where the shared store is",
               [text = settings.store_text] { return text; });
  metrics.text(
      Section::store, "store_state",
      "Whether the shared store decides: ready, connecting, failing or down, as the worst loop sees it",
      [&status] { return std::string(name_of(status.worst().state)); });
  metrics.gauge(Section::store, "store_under_way", "weir_store_under_way",
                "Answers that the shared store owes now", sum(&Counters::under_way));
  metrics.gauge(Section::store, "store_waiting", "weir_store_waiting",
                "Calls that wait until the shared store can answer them in time", sum(&Counters::waiting));
  metrics.counter(Section::store, "store_decided", "", "Requests that the shared store decided",
                  sum(&Counters::decided));
  metrics.counter(Section::store, "store_remembered", "weir_remembered_denials_total",
                  "Requests denied without asking, by a denial that still held", sum(&Counters::remembered));
  metrics.counter(Section::store, "store_leased", "weir_leased_total",
                  "Requests allowed without asking, by units that were taken ahead", sum(&Counters::leased));
  metrics.counter(Section::store, "store_merged", "weir_store_merged_total",
                  "Requests decided in the call of another one", sum(&Counters::merged));
  metrics.counter(Section::store, "store_fallbacks", "", "Requests that --on-store-error decided",
                  sum(&Counters::fallbacks));
  const auto took = [stores] {
    core::Histogram::Total total;
    for (const redis::SharedStore* store : stores) store->client().took().add_to(total);
    return total;
  };
  metrics.counter(Section::store, "store_answers", "", "Answers of the shared store",
                  [took] { return took().count(); });
  metrics.counter(Section::store, "store_answers_usec", "", "Microseconds that those took together",
                  [took] { return std::chrono::floor<std::chrono::microseconds>(took().sum).count(); });
  metrics.text(Section::store, "store_error", "Why the shared store does not decide", [&status] {
    std::string why = status.worst().why;
    return why.empty() ? std::nullopt : std::optional(std::move(why));
  });
  for (std::size_t i = 1; i < redis::kCauseNames.size(); ++i) {
    const std::string cause(redis::kCauseNames[i]);
    metrics.counter(Section::store, "store_failed_" + cause, "",
                    "Calls to the shared store without an answer: " + cause, failures(i));
  }
  metrics.add([sum, failures, took, &status](service::Exposition& to) {
    using Kind = service::Exposition::Kind;
    to.family(Kind::gauge, "weir_store_up", "Whether the shared store decides, as the worst loop sees it");
    to.sample({}, std::uint64_t{status.worst().state == redis::Health::State::ready});
    to.family(Kind::counter, "weir_store_requests_total",
              "Requests to the shared store by what came of them");
    to.sample({{"result", "decided"}}, sum(&Counters::decided)());
    for (std::size_t i = 1; i < redis::kCauseNames.size(); ++i)
      to.sample({{"result", redis::kCauseNames[i]}}, failures(i)());
    to.family(Kind::histogram, "weir_store_seconds",
              "From when a call was sent to the shared store until its answer");
    to.sample({}, took());
  });
}

}  // namespace weir::server
