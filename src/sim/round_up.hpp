// Numbers that a person would publish: one digit and zeros, or 12, 15 and 25 with zeros.
//
// Pure, any thread.
#pragma once

#include <cstdint>

namespace weir::inline v0_1::sim {

// The least such number that is not below `number`, which is at least 1 and below 2^62: 541 -> 600, 111 ->
// 120, 7 -> 7. At most a third more.
std::int64_t rounded_up(std::int64_t number);

}  // namespace weir::sim
