#include "sim/client_table.hpp"

#include <algorithm>

#include "core/utc_text.hpp"
#include "sim/decision_lines.hpp"

namespace weir::inline v0_1::sim {

ClientTable::ClientTable(std::vector<std::string> limits) : limits_(std::move(limits)) {
  if (limits_.empty()) limits_.emplace_back();
}

void ClientTable::add(std::uint64_t client, std::int64_t ns, std::uint32_t denied) {
  if (rows_.size() <= client) {
    rows_.resize(client + 1);
    denials_.resize(rows_.size() * limits_.size());
  }
  Row& row = rows_[client];
  if (row.requests++ == 0) row.first_ns = ns;
  row.last_ns = ns;
  for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
    if ((denied >> limit & 1U) == 0) continue;
    Denials& denials = denials_[client * limits_.size() + limit];
    if (denials.requests++ == 0) denials.first_ns = ns;
  }
}

std::string ClientTable::csv(const std::function<std::string(std::uint64_t)>& name) const {
  std::string out = "client,requests,first,last";
  for (const std::string& each : limits_) {
    const std::string prefix = each.empty() ? "" : each + " ";
    append_csv(out += ',', prefix + "denied");
    append_csv(out += ',', prefix + "first denied");
  }
  out += '\n';
  for (std::uint64_t client = 0; client < rows_.size(); ++client) {
    const Row& row = rows_[client];
    if (row.requests == 0) continue;
    append_csv(out, name(client));
    out += "," + std::to_string(row.requests) + "," + core::utc_text(row.first_ns) + "," +
           core::utc_text(row.last_ns);
    for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
      const Denials& denials = denials_[client * limits_.size() + limit];
      out += "," + std::to_string(denials.requests) + ",";
      if (denials.requests > 0) out += core::utc_text(denials.first_ns);
    }
    out += '\n';
  }
  return out;
}

}  // namespace weir::sim
