// An explanation for programs: one line of JSON.
//
// Pure, any thread.
#pragma once

#include <string>

#include "limits/explain.hpp"
#include "limits/match.hpp"

namespace weir::inline v0_1::limits {

std::string json_of(const Explanation& explanation, const Answer& answer, const std::string& file);

}  // namespace weir::limits
