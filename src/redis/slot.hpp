// Which of a cluster's 16,384 slots a key is in.
//
// Source: Redis Cluster specification, "Hash tags" and appendix A: CRC-16/XMODEM of the key, or of what
// stands between its first '{' and the next '}' when that is not empty.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::inline v0_1::redis {

inline constexpr std::uint16_t kSlots = 16'384;

inline constexpr auto kCrc16 = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

constexpr std::uint16_t slot_of(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  unsigned crc = 0;
  for (const char c : key)
    crc = ((crc << 8) ^ kCrc16[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xFFU]) & 0xFFFFU;
  return static_cast<std::uint16_t>(crc % kSlots);
}

}  // namespace weir::redis
