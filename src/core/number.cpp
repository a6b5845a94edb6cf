#include "core/number.hpp"

#include <limits>

namespace weir::inline v0_1::core::detail {
namespace {

constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr std::size_t kMaxDigits = std::numeric_limits<std::int64_t>::digits10 + 1;

}  // namespace

std::optional<std::int64_t> parse_long_integer(std::string_view text) {
  const bool negative = text[0] == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() > kMaxDigits || digits[0] == '0') return std::nullopt;

  // 19 digits stay below 2^64 (10^19 < 1.8 * 10^19): the sum cannot wrap, only exceed the signed range.
  std::uint64_t magnitude = 0;
  for (const char c : digits) {
    const unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
    if (digit > 9) return std::nullopt;
    magnitude = magnitude * 10 + digit;
  }
  if (!negative) {
    if (magnitude > kMax) return std::nullopt;
    return static_cast<std::int64_t>(magnitude);
  }
  if (magnitude > kMax + 1) return std::nullopt;
  // -2^63 has no positive counterpart, so the negation happens in unsigned arithmetic, where it is defined.
  return static_cast<std::int64_t>(std::uint64_t{0} - magnitude);
}

}  // namespace weir::core::detail
