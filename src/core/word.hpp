// Text, cut at its spaces.
//
// Pure, any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

struct Word {
  std::string_view text;  // empty when there is none
  std::string_view rest;
};

// At spaces and tabs.
constexpr Word next_word(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {"", ""};
  const std::size_t last = std::min(text.find_first_of(kBlank, first), text.size());
  return {text.substr(first, last - first), text.substr(last)};
}

// "10/15min burst 5" of "10 per 15 min burst 5"; a text that does not begin so as it is.
inline std::string with_slash(std::string_view text) {
  const auto [count, after_count] = next_word(text);
  const auto [per, after_per] = next_word(after_count);
  const auto [first, after_first] = next_word(after_per);
  if (per != "per" || first.empty() || count.find('/') != std::string_view::npos) return std::string(text);
  const std::string rate = std::string(count) + "/" + std::string(first);
  const auto [second, rest] = next_word(after_first);
  const bool is_number = first.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!is_number || second.empty()) return rate + std::string(after_first);
  return rate + std::string(second) + std::string(rest);
}

// Of a rule that admits nothing.
inline constexpr std::string_view kAdmitsNothing =
    "to refuse everybody: deny, in the limits file; to limit nobody: leave the limit out";

// What is meant by a rate with blanks beside its '/': "1/s" for "1 /s", "1/ s" and "1 / s". Empty for a text
// that does not begin with such a rate.
inline std::string rate_with_blanks(std::string_view text) {
  const auto [first, rest] = next_word(text);
  const auto [second, after] = next_word(rest);
  if (first.empty() || first.front() == '/' || second.empty()) return "";
  const bool ends = first.ends_with('/');
  const bool begins = second.front() == '/';
  if (ends == begins || first.find('/') < first.size() - 1) return "";
  const std::string_view period = second == "/" ? next_word(after).text : begins ? second.substr(1) : second;
  if (period.empty() || period == "burst" || period.find('=') != std::string_view::npos) return "";
  return std::string(first.substr(0, first.size() - (ends ? 1 : 0))) + "/" + std::string(period);
}

}  // namespace weir::core
