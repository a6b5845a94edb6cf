#include "resp/option_words.hpp"

#include <algorithm>
#include <limits>

#include "core/duration.hpp"
#include "core/number.hpp"
#include "resp/throttle.hpp"
#include "service/verbs.hpp"

namespace weir::inline v0_1::resp {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMostUnits = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongestPause = std::chrono::floor<milliseconds>(Pause::kLongest).count();
constexpr std::int64_t kLongestHold = std::chrono::floor<milliseconds>(service::kLongestHold).count();
constexpr std::size_t kLongestTag = 64;

constexpr std::string_view kNoAtLeast =
    "ERR ATLEAST is for WEIR.CHECK, WEIR.LOOK, WEIR.EXPLAIN and WEIR.THROTTLE, after COST; all else has its "
    "whole cost or none of it";
constexpr std::string_view kNoFields =
    "ERR FIELDS is for WEIR.CHECK, WEIR.LOOK, WEIR.THROTTLE, WEIR.RESERVE and WEIR.ACQUIRE; it comes before "
    "KEYS and AS";

// What stands after an option's word.
enum class Operand : std::uint8_t { none, text, number, period, cost };

struct OptionRow {
  constexpr OptionRow(Option its_option, std::string_view its_name, Operand its_operand,
                      std::int64_t its_least = 0, std::int64_t its_most = kMostUnits)
      : option(its_option), name(its_name), operand(its_operand), least(its_least), most(its_most) {
    for (std::size_t i = 0; i < std::min(name.size(), sizeof letters); ++i)
      letters |= std::uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
  }

