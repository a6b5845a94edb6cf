#include "redis/denial_memory.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/gcra.hpp"

namespace weir::inline v0_1::redis {
namespace {

core::Step decide_ahead(const core::Rule& rule, std::uint64_t ahead, std::chrono::nanoseconds elapsed,
                        Cost cost) {
  return core::decide(rule, {ahead, static_cast<std::uint64_t>(rule.quota.emission_interval().count())},
                      elapsed, cost);
}

// The room that a check wants free before it, and after it for others: it is denied when a debt is further
// than that from the whole burst.
std::uint64_t wants(const core::Rule& rule, Cost cost) {
  return cost.units * static_cast<std::uint64_t>(rule.quota.emission_interval().count()) +
         static_cast<std::uint64_t>(rule.kept.count());
}

std::uint64_t whole_burst(const Quota& quota) {
  return static_cast<std::uint64_t>(quota.burst() * quota.emission_interval().count());
}

constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max();

}  // namespace

struct alignas(128) DenialMemory::Slot {
  struct Denial {
    std::uint64_t key = 0;  // 0: none
    Numbers of{};
    std::uint64_t ahead = 0;  // of the tat, when the store decided
    nanoseconds asked{0};
    nanoseconds answered{0};
  };

  mutable store::SpinLock lock;
  Stamp stamp WEIR_GUARDED_BY(lock) = 0;  // changes whenever a denial under way may be outdated
  // The checks of the slot's keys under way: how many, the least that one wants, of which quota and by whom,
  // and whether that is the same in all.
  std::uint32_t under_way WEIR_GUARDED_BY(lock) = 0;
  bool one_quota WEIR_GUARDED_BY(lock) = true;
  bool one_asker WEIR_GUARDED_BY(lock) = true;
  std::uint64_t least WEIR_GUARDED_BY(lock) = kAnything;
  Numbers of WEIR_GUARDED_BY(lock){};
  const void* by WEIR_GUARDED_BY(lock) = nullptr;
  Denial denial WEIR_GUARDED_BY(lock){};

  void arrive() WEIR_REQUIRES(lock) {
    if (--under_way != 0) return;
    one_quota = one_asker = true;
    least = kAnything;
  }
  void forget(std::uint64_t key) WEIR_REQUIRES(lock) {
    if (denial.key == key) denial = {};
  }
};

DenialMemory::DenialMemory() : slots_(std::make_unique<Slot[]>(kSlots)) {
  static_assert(sizeof(Slot) == 128);
}
DenialMemory::~DenialMemory() = default;

DenialMemory::Slot& DenialMemory::slot_of(std::uint64_t key) const {
  return slots_[(key >> 1) % kSlots];  // the lowest bit is the same in all (hash_of)
}

std::optional<Decision> DenialMemory::recall(std::uint64_t key, const core::Rule& rule, Cost cost,
                                             nanoseconds now) const {
  const Quota& quota = rule.quota;
  Slot::Denial denial;
  {
    const Slot& slot = slot_of(key);
    const store::Held held(slot.lock);
    if (slot.denial.key != key) return std::nullopt;
    denial = slot.denial;
  }
  if (denial.of != Numbers{quota.burst(), quota.emission_interval()}) return std::nullopt;
  // The store decided between the two: by its clock it is now at most this late, and at least that late.
  // Denied at the latest it may be is denied; the answer is made for the earliest, so that waiting is enough.
  // Another thread may have read the clock after us: then the denial is told as of our reading, from which
  // the asker waits.
  const nanoseconds latest = std::max(nanoseconds{0}, now - denial.asked);
  const nanoseconds earliest = std::max(nanoseconds{0}, now - denial.answered);
  const auto lag = static_cast<std::uint64_t>(std::max(nanoseconds{0}, denial.answered - now).count());
  if (latest >= std::min(kReask, quota.emission_interval() * quota.burst())) return std::nullopt;
  if (decide_ahead(rule, denial.ahead, latest, cost).verdict != Verdict::denied) return std::nullopt;
  return decide_ahead(rule, denial.ahead + lag, earliest, cost).decision();
}

DenialMemory::Stamp DenialMemory::ask(std::uint64_t key, const core::Rule& rule, Cost cost,
                                      const void* asker) {
  const Quota& quota = rule.quota;
  const Numbers of{quota.burst(), quota.emission_interval()};
  Slot& slot = slot_of(key);
  const store::Held held(slot.lock);
  // What is asked for is what was not recalled: it may be charged, and what follows it must be told so.
  slot.forget(key);
  if (slot.under_way++ == 0) {
    slot.of = of;
    slot.by = asker;
  }
  slot.one_quota = slot.one_quota && slot.of == of;
  slot.one_asker = slot.one_asker && slot.by == asker;
  slot.least = std::min(slot.least, wants(rule, cost));
  return slot.stamp;
}

void DenialMemory::denied(std::uint64_t key, const core::Rule& rule, Cost cost, const Decision& denial,
                          nanoseconds asked, nanoseconds answered, Stamp stamp) {
  const Quota& quota = rule.quota;
  const auto ahead = static_cast<std::uint64_t>(denial.reset_after.count());
  // A debt that still drains at a former pace is not worth remembering: it is told by its odd answer.
  const bool plain = decide_ahead(rule, ahead, nanoseconds{0}, cost).decision() == denial;
  Slot& slot = slot_of(key);
  const store::Held held(slot.lock);
  // All others that are under way will be denied too, so what is told meanwhile is in their order.
  const std::uint64_t whole = whole_burst(quota);
  const bool all_denied =
      slot.one_quota && (slot.under_way == 1 || ahead > whole - std::min(whole, slot.least));
  slot.arrive();
  if (!plain || !all_denied || slot.stamp != stamp) return;
  if (slot.denial.key == key && slot.denial.asked > asked) return;
  slot.denial = {key, {quota.burst(), quota.emission_interval()}, ahead, asked, answered};
}

void DenialMemory::charged(std::uint64_t key) {
  Slot& slot = slot_of(key);
  const store::Held held(slot.lock);
  // The denials that one asker still waits for come from after it, as answers come in order.
  if (!slot.one_asker) ++slot.stamp;
  slot.forget(key);
  slot.arrive();
}

void DenialMemory::forget(std::uint64_t key) {
  Slot& slot = slot_of(key);
  const store::Held held(slot.lock);
  ++slot.stamp;
  slot.forget(key);
}

}  // namespace weir::redis
