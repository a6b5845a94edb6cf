#include "logs/regex.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "logs/known_names.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::string_view kNoMatch = "the line does not match the regex";
constexpr std::string_view kPartOnly = "the regex matches a part of the line only; .* stands for any rest";

// The length of a bracketed class at the front of the text: "[^]a[:digit:]\]]".
std::size_t class_size(std::string_view text) {
  std::size_t at = text.starts_with("[^") ? 2 : 1;
  for (const std::size_t first = at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text.substr(at).starts_with("[:")) {
      const std::size_t end = text.find(":]", at + 2);
      if (end != std::string_view::npos) at = end + 1;
    } else if (text[at] == ']' && at > first) {
      return at + 1;
    }
  }
  return text.size();
}

// Debian 12's RE2 has only the longer spelling of "(?<name>", which most other engines lack.
std::string with_long_spelling(std::string_view pattern) {
  std::string out;
  while (!pattern.empty()) {
    std::size_t size = 1;
    if (pattern.starts_with("\\Q")) {
      size = std::min(pattern.find("\\E"), pattern.size());
    } else if (pattern[0] == '\\') {
      size = std::min<std::size_t>(2, pattern.size());
    } else if (pattern[0] == '[') {
      size = class_size(pattern);
    } else if (pattern.size() > 3 && pattern.starts_with("(?<") && pattern[3] != '=' && pattern[3] != '!') {
      out += "(?P<";
      pattern.remove_prefix(3);
      continue;
    }
    out += pattern.substr(0, size);
    pattern.remove_prefix(size);
  }
  return out;
}

// Bytes, not characters, so that `.` is any byte: what clients send need not be UTF-8.
RE2::Options options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  return options;
}

// With the part that RE2 points at.
std::string why(const RE2& compiled) {
  if (compiled.error_code() == RE2::ErrorMissingParen) return "a ')' is missing";
  std::string text = compiled.error();
  const bool unsupported =
      compiled.error_code() == RE2::ErrorBadPerlOp || compiled.error_code() == RE2::ErrorBadEscape;
  if (unsupported) text += "; RE2 has neither look-around nor back-references";
  return text;
}

re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

class RegexSplitter final : public Splitter {
 public:
  RegexSplitter(std::shared_ptr<const Regex> regex, const std::vector<Slot>& slots)
      : regex_(std::move(regex)), places_(slots, regex_->names()), groups_(regex_->names().size()) {}

  std::string_view split(std::string_view line, std::span<std::string_view> values) override {
    if (!match(line, places_.end())) {
      const bool part = RE2::PartialMatch(piece_of(line), regex_->compiled());
      return part ? kPartOnly : kNoMatch;
    }
    places_.fill(groups_, values);
    return "";
  }

  std::vector<LineField> fields(std::string_view line) override {
    std::vector<LineField> fields;
    if (!match(line, groups_.size())) return fields;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].data() != nullptr && !regex_->names()[i].empty())
        fields.push_back({regex_->names()[i], std::string(groups_[i])});
    }
    add_request_parts(fields);
    return fields;
  }

 private:
  // As many groups as are wanted: fewer are found faster. One that took no part in the match is a null view.
  bool match(std::string_view line, std::size_t count) {
    const int with_whole = static_cast<int>(count) + 1;
    found_.resize(count + 1);
    if (!regex_->compiled().Match(piece_of(line), 0, line.size(), RE2::ANCHOR_BOTH, found_.data(),
                                  with_whole))
      return false;
    for (std::size_t i = 0; i < count; ++i) groups_[i] = {found_[i + 1].data(), found_[i + 1].size()};
    return true;
  }

  std::shared_ptr<const Regex> regex_;
  Places places_;
  std::vector<re2::StringPiece> found_;  // the whole line, and each group
  std::vector<std::string_view> groups_;
};

}  // namespace

Regex::Regex(std::string_view pattern)
    : pattern_(pattern), compiled_(std::make_unique<RE2>(piece_of(with_long_spelling(pattern)), options())) {
  if (!compiled_->ok()) throw std::runtime_error("regex: " + why(*compiled_));
  names_.resize(static_cast<std::size_t>(compiled_->NumberOfCapturingGroups()));
  for (const auto& [group, name] : compiled_->CapturingGroupNames()) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end())
      throw std::runtime_error("regex: group '" + name + "' a second time");
    names_[static_cast<std::size_t>(group) - 1] = name;
  }
}

Regex::~Regex() = default;

bool Regex::has_time() const {
  const std::vector<std::string> times = names_of("time");
  return std::find_first_of(names_.begin(), names_.end(), times.begin(), times.end()) != names_.end();
}

bool Regex::fits(std::string_view line) const { return RE2::FullMatch(piece_of(line), *compiled_); }

std::unique_ptr<Splitter> make_regex(std::shared_ptr<const Regex> regex, const std::vector<Slot>& slots) {
  return std::make_unique<RegexSplitter>(std::move(regex), slots);
}

}  // namespace weir::logs
