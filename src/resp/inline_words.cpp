#include "resp/inline_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

// As C's isspace in the "C" locale, whatever the locale of the process.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A bare word runs through \v and \f, which are spaces elsewhere: Redis's command line does so.
bool ends_bare_word(char c) { return c == ' ' || c == '\t' || c == '\r'; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char unescape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

}  // namespace

InlineWords::InlineWords(std::string_view line, std::vector<char>& unquoted)
    : line_(line), unquoted_(unquoted) {
  unquoted_.clear();
}

InlineWords::Step InlineWords::next(std::string_view& word) {
  while (at_ < line_.size() && is_space(line_[at_])) ++at_;
  if (at_ == line_.size()) return Step::end;

  const std::size_t start = at_;
  while (at_ < line_.size() && !ends_bare_word(line_[at_]) && line_[at_] != '"' && line_[at_] != '\'') ++at_;
  const std::string_view bare = line_.substr(start, at_ - start);
  if (at_ == line_.size() || ends_bare_word(line_[at_])) {
    word = bare;
    return Step::word;
  }

  // Unescaping never lengthens, so with this much reserved the words already handed out stay where they are.
  unquoted_.reserve(line_.size());
  const std::size_t unquoted_start = unquoted_.size();
  unquoted_.insert(unquoted_.end(), bare.begin(), bare.end());
  if (!copy_quoted()) return Step::unbalanced;
  const std::size_t length = unquoted_.size() - unquoted_start;
  // The empty word `""` stays a view into the line, so that an empty `unquoted` means: no word lies there.
  word = length == 0 ? line_.substr(start, 0) : std::string_view(unquoted_.data() + unquoted_start, length);
  return Step::word;
}

// Copies the quoted part at at_ and steps past it; false if it is not closed, or closed in the middle of a
// word.
bool InlineWords::copy_quoted() {
  const char quote = line_[at_++];
  for (; at_ < line_.size(); ++at_) {
    const char c = line_[at_];
    const std::string_view rest = line_.substr(at_ + 1);
    if (c == quote) {
      ++at_;
      return rest.empty() || is_space(rest[0]);
    }
    if (c != '\\' || rest.empty() || (quote == '\'' && rest[0] != '\'')) {
      unquoted_.push_back(c);
    } else if (quote == '"' && rest.size() >= 3 && rest[0] == 'x' && hex_value(rest[1]) >= 0 &&
               hex_value(rest[2]) >= 0) {
      unquoted_.push_back(static_cast<char>(hex_value(rest[1]) * 16 + hex_value(rest[2])));
      at_ += 3;
    } else {
      unquoted_.push_back(quote == '"' ? unescape(rest[0]) : rest[0]);
      ++at_;
    }
  }
  return false;
}

}  // namespace weir::resp
