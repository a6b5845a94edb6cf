#include "grpc/timeout.hpp"

#include <algorithm>
#include <cstdint>

namespace weir::inline v0_1::grpc {

using std::chrono::nanoseconds;

std::optional<nanoseconds> read_timeout(std::string_view text) {
  constexpr std::size_t kMostDigits = 8;
  static constexpr std::int64_t kLongest = std::int64_t{100} * 365 * 24 * 3600;  // seconds
  if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
  std::int64_t number = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  const auto seconds = [number](std::int64_t each) {
    return nanoseconds{std::chrono::seconds{std::min(number * each, kLongest)}};
  };
  switch (text.back()) {
    case 'H':
      return seconds(3600);
    case 'M':
      return seconds(60);
    case 'S':
      return seconds(1);
    case 'm':
      return std::chrono::milliseconds{number};
    case 'u':
      return std::chrono::microseconds{number};
    case 'n':
      return nanoseconds{number};
    default:
      return std::nullopt;
  }
}

}  // namespace weir::grpc
