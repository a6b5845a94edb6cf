// The metrics of envoyproxy/ratelimit, by the names and labels that its own mapping gives them, for
// dashboards and alerts that were written for it.
//
// Any thread. A limit has one series of each, as it has of weir's own (counts.hpp).
#pragma once

#include <cstdint>

#include "core/histogram.hpp"
#include "limits/descriptors.hpp"
#include "rls/counts.hpp"
#include "rls/series_counts.hpp"
#include "service/exposition.hpp"

namespace weir::inline v0_1::rls {

struct StatsNames {
  const RlsCounts& counts;
  const SeriesCounts::Total& total;
  const limits::Descriptors* trees = nullptr;  // in force; null: none
  core::Histogram::Total took{};
  std::uint64_t loads = 0;
  std::uint64_t load_errors = 0;
};

void write_stats_names(service::Exposition& to, const StatsNames& from);

}  // namespace weir::rls
