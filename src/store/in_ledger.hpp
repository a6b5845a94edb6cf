// A key's state that is in a ledger (key_ledger.hpp): a bit of its second word says so, which no T needs, as
// T is below 2^63. The ledger then says what is owed; the state stays until the ledger is idle, and counts
// nothing. A key that has lost the bit, as it was forgotten or restored, is not the one that the ledger knew.
//
// Of gcra's states only. Pure, any thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/rule.hpp"
#include "core/step.hpp"
#include "store/key_ledger.hpp"

namespace weir::inline v0_1::store {

constexpr std::uint64_t kLedgerBit = std::uint64_t{1} << 63;

constexpr bool is_in_ledger(core::TwoWords state, std::chrono::nanoseconds now) {
  return (state.word & kLedgerBit) != 0 && core::ahead_of(state.until, now) != 0;
}
constexpr core::TwoWords without_ledger_bit(core::TwoWords state) {
  return {state.until, state.word & ~kLedgerBit};
}
// Of a rule of any algorithm: those of others have no ledger.
constexpr core::TwoWords without_ledger_bit(const core::Rule& rule, core::TwoWords state) {
  return core::can_reserve(rule.algorithm) ? without_ledger_bit(state) : state;
}

// Of a key whose ledger that is: of one that is idle what it owes, and it is in none any more.
inline core::TwoWords state_of(KeyLedger& ledger, const core::Rule& rule, std::chrono::nanoseconds now) {
  const bool is_idle = ledger.is_idle(rule, now);
  const core::TwoWords state = ledger.state();
  if (is_idle) return state;
  return {std::max(ledger.until(rule), static_cast<std::uint64_t>(now.count()) + 1), state.word | kLedgerBit};
}

}  // namespace weir::store
