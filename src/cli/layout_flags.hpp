// How a log is written: --format or --regex.
#pragma once

#include <string>

#include "logs/layout.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

struct LayoutFlags {
  std::string format = "auto";
  std::string regex;

  void add_to(CLI::App& app);
  // `time` is the field that --time names, or empty. Throws std::runtime_error.
  logs::Layout layout(const std::string& time) const;
};

}  // namespace weir::cli