  Option option;
  std::string_view name;
  Operand operand;
  std::int64_t least;  // of its number; of MAXWAIT the most is the server's
  std::int64_t most;
  std::uint64_t letters = 0;  // the first eight
};

constexpr std::array kOptions = {
    OptionRow{Option::cost, "COST", Operand::cost},
    OptionRow{Option::at_least, "ATLEAST", Operand::text},
    OptionRow{Option::class_name, "CLASS", Operand::text},
    OptionRow{Option::fields, "FIELDS", Operand::none},
    OptionRow{Option::now, "NOW", Operand::text},
    OptionRow{Option::max_wait, "MAXWAIT", Operand::number},
    OptionRow{Option::hold, "HOLD", Operand::number, 1, kLongestHold},
    OptionRow{Option::bound, "BOUND", Operand::none},
    OptionRow{Option::tag, "TAG", Operand::text},
    OptionRow{Option::limit, "LIMIT", Operand::text},
    OptionRow{Option::window, "WINDOW", Operand::period},
    OptionRow{Option::remaining, "REMAINING", Operand::number},
    OptionRow{Option::pause, "PAUSE", Operand::number, 0, kLongestPause},
    OptionRow{Option::count, "COUNT", Operand::number, 1, store::OpenHold::kMost},
    OptionRow{Option::by, "BY", Operand::text},
    OptionRow{Option::after, "AFTER", Operand::number},
};

// In any letter case; null: no option is called so.
const OptionRow* find_option(std::string_view word) {
  std::uint64_t letters = 0;
  std::memcpy(&letters, word.data(), std::min(word.size(), sizeof letters));
  letters &= ~std::uint64_t{0x2020'2020'2020'2020};
  for (const OptionRow& each : kOptions) {
    if (each.letters != letters || each.name.size() != word.size()) continue;
    return word.size() <= sizeof letters || (word.back() & ~0x20) == each.name.back() ? &each : nullptr;
  }
  return nullptr;
}
static_assert(std::all_of(kOptions.begin(), kOptions.end(),
                          [](const OptionRow& each) { return each.name.size() <= sizeof each.letters + 1; }));

// Empty: it may be a key.
std::string_view misplaced(const OptionRow& row) {
  return row.option == Option::fields     ? kNoFields
         : row.option == Option::at_least ? kNoAtLeast
                                          : std::string_view();
}

class OptionReader {
 public:
  OptionReader(milliseconds longest_wait, OptionWords& into, std::string& error)
      : longest_wait_(longest_wait.count()), into_(into), error_(error) {}

  // One option and its value; `words` begin with it.
  bool read(const OptionRow& row, std::span<const std::string_view>& words) {
    if (row.operand != Operand::none && words.size() == 1)
      return fail("missing the value of " + std::string(row.name));
    if (into_.has(row.option)) return fail(std::string(row.name) + " is given twice");
    into_.said |= options(row.option);
    const std::string_view value = row.operand == Operand::none ? std::string_view() : words[1];
    words = words.subspan(row.operand == Operand::none ? 1 : 2);
    switch (row.operand) {
      case Operand::none:
        return true;
      case Operand::text:
        return take_text(row, value);
      case Operand::number:
        return take_number(row, value);
      case Operand::period:
        return take_period(value);
      case Operand::cost:
        return take_cost(row, value);
    }
    return true;
  }
  // What can be judged when all have been read.
  bool end() {
    if (!into_.has(Option::at_least)) return true;
    if (!into_.has(Option::cost)) return fail_with(kNeedsCost);
    if (!into_.costs.empty()) return fail("ATLEAST is not for a COST by name");
    return read_at_least(at_least_, into_.cost, into_.at_least, error_);
  }
  bool fail_with(std::string_view reply) {
    error_ = reply;
    return false;
  }

 private:
  bool fail(const std::string& text) { return fail_with("ERR " + text); }

  bool take_text(const OptionRow& row, std::string_view value) {
    if (row.option == Option::tag && (value.empty() || value.size() > kLongestTag))
      return fail("TAG must be of 1 to " + std::to_string(kLongestTag) + " bytes");
    if (value.empty()) return fail("missing the value of " + std::string(row.name));
    (row.option == Option::class_name ? into_.class_name
     : row.option == Option::now      ? into_.now
     : row.option == Option::tag      ? into_.tag
     : row.option == Option::limit    ? into_.limit
     : row.option == Option::by       ? into_.by
                                      : at_least_) = value;
    return true;
  }
  bool take_number(const OptionRow& row, std::string_view value) {
    const std::int64_t most = row.option == Option::max_wait ? longest_wait_ : row.most;
    const std::int64_t number = core::parse_integer(value).value_or(-1);
    if (number < row.least || number > most) return fail_with(not_in_range(row.name, value, row.least, most));
    switch (row.option) {
      case Option::max_wait:
        into_.max_wait = milliseconds{number};
        break;
      case Option::hold:
        into_.hold = milliseconds{number};
        break;
      case Option::pause:
        into_.pause = milliseconds{number};
        break;
      case Option::count:
        into_.count = static_cast<std::size_t>(number);
        break;
      default:
        (row.option == Option::cost    ? into_.cost
         : row.option == Option::after ? into_.after
                                       : into_.remaining) = static_cast<std::uint64_t>(number);
    }
    return true;
  }
  bool take_period(std::string_view value) {
    if (value.empty()) return fail("missing the value of WINDOW");
    const auto period = core::parse_period(value);
    if (!period) return fail("WINDOW: " + shown_word(value) + " is not a period, as in 1min");
    into_.window = *period;
    return true;
  }
  bool take_cost(const OptionRow& row, std::string_view value) {
    if (value.find('=') == std::string_view::npos) return take_number(row, value);
    std::string why;
    return limits::read_costs(value, into_.costs, why) || fail("COST: " + why);
  }

  const std::int64_t longest_wait_;
  OptionWords& into_;
  std::string& error_;
  std::string_view at_least_{};
};

}  // namespace

bool read_options(std::span<const std::string_view>& words, OptionSet takes, OptionWords& into,
                  std::string& error, milliseconds longest_wait) {
  OptionReader reader(longest_wait, into, error);
  while (!words.empty()) {
    const OptionRow* const row = find_option(words[0]);
    if (row == nullptr) break;
    if ((options(row->option) & takes) == 0) {
      if (const std::string_view why = misplaced(*row); !why.empty()) return reader.fail_with(why);
      break;
    }
    if (!reader.read(*row, words)) return false;
    if (row->option != Option::pause || words.empty() || !is_word(words[0], "AFRESH")) continue;
    into.afresh = true;
    words = words.subspan(1);
  }
  return reader.end();
}

std::string no_attribute(std::string_view word) {
  const OptionRow* const row = find_option(word);
  const std::string_view why = row != nullptr ? misplaced(*row) : std::string_view();
  return why.empty() ? "ERR missing '=' after " + shown_word(word) : std::string(why);
}

Follows take_what_follows(std::span<const std::string_view>& words) {
  const bool as = !words.empty() && is_word(words[0], "AS");
  if (as || (!words.empty() && is_word(words[0], "KEYS"))) words = words.subspan(1);
  return as ? Follows::attributes : Follows::keys;
}

std::string refuse_for_rules(const OptionWords& said) {
  if (!said.costs.empty()) return std::string(kCostsAreTheFiles);
  if (said.has(Option::class_name))
    return "ERR CLASS is for limits of the limits file, after AS; a rule has no classes";
  if (said.has(Option::limit) || said.has(Option::window))
    return "ERR LIMIT and WINDOW are for limits of the limits file, after AS";
  return {};
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

std::string shown_word(std::string_view word) {
  constexpr std::size_t kMostShown = 32;
  return "'" + std::string(word.substr(0, kMostShown)) + (word.size() > kMostShown ? "...'" : "'");
}

}  // namespace weir::resp
