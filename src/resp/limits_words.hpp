// The words of WEIR.CHECK and its sisters: [COST n [ATLEAST m] | COST limit=n,limit=n] [CLASS name]
// [FIELDS] attr=value ...
//
// Pure, one thread. It views the words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limits/match.hpp"

namespace weir::inline v0_1::resp {

constexpr std::string_view kCostsAreTheFiles =
    "ERR COST by name is for limits of the limits file; of rules, each key costs the same";

// Whether an option's word, in any letter case, is `name`, of letters in upper case.
template <std::size_t N>
bool is_word(std::string_view word, const char (&name)[N]) {
  static_assert(N <= 9, "compared as one number: half the time of a loop over bytes");
  if (word.size() != N - 1) return false;
  std::uint64_t is = 0;
  std::uint64_t wanted = 0;
  std::memcpy(&is, word.data(), N - 1);
  std::memcpy(&wanted, name, N - 1);
  return (is & ~std::uint64_t{0x2020'2020'2020'2020}) == wanted;
}

// A word as an error shows it: in quotes, the first 32 bytes.
std::string shown_word(std::string_view word);

constexpr std::string_view kNoAtLeast =
    "ERR ATLEAST is for WEIR.CHECK, WEIR.LOOK, WEIR.EXPLAIN and WEIR.THROTTLE, after COST; all else has its "
    "whole cost or none of it";

constexpr std::string_view kNoFields =
    "ERR FIELDS is for WEIR.CHECK, WEIR.LOOK, WEIR.THROTTLE, WEIR.RESERVE and WEIR.ACQUIRE; it comes before "
    "KEYS and AS";

constexpr std::string_view kNeedsCost = "ERR ATLEAST needs a COST, which is the most";

struct LimitsWords {
  std::uint64_t cost = 1;
  std::uint64_t at_least = 0;     // as much as there is, down to that; 0: it does not say
  bool costs_an_estimate = true;  // it says no cost
  bool fields = false;            // the answer has those of HTTP, too
  std::vector<limits::NamedCost> costs{};
  std::string_view class_name{};
  std::string_view now{};  // EXPLAIN's; empty: it does not say
  std::span<const limits::Attribute> attributes{};

  limits::Description asked() const { return {attributes, cost, class_name, costs_an_estimate, costs}; }
};

// Where the attributes are put: too much to be made for every request.
using AttributeRoom = std::array<limits::Attribute, limits::kMostAttributes>;

// Which options there are beside COST and CLASS: none, ATLEAST and FIELDS, ATLEAST and NOW.
enum class LimitsOption : std::uint8_t { none, decision, explanation };

// False: the words are wrong, and `error` is the text for an error reply.
bool read_limits_words(std::span<const std::string_view> words, LimitsOption option, AttributeRoom& room,
                       LimitsWords& into, std::string& error);

// What ATLEAST says beside that COST; false: as above.
bool read_at_least(std::string_view value, std::uint64_t cost, std::uint64_t& into, std::string& error);

}  // namespace weir::resp
