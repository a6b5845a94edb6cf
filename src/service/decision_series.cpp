#include "service/decision_series.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace weir::inline v0_1::service {
namespace {

// Counters begin again with a limit that has left the file and come back.
std::uint32_t grown(std::uint64_t before, std::uint64_t now) {
  const std::uint64_t by = now >= before ? now - before : now;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(by, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

DecisionSeries::Sums DecisionSeries::sums_of(const DecisionCounts::Counted& counted) {
  using Its = DecisionCounts::Said;
  const auto of = [&counted](Its said) {
    const auto& classes = counted.decisions[static_cast<std::size_t>(said)];
    return std::accumulate(classes.begin(), classes.end(), std::uint64_t{0});
  };
  return {.allowed = of(Its::allowed),
          .denied = of(Its::denied) + of(Its::never) + of(Its::listed),
          .banned = counted.banned,
          .would_deny = of(Its::would_deny)};
}

void DecisionSeries::sample(const DecisionCounts::Total& total) {
  const detail::Held lock(mutex_);
  for (auto row = rows_.begin(); row != rows_.end();)
    row = total.limits.contains(row->first) ? std::next(row) : rows_.erase(row);
  for (const auto& [name, counted] : total.limits) {
    auto row = rows_.find(name);
    if (row == rows_.end()) {
      if (rows_.size() >= kMostLimits) continue;
      row = rows_.emplace(name, std::make_unique<Row>()).first;
    }
    const Sums now = sums_of(counted);
    Row& each = *row->second;
    const auto put = [next = next_](std::uint32_t brought, auto& ring, std::uint64_t& lately) {
      lately += brought;
      lately -= std::exchange(ring[next], brought);
    };
    put(grown(each.before.allowed, now.allowed), each.ring.allowed, each.lately.allowed);
    put(grown(each.before.denied, now.denied), each.ring.denied, each.lately.denied);
    put(grown(each.before.banned, now.banned), each.ring.banned, each.lately.banned);
    put(grown(each.before.would_deny, now.would_deny), each.ring.would_deny, each.lately.would_deny);
    each.before = now;
  }
  next_ = (next_ + 1) % kSteps;
}

std::optional<DecisionSeries::Series> DecisionSeries::of(std::string_view limit) const {
  const detail::Held lock(mutex_);
  const auto row = rows_.find(limit);
  if (row == rows_.end()) return std::nullopt;
  Series series = row->second->ring;
  for (auto* each : {&series.allowed, &series.denied, &series.banned, &series.would_deny})
    std::rotate(each->begin(), each->begin() + static_cast<std::ptrdiff_t>(next_), each->end());
  return series;
}

DecisionSeries::Sums DecisionSeries::lately(std::string_view limit) const {
  const detail::Held lock(mutex_);
  const auto row = rows_.find(limit);
  return row == rows_.end() ? Sums{} : row->second->lately;
}

}  // namespace weir::service
