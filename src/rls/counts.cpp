#include "rls/counts.hpp"

#include <string>

namespace weir::inline v0_1::rls {

void add_rows(service::Metrics& metrics, const RlsCounts& counts) {
  using service::Exposition;
  using service::Section;
  metrics.counter(Section::rls, "rls_calls", "weir_rls_calls_total", "Calls of Envoy's rate limit service",
                  counts.calls);
  metrics.counter(Section::rls, "rls_unlimited_descriptors", "weir_rls_unlimited_descriptors_total",
                  "Descriptors that met no limit", counts.unlimited);
  metrics.counter(Section::rls, "rls_unknown_domains", "weir_rls_unknown_domains_total",
                  "Calls of a domain that has no limits", counts.unknown_domain);
  metrics.counter(Section::rls, "rls_deadlines_exceeded", "weir_rls_deadlines_exceeded_total",
                  "Calls whose deadline had passed before they were asked", counts.late);
  metrics.counter(Section::rls, "rls_ignored_refunds", "weir_rls_ignored_refunds_total",
                  "Descriptors that were to give back what their limits do not take back",
                  counts.ignored_refunds);
  metrics.counter(Section::rls, "rls_ignored_overrides", "weir_rls_ignored_overrides_total",
                  "Descriptors whose own limit was ignored, as the limits file decides",
                  counts.ignored_overrides);
  metrics.add([&counts](Exposition& to) {
    to.family(Exposition::Kind::counter, "weir_rls_bad_requests_total",
              "Messages that were denied, or refused, because they could not be asked about");
    for (std::size_t i = static_cast<std::size_t>(kFirstBad); i < kWrongs; ++i)
      to.sample({{"reason", name_of(static_cast<Wrong>(i))}}, counts.bad[i].load(std::memory_order_relaxed));
  });
}

void write_series(service::Exposition& to, const SeriesCounts::Total& total) {
  using service::Exposition;
  const auto write = [&](std::string_view name, std::string_view help, auto of) {
    to.family(Exposition::Kind::counter, name, help);
    for (const auto& [limit, row] : total) {
      for (std::size_t i = 0; i < SeriesCounts::kSaid.size(); ++i) {
        // In shadow nothing is denied, and nothing else would be.
        if ((row.*of)[i] == 0 && i != 0) continue;
        to.sample({{"limit", limit}, {"verdict", SeriesCounts::kSaid[i]}}, (row.*of)[i]);
      }
    }
  };
  using Row = SeriesCounts::Row<std::uint64_t>;
  write("weir_rls_decisions_total", "Descriptors by what a limit of --rls-config said of them",
        &Row::decisions);
  write("weir_rls_hits_total", "Hits that they asked for, by what the limit said of them", &Row::hits);
}

}  // namespace weir::rls
