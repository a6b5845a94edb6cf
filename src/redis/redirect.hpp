// Addresses as Redis says them: in MOVED and ASK, in the slot map, and from sentinels.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "redis/endpoint.hpp"

namespace weir::inline v0_1::redis {

std::optional<std::uint16_t> port_of(std::string_view text);

// `said`, or `asked` for "" and "?", which a node answers that does not know the name by which it or another
// is reached: then the host that was asked is right.
std::string host_of(std::string_view said, const std::string& asked);

// "MOVED 3999 127.0.0.1:6381": the slot and where it is.
struct Redirect {
  std::uint16_t slot;
  NodeAddress to;
};
std::optional<Redirect> redirect_of(std::string_view error, const std::string& asked);

}  // namespace weir::redis
