#include "logs/shell_word.hpp"

#include <algorithm>
#include <cctype>

namespace weir::inline v0_1::logs {

std::string shell_word(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '/' || c == '_' || c == '-' || c == ',' || c == '+';
  });
  if (plain && !text.empty()) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace weir::logs
