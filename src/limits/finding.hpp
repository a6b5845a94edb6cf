// One thing that is wrong with a limits file, or worth knowing, and where.
//
// Plain values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limits/file.hpp"
#include "limits/file_rule.hpp"

namespace weir::inline v0_1::limits {

enum class Severity : std::uint8_t {
  error,    // the file is not used
  warning,  // it is, but it hardly means what it says; an error for `weir lint --strict`
  note,     // for `weir lint` to tell, and no reason to fail
};

struct Finding {
  Severity severity = Severity::error;
  FileRule rule = FileRule::none;
  std::string file;  // the limits file, or a list's
  Position place{};
  std::string path;  // "limits.user.rate"; empty where no single thing of the file is meant
  std::string text;  // what was written; what is allowed; did you mean
};

// "limits.yaml:12:5: limits.user.raet: unknown; did you mean rate?"; a warning begins "warning: " after its
// place, a note "note: ". One line, safe to show.
std::string to_text(const Finding& finding);

bool has_errors(const std::vector<Finding>& findings);

}  // namespace weir::limits
