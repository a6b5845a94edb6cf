#include "store/reservation_id.hpp"

#include <array>

namespace weir::inline v0_1::store {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kLength = 22;

}  // namespace

// Most significant bits first; the last digit has two bits of the 128 and four of nothing.
std::string ReservationId::text() const {
  std::string text(kLength, 'A');
  unsigned __int128 rest = static_cast<unsigned __int128>(high) << 64 | low;
  text[kLength - 1] = kLetters[static_cast<std::size_t>(rest & 3) << 4];
  rest >>= 2;
  for (std::size_t i = kLength - 1; i > 0; --i, rest >>= 6)
    text[i - 1] = kLetters[static_cast<std::size_t>(rest & 63)];
  return text;
}

std::optional<ReservationId> ReservationId::read(std::string_view text) {
  if (text.size() != kLength) return std::nullopt;
  unsigned __int128 bits = 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    const std::size_t digit = kLetters.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    if (i + 1 < kLength) {
      bits = bits << 6 | digit;
    } else if ((digit & 15) == 0) {
      bits = bits << 2 | digit >> 4;
    } else {
      return std::nullopt;
    }
  }
  return ReservationId{static_cast<std::uint64_t>(bits >> 64), static_cast<std::uint64_t>(bits)};
}

ReservationId ReservationIds::next() {
  const std::uint64_t number = made_.fetch_add(1, std::memory_order_relaxed) + 1;
  return {core::siphash<2, 4>(high_, {}, number), core::siphash<2, 4>(low_, {}, number)};
}

}  // namespace weir::store
