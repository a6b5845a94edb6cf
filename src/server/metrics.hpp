// Metrics of the server's parts, as rows for INFO: the connections and the shared store.
#pragma once

#include <vector>

#include "net/loop.hpp"
#include "redis/shared_store.hpp"
#include "server/settings.hpp"
#include "server/store_link.hpp"
#include "service/metrics.hpp"

namespace weir::server {

void add_connection_rows(service::Metrics& metrics, const net::Counters& connections);

// Of all loops together: each has a store and a link of its own. Both must outlive the rows.
void add_store_rows(service::Metrics& metrics, const Settings& settings,
                    std::vector<const redis::SharedStore*> stores, std::vector<const StoreLink*> links);

}  // namespace weir::server
