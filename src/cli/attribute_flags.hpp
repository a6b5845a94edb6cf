// What `weir replay` and `weir diff` share: a limits file and the fields of a log that are its attributes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "limits/set.hpp"
#include "logs/line_parser.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

struct AttributeFlags {
  std::string path;
  std::vector<std::string> fields;  // NAME=FIELD

  // --attribute; the path is another flag, or an argument.
  void add_to(CLI::App& app);
  // The fields that hold these attributes, in their order: one that is named by --attribute, or the known
  // names of it. Throws std::runtime_error.
  std::vector<logs::Wanted::Part> wanted(const std::vector<std::string>& attributes) const;
};

// The field of a log that is this attribute, by the names that logs give it.
logs::Wanted::Part part_of(const std::string& attribute);

// The limits file at `path`, compiled. What ends is judged by what is asked of it later. Throws
// std::runtime_error with every error of the file.
std::shared_ptr<const limits::Set> set_of(const std::string& path);

}  // namespace weir::cli
