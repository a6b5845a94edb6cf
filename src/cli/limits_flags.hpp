// What the commands that read limits files have in common: the time that they go by, and how they show
// findings.
//
// One thread.
#pragma once

#include <string>

#include "limits/finding.hpp"

namespace weir::inline v0_1::cli {

// --now TIME; of an empty text the clock's. Throws a std::runtime_error of one line.
limits::Time now_of(const std::string& text);

// Standard output is a terminal, and nobody has asked for no colour (NO_COLOR, TERM=dumb).
bool wants_colour();

// The finding as one line, its severity coloured for a terminal.
std::string shown(const limits::Finding& finding, bool colour);

}  // namespace weir::cli
