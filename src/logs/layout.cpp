#include "logs/layout.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "logs/columns.hpp"
#include "logs/combined.hpp"
#include "logs/json_lines.hpp"

namespace weir::logs {
namespace {

// The first that fits a line is its format.
constexpr std::array kFormats = {
    Format{"combined", "the common and combined formats of Apache and nginx",
           "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 512", fits_combined,
           make_combined},
    Format{"jsonl", "one JSON object a line",
           "{\"time\":\"2026-11-21T05:49:47Z\",\"client_ip\":\"192.0.2.1\"}", fits_json, make_json},
    Format{"csv", "columns with commas between, after a header",
           "2026-11-21T05:49:47Z,192.0.2.1 under a header such as time,ip", nullptr, make_csv},
    Format{"tsv", "columns with tabs between, after a header",
           "2026-11-21T05:49:47Z<TAB>192.0.2.1 under a header such as time<TAB>ip", nullptr, make_tsv},
};

const Format* format_that_fits(std::string_view line) {
  for (const Format& format : kFormats) {
    if (format.fits != nullptr && format.fits(line)) return &format;
  }
  return nullptr;
}

// What a file is read as of which no line has the shape of anything: the reasons then say what is missing.
const Format* likeliest(std::string_view line) {
  if (line.starts_with('{')) return find_format("jsonl");
  if (line.find('\t') != std::string_view::npos) return find_format("tsv");
  const bool comma = line.find(',') != std::string_view::npos;
  return find_format(comma && line.find('[') == std::string_view::npos ? "csv" : "combined");
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [name](const Format& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

void Layout::set(std::string_view name) {
  if (name == "auto") return;
  format = find_format(name);
  if (format == nullptr) throw std::runtime_error("unknown format '" + std::string(name) + "'");
}

std::string name_of(const Layout& layout) {
  return std::string(layout.format == nullptr ? "unknown" : layout.format->name);
}

Found layout_of(std::span<const std::string_view> lines, const Layout& asked) {
  Found found{asked, 0, false};
  if (lines.empty()) return found;
  if (asked.format != nullptr && asked.format->fits == nullptr) return found;
  if (asked.format == nullptr) {
    const bool csv = is_csv_header(lines.front());
    if (csv || is_tsv_header(lines.front())) {
      found.layout.format = find_format(csv ? "csv" : "tsv");
      return found;
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Format* const format = asked.format != nullptr
                                     ? (asked.format->fits(lines[i]) ? asked.format : nullptr)
                                     : format_that_fits(lines[i]);
    if (format == nullptr) continue;
    found.layout.format = format;
    found.line = i;
    return found;
  }
  found.guessed = true;
  if (asked.format == nullptr) found.layout.format = likeliest(lines.front());
  return found;
}

std::unique_ptr<Splitter> make_splitter(const Layout& layout, const std::vector<Slot>& slots,
                                        std::string_view line) {
  return layout.format->make(slots, line);
}

}  // namespace weir::logs
