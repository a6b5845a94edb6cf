// The forms of times that programs write, and which of them some texts have: for `weir formats`, which looks
// at a log that says nothing of itself.
//
// Pure functions, any thread. Not for: reading a log, whose times are in a known form, or in one that is
// said.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::logs {

struct TimeForm {
  std::string_view shape;   // a regular expression, of RE2
  std::string_view format;  // for --time-format; empty: none is needed
};
std::span<const TimeForm> time_forms();

// The --time-format that reads these texts, empty when none is needed. Nothing when none reads them all, or
// when two do: of 03/04/2026 nobody knows the month.
std::optional<std::string> time_format_of(const std::vector<std::string>& texts);

// Whether a --time-format of a known form, or none at all, reads this text.
bool may_be_a_time(const std::string& text);

}  // namespace weir::logs
