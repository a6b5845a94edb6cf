#include "logs/json_documents.hpp"

#include <algorithm>

#include "core/digits.hpp"
#include "logs/json_lines.hpp"
#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kLongestDocument = std::size_t{1} << 20;
constexpr std::size_t kMostDocuments = 1000;

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

// Takes one document off a text, byte by byte: of JSON, only what tells where it ends.
class Document {
 public:
  // False when it is too deep.
  bool take(std::string_view& text) {
    std::size_t at = 0;
    while (at < text.size() && line_.size() < kLongestDocument && !(at > 0 && open_.empty())) {
      if (!add(text[at++])) return false;
    }
    text.remove_prefix(at);
    whole_ = open_.empty();
    return true;
  }

  bool whole() const { return whole_; }
  bool one_line() const { return one_line_; }

  // Closed where it was cut off.
  std::string line() const {
    std::string out = whole_ ? line_ : line_.substr(0, good_);
    const std::string& open = whole_ ? open_ : good_open_;
    return out.append(open.rbegin(), open.rend());
  }

 private:
  bool add(char c) {
    one_line_ = one_line_ && c != '\n';
    line_ += c == '\n' || c == '\r' ? ' ' : c;
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      open_ += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (!open_.ends_with(c)) return false;
      open_.pop_back();
    } else if (c == ',') {
      good_ = line_.size() - 1;
      good_open_ = open_;
    }
    return open_.size() <= kDeepest;
  }

  std::string line_;
  std::string open_;  // what closes what is open
  std::size_t good_ = 0;
  std::string good_open_;  // after the last member or element that is whole
  bool in_string_ = false;
  bool escaped_ = false;
  bool whole_ = false;
  bool one_line_ = true;
};

bool is_json(const std::string& line) {
  const std::string padded = line + std::string(kSlack, '\0');
  return fits_json(std::string_view(padded).substr(0, line.size()));
}

// A member's name as jq takes it after a dot.
std::string quoted(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '_'; });
  if (plain && (name.empty() || !core::is_digit(name[0]))) return std::string(name);
  return '"' + std::string(name) + '"';
}

}  // namespace

std::optional<std::vector<std::string>> json_documents(std::string_view text) {
  text = without_blanks(text);
  const bool array = text.starts_with('[') && without_blanks(text.substr(1)).starts_with('{');
  if (!array && !text.starts_with('{')) return std::nullopt;
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < kMostDocuments && text[0] == (array ? '[' : '{')) {
    Document document;
    if (!document.take(text)) break;
    const bool is_line = !array && document.whole() && document.one_line();
    std::string line = array ? "{\"\":" + document.line() + "}" : document.line();
    if (lines.empty() && (is_line || !is_json(line))) return std::nullopt;
    lines.push_back(std::move(line));
    if (!document.whole()) break;
    text = without_blanks(text);
  }
  if (lines.empty()) return std::nullopt;
  return lines;
}

std::string jq_path(std::string_view field) {
  const std::size_t end = field.rfind("].");
  std::string path;
  for (std::string_view rest = end == kNone ? "" : field.substr(0, end + 1); !rest.empty();) {
    std::string_view step = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(step.size() + 1, rest.size()));
    std::string elements;
    for (auto [list, element] = element_name(step); element; std::tie(list, element) = element_name(step)) {
      step = list;
      elements += "[]";
    }
    if (step.starts_with('[')) {  // the document itself
      step = {};
      elements += "[]";
    }
    path += "." + quoted(step) + elements;
  }
  return path.empty() ? "." : path;
}

std::vector<std::string> neighbours_of(std::string_view field) {
  std::vector<std::string> all;
  for (std::size_t end = field.find("]."); end != kNone; end = field.find("].", end + 1)) {
    const std::size_t begin = field.rfind('[', end) + 1;
    const bool first = field.substr(begin, end - begin) == "0";
    all.push_back(std::string(field.substr(0, begin)) + (first ? "1" : "0") + std::string(field.substr(end)));
  }
  return all;
}

}  // namespace weir::logs
