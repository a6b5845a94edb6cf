#include "resp/reservation_words.hpp"

#include <limits>

#include "core/number.hpp"
#include "resp/throttle.hpp"

namespace weir::resp {
namespace {

bool is(std::string_view word, std::string_view name) {
  if (word.size() != name.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if ((word[i] & ~0x20) != name[i]) return false;
  }
  return true;
}

// An option that has a number.
struct Number {
  std::string_view name;
  std::int64_t least;
  std::int64_t most;
  std::optional<std::int64_t> value{};
};

}  // namespace

bool read_reservation_words(std::span<const std::string_view> words, std::chrono::milliseconds longest_wait,
                            ReservationWords& into, std::string& error) {
  const auto fail = [&error](std::string text) {
    error = std::move(text);
    return false;
  };
  Number cost{"COST", 0, std::numeric_limits<std::int64_t>::max()};
  Number wait{"MAXWAIT", 0, longest_wait.count()};
  Number hold{"HOLD", 1, kLongestHold.count()};
  for (; !words.empty(); words = words.subspan(2)) {
    Number* number = nullptr;
    for (Number* each : {&cost, &wait, &hold}) number = is(words[0], each->name) ? each : number;
    const bool is_class = is(words[0], "CLASS");
    if (number == nullptr && !is_class) break;
    const std::string name(number != nullptr ? number->name : "CLASS");
    if (words.size() == 1) return fail("ERR missing the value of " + name);
    if (number != nullptr ? number->value.has_value() : !into.class_name.empty())
      return fail("ERR " + name + " is given twice");
    const std::string_view value = words[1];
    if (number == nullptr) {
      if (value.empty()) return fail("ERR missing the value of CLASS");
      into.class_name = value;
      continue;
    }
    number->value = core::parse_integer(value);
    if (!number->value || *number->value < number->least || *number->value > number->most)
      return fail(not_in_range(name, value, number->least, number->most));
  }
  if (cost.value) into.cost = static_cast<std::uint64_t>(*cost.value);
  if (wait.value) into.max_wait = std::chrono::milliseconds{*wait.value};
  if (hold.value) into.hold = std::chrono::milliseconds{*hold.value};
  into.by_file = !words.empty() && is(words[0], "AS");
  if (!words.empty() && (into.by_file || is(words[0], "KEYS"))) words = words.subspan(1);
  into.rest = words;
  if (!into.by_file && !into.class_name.empty())
    return fail("ERR CLASS is for limits of the limits file, after AS; a rule has no classes");
  return true;
}

}  // namespace weir::resp
