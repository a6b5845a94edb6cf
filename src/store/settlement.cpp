#include "store/settlement.hpp"

#include <algorithm>

namespace weir::inline v0_1::store {
namespace {

// Why one of the limits that are named cannot be settled.
std::optional<std::string> settle_named(std::span<const Actual> actuals, std::span<SettledCharge> charges) {
  for (const Actual& actual : actuals) {
    bool known = false;
    for (SettledCharge& each : charges) {
      if (!each.settles ||
          std::find(actual.limits.begin(), actual.limits.end(), each.limit) == actual.limits.end())
        continue;
      each.cost = actual.units;
      known = true;
    }
    if (!known)
      return "actual: the reservation has charged nothing to '" + actual.name + "' that can be settled";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> settle_each(const ReservationTerms& asked, std::span<SettledCharge> charges) {
  const auto settles = [](const SettledCharge& each) { return each.settles; };
  if (std::none_of(charges.begin(), charges.end(), settles))
    return "no limit that the reservation was charged to has a hold, so there is nothing to settle";
  const bool has_own = std::any_of(charges.begin(), charges.end(),
                                   [](const SettledCharge& each) { return each.settles && each.by_actual; });
  for (SettledCharge& each : charges) {
    const bool is_told = asked.actual && asked.actuals.empty() && (each.by_actual || !has_own);
    each.cost = each.settles && is_told ? *asked.actual : each.charged;
  }
  return settle_named(asked.actuals, charges);
}

std::string without_hold() {
  return "the reservation was granted without a hold, so there is nothing to settle";
}

}  // namespace weir::store
