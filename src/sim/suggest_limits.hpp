// The suggestions as a piece of a limits file, to be copied into one: the first is in force, the others are
// comments beside it.
//
// Pure, any thread. Not for: the table (report_text.cpp).
#pragma once

#include <string>

#include "logs/line_parser.hpp"
#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

// `wanted` says what makes a client, and what it costs. Throws std::runtime_error when a field of the log has
// a name that no attribute can have.
std::string limits_of(const SuggestReport& report, const logs::Wanted& wanted);

}  // namespace weir::sim
