// InlineWords: the words of one inline command, the form that a person types into telnet or nc.
//
// Words are split and unescaped as in Redis: spaces between words, "..." with \n \r \t \b \a \xHH and a
// backslash before anything else, '...' with \' only; a quoted part ends its word. NUL is a byte like any
// other. Used by RequestParser alone, on its thread. A word is a view into `line`, or into `unquoted` where
// it had quotes; both belong to the caller. Not for: finding where the line ends.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::resp {

class InlineWords {
 public:
  enum class Step { word, end, unbalanced };

  // Empties `unquoted`. While this object is in use, `unquoted` must be left alone.
  InlineWords(std::string_view line, std::vector<char>& unquoted);

  Step next(std::string_view& word);

 private:
  bool copy_quoted();

  std::string_view line_;
  std::vector<char>& unquoted_;
  std::size_t at_ = 0;
};

}  // namespace weir::resp
