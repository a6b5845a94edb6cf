// The words of WEIR.CHECK and its sisters: options, then attr=value ...
//
// Pure, one thread. It views the words.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "limits/match.hpp"
#include "resp/option_words.hpp"

namespace weir::inline v0_1::resp {

struct LimitsWords {
  OptionWords said{};
  std::span<const limits::Attribute> attributes{};

  limits::Description asked() const {
    return {attributes, said.cost, said.class_name, !said.has_units(), said.costs};
  }
};

// Where the attributes are put: too much to be made for every request.
using AttributeRoom = std::array<limits::Attribute, limits::kMostAttributes>;

// The attributes, and before them the options of `takes`. False: the words are wrong, and `error` is the text
// for an error reply.
bool read_limits_words(std::span<const std::string_view> words, OptionSet takes, AttributeRoom& room,
                       LimitsWords& into, std::string& error);

}  // namespace weir::resp
