// The cases of the check of an engine, a list for each file.
//
// Plain values.
#pragma once

#include <span>

#include "engine/outcome.hpp"

namespace weir::inline v0_1::engine {

std::span<const Case> connection_cases();
std::span<const Case> setup_cases();
std::span<const Case> clock_cases();
std::span<const Case> expiry_cases();
std::span<const Case> script_engine_cases();  // Lua, script calls, errors, atomicity
std::span<const Case> cluster_cases();
std::span<const Case> weir_script_cases();  // side by side with weir's own store

}  // namespace weir::engine
