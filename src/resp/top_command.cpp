// WEIR.TOP: which keys are denied most, or charged most, of late.
#include <chrono>
#include <string>

#include "resp/commands.hpp"
#include "steering/top.hpp"

namespace weir::inline v0_1::resp {

void run_top(RunningCommand& call) {
  using steering::TopKeys;
  static_assert(TopKeys::kMostAsked == store::OpenHold::kMost, "the most of COUNT");
  OptionWords said;
  if (!call.take_options(options(Option::limit, Option::by, Option::count), said)) return;
  const auto by = said.has(Option::by) ? steering::read_by(said.by) : TopKeys::By::denied;
  if (!by) return call.fail("ERR BY: " + shown_word(said.by) + " is none of: denied, cost");
  const auto answer = call.service.top({.by = *by, .limit = said.limit, .most = said.count_or(10)});
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
