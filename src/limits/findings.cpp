#include "limits/findings.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/nearest.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::size_t kMostShown = 64;  // bytes of what was written
}  // namespace

void Findings::add(Severity severity, FileRule rule, Position place, std::string path, std::string text) {
  add_of(file_, {severity, rule, "", place, std::move(path), std::move(text)});
}

void Findings::add_of(std::string file, Finding finding) {
  const bool error = finding.severity == Severity::error;
  if ((error ? errors_ : all_.size() - errors_) >= kMost) {
    ++left_out_;
    return;
  }
  errors_ += error ? 1 : 0;
  finding.file = std::move(file);
  all_.push_back(std::move(finding));
}

bool Findings::has_error(const std::string& path) const {
  return std::any_of(all_.begin(), all_.end(), [&path](const Finding& finding) {
    return finding.severity == Severity::error && finding.path.starts_with(path) &&
           (finding.path.size() == path.size() || finding.path[path.size()] == '.' ||
            finding.path[path.size()] == '[');
  });
}

std::vector<Finding> Findings::take() {
  // Of one place, in the order in which they were found.
  std::vector<std::tuple<bool, Position, std::size_t>> order;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const bool other = all_[i].file != file_ || all_[i].place.line == 0;
    order.emplace_back(other, other ? Position{} : all_[i].place, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Finding> sorted;
  sorted.reserve(order.size() + 1);
  for (const auto& [other, place, index] : order) sorted.push_back(std::move(all_[index]));
  if (left_out_ > 0)
    sorted.push_back({Severity::note,
                      FileRule::bounds,
                      file_,
                      {},
                      "",
                      std::to_string(left_out_) + " more findings are left out"});
  return sorted;
}

std::string in_quotes(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && end < kMostShown) {
    end += std::max<std::size_t>(core::shown_as_it_is(text.substr(end)), 1);
  }
  return "'" + core::printable(text.substr(0, end)) + (end < text.size() ? "..." : "") + "'";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : between).append(word);
  return text;
}

std::string meant(std::string_view word, const std::vector<std::string>& known) {
  if (known.empty()) return "";
  const std::string near = core::nearest(word, known);
  if (!near.empty()) return "; did you mean " + near + "?";
  constexpr std::size_t kMostKnown = 40;
  if (known.size() <= kMostKnown) return "; known: " + joined(known);
  return "; known: " + joined({known.begin(), known.begin() + kMostKnown}) + " and " +
         std::to_string(known.size() - kMostKnown) + " more";
}

}  // namespace weir::limits
