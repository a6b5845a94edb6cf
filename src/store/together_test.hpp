// For tests: several keys of a table charged all or none by gcra, in one line.
#pragma once

#include <span>
#include <vector>

#include "store/table.hpp"

namespace weir::inline v0_1::store {

struct Charge {
  KeyPlace place;
  const Quota* quota;
  Cost cost;
};

inline bool check_all(Table& table, std::span<const Charge> charges, std::chrono::nanoseconds now,
                      std::span<Decision> decisions) {
  std::vector<Limit> limits;
  std::vector<Check> checks;
  limits.reserve(charges.size());
  for (const Charge& charge : charges) {
    limits.push_back({.rule = core::Rule{*charge.quota}});
    checks.push_back(
        {.limit = &limits.back(), .cost = charge.cost, .hash = charge.place.tag << 22 | charge.place.bucket});
  }
  const bool all = table.check_all(checks, now, now);
  for (std::size_t i = 0; i < checks.size(); ++i) decisions[i] = checks[i].decision;
  return all;
}

}  // namespace weir::store
