// WEIR.HOLDS: whose the slots of a limit are, and what of its units may still be settled.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "resp/commands.hpp"
#include "resp/limits_words.hpp"

namespace weir::inline v0_1::resp {
bool ask_holds(Pipeline& pipeline, Arguments words, bool silent) {
  if (!pipeline.has_file()) return false;
  LimitsWords& asked = pipeline.words();
  std::string error;
  words = words.subspan(1);
  if (!read_options(words, options(Option::count, Option::limit), asked.said, error))
    return pipeline.fail(std::move(error));
  if (!asked.said.has(Option::limit) || words.empty() || take_what_follows(words) == Follows::keys)
    return pipeline.fail("ERR " + command_form("WEIR.HOLDS"));
  if (!read_limits_words(words, 0, pipeline.asker().attributes(), asked, error))
    return pipeline.fail(std::move(error));
  service::Ask ask{.verb = store::Verb::holds, .limit = asked.said.limit};
  if (asked.said.has(Option::count)) ask.most = asked.said.count;
  const limits::Description as = asked.asked();
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
