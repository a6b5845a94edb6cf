// The moment at which a request may act that is charged at several keys, all or none: the first at which it
// fits in the ledgers of all of them.
//
// One that keeps something free for others, by its class or by a guarantee outside of which it is, acts now
// or not at all: what is told ahead would fill that room.
//
// Pure, any thread, while the keys are locked. Not for: charging (all_or_none_check.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "core/rule.hpp"
#include "store/key_ledger.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store {

// What a request asks of one of its keys.
struct LedgerDemand {
  static constexpr std::uint8_t kAlone = 255;

  const KeyLedger* ledger = nullptr;  // null: nobody waits for it
  const core::Rule* rule = nullptr;   // of the request's class
  Cost cost{};
  bool shadow = false;           // it stops no other
  Line line{};                   // it acts after those
  std::uint8_t inside = kAlone;  // an earlier demand: where that fits, this one keeps nothing free
};

struct JointMoment {
  bool granted = false;
  // As core::Moment has it.
  std::chrono::nanoseconds wait{0};
  std::uint32_t fits = 0;  // a bit for each that fits then
};

// Of 1 to 16. A moment is granted that may yet come earlier by `sooner_by`, and then be soon enough.
JointMoment joint_moment(std::span<const LedgerDemand> demands, std::chrono::nanoseconds now,
                         std::chrono::nanoseconds max_wait, std::chrono::nanoseconds sooner_by = {});

}  // namespace weir::store
