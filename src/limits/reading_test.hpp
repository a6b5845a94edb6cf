// For tests that read limits files: the files of lists that they name, the time that it is, what is told.
#pragma once

#include <string>
#include <vector>

#include "limits/read.hpp"

namespace weir::inline v0_1::limits {

constexpr Time kTestNow = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21};

// bad_nets.txt, empty.txt (without an entry), wrong.txt (each of its lines is), latin1.txt.
inline ReadOptions test_options() {
  ReadOptions options;
  options.now = kTestNow;
  options.open = [](const std::string& path, std::size_t) -> tl::expected<std::string, std::string> {
    if (path == "bad_nets.txt")
      return "# bad\n203.0.113.0/24  # a comment\n\n2001:db8::/32\r\n198.51.100.7\nscanner*\n";
    if (path == "empty.txt") return "# nothing yet\n\n";
    if (path == "wrong.txt") return "10.0.0.1/8\n\n  10.0.0.0/99 # too long\nbot*\nbot*\n";
    if (path == "latin1.txt") return "caf\xE9\n";
    return tl::unexpected(std::string("No such file or directory"));
  };
  return options;
}

inline std::string shown(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_text(finding) + "\n";
  return text;
}

}  // namespace weir::limits
