#include "redis/redirect.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "redis/slot.hpp"

namespace weir::inline v0_1::redis {

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, wrong] = std::from_chars(text.data(), end, port);
  if (wrong != std::errc{} || rest != end || port == 0) return std::nullopt;
  return port;
}

std::string host_of(std::string_view said, const std::string& asked) {
  return said.empty() || said == "?" ? asked : std::string(said);
}

std::optional<Redirect> redirect_of(std::string_view error, const std::string& asked) {
  const std::size_t first = std::min(error.find(' '), error.size());
  const std::size_t second = std::min(error.find(' ', first + 1), error.size());
  const std::size_t colon = error.rfind(':');
  if (second == error.size() || colon == std::string_view::npos || colon < second) return std::nullopt;
  std::uint16_t slot = 0;
  const auto [rest, wrong] = std::from_chars(error.data() + first + 1, error.data() + second, slot);
  const auto port = port_of(error.substr(colon + 1));
  if (wrong != std::errc{} || rest != error.data() + second || slot >= kSlots || !port) return std::nullopt;
  return Redirect{slot, {host_of(error.substr(second + 1, colon - second - 1), asked), *port}};
}

}  // namespace weir::redis
