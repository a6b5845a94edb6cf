#include "resp/reservation_words.hpp"

#include <array>
#include <limits>
#include <utility>

#include "core/number.hpp"
#include "resp/limits_words.hpp"
#include "resp/throttle.hpp"

namespace weir::inline v0_1::resp {
namespace {

enum Option : std::uint8_t { kCost, kMaxWait, kHold, kClass, kTag, kNone };
constexpr std::array<std::string_view, kNone> kNames{"COST", "MAXWAIT", "HOLD", "CLASS", "TAG"};

constexpr std::string_view kWrongTag = "ERR TAG must be of 1 to 64 bytes";
static_assert(kLongestTag == 64);

Option option_of(std::string_view word) {
  if (is_word(word, "MAXWAIT")) return kMaxWait;
  if (is_word(word, "COST")) return kCost;
  if (is_word(word, "HOLD")) return kHold;
  if (is_word(word, "TAG")) return kTag;
  return is_word(word, "CLASS") ? kClass : kNone;
}

}  // namespace

bool read_reservation_words(std::span<const std::string_view> words, std::chrono::milliseconds longest_wait,
                            ReservationWords& into, std::string& error) {
  const auto fail = [&error](std::string text) {
    error = std::move(text);
    return false;
  };
  const std::array<std::int64_t, kClass> least{0, 0, 1};
  const std::array<std::int64_t, kClass> most{std::numeric_limits<std::int64_t>::max(), longest_wait.count(),
                                              kLongestHold.count()};
  std::array<std::int64_t, kClass> values{-1, -1, -1};  // none may be negative
  while (!words.empty()) {
    const bool is_bound = is_word(words[0], "BOUND");
    if (is_bound || is_word(words[0], "FIELDS")) {
      if (std::exchange(is_bound ? into.bound : into.fields, true))
        return fail(std::string("ERR ") + (is_bound ? "BOUND" : "FIELDS") + " is given twice");
      words = words.subspan(1);
      continue;
    }
    const Option option = option_of(words[0]);
    if (option == kNone) {
      if (is_word(words[0], "ATLEAST")) return fail(std::string(kNoAtLeast));
      break;
    }
    if (words.size() == 1) return fail("ERR missing the value of " + std::string(kNames[option]));
    const bool is_known = option == kClass  ? !into.class_name.empty()
                          : option == kTag  ? !into.tag.empty()
                          : option == kCost ? values[kCost] >= 0 || !into.costs.empty()
                                            : values[option] >= 0;
    if (is_known) return fail("ERR " + std::string(kNames[option]) + " is given twice");
    const std::string_view value = words[1];
    words = words.subspan(2);
    if (option == kClass || option == kTag) {
      if (value.empty() || (option == kTag && value.size() > kLongestTag))
        return fail(option == kTag ? std::string(kWrongTag) : "ERR missing the value of CLASS");
      (option == kTag ? into.tag : into.class_name) = value;
      continue;
    }
    if (option == kCost && value.find('=') != std::string_view::npos) {
      std::string why;
      if (!limits::read_costs(value, into.costs, why)) return fail("ERR COST: " + why);
      continue;
    }
    values[option] = core::parse_integer(value).value_or(-1);
    if (values[option] < least[option] || values[option] > most[option])
      return fail(not_in_range(kNames[option], value, least[option], most[option]));
  }
  if (values[kCost] >= 0) into.cost = static_cast<std::uint64_t>(values[kCost]);
  if (values[kMaxWait] >= 0) into.max_wait = std::chrono::milliseconds{values[kMaxWait]};
  if (values[kHold] >= 0) into.hold = std::chrono::milliseconds{values[kHold]};
  into.by_file = !words.empty() && is_word(words[0], "AS");
  if (!words.empty() && (into.by_file || is_word(words[0], "KEYS"))) words = words.subspan(1);
  into.rest = words;
  if (!into.by_file && !into.costs.empty()) return fail(std::string(kCostsAreTheFiles));
  if (!into.by_file && !into.class_name.empty())
    return fail("ERR CLASS is for limits of the limits file, after AS; a rule has no classes");
  return true;
}

}  // namespace weir::resp
