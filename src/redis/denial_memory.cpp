#include "redis/denial_memory.hpp"

#include <algorithm>

#include "core/gcra.hpp"

namespace weir::redis {

using std::chrono::nanoseconds;

namespace {

core::gcra::Step decide_ahead(const Quota& quota, std::uint64_t ahead, nanoseconds elapsed, Cost cost) {
  return core::gcra::decide(quota, {ahead, static_cast<std::uint64_t>(quota.emission_interval().count())},
                            elapsed, cost);
}

}  // namespace

void DenialMemory::remember(std::uint64_t key, const Quota& quota, Cost cost, const Decision& denial,
                            nanoseconds asked, nanoseconds answered, std::uint32_t resets) {
  const auto ahead = static_cast<std::uint64_t>(denial.reset_after.count());
  // A debt that still drains at a former pace is not worth remembering: it is told by its odd answer.
  if (decide_ahead(quota, ahead, nanoseconds{0}, cost).decision() != denial) return;
  if (entries_.empty()) entries_.resize(kEntries);
  Entry* entry = &entries_[key % (kEntries / 2) * 2];
  if (entry->key != key && (entry[1].key == key || entry[1].until < entry->until)) ++entry;
  // A wait may be 2^63 - 1 ns, and that is the end of all times.
  const nanoseconds wait = std::min(denial.retry_after.value_or(nanoseconds{0}), nanoseconds::max() - asked);
  *entry = {key, quota, ahead, asked, answered, asked + wait, resets};
}

std::optional<Decision> DenialMemory::recall(std::uint64_t key, const Quota& quota, Cost cost,
                                             nanoseconds now, std::uint32_t resets) const {
  if (entries_.empty()) return std::nullopt;
  const Entry* entry = &entries_[key % (kEntries / 2) * 2];
  if (entry->key != key) ++entry;
  if (entry->key != key || entry->quota != quota || entry->resets != resets) return std::nullopt;
  // The store decided between the two: by its clock it is now at most this late, and at least that late.
  // Denied at the latest it may be is denied; the answer is made for the earliest, so that waiting is enough.
  const nanoseconds latest = now - entry->asked;
  const nanoseconds earliest = std::max(nanoseconds{0}, now - entry->answered);
  if (decide_ahead(quota, entry->ahead, latest, cost).verdict != Verdict::denied) return std::nullopt;
  return decide_ahead(quota, entry->ahead, earliest, cost).decision();
}

void DenialMemory::forget(std::uint64_t key) {
  if (entries_.empty()) return;
  Entry* const entry = &entries_[key % (kEntries / 2) * 2];
  for (Entry* each : {entry, entry + 1}) {
    if (each->key == key) *each = {};
  }
}

}  // namespace weir::redis
