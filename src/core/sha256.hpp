// SHA-256 (FIPS 180-4), for names that must be short and must not meet: what is long is told by its digest.
//
// Pure, any thread. Not for: passwords, and nothing that must be fast.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view bytes);
void append_hex(const Sha256& digest, std::string& out);

}  // namespace weir::core
