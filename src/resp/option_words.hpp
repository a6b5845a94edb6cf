// The options of commands: words, most with a value, which stand before the first key or attribute.
// One reader for all of them; what a command takes is the set that it says.
//
// Pure, one thread. It views the words.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limits/costs.hpp"

namespace weir::inline v0_1::resp {

enum class Option : std::uint8_t {
  cost,
  at_least,
  class_name,
  fields,
  now,
  max_wait,
  hold,
  bound,
  tag,
  limit,
  window,
  remaining,
  pause,
  count,
  by,
  after,
};

// Several of them.
using OptionSet = std::uint16_t;
static_assert(static_cast<unsigned>(Option::after) < 16);
template <class... Each>
constexpr OptionSet options(Each... each) {
  return static_cast<OptionSet>((0U | ... | (1U << static_cast<unsigned>(each))));
}

struct OptionWords {
  OptionSet said = 0;
  std::uint64_t cost = 1;                  // or by name:
  std::vector<limits::NamedCost> costs{};  // of limits of the file
  std::uint64_t at_least = 0;              // as much as there is, down to that
  std::string_view class_name{};
  std::string_view now{};
  std::chrono::milliseconds max_wait{0};
  std::chrono::milliseconds hold{0};
  std::string_view tag{};  // by what it waits while others of its connection go on
  std::string_view limit{};
  std::chrono::nanoseconds window{0};
  std::uint64_t remaining = 0;
  std::chrono::milliseconds pause{0};
  bool afresh = false;  // the word after PAUSE and its value
  std::size_t count = 0;
  std::string_view by{};
  std::uint64_t after = 0;

  // As new: whatever is set is noted in `said`, so mostly there is nothing to do.
  void forget() {
    if (said != 0) *this = {};
  }
  bool has(Option option) const { return (said & options(option)) != 0; }
  std::size_t count_or(std::size_t otherwise) const { return has(Option::count) ? count : otherwise; }
  // Of a cost that is one number.
  bool has_units() const { return has(Option::cost) && costs.empty(); }
};

// Takes the options from the front of `words`, up to the first word that is not one of `takes`. False: one is
// wrong, and `error` is the text for an error reply. FIELDS and ATLEAST are errors where they are not taken:
// a key of that name stands after KEYS.
bool read_options(std::span<const std::string_view>& words, OptionSet takes, OptionWords& into,
                  std::string& error, std::chrono::milliseconds longest_wait = std::chrono::milliseconds{0});

// The error for a word that should be an attribute.
std::string no_attribute(std::string_view word);

// Whether keys with their rules follow, and not attributes: KEYS, which may be left out, or AS. Takes the
// word.
enum class Follows : std::uint8_t { keys, attributes };
Follows take_what_follows(std::span<const std::string_view>& words);

// What only limits of the limits file have, said to rules; empty: nothing is.
std::string refuse_for_rules(const OptionWords& said);

constexpr std::string_view kCostsAreTheFiles =
    "ERR COST by name is for limits of the limits file; of rules, each key costs the same";
constexpr std::string_view kNeedsCost = "ERR ATLEAST needs a COST, which is the most";

// What ATLEAST says beside that COST; false: as above.
bool read_at_least(std::string_view value, std::uint64_t cost, std::uint64_t& into, std::string& error);

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

}  // namespace weir::resp
