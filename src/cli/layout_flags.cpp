#include "cli/layout_flags.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

namespace weir::inline v0_1::cli {

void LayoutFlags::add_to(CLI::App& app) {
  std::string names;  // shells complete them
  for (const std::string& each : logs::format_names()) names += (names.empty() ? "" : "|") + each;
  app.add_option("--format", format, "how the log is written, or what is around its lines [auto]")
      ->type_name(names);
  app.add_option("--regex", regex, "lines of another format: their fields are its groups, (?<time>...) one")
      ->type_name("PATTERN");
}

logs::Layout LayoutFlags::layout(const std::string& time) const {
  logs::Layout layout;
  if (regex.empty()) {
    layout.set(format);
    return layout;
  }
  if (format != "auto") throw std::runtime_error("regex: the log has a pattern or a --format, not both");
  auto compiled = std::make_shared<const logs::Regex>(regex);
  if (time.empty() && !compiled->has_time())
    throw std::runtime_error("regex: no group is named time, as in (?<time>[^ ]+)");
  layout.set(std::move(compiled));
  return layout;
}

}  // namespace weir::cli
