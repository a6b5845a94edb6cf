#include "service/metrics.hpp"

namespace weir::inline v0_1::service {

Metric& Metrics::counter(Section section, std::string name, std::string exported, std::string help,
                         MetricReader read) {
  rows_.push_back({section, Metric::Type::counter, std::move(name), std::move(help), std::move(read.function),
                   false, std::move(exported)});
  return rows_.back();
}

Metric& Metrics::gauge(Section section, std::string name, std::string exported, std::string help,
                       MetricReader read) {
  Metric& row = counter(section, std::move(name), std::move(exported), std::move(help), std::move(read));
  row.type = Metric::Type::gauge;
  return row;
}

Metric& Metrics::text(Section section, std::string name, std::string help, MetricReader read) {
  Metric& row = counter(section, std::move(name), "", std::move(help), std::move(read));
  row.type = Metric::Type::text;
  return row;
}

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
