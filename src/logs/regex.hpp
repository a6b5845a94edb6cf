// Lines of a pattern: a regular expression whose named groups are the fields.
//
// Immutable: any thread may use one. Not for: the patterns of paths and values (src/core/pattern.hpp).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logs/splitter.hpp"

namespace re2 {
class RE2;
}

namespace weir::inline v0_1::logs {

class Regex {
 public:
  // RE2's syntax, and (?<name>...) for (?P<name>...). Throws std::runtime_error.
  explicit Regex(std::string_view pattern);
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // The fields: the name of each group, empty for one that has none.
  const std::vector<std::string>& names() const { return names_; }
  bool has_time() const;  // whether one of them is called as times are
  bool fits(std::string_view line) const;
  const std::string& pattern() const { return pattern_; }
  const re2::RE2& compiled() const { return *compiled_; }

 private:
  std::string pattern_;
  std::unique_ptr<re2::RE2> compiled_;
  std::vector<std::string> names_;
};

std::unique_ptr<Splitter> make_regex(std::shared_ptr<const Regex> regex, const std::vector<Slot>& slots);

}  // namespace weir::logs
