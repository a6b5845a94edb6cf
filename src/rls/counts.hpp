// What a server counts of Envoy's rate limit service, beside decisions. Any thread; relaxed, because people
// read the numbers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rls/request.hpp"
#include "rls/series_counts.hpp"
#include "service/metrics.hpp"

namespace weir::inline v0_1::rls {

struct RlsCounts {
  std::atomic<std::uint64_t> calls{0};
  // Of Envoy's method alone: calls; those that were answered with an error, as they could not be asked about,
  // or nobody could decide.
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> not_asked{0};
  std::atomic<std::uint64_t> undecided{0};
  std::atomic<std::uint64_t> unlimited{0};          // descriptors that met no limit
  std::atomic<std::uint64_t> unknown_domain{0};     // calls
  std::atomic<std::uint64_t> late{0};               // calls whose deadline had passed
  std::atomic<std::uint64_t> ignored_refunds{0};    // descriptors that only looked
  std::atomic<std::uint64_t> ignored_overrides{0};  // descriptors, by the limits file
  std::array<std::atomic<std::uint64_t>, kWrongs> bad{};

  static void count(std::atomic<std::uint64_t>& what) { what.fetch_add(1, std::memory_order_relaxed); }
  void count(Wrong wrong) { count(bad[static_cast<std::size_t>(wrong)]); }
};

// `counts` must outlive the rows.
void add_rows(service::Metrics& metrics, const RlsCounts& counts);
// What was decided by trees.
void write_series(service::Exposition& to, const SeriesCounts::Total& total);

}  // namespace weir::rls
