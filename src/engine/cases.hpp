// The cases of the check of an engine, a list for each file.
//
// Plain values.
#pragma once

#include <span>

#include "engine/outcome.hpp"

namespace weir::inline v0_1::engine {

std::span<const EngineCase> connection_cases();
std::span<const EngineCase> setup_cases();
std::span<const EngineCase> clock_cases();
std::span<const EngineCase> expiry_cases();
std::span<const EngineCase> script_engine_cases();  // Lua, script calls, errors, atomicity
std::span<const EngineCase> cluster_cases();
std::span<const EngineCase> weir_script_cases();  // side by side with weir's own store

}  // namespace weir::engine
