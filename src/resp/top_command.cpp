// WEIR.TOP: which keys are denied most, or charged most, of late.
#include <chrono>
#include <optional>
#include <string>

#include "core/number.hpp"
#include "resp/commands.hpp"
#include "resp/option_words.hpp"
#include "resp/throttle.hpp"
#include "steering/top.hpp"

namespace weir::inline v0_1::resp {
namespace {

using steering::TopKeys;

struct TopWords {
  std::optional<std::string_view> limit{};
  std::optional<TopKeys::By> by{};
  std::optional<std::size_t> count{};
};

// Empty: they are right.
std::string read_top_words(Arguments words, TopWords& into) {
  for (; !words.empty(); words = words.subspan(2)) {
    const bool limit = is_word(words[0], "LIMIT");
    const bool by = is_word(words[0], "BY");
    if (!limit && !by && !is_word(words[0], "COUNT")) return "ERR " + command_form("WEIR.TOP");
    const std::string name = limit ? "LIMIT" : by ? "BY" : "COUNT";
    if (words.size() == 1 || words[1].empty()) return "ERR missing the value of " + name;
    if (limit ? into.limit.has_value() : by ? into.by.has_value() : into.count.has_value())
      return "ERR " + name + " is given twice";
    const std::string_view value = words[1];
    if (limit) {
      into.limit = value;
    } else if (by) {
      into.by = steering::read_by(value);
      if (!into.by) return "ERR BY: " + shown_word(value) + " is none of: denied, cost";
    } else {
      const std::int64_t count = core::parse_integer(value).value_or(0);
      if (count < 1 || count > std::int64_t{TopKeys::kMostAsked})
        return not_in_range("COUNT", value, 1, TopKeys::kMostAsked);
      into.count = static_cast<std::size_t>(count);
    }
  }
  return "";
}

}  // namespace

void run_top(RunningCommand& call) {
  TopWords asked;
  if (const std::string wrong = read_top_words(call.words.subspan(1), asked); !wrong.empty())
    return call.fail(wrong);
  const auto answer = call.service.top({.by = asked.by.value_or(TopKeys::By::denied),
                                        .limit = asked.limit.value_or(""),
                                        .most = asked.count.value_or(10)});
  if (!answer) return call.fail("ERR " + answer.error());
  call.slow = true;
  Writer to = call.reply();
  to.array(1 + answer->rows.size());
  const auto text = [&to](std::string_view name, std::string_view value) {
    to.bulk(name);
    to.bulk(value);
  };
  const auto number = [&to](std::string_view name, std::uint64_t value) {
    to.bulk(name);
    to.integer(static_cast<std::int64_t>(value));
  };
  to.array(10);
  text("by", TopKeys::kNames[static_cast<std::size_t>(answer->by)]);
  number("seconds",
         static_cast<std::uint64_t>(std::chrono::round<std::chrono::seconds>(answer->time).count()));
  number("total", answer->total);
  number("keys", answer->keys);
  number("banned", answer->banned);
  for (const TopKeys::Row& row : answer->rows) {
    to.array(10);
    text("limit", row.limit);
    text("key", row.key);
    number("count", row.count);
    number("error", row.error);
    number("banned", row.banned ? 1 : 0);
  }
}

}  // namespace weir::resp
