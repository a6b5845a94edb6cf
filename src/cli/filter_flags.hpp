// Which requests of a log are asked about: --where, --since and --until.
#pragma once

#include <string>
#include <vector>

#include "logs/log_reader.hpp"
#include "sim/report.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

struct FilterFlags {
  std::vector<std::string> where;
  std::string since;
  std::string until;

  void add_to(CLI::App& app);
  // Into options.filter, and its fields into options.wanted, whose time zone is known. Throws
  // std::runtime_error.
  void add_to(logs::LogReaderOptions& options) const;
  // Throws std::runtime_error when no line of a log that has been read has a value in a field of --where: its
  // name is a mistake.
  void check(const logs::LogStats& stats) const;
  // What a report says of them.
  std::vector<sim::LogReport::FilterText> asked() const;
};

}  // namespace weir::cli
