// Items of structured fields (RFC 9651), as text: what a reader of them takes for exactly this value.
//
// Pure functions that append; any thread. Not for: reading them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::service {

// Integers have at most 15 digits; a greater number is this one.
constexpr std::uint64_t kMostInteger = 999'999'999'999'999;

void append_integer(std::uint64_t value, std::string& out);

// Printable ASCII without `"` and `\`: between quotes it stands for itself.
bool is_plain(std::string_view text);

// A string; of what a string cannot hold a display string, `%"..."`, with each byte that is not UTF-8 as
// U+FFFD.
void append_string(std::string_view text, std::string& out);

}  // namespace weir::service
