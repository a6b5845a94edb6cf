// The program's table of options, as --help shows it, for whatever else is written from it: the manual pages
// and what shells complete.
//
// Functions of the App, which owns what they return.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
class Option;
}  // namespace CLI

namespace weir::inline v0_1::cli {

// Makes an option refuse every value but these; its type then reads "deny|allow".
void take_only(CLI::Option& option, const std::vector<std::string>& words);

// The commands, the options and the arguments of an App that --help lists, in its order.
std::vector<const CLI::App*> commands_of(const CLI::App& app);
std::vector<const CLI::Option*> options_of(const CLI::App& app);
std::vector<const CLI::Option*> arguments_of(const CLI::App& app);

std::vector<std::string> names_of(const CLI::Option& option);  // "-h", "--help"
bool is_switch(const CLI::Option& option);                     // takes no value
bool wants_file(const CLI::Option& option);
// What take_only() was given; else empty.
std::vector<std::string> words_of(const CLI::Option& option);
// Empty when it has none that is the same on every machine.
std::string default_of(const CLI::Option& option);

}  // namespace weir::cli
