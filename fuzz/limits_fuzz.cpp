// Fuzzes the reader of limits files: whatever the bytes are, they are a file, or there is an error with a
// line of the text and a sentence that can be shown. What stands after a byte of 0 is the file of every list.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/printable.hpp"
#include "limits/read.hpp"

namespace {

using namespace weir::limits;

void check_finding(const Finding& finding, std::string_view text, std::string_view list) {
  const std::string_view about = finding.file == "list" ? list : text;
  const auto lines = static_cast<std::size_t>(std::count(about.begin(), about.end(), '\n')) + 1;
  if (finding.place.line > lines || (finding.place.line > 0 && finding.place.column < 1)) std::abort();
  if (finding.text.empty() || finding.rule == FileRule::none) std::abort();
  const std::string shown = to_text(finding);
  if (weir::core::printable(shown) != shown) std::abort();
}

// Whatever is named by an index is there, and nothing is within itself.
void check_file(const File& file) {
  for (const NamedLimit& limit : file.limits) {
    std::size_t steps = 0;
    for (Index at = limit.within; at != kNone; at = file.limits.at(at).within) {
      if (++steps > file.limits.size()) std::abort();
    }
    for (const Override& change : limit.overrides) {
      for (const WindowChange& window : change.windows) {
        if (window.window >= limit.windows.size()) std::abort();
      }
    }
    if (!limit.leave.shares.empty() && limit.leave.shares.size() != file.classes.size()) std::abort();
  }
  if (file.routes.empty()) std::abort();
  for (const Route& route : file.routes) {
    if (route.meets.size() < route.limits.size()) std::abort();
    for (const Index index : route.meets) file.limits.at(index);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), size);
  const std::string_view text = all.substr(0, end);
  const std::string list(all.substr(std::min(end + 1, size)));
  ReadOptions options;
  options.now = Time{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21}};
  options.open = [&list](const std::string&, std::size_t) { return list; };
  const ReadResult reading = read(text, options);
  if ((reading.file == nullptr) != has_errors(reading.findings)) std::abort();
  for (const Finding& finding : reading.findings) {
    Finding known = finding;
    if (known.file != "limits.yaml") known.file = "list";
    check_finding(known, text, list);
  }
  if (reading.file != nullptr) check_file(*reading.file);
  return 0;
}
