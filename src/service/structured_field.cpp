#include "service/structured_field.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/printable.hpp"

namespace weir::inline v0_1::service {
namespace {

bool is_ascii(char c) { return c >= 0x20 && c <= 0x7E; }

void append_percent(std::string_view bytes, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
}

// How many bytes at the start of `text` are one character of UTF-8; 0: none is.
std::size_t character(std::string_view text) {
  const std::size_t shown = core::shown_as_it_is(text);
  return shown == 0 && static_cast<unsigned char>(text.front()) < 0x80 ? 1 : shown;
}

}  // namespace

void append_integer(std::uint64_t value, std::string& out) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::min(value, kMostInteger));
  out.append(digits.data(), end.ptr);
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_ascii(c) && c != '"' && c != '\\'; });
}

void append_string(std::string_view text, std::string& out) {
  if (std::all_of(text.begin(), text.end(), is_ascii)) {
    out += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
    return;
  }
  out += "%\"";
  while (!text.empty()) {
    const std::size_t size = character(text);
    const std::string_view bytes = size == 0 ? "\xEF\xBF\xBD" : text.substr(0, size);
    const bool itself = bytes.size() == 1 && is_ascii(bytes[0]) && bytes[0] != '"' && bytes[0] != '%';
    if (itself) {
      out += bytes;
    } else {
      append_percent(bytes, out);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  out += '"';
}

}  // namespace weir::service
