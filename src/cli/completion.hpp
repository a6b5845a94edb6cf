// What bash, zsh and fish need to complete weir's commands, options and their values: a script for each,
// written from the same table of options as --help.
//
// Pure functions of the App; any thread.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);
std::string fish_completion(const CLI::App& program);

}  // namespace weir::cli
