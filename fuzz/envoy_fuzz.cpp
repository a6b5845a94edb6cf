// Fuzzes the reader of envoyproxy/ratelimit's files: whatever the bytes are, they are a domain that
// descriptors are matched by, or there is an error with a line of the text and a sentence that can be shown.
// What stands after a byte of 0 is the value that is asked about.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/printable.hpp"
#include "limits/descriptors.hpp"
#include "limits/envoy_file.hpp"

namespace {

using namespace weir::limits;

void check_findings(const std::vector<Finding>& findings, std::string_view text) {
  // At most: YAML breaks lines at these, at U+0085, and at U+2028 and U+2029, which end in the others.
  const auto breaks = [](char byte) {
    return std::string_view("\n\r\x85\xa8\xa9").find(byte) != std::string_view::npos;
  };
  const auto lines = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), breaks)) + 1;
  for (const Finding& each : findings) {
    if (each.place.line > lines || (each.place.line > 0 && each.place.column < 1)) std::abort();
    if (each.text.empty() || each.rule == FileRule::none) std::abort();
    const std::string shown = envoy_text(each);
    if (weir::core::printable(shown) != shown) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), size);
  const std::string_view text = all.substr(0, end);
  const std::string_view value = all.substr(std::min(end + 1, size));
  std::vector<Finding> findings;
  Domain said = read_envoy_file(text, "f.yaml", findings);
  check_findings(findings, text);
  if (has_errors(findings)) return 0;
  const std::string domain = said.domain;
  std::vector<DescriptorEntry> entries;
  const Descriptor* at = said.descriptors.empty() ? nullptr : said.descriptors.data();
  std::vector<std::string> keys;
  for (; at != nullptr; at = at->descriptors.empty() ? nullptr : at->descriptors.data())
    keys.push_back(at->key);
  for (const std::string& each : keys) entries.push_back({each, value});
  const auto made = Descriptors::make({std::move(said)}, {});
  if (!made) {
    check_findings(made.error(), text);
    return 0;
  }
  const Descriptors::Tree* const tree = (*made)->find(domain);
  if (tree == nullptr) std::abort();
  DescriptorMatch match;
  (*made)->match(*tree, entries, nullptr, match);
  const bool counted =
      match.outcome == DescriptorMeets::Outcome::limited || match.outcome == DescriptorMeets::Outcome::zero;
  if (counted != (match.limit != nullptr) || (counted && match.key.empty())) std::abort();
  if (match.series != kNone && (*made)->series().at(match.series) != match.name) std::abort();
  return 0;
}
