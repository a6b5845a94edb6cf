#include "service/metrics.hpp"

namespace weir::inline v0_1::service {

std::string Metrics::expose(Exposition::Format format) const {
  Exposition to(format);
  for (const Metric& row : rows_) {
    if (row.exported.empty()) continue;
    const Metric::Value value = row.read();
    if (!value || !std::holds_alternative<std::uint64_t>(*value)) continue;
    to.family(row.type == Metric::Type::counter ? Exposition::Kind::counter : Exposition::Kind::gauge,
              row.exported, row.help);
    to.sample({}, std::get<std::uint64_t>(*value));
  }
  for (const Families& each : families_) each(to);
  return to.finish();
}

}  // namespace weir::service
