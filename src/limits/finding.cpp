#include "limits/finding.hpp"

#include <algorithm>

#include "core/printable.hpp"

namespace weir::inline v0_1::limits {

std::string to_text(const Finding& finding) {
  std::string text = finding.file;
  if (finding.place.line > 0)
    text += ":" + std::to_string(finding.place.line) + ":" + std::to_string(finding.place.column);
  text += finding.severity == Severity::warning ? ": warning: "
          : finding.severity == Severity::note  ? ": note: "
                                                : ": ";
  if (!finding.path.empty()) text += finding.path + ": ";
  return core::printable(text + finding.text);
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::error; });
}

}  // namespace weir::limits
