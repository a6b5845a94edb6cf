// The configuration file: lines of `name = value`, in UTF-8.
//
// A value without quotes is the rest of the line. One in double quotes may be followed by a comment; within
// them every byte but the quote stands for itself. A line that begins with # is a comment. A switch takes
// true or false. Not CLI11's own reader, which reads a name without a value as "true": for a password that
// would be a value.
//
// Errors are std::runtime_errors of one line with the file and the line. None shows a value, or anything that
// may be one: a password may stand in the wrong place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

struct Setting {
  int line;
  std::string name;
  std::string value;
};

// Which settings the text has. `path` is for the messages.
std::vector<Setting> parse_config(CLI::App& app, const std::string& path, std::string_view text);

// Gives the options of the app what the file says, unless the command line or the environment has given them.
// True when the file has a secret in it and everyone on this machine may read it.
bool read_config(CLI::App& app, const std::string& path);

}  // namespace weir::cli
