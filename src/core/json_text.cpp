#include "core/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/printable.hpp"

namespace weir::inline v0_1::core {
namespace {

constexpr bool stands_as_it_is(char byte) {
  return byte >= ' ' && byte < '\x7f' && byte != '"' && byte != '\\';
}

// None of those that are escaped is beyond U+FFFF.
void append_escaped(std::string& out, std::uint32_t point) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[point >> shift & 15U];
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (;;) {
    const auto plain = std::find_if_not(text.begin(), text.end(), stands_as_it_is);
    const auto size = static_cast<std::size_t>(plain - text.begin());
    out += text.substr(0, size);
    text.remove_prefix(size);
    if (text.empty()) break;
    const Character character = character_at(text);
    if (text[0] != '"' && text[0] != '\\' && shown_as_it_is(text) > 0) {
      out += text.substr(0, character.size);
    } else {
      append_escaped(out, character.size == 0 ? 0xfffd : character.point);
    }
    text.remove_prefix(std::max<std::size_t>(character.size, 1));
  }
  out += '"';
}

void append_json(std::string& out, std::int64_t number) {
  std::array<char, 24> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void append_seconds(std::string& out, std::chrono::nanoseconds time) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  append_json(out, time.count() / kNsPerSecond);
  append_fraction(out, time.count() % kNsPerSecond);
}

void append_fraction(std::string& out, std::int64_t ns) {
  if (ns == 0) return;
  std::array<char, 10> digits{'.', '0', '0', '0', '0', '0', '0', '0', '0', '0'};
  std::size_t last = 0;
  for (std::size_t i = 9; i > 0; --i, ns /= 10) {
    digits[i] = static_cast<char>('0' + ns % 10);
    if (last == 0 && ns % 10 != 0) last = i;
  }
  out.append(digits.data(), last + 1);
}

}  // namespace weir::core
