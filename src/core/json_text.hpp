// The few forms of JSON that weir writes by hand, where a tree of values would cost more than the text.
//
// Pure functions that append to a text; any thread. Whatever they are given, what they write is well formed:
// nothing in a text can end its string. Not for: reading JSON, and reports, which are trees.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

// With its quotes; of bytes that are not UTF-8 each becomes U+FFFD.
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, std::int64_t number);

// Seconds, exact: 0.05, 12, 0.000000001.
void append_seconds(std::string& out, std::chrono::nanoseconds time);
// What of them follows the point, with it: ".05"; nothing for 0. `ns` is below a second.
void append_fraction(std::string& out, std::int64_t ns);

}  // namespace weir::core
