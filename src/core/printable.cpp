#include "core/printable.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::inline v0_1::core {
namespace {

// Controls, and the marks by which a text can be shown in another order than it is written, or on two lines.
bool controls(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point <= 0x9F) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

}  // namespace

Character character_at(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const std::size_t size = lead < 0x80                   ? 1
                           : lead >= 0xC2 && lead < 0xE0 ? 2
                           : lead >= 0xE0 && lead < 0xF0 ? 3
                           : lead >= 0xF0 && lead < 0xF5 ? 4
                                                         : 0;
  if (size == 0 || size > bytes.size()) return {};
  std::uint32_t point = size == 1 ? lead : lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(bytes[i]);
    if ((next & 0xC0U) != 0x80) return {};
    point = point << 6 | (next & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool whole = point >= kLeast[size] && point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
  return whole ? Character{size, point} : Character{};
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = character_at(bytes).size;
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::size_t shown_as_it_is(std::string_view bytes) {
  const Character character = character_at(bytes);
  return controls(character.point) ? 0 : character.size;
}

std::string printable(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  while (!bytes.empty()) {
    const std::size_t shown = shown_as_it_is(bytes);
    if (shown > 0) {
      out += bytes.substr(0, shown);
    } else {
      const auto byte = static_cast<unsigned char>(bytes[0]);
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    bytes.remove_prefix(shown > 0 ? shown : 1);
  }
  return out;
}

}  // namespace weir::core
