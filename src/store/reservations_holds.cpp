// Which holds of a key are open: whose its slots are, and what of its units may still be settled.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "store/reservations.hpp"

namespace weir::inline v0_1::store {

using std::chrono::nanoseconds;

void Reservations::holds(Request& request, nanoseconds now) {
  ReservationTerms& asked = *request.reservation;
  asked.open.clear();
  HoldsFound found;
  for (const Check& check : request.checks) find_holds(check, now, found);
  // One that has a slot and units, or units in several windows, cost the most of them.
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, b.second) < std::tuple(b.first, a.second);
  });
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  std::vector<std::pair<nanoseconds, OpenHold>> open;  // by the moment that was granted
  for (const auto& [id, cost] : found)
    if (auto hold = describe_hold(id, cost, now)) open.push_back(*std::move(hold));
  std::sort(open.begin(), open.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.id) < std::tie(b.first, b.second.id);
  });
  open.resize(std::min(open.size(), asked.most));
  for (auto& [moment, hold] : open) asked.open.push_back(std::move(hold));
}

// Those that end first.
void Reservations::find_holds(const Check& check, nanoseconds now, HoldsFound& into) {
  const bool is_slots = core::counts_slots(check.limit->rule.algorithm);
  if (is_slots) free_ended(check.hash, now);
  Stripe& stripe = stripe_of(check.hash);
  const Held lock(stripe.mutex);
  if (is_slots) {
    if (const KeySlots* const slots = find_slots(stripe, check.hash))
      slots->find_holds(OpenHold::kMost, into);
  } else if (KeptLedger* const kept = find_ledger(check.hash, now)) {
    kept->holds.find(OpenHold::kMost, now, into);
  }
}

// 0 where nothing is held, or a pause lets nobody act in time. What was told before may make it later still.
nanoseconds Reservations::may_be_sooner_by(const Request& request, nanoseconds now) {
  const ReservationTerms& asked = *request.reservation;
  nanoseconds longest{0};
  if (!asked.stands_in_line || asked.max_wait.count() == 0) return longest;
  for (const Check& each : request.checks) {
    if (each.shadow || each.cost.units == 0 || !core::can_reserve(each.limit->rule.algorithm)) continue;
    KeptLedger* const kept = find_ledger(each.hash, now);
    if (kept == nullptr) continue;
    if (kept->ledger.is_paused(now + std::min(asked.max_wait, nanoseconds::max() - now)))
      return nanoseconds{0};
    const auto units = static_cast<std::int64_t>(kept->holds.units(now));
    if (units == 0) continue;
    longest = std::max(longest, units * each.limit->rule.quota.emission_interval() +
                                    std::max(nanoseconds{0}, kept->ledger.last() - now));
  }
  return longest;
}

}  // namespace weir::store
