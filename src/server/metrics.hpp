// Metrics of the server's parts, as rows for INFO: the connections, the reservations, and the shared store.
#pragma once

#include <vector>

#include "net/loop.hpp"
#include "redis/shared_store.hpp"
#include "server/settings.hpp"
#include "server/store_status.hpp"
#include "service/metrics.hpp"
#include "service/service.hpp"
#include "store/reservations.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::server {

void add_connection_rows(service::Metrics& metrics, const net::LoopCounters& connections);

// Of the embedded store, which must outlive the rows.
void add_reservation_rows(service::Metrics& metrics, const store::Reservations& reservations);

// Of those who wait for their moment, whatever loop they are on. The house must outlive the rows.
void add_waiting_rows(service::Metrics& metrics, const waiting::House& house);

// What the metrics tell by limit, as sums; `own` is null where a shared store has the slots. What is handed
// in must outlive the rows.
void add_slot_rows(service::Metrics& metrics, const service::Service& service, const waiting::House& house,
                   store::Reservations* own);

// Of all loops together: each has a store of its own. What is handed in must outlive the rows.
void add_store_rows(service::Metrics& metrics, const Settings& settings, const StoreStatus& status,
                    std::vector<const redis::SharedStore*> stores);

}  // namespace weir::server
