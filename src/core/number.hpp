// number: the one way to read an integer from text: of a request, a flag, or the environment.
//
// It accepts what Redis's string2ll accepts and nothing else: an optional '-', then digits without a leading
// zero, within 64 bits. "+1", "01", "-0", " 1", "1.5" and "" are refused: clients rely on an error
// instead of a guess.
// Pure functions, callable from any thread; nothing is allocated and nothing is kept.
// Not for: durations ("5m"), sizes ("64MiB") or decimals; those have their own readers.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::inline v0_1::core {

namespace detail {
// 18 digits are below 2^63 whatever they are (10^18 < 9.2 * 10^18), so up to here no sum needs a check.
inline constexpr std::size_t kSafeLength = 18;

// The cases that could overflow, kept out of line so that the common one stays small where it is inlined.
std::optional<std::int64_t> parse_long_integer(std::string_view text);
}  // namespace detail

inline std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.size() > detail::kSafeLength) return detail::parse_long_integer(text);

  const bool negative = text[0] == '-';
  const std::size_t first = negative ? 1 : 0;
  if (first == text.size()) return std::nullopt;
  if (text[first] == '0') return text.size() == 1 ? std::optional<std::int64_t>{0} : std::nullopt;

  std::int64_t value = 0;
  for (std::size_t i = first; i < text.size(); ++i) {
    const unsigned digit = static_cast<unsigned char>(text[i]) - unsigned{'0'};
    if (digit > 9) return std::nullopt;
    value = value * 10 + digit;
  }
  return negative ? -value : value;
}

// Of any type, as std::from_chars reads all of the text: leading zeros too, and of decimals inf and nan. For
// what weir or another program has written, and for files.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace weir::core
