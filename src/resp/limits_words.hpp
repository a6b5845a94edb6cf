// The words of WEIR.CHECK and its sisters: [COST n] [CLASS name] attr=value ...
//
// Pure, one thread. It views the words.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "limits/match.hpp"

namespace weir::resp {

constexpr std::string_view kNoLimitsFile = "ERR there is no limits file: start weir with --limits FILE";

// Whether an option's word, in any letter case, is `name`, which is in upper case.
inline bool is_word(std::string_view word, std::string_view name) {
  if (word.size() != name.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if ((word[i] & ~0x20) != name[i]) return false;
  }
  return true;
}

struct LimitsWords {
  std::uint64_t cost = 1;
  bool costs_an_estimate = true;  // it says no cost
  std::string_view class_name{};
  std::string_view now{};  // EXPLAIN's; empty: it does not say
  std::span<const limits::Attribute> attributes{};

  limits::Asked asked() const { return {attributes, cost, class_name, costs_an_estimate}; }
};

// Where the attributes are put: too much to be made for every request.
using AttributeRoom = std::array<limits::Attribute, limits::kMostAttributes>;

// False: the words are wrong, and `error` is the text for an error reply. `takes_now`: NOW time is an option.
bool read_limits_words(std::span<const std::string_view> words, bool takes_now, AttributeRoom& room,
                       LimitsWords& into, std::string& error);

}  // namespace weir::resp
