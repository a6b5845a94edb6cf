#include "cli/limits_flags.hpp"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "limits/scalars.hpp"

namespace weir::inline v0_1::cli {

limits::Time now_of(const std::string& text) {
  if (text.empty()) return std::chrono::system_clock::now();
  const auto time = limits::read_time(text);
  if (!time) throw std::runtime_error("now: " + time.error());
  return *time;
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused =
      (no_colour != nullptr && *no_colour != '\0') || term == nullptr || std::string_view(term) == "dumb";
  return !refused && isatty(STDOUT_FILENO) == 1;
}

std::string shown(const limits::Finding& finding, bool colour) {
  std::string text = to_text(finding);
  if (!colour) return text;
  constexpr std::string_view kRed = "\x1b[31m";
  constexpr std::string_view kYellow = "\x1b[33m";
  constexpr std::string_view kPlain = "\x1b[0m";
  if (finding.severity == limits::Severity::note) return text;
  // The place, up to what is wrong there.
  const std::size_t end = text.find(": ") + 1;
  const std::string_view tint = finding.severity == limits::Severity::error ? kRed : kYellow;
  return std::string(tint) + text.substr(0, end) + std::string(kPlain) + text.substr(end);
}

}  // namespace weir::cli
