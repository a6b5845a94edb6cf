// From when to when a request was under way: a line has one time and how long the request took, and programs
// differ in which end of it the time is, in what they call its length, and in what they count that by.
//
// Plain data and pure functions, any thread. Not for: what counts by spans (src/sim/first_fit.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weir::inline v0_1::logs {

// Which end of a request the time of its line is.
enum class SpanEnd : std::uint8_t { begin, end };

// What is asked for; what is empty is as the format of the log has it.
struct WantedSpan {
  std::string field;
  std::int64_t unit_ns = 0;
  std::optional<SpanEnd> stamp{};

  // "request_time", "extra[0]:us". What follows the last colon is a unit if it is s, ms, us or ns.
  void set_field(std::string_view text);
  // "begin" or "end". Throws std::runtime_error.
  void set_stamp(std::string_view text);
};

// What one file has.
struct KnownSpan {
  std::string field;
  std::int64_t unit_ns;
  SpanEnd stamp;
};
// `has`: whether the log has a field of that name. `own_time`: --time names a field, of which no format knows
// which end it is. Throws std::runtime_error for what is neither known nor asked for.
KnownSpan span_of(std::string_view format, const WantedSpan& wanted, bool own_time,
                  const std::function<bool(std::string_view name)>& has);

// "0.250", "12", "1.2e-05" in units of `unit_ns`, cut to whole nanoseconds; of "0/0/1/2/+3", HAProxy's
// timers, the last. Nothing for any other text, and above 2^62 ns.
std::optional<std::int64_t> read_duration(std::string_view text, std::int64_t unit_ns);

}  // namespace weir::logs
