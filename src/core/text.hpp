// Text, cut at its spaces.
//
// Pure, any thread.
#pragma once

#include <algorithm>
#include <string_view>

namespace weir::core {

struct Word {
  std::string_view text;  // empty when there is none
  std::string_view rest;
};

constexpr Word next_word(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {"", ""};
  const std::size_t last = std::min(text.find(' ', first), text.size());
  return {text.substr(first, last - first), text.substr(last)};
}

}  // namespace weir::core
