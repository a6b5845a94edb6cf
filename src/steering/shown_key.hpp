// How a key is shown to people: as it is, or where it is long, or secret, what stands for it.
//
// Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/siphash.hpp"

namespace weir::inline v0_1::steering {

constexpr std::size_t kLongestShown = 128;

// Up to 128 bytes as they are; else the first 64, "...sha256:" and the SHA-256 of all in hex digits.
void shorten_key(std::string_view key, std::string& into);

// "#" and 16 hex digits: the same for a key of a limit wherever the secret is the same.
std::string hashed_key(core::HashKey secret, std::string_view limit, std::string_view key);

}  // namespace weir::steering
