// WEIR.HOLDS: whose the slots of a limit are, and what of its units may still be settled.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/number.hpp"
#include "resp/commands.hpp"
#include "resp/limits_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

// The options up to AS; false: they are wrong, and `error` says how.
bool read_options(Arguments& words, service::Ask& into, std::string& error) {
  const auto fail = [&error](std::string text) {
    error = "ERR " + std::move(text);
    return false;
  };
  bool says_count = false;
  while (!words.empty() && !is_word(words[0], "AS")) {
    const bool is_count = is_word(words[0], "COUNT");
    if (!is_count && !is_word(words[0], "LIMIT")) return fail(command_form("WEIR.HOLDS"));
    const std::string name = is_count ? "COUNT" : "LIMIT";
    if (words.size() == 1 || words[1].empty()) return fail("missing the value of " + name);
    if (is_count ? says_count : !into.limit.empty()) return fail(name + " is given twice");
    if (is_count) {
      constexpr std::int64_t kMost = store::OpenHold::kMost;
      const std::int64_t count = core::parse_integer(words[1]).value_or(0);
      if (count < 1 || count > kMost) {
        error = not_in_range("COUNT", words[1], 1, kMost);
        return false;
      }
      into.most = static_cast<std::size_t>(count);
      says_count = true;
    } else {
      into.limit = words[1];
    }
    words = words.subspan(2);
  }
  if (into.limit.empty() || words.empty()) return fail(command_form("WEIR.HOLDS"));
  words = words.subspan(1);
  return true;
}

}  // namespace

bool ask_holds(Pipeline& pipeline, Arguments words, bool silent) {
  if (!pipeline.has_file()) return false;
  Arguments rest = words.subspan(1);
  service::Ask ask{.verb = store::Verb::holds};
  LimitsWords read;
  std::string error;
  if (!read_options(rest, ask, error) ||
      !read_limits_words(rest, LimitsOption::none, pipeline.asker().attributes(), read, error))
    return pipeline.fail(std::move(error));
  const limits::Description as = read.asked();
  ask.as = &as;
  return pipeline.add(ask, ReplyForm::holds, silent);
}

void Pipeline::write_holds(Writer& to, const service::Question& question) {
  const auto number = [&to](std::string_view name, std::int64_t value) {
    to.bulk(name);
    to.integer(value);
  };
  const auto text = [&to](std::string_view name, std::string_view value) {
    to.bulk(name);
    to.bulk(value);
  };
  // A question is used again, and keeps no long list.
  const std::vector<store::OpenHold> open = std::move(question.reservation->open);
  to.array(open.size());
  for (const store::OpenHold& each : open) {
    to.array(10);
    text("id", each.id);
    number("cost", static_cast<std::int64_t>(each.cost));
    number("moment_ms", ceil_to_ms(each.wait));
    number("ends_ms", ceil_to_ms(each.ends));
    text("client", each.address);
  }
}

}  // namespace weir::resp
