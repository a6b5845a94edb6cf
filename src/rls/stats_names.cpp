#include "rls/stats_names.hpp"

#include <array>
#include <map>
#include <string>
#include <string_view>

namespace weir::inline v0_1::rls {
namespace {

using service::Exposition;
using Labels = limits::Descriptors::Labels;
using Row = SeriesCounts::Row<std::uint64_t>;

std::uint64_t hits_said(const Row& row, SeriesCounts::Said what) {
  return row.hits[static_cast<std::size_t>(what)];
}
std::uint64_t hits_within(const Row& row) { return hits_said(row, SeriesCounts::Said::allowed); }
std::uint64_t hits_in_shadow(const Row& row) { return hits_said(row, SeriesCounts::Said::would_deny); }
std::uint64_t hits_over(const Row& row) {
  return hits_said(row, SeriesCounts::Said::denied) + hits_in_shadow(row);
}

struct Stat {
  std::string_view name;
  std::string_view help;
  std::uint64_t (*of)(const Row&);
};

constexpr std::array kStats = {
    Stat{"ratelimit_service_rate_limit_total_hits", "Hits that a limit was asked for",
         [](const Row& row) { return hits_within(row) + hits_over(row); }},
    Stat{"ratelimit_service_rate_limit_over_limit", "Hits that were over it", hits_over},
    Stat{"ratelimit_service_rate_limit_near_limit", "Hits within it that were near it",
         [](const Row& row) { return row.near; }},
    Stat{"ratelimit_service_rate_limit_over_limit_with_local_cache",
         "Hits that were over it, of which no store was asked",
         [](const Row& row) { return row.remembered; }},
    Stat{"ratelimit_service_rate_limit_within_limit", "Hits within it", hits_within},
    Stat{"ratelimit_service_rate_limit_shadow_mode", "Hits over it that shadow mode let pass",
         hits_in_shadow}};

std::map<Labels, Row> by_labels(const StatsNames& from) {
  std::map<Labels, Row> all;
  if (from.trees == nullptr) return all;
  for (std::size_t i = 0; i < from.trees->series().size(); ++i) {
    Row& sum = all[from.trees->labels()[i]];
    const auto found = from.total.find(from.trees->series()[i]);
    if (found == from.total.end()) continue;
    for (std::size_t what = 0; what < sum.hits.size(); ++what) sum.hits[what] += found->second.hits[what];
    sum.near += found->second.near;
    sum.remembered += found->second.remembered;
  }
  return all;
}

}  // namespace

void write_stats_names(Exposition& to, const StatsNames& from) {
  constexpr auto kCounter = Exposition::Kind::foreign_counter;
  constexpr Exposition::Label kMethod{"grpc_method", "ShouldRateLimit"};
  const auto all = by_labels(from);
  for (const Stat& stat : kStats) {
    to.family(kCounter, stat.name, stat.help);
    for (const auto& [at, row] : all) {
      if (at.key2.empty())
        to.sample({{"domain", at.domain}, {"key1", at.key1}}, stat.of(row));
      else
        to.sample({{"domain", at.domain}, {"key1", at.key1}, {"key2", at.key2}}, stat.of(row));
    }
  }
  to.family(kCounter, "ratelimit_service_should_rate_limit_error", "Calls that were answered with an error");
  to.sample({{"err_type", "redis_error"}}, from.counts.undecided.load(std::memory_order_relaxed));
  to.sample({{"err_type", "service_error"}}, from.counts.not_asked.load(std::memory_order_relaxed));
  to.family(kCounter, "ratelimit_service_total_requests", "Calls");
  to.sample({kMethod}, from.counts.asked.load(std::memory_order_relaxed));
  to.family(Exposition::Kind::histogram, "ratelimit_service_response_time_seconds",
            "From when the bytes of a descriptor had arrived until its answer was made");
  to.sample({kMethod}, from.took);
  to.family(kCounter, "ratelimit_service_config_load_success", "Times that other limits came in force");
  to.sample({}, from.loads);
  to.family(kCounter, "ratelimit_service_config_load_error", "Times that limits could not be used");
  to.sample({}, from.load_errors);
}

}  // namespace weir::rls
