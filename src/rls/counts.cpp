#include "rls/counts.hpp"

#include <string>

namespace weir::inline v0_1::rls {

void add_rows(service::Metrics& metrics, const RlsCounts& counts) {
  using service::Exposition;
  using service::Metric;
  const auto counted = [&](std::string name, const std::atomic<std::uint64_t>& which, std::string help) {
    std::string exported = "weir_" + name + "_total";
    metrics.add({service::Section::rls, Metric::Type::counter, std::move(name), std::move(help),
                 [&which] { return Metric::Value{which.load(std::memory_order_relaxed)}; }, false,
                 std::move(exported)});
  };
  counted("rls_calls", counts.calls, "Calls of Envoy's rate limit service");
  counted("rls_unlimited_descriptors", counts.unlimited, "Descriptors that met no limit");
  counted("rls_unknown_domains", counts.unknown_domain, "Calls of a domain that has no limits");
  counted("rls_deadlines_exceeded", counts.late, "Calls whose deadline had passed before they were asked");
  counted("rls_ignored_refunds", counts.ignored_refunds,
          "Descriptors that were to give back what their limits do not take back");
  counted("rls_ignored_overrides", counts.ignored_overrides,
          "Descriptors whose own limit was ignored, as the limits file decides");
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
