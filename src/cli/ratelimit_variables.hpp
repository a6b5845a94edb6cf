// The variables of envoyproxy/ratelimit's environment: which there are, and what each sets here.
//
// The main thread. Not for: those of weir's own flags, which `weir ratelimit` does not read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/serve_flags.hpp"

namespace weir::inline v0_1::cli {

struct RatelimitVariable {
  std::string_view name;
  std::string_view sets;  // "--rls", or a few words; empty: it does nothing
};

// In the order that people are shown; a name that ends in * is all that begin so.
std::span<const RatelimitVariable> ratelimit_variables();

// "NAME=VALUE" each, as a process has it.
using Environment = std::span<const std::string>;

// Gives the flags of the app, which are `flags`, what the environment says, unless they have been given, and
// the settings that have no flag theirs. An empty variable is one that is not set. Says of each value that is
// taken as another, and of those that do nothing, a line for the log. Throws std::runtime_error of one line
// that names the variable; it never shows what may be a password.
std::vector<std::string> use_environment(CLI::App& app, ServeFlags& flags, Environment environment);

}  // namespace weir::cli
