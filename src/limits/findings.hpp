// The findings of one reading, as they are gathered; and what somebody may have meant by a word that is
// unknown.
//
// One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limits/finding.hpp"

namespace weir::inline v0_1::limits {

class Findings {
 public:
  // Errors, and as many of the rest: more help nobody, and a hostile file could have one for each of its
  // bytes.
  static constexpr std::size_t kMost = 1000;

  explicit Findings(std::string file) : file_(std::move(file)) {}

  void add(Severity severity, FileRule rule, Position place, std::string path, std::string text);
  void error(FileRule rule, Position place, std::string path, std::string text) {
    add(Severity::error, rule, place, std::move(path), std::move(text));
  }
  void warn(FileRule rule, Position place, std::string path, std::string text) {
    add(Severity::warning, rule, place, std::move(path), std::move(text));
  }
  // Of another file: a list's.
  void add_of(std::string file, Finding finding);

  // An error is told of what `path` names, or of a part of it.
  bool has_error(const std::string& path) const;
  bool has_errors() const { return errors_ > 0; }
  // No more errors are taken, so looking further helps nobody.
  bool full() const { return errors_ >= kMost; }

  // In the order of the lines; those of other files after those of this one.
  std::vector<Finding> take();

 private:
  std::string file_;
  std::vector<Finding> all_;
  std::size_t errors_ = 0;
  std::size_t left_out_ = 0;
};

// 'text', cut where it is long.
std::string in_quotes(std::string_view text);
// "a, b and c" without the "and": "a, b, c".
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

// "; did you mean rate?", or "; known: by, rate", or of an empty `known`, "".
std::string meant(std::string_view word, const std::vector<std::string>& known);

}  // namespace weir::limits
