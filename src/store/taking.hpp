// As many of some units as there are: what a request that takes costs, and how the number is found.
//
// One way for every store that decides by the states: what admits a number of units admits every smaller one,
// so the number is found by halves.
//
// Pure, any thread. Not for: what admits (core/rule.hpp), and where the states lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "store/store.hpp"

namespace weir::inline v0_1::store {

// What that many units cost where one costs `unit`; above all that can be said, the most.
constexpr std::uint64_t cost_of_units(std::uint64_t unit, std::uint64_t units) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return unit != 0 && units > kMost / unit ? kMost : unit * units;
}

// Each check costs what it costs for that many.
inline void set_costs(std::span<Check> checks, const TakeTerms& terms, std::uint64_t units) {
  for (std::size_t i = 0; i < checks.size(); ++i) checks[i].cost = Cost{cost_of_units(terms.unit[i], units)};
}

// The most of them that it makes sense to ask for: with more, an enforced check is never allowed.
inline std::uint64_t most_to_ask(std::span<const Check> checks, const TakeTerms& terms) {
  std::uint64_t most = terms.most;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (checks[i].shadow || terms.unit[i] == 0) continue;
    const auto burst = static_cast<std::uint64_t>(checks[i].limit->rule.quota.burst());
    most = std::min(most, burst / terms.unit[i]);
  }
  return most;
}

// The greatest number of units that `admits` says yes to when the checks cost that much; 0: not even the
// least. What it is asked last is that number, or the least.
template <class Admits>
std::uint64_t find_units(std::span<Check> checks, const TakeTerms& terms, const Admits& admits) {
  const auto admits_units = [&](std::uint64_t units) {
    set_costs(checks, terms, units);
    return admits();
  };
  std::uint64_t low = terms.least;  // it is admitted, and the other is not
  std::uint64_t high = most_to_ask(checks, terms);
  if (high > low && admits_units(high)) return high;
  if (!admits_units(low)) return 0;
  std::uint64_t last = low;
  while (high > low && high - low > 1) {
    last = low + (high - low) / 2;
    (admits_units(last) ? low : high) = last;
  }
  if (last != low) admits_units(low);
  return low;
}

}  // namespace weir::store
