#include <stdexcept>

#include "sim/report.hpp"

namespace weir::sim {

// src/sim/report.html, made into a C++ string by the build.
extern const char* const kReportPage;

std::string page_of(const std::string& json) {
  const std::string page = kReportPage;
  constexpr std::string_view kMarker = "\"@DATA@\"";
  const std::size_t at = page.find(kMarker);
  if (at == std::string::npos) throw std::logic_error("report.html has no marker for its data");
  std::string data;
  data.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    // "</script" in a client's name would end the data.
    if (c == '<') {
      data += "\\u003c";
    } else {
      data += c;
    }
  }
  return page.substr(0, at) + data + page.substr(at + kMarker.size());
}

}  // namespace weir::sim
