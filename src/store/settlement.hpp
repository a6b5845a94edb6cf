// What a settlement comes to at each limit that a reservation has charged: one rule for every store.
//
// Pure functions, any thread. Not for: what is owed then (key_ledger.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "store/store.hpp"

namespace weir::inline v0_1::store {

// One charge of a reservation.
struct SettledCharge {
  std::uint64_t limit = 0;    // Limit::id
  std::uint64_t charged = 0;  // units
  bool settles = true;        // as Holding has them
  bool by_actual = true;      //
  std::uint64_t cost = 0;     // the answer: the units that it cost
};

// Why nothing of it can be settled; nothing when it can.
std::optional<std::string> settle_each(const ReservationTerms& asked, std::span<SettledCharge> charges);

// Why one that was granted without a hold cannot be settled.
std::string without_hold();

}  // namespace weir::store
