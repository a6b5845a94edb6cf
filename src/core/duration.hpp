// Text of durations, in and out. Exact: no floating point touches a time.
//
// Pure functions, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

// The number of a duration: "10", "0.25", "1e3". Times `unit`, rounded up to the nanosecond.
enum class NumberFault { none, not_a_number, out_of_range };
struct ScaledNumber {
  NumberFault fault;
  std::chrono::nanoseconds value;
};
ScaledNumber parse_scaled(std::string_view digits, std::chrono::nanoseconds unit);

// "250ms", "1.5h", "1h30m", "min" (which is 1 min): a decimal number and a unit of ns us ms s min m h d w, or
// a long name of one, rounded up to the nanosecond. Several in a row add up: each unit is then shorter than
// the one before, has a number, and only the last may have a point. A minus before all of it makes it
// negative. Reads whatever to_text() writes; out of range is what does not fit into 64 bits of ns.
ScaledNumber read_duration(std::string_view text);
// The same; empty for a fault of either kind.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

// The shortest exact text: "1.5s", "250ms", "1h30m", "0s".
std::string to_text(std::chrono::nanoseconds duration);

// How a window of that length is called: a whole number of the largest of d, h, min, s, ms, us and ns that
// allows it: "1d", "90s". Appended.
void append_window(std::chrono::nanoseconds period, std::string& out);

// The one function that converts a time to whole seconds for a wire: it rounds up, so that waiting is enough.
constexpr std::int64_t ceil_to_seconds(std::chrono::nanoseconds duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

}  // namespace weir::core
