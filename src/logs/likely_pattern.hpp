// A pattern for lines of no known format: where their time is, and where the address of a client.
//
// Pure, any thread. Not for: reading a log; what is found here is shown to a person, as a --regex.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::logs {

// Patterns with the groups `time`, and `ip` or, of several addresses with commas between, `xff`; the
// likeliest first.
std::vector<std::string> likely_patterns(std::span<const std::string_view> lines);

}  // namespace weir::logs
