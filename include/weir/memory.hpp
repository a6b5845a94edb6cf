// The memory that keys take: how much of it, and what a key gets when it is full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/version.hpp"

namespace weir::inline v0_1 {

// What a key that is not yet known gets when the memory is full of keys that are in use.
enum class WhenFull : std::uint8_t { deny, allow };

inline namespace literals {
// Bytes: 64_MiB.
consteval std::size_t operator""_MiB(unsigned long long n) { return static_cast<std::size_t>(n) << 20; }
}  // namespace literals

}  // namespace weir
