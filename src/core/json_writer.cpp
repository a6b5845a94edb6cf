#include "core/json_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/printable.hpp"

namespace weir::inline v0_1::core {
namespace {

constexpr bool stands_as_it_is(char byte) {
  return byte >= ' ' && byte < '\x7f' && byte != '"' && byte != '\\';
}

// How many bytes at its start stand as they are; eight at a time, as most of them do.
std::size_t plain_size(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x80 * kOnes;
  const auto below = [](std::uint64_t bytes, std::uint64_t least) {
    return (bytes - least * kOnes) & ~bytes;
  };
  std::size_t size = 0;
  for (; text.size() - size >= sizeof(std::uint64_t); size += sizeof(std::uint64_t)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + size, sizeof(bytes));
    const std::uint64_t special = bytes | below(bytes, ' ') | below(bytes ^ '"' * kOnes, 1) |
                                  below(bytes ^ '\\' * kOnes, 1) | below(bytes ^ '\x7f' * kOnes, 1);
    if ((special & kHighs) != 0) break;
  }
  while (size < text.size() && stands_as_it_is(text[size])) ++size;
  return size;
}

// None of those that are escaped is beyond U+FFFF.
void append_escaped(std::string& out, std::uint32_t point) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[point >> shift & 15U];
}

void append_shortest(std::string& out, char byte) {
  constexpr std::string_view kBytes = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  if (const std::size_t at = kBytes.find(byte); at != std::string_view::npos) {
    out += '\\';
    out += kLetters[at];
  } else if (static_cast<unsigned char>(byte) < ' ') {
    append_escaped(out, static_cast<unsigned char>(byte));
  } else {
    out += byte;
  }
}

// How many bytes of a text that begins with no character begin one all the same.
std::size_t size_of_broken(std::string_view text) {
  std::size_t size = 1;
  while (size < std::min<std::size_t>(text.size(), 3)) {
    const std::string begun(text.substr(0, size + 1));
    if (character_at(begun + "\x80\x80").size <= begun.size()) break;
    ++size;
  }
  return size;
}

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 24> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

}  // namespace

void append_integer(std::string& out, std::int64_t number) { append_number(out, number); }

void JsonWriter::append_unsigned(std::uint64_t number) { append_number(out_, number); }

void JsonWriter::append(std::string_view text) {
  out_ += '"';
  for (;;) {
    const std::size_t size = plain_size(text);
    out_ += text.substr(0, size);
    text.remove_prefix(size);
    if (text.empty()) break;
    append_special(text);
  }
  out_ += '"';
}

// The character that `text` begins with, which does not simply stand as it is.
void JsonWriter::append_special(std::string_view& text) {
  const Character character = character_at(text);
  std::size_t size = character.size;
  if (size == 0) {
    size = spelling_ == Spelling::shown ? 1 : size_of_broken(text);
    spelling_ == Spelling::shown ? append_escaped(out_, 0xfffd) : void(out_ += "\xef\xbf\xbd");
  } else if (spelling_ == Spelling::shortest && size == 1) {
    append_shortest(out_, text[0]);
  } else if (spelling_ == Spelling::shown &&
             (text[0] == '"' || text[0] == '\\' || shown_as_it_is(text) == 0)) {
    append_escaped(out_, character.point);
  } else {
    out_ += text.substr(0, size);
  }
  text.remove_prefix(size);
}

// The shortest that is read as the same number; always with a point, so that it is read as no integer.
void JsonWriter::append(double number) {
  if (!std::isfinite(number)) return append(nullptr);
  std::array<char, 32> digits;
  const double size = std::abs(number);
  const auto format =
      size == 0 || (size >= 1e-4 && size < 1e15) ? std::chars_format::fixed : std::chars_format::scientific;
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number, format).ptr;
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out_ += text;
  if (format == std::chars_format::fixed && text.find('.') == std::string_view::npos) out_ += ".0";
}

void append_seconds(std::string& out, std::chrono::nanoseconds time) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  append_integer(out, time.count() / kNsPerSecond);
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
