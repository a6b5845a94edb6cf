// Units that are taken ahead: who may have them, and requests of several checks that spend them.
#include <algorithm>

#include "core/rule.hpp"
#include "core/severity.hpp"
#include "redis/shared_store.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Check;
using store::Limit;
using store::Request;

// Leases are GCRA's, for those who spend, and not for a class that keeps something free: what it took ahead
// it would have when others need it.
bool SharedStore::wants_lease(const Limit& limit, Cost cost) const {
  return limit.sharing.lease / options_.lease_parts > 1 && core::can_give_back(limit.rule.algorithm) &&
         limit.rule.kept.count() == 0 && cost.units > 0 &&
         cost.units <= static_cast<std::uint64_t>(limit.rule.quota.burst());
}

std::uint64_t SharedStore::units_to_lease(const Limit& limit, Cost cost) const {
  return std::min(std::max(limit.sharing.lease / options_.lease_parts, cost.units),
                  static_cast<std::uint64_t>(limit.rule.quota.burst()));
}

// Several checks are decided by leases when each of them has one with enough left: all or none, and each
// lease keeps the promise for itself. Whether they were.
bool SharedStore::spend_jointly(Request& request, const JointCheck& joint, nanoseconds now) {
  const std::span<Check> checks = request.checks;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const KeptCheck& kept = joint.each[i].check;
    if (!leases_.has(kept.hash, kept.limit.rule.quota, kept.cost, now, kept.resets)) return false;
  }
  request.charged_at = nanoseconds::max();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const KeptCheck& kept = joint.each[i].check;
    const auto spent = leases_.spend(kept.hash, kept.limit.rule.quota, kept.cost, now, kept.resets);
    checks[i].decision = spent->decision;  // NOLINT(bugprone-unchecked-optional-access): has() has said so
    // The earliest, as where several nodes have charged: what is given back is less then, never more.
    request.charged_at =
        std::min(request.charged_at, spent->charged_at);  // NOLINT(bugprone-unchecked-optional-access)
  }
  counters_.leased.fetch_add(1, std::memory_order_relaxed);
  request.by = static_cast<std::uint8_t>(
      core::deciding(checks.size(), [&](std::size_t i) { return &checks[i].decision; }));
  request.source = Source::leased;
  request.charged = true;
  finish(request);
  return true;
}

// The next ones may then spend: each lease that is missing is asked for once.
void SharedStore::lease_ahead(std::span<const Check> checks, const JointCheck& joint, nanoseconds now) {
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const KeptCheck& kept = joint.each[i].check;
    const Cost units{units_to_lease(*checks[i].limit, kept.cost)};
    if (leases_.has(kept.hash, kept.limit.rule.quota, kept.cost, now, kept.resets) ||
        merging_.has(kept.hash) || recall(kept.limit.rule, kept.hash, units, now))
      continue;
    ask_ahead(checks[i], kept.hash, kept.resets, joint.deadline, now, merging_.begin(kept.hash));
  }
}

}  // namespace weir::redis
