#include "redis/denial_memory.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/gcra.hpp"

namespace weir::inline v0_1::redis {
namespace {

core::Step decide_ahead(const core::Rule& rule, std::uint64_t ahead, std::chrono::nanoseconds elapsed,
                        Cost cost) {
  return core::decide(rule, {ahead, static_cast<std::uint64_t>(rule.quota.emission_interval().count())},
                      elapsed, cost);
}

bool is_window(const core::Rule& rule) { return core::denies_to_the_end(rule.algorithm); }

// The room that a check wants free before it, and after it for others, of the whole room: ns, or a window's
// units. It is denied when what is owed leaves less.
std::uint64_t wants(const core::Rule& rule, Cost cost) {
  if (is_window(rule)) return cost.units;
  return cost.units * static_cast<std::uint64_t>(rule.quota.emission_interval().count()) +
         static_cast<std::uint64_t>(rule.kept.count());
}

std::uint64_t whole(const core::Rule& rule) {
  const Quota& quota = rule.quota;
  return static_cast<std::uint64_t>(is_window(rule) ? quota.burst()
                                                    : quota.burst() * quota.emission_interval().count());
}

// What a window says, `ahead` before its end; nothing where it has ended or has room.
std::optional<Decision> told_by_window(const Quota& quota, std::uint64_t left, std::uint64_t ahead,
                                       std::chrono::nanoseconds elapsed, Cost cost) {
  const std::chrono::nanoseconds rest = std::chrono::nanoseconds{static_cast<std::int64_t>(ahead)} - elapsed;
  const bool fits = cost.units <= left;
  if (fits || rest.count() <= 0 || cost.units > static_cast<std::uint64_t>(quota.burst()))
    return std::nullopt;
  return Decision{Verdict::denied, quota.burst(), static_cast<std::int64_t>(left), rest, rest};
}

constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max();

}  // namespace

struct DenialMemory::Denial {
  std::uint64_t key = 0;  // 0: none
  Numbers of{};
  std::uint64_t ahead = 0;  // of the tat or the window's end, when the store decided; ns
  // Of a window its units; else what one wants at least that is known to be denied, ns.
  std::uint64_t left = 0;
  nanoseconds asked{0};
  nanoseconds answered{0};
};

struct alignas(DenialMemory::kSlotBytes) DenialMemory::Slot {
  mutable store::SpinLock lock;
  Stamp stamp WEIR_GUARDED_BY(lock) = 0;  // changes whenever a denial under way may be outdated
  // The checks of the slot's keys under way: how many, the least that one wants, of which quota and by whom,
  // and whether that is the same in all.
  std::uint32_t under_way WEIR_GUARDED_BY(lock) = 0;
  bool one_quota WEIR_GUARDED_BY(lock) = true;
  bool one_asker WEIR_GUARDED_BY(lock) = true;
  bool lasts WEIR_GUARDED_BY(lock) = false;  // the denial, to its window's end
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

DenialMemory::DenialMemory(std::size_t bytes)
    : slot_count_(std::max<std::size_t>(bytes / kSlotBytes, 1)),
      slots_(std::make_unique<Slot[]>(slot_count_)) {
  static_assert(sizeof(Slot) == kSlotBytes);
}
DenialMemory::~DenialMemory() = default;

DenialMemory::Slot& DenialMemory::slot_of(std::uint64_t key) const {
  return slots_[(key >> 1) % slot_count_];  // the lowest bit is the same in all (hash_of)
}

DenialMemory::Numbers DenialMemory::Numbers::of(const core::Rule& rule) {
  const Quota& quota = rule.quota;
  return {quota.burst(), is_window(rule) ? quota.rate().period : quota.emission_interval(),
          rule.calendar != nullptr ? std::bit_cast<std::uintptr_t>(rule.calendar)
                                   : static_cast<std::uintptr_t>(rule.algorithm)};
}

// What the store says after `elapsed`, told as of a moment `lag` before; nothing where it does not deny.
std::optional<Decision> DenialMemory::told(const Denial& denial, const core::Rule& rule, nanoseconds elapsed,
                                           nanoseconds lag, Cost cost) {
  const std::uint64_t ahead = denial.ahead + static_cast<std::uint64_t>(lag.count());
  if (is_window(rule)) return told_by_window(rule.quota, denial.left, ahead, elapsed, cost);
  const core::Step step = decide_ahead(rule, ahead, elapsed, cost);
  return step.verdict == Verdict::denied ? std::optional(step.decision()) : std::nullopt;
}

std::optional<Decision> DenialMemory::recall(std::uint64_t key, const core::Rule& rule, Cost cost,
                                             nanoseconds now) const {
  Denial denial;
  bool lasts = false;
  {
    const Slot& slot = slot_of(key);
    const store::Held held(slot.lock);
    if (slot.denial.key != key) return std::nullopt;
    denial = slot.denial;
    lasts = slot.lasts;
  }
  if (denial.of != Numbers::of(rule)) return std::nullopt;
  if (!is_window(rule) && wants(rule, cost) < denial.left) return std::nullopt;
  // The store decided between the two: by its clock it is now at most this late, and at least that late.
  // Denied at the latest it may be is denied; the answer is made for the earliest, so that waiting is enough.
  // Another thread may have read the clock after us: then the denial is told as of our reading, from which
  // the asker waits.
  const nanoseconds latest = std::max(nanoseconds{0}, now - denial.asked);
  const nanoseconds earliest = std::max(nanoseconds{0}, now - denial.answered);
  const nanoseconds lag = std::max(nanoseconds{0}, denial.answered - now);
  const nanoseconds drains{is_window(rule) ? kReask : nanoseconds{static_cast<std::int64_t>(whole(rule))}};
  if (!lasts && latest >= std::min(kReask, drains)) return std::nullopt;
  if (!told(denial, rule, latest, nanoseconds{0}, cost)) return std::nullopt;
  return told(denial, rule, earliest, lag, cost);
}

DenialMemory::Stamp DenialMemory::ask(std::uint64_t key, const core::Rule& rule, Cost cost,
                                      const void* asker) {
  const Numbers of = Numbers::of(rule);
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
                          nanoseconds asked, nanoseconds answered, Stamp stamp, Holds holds) {
  const auto ahead = static_cast<std::uint64_t>(denial.reset_after.count());
  const std::uint64_t least = holds == Holds::for_as_much ? wants(rule, cost) : 0;
  const std::uint64_t left = is_window(rule) ? static_cast<std::uint64_t>(denial.remaining) : least;
  const Denial made{key, Numbers::of(rule), ahead, left, asked, answered};
  // A debt that still drains at a former pace is not worth remembering: it is told by its odd answer.
  const bool plain = told(made, rule, nanoseconds{0}, nanoseconds{0}, cost) == denial;
  Slot& slot = slot_of(key);
  const store::Held held(slot.lock);
  // All others that are under way will be denied too, so what is told meanwhile is in their order.
  const std::uint64_t room = whole(rule);
  const std::uint64_t owed = is_window(rule) ? room - left : ahead;
  const bool denies_least = owed > room - std::min(room, slot.least) && slot.least >= least;
  const bool all_denied = slot.one_quota && (slot.under_way == 1 || denies_least);
  slot.arrive();
  if (!plain || !all_denied || slot.stamp != stamp) return;
  if (slot.denial.key == key && slot.denial.asked > asked) return;
  slot.denial = made;
  slot.lasts = holds == Holds::to_the_end && is_window(rule);
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
