// The values of flags, from text: sizes, times, shares, addresses. Anything else throws a
// std::runtime_error of one line that names the flag, the value and what is allowed.
//
// Pure, but for what parse_bytes() asks the machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/rule.hpp"
#include "server/settings.hpp"
#include "steering/actor.hpp"

namespace weir::inline v0_1::cli {

// Without the blanks at its ends.
std::string_view trimmed(std::string_view text);
// "64MiB", up to what the machine has.
std::size_t parse_bytes(const std::string& flag, const std::string& text, std::size_t least);
// "500ms".
std::chrono::nanoseconds parse_time(const std::string& flag, const std::string& text,
                                    std::chrono::nanoseconds least);
// "100/min burst 20", as what replays decide by: slots need to know how long each request took.
core::Rule parse_rule(const std::string& flag, std::string_view text);
// "50%", a whole number from 1 to 100, as a part of 1.
double parse_share(const std::string& flag, const std::string& text);
// "127.0.0.1:6390" or "[::1]:6390".
server::HostPort parse_endpoint(const std::string& flag, const std::string& text);
// The same, or "unix:/PATH".
server::ListenAddress parse_address(const std::string& flag, const std::string& text);
// The same, and the most that anybody has there: "127.0.0.1:6390=decide". A '=' in the last part of a path is
// that of a role.
server::ListenAddress parse_capped_address(const std::string& flag, const std::string& text);
// "PATH=decide": takes the role from the path's end; without one it is admin.
steering::Role take_role(const std::string& flag, std::string& path);

}  // namespace weir::cli
