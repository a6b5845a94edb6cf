// The parts that limits and their overrides have in common.
//
// One thread.
#pragma once

#include "limits/file_field.hpp"

namespace weir::inline v0_1::limits {

constexpr std::size_t kMostWindows = 8;

// One rate or several. False when one of them is wrong, and told.
bool read_windows(Context& context, const FileField& rate, std::vector<Window>& windows);
// The rates of an override, for windows that the limit has. `unlimited` lifts all of them, `unlimited/PERIOD`
// one.
std::vector<WindowChange> read_changes(Context& context, const FileField& rate,
                                       const std::vector<Window>& windows);

Leave read_leave(Context& context, const FileField& leave);
Reserve read_reserve(Context& context, const FileField& reserve);
Guarantee read_guarantee(Context& context, const FileField& guarantee);
CostRule read_cost(Context& context, const FileField& cost);
Penalty read_penalty(Context& context, const FileField& field);
// A moment; told, as the options say, when it is past.
void read_end(Context& context, const FileField& field, std::string_view text, Time& end);

// What says that a time is above that.
std::string above(const FileField& field, std::chrono::nanoseconds most);
// "1s", "day": as somebody would write it after the '/'.
std::string period_text(const core::Rule& rule);

}  // namespace weir::limits
