#include "redis/redirect.hpp"

#include <algorithm>

#include "core/number.hpp"
#include "redis/slot.hpp"

namespace weir::inline v0_1::redis {

std::optional<std::uint16_t> port_of(std::string_view text) {
  const auto port = core::number_in<std::uint16_t>(text);
  return port == 0 ? std::nullopt : port;
}

std::string host_of(std::string_view said, const std::string& asked) {
  return said.empty() || said == "?" ? asked : std::string(said);
}

std::optional<Redirect> redirect_of(std::string_view error, const std::string& asked) {
  const std::size_t first = std::min(error.find(' '), error.size());
  const std::size_t second = std::min(error.find(' ', first + 1), error.size());
  const std::size_t colon = error.rfind(':');
  if (second == error.size() || colon == std::string_view::npos || colon < second) return std::nullopt;
  const auto slot = core::number_in<std::uint16_t>(error.substr(first + 1, second - first - 1));
  const auto port = port_of(error.substr(colon + 1));
  if (!slot || *slot >= kSlots || !port) return std::nullopt;
  return Redirect{*slot, {host_of(error.substr(second + 1, colon - second - 1), asked), *port}};
}

}  // namespace weir::redis
