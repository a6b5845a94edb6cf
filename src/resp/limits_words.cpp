#include "resp/limits_words.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "core/number.hpp"
#include "resp/throttle.hpp"

namespace weir::inline v0_1::resp {
namespace {

// The '=', or null.
const char* sign_of(std::string_view word) {
  return word.empty() ? nullptr : static_cast<const char*>(std::memchr(word.data(), '=', word.size()));
}

}  // namespace

std::string shown_word(std::string_view word) {
  constexpr std::size_t kMostShown = 32;
  return "'" + std::string(word.substr(0, kMostShown)) + (word.size() > kMostShown ? "...'" : "'");
}

bool read_at_least(std::string_view value, std::uint64_t cost, std::uint64_t& into, std::string& error) {
  const std::int64_t units = core::parse_integer(value).value_or(0);
  if (units > 0 && static_cast<std::uint64_t>(units) <= cost) {
    into = static_cast<std::uint64_t>(units);
    return true;
  }
  error = cost == 0 ? "ERR ATLEAST: a COST of 0 takes nothing"
                    : not_in_range("ATLEAST", value, 1, static_cast<std::int64_t>(cost));
  return false;
}

namespace {

// The options, before the attributes, which remain. Out of line: most requests have none.
[[gnu::noinline]] bool read_options(std::span<const std::string_view>& words, LimitsOption option,
                                    LimitsWords& into, std::string& error) {
  const auto fail = [&error](std::string text) {
    error = std::move(text);
    return false;
  };
  bool cost = false;
  std::string_view at_least{};
  while (!words.empty() && sign_of(words[0]) == nullptr) {
    const std::string_view name = words[0];
    const bool is_cost = is_word(name, "COST");
    const bool is_class = is_word(name, "CLASS");
    const bool is_now = option == LimitsOption::explanation && is_word(name, "NOW");
    const bool is_at_least = !is_cost && is_word(name, "ATLEAST");
    if (is_word(name, "FIELDS")) {
      if (option != LimitsOption::decision) return fail(std::string(kNoFields));
      if (std::exchange(into.fields, true)) return fail("ERR FIELDS is given twice");
      words = words.subspan(1);
      continue;
    }
    if (is_at_least && option == LimitsOption::none) return fail(std::string(kNoAtLeast));
    if (!is_cost && !is_class && !is_now && !is_at_least)
      return fail("ERR missing '=' after " + shown_word(name));
    if (words.size() == 1) return fail("ERR missing the value of " + std::string(name));
    const std::string_view value = words[1];
    if ((is_cost && cost) || (is_class && !into.class_name.empty()) || (is_now && !into.now.empty()) ||
        (is_at_least && !at_least.empty()))
      return fail("ERR " + std::string(name) + " is given twice");
    if (is_cost && sign_of(value) != nullptr) {
      std::string why;
      if (!limits::read_costs(value, into.costs, why)) return fail("ERR COST: " + why);
      cost = true;
    } else if (is_cost) {
      const std::int64_t units = core::parse_integer(value).value_or(-1);
      if (units < 0) return fail(not_in_range("COST", value, 0, std::numeric_limits<std::int64_t>::max()));
      into.cost = static_cast<std::uint64_t>(units);
      into.costs_an_estimate = false;
      cost = true;
    } else {
      if (value.empty()) return fail("ERR missing the value of " + std::string(name));
      (is_class ? into.class_name : is_now ? into.now : at_least) = value;
    }
    words = words.subspan(2);
  }
  if (at_least.empty()) return true;
  if (!cost) return fail(std::string(kNeedsCost));
  if (!into.costs.empty()) return fail("ERR ATLEAST is not for a COST by name");
  return read_at_least(at_least, into.cost, into.at_least, error);
}

}  // namespace

bool read_limits_words(std::span<const std::string_view> words, LimitsOption option, AttributeRoom& room,
                       LimitsWords& into, std::string& error) {
  const auto fail = [&error](std::string text) {
    error = std::move(text);
    return false;
  };
  const char* sign = words.empty() ? nullptr : sign_of(words[0]);
  if (sign == nullptr && !words.empty()) {
    if (!read_options(words, option, into, error)) return false;
    sign = words.empty() ? nullptr : sign_of(words[0]);
  }
  if (words.size() > limits::kMostAttributes) {
    return fail("ERR " + std::to_string(words.size()) + " attributes; a request may have at most " +
                std::to_string(limits::kMostAttributes));
  }
  std::size_t count = 0;
  for (const std::string_view word : words) {
    if (count > 0) sign = sign_of(word);
    if (sign == nullptr) return fail("ERR missing '=' after " + shown_word(word));
    const auto at = static_cast<std::size_t>(sign - word.data());
    if (at == 0) return fail("ERR missing a name before " + shown_word(word));
    room[count++] = {word.substr(0, at), word.substr(at + 1)};
  }
  into.attributes = std::span(room).first(count);
  return true;
}

}  // namespace weir::resp
