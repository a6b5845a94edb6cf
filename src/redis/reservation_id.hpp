// The id of a reservation in Redis, which any process may cancel or settle: it says where the reservation
// lies. And the names of what is kept there beside the states (reserve.lua).
//
//   22 characters, 128 bits that nobody can guess, as store::ReservationId; then 3, the slot of its keys
//
// All of a limit lies in the slot of its state, on every server: PREFIX{TAG}limit#line:NAME, where NAME is
// that of the state, PREFIX{TAG}limit#breaches:NAME where its penalty grows, and PREFIX{TAG}limit#id:ID for a
// reservation. No state is ever named so (kept_check.hpp).
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/reservation_id.hpp"

namespace weir::inline v0_1::redis {

// 16 hex digits that lie in that slot, the same ones in every process.
std::string_view tag_of(std::uint16_t slot);

std::string reservation_id(store::ReservationId id, std::uint16_t slot);
// The slot; nothing for what reservation_id() has not made.
std::optional<std::uint16_t> slot_of_reservation(std::string_view id);

std::string record_in_redis(std::string_view prefix, std::string_view id, std::uint16_t slot);
// `name` is that of the state.
std::string line_in_redis(std::string_view prefix, std::string_view name);
std::string breaches_in_redis(std::string_view prefix, std::string_view name);

}  // namespace weir::redis
