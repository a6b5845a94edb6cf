// Digits and letters of ASCII, whatever the locale.
//
// Pure, any thread. Not for: whole numbers with a sign (core/number.hpp).
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::inline v0_1::core {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// 0 to 15, in either case, or -1.
constexpr int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The number that `count` digits at text[at] are, or -1.
constexpr int digits_at(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (!is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace weir::core
