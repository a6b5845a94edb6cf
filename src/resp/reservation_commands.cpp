// Commands about moments that are told: those who ask act later.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/number.hpp"
#include "limits/costs.hpp"
#include "resp/commands.hpp"
#include "resp/limits_words.hpp"
#include "service/verbs.hpp"

namespace weir::inline v0_1::resp {
namespace {

// Why it cannot wait by that tag; empty: it can.
std::string refuse_tag(const Pipeline& pipeline, store::Verb verb, std::string_view tag) {
  const service::Asking& asking = pipeline.asking();
  if (tag.empty()) return {};
  if (verb != store::Verb::acquire) return "ERR TAG is WEIR.ACQUIRE's: a reservation waits for nothing";
  if (!pipeline.pushes()) return "ERR TAG needs RESP3, by which its answer is pushed: HELLO 3 before it";
  if (!asking.lets_wait()) return "ERR TAG: nothing waits in a transaction; leave it out after MULTI";
  if (asking.has_tag(tag))
    return "ERR TAG: one that waits on this connection has that word; give each another";
  const std::size_t most = asking.most_tags();
  if (asking.tags() >= most)
    return "ERR TAG: " + std::to_string(most) +
           " wait on this connection, as many as --max-waiters lets wait; come again when some are answered";
  return {};
}

bool ask_for_moment(Pipeline& pipeline, Arguments words, store::Verb verb, bool silent) {
  constexpr OptionSet kTaken = options(Option::cost, Option::max_wait, Option::class_name, Option::hold,
                                       Option::bound, Option::fields, Option::tag);
  const std::string_view command = verb == store::Verb::acquire ? "WEIR.ACQUIRE" : "WEIR.RESERVE";
  LimitsWords& asked = pipeline.words();
  const OptionWords& said = asked.said;
  std::string error;
  words = words.subspan(1);
  if (!read_options(words, kTaken, asked.said, error, pipeline.asker().service().options().max_wait))
    return pipeline.fail(std::move(error));
  const bool by_file = take_what_follows(words) == Follows::attributes;
  if (!by_file) error = refuse_for_rules(said);
  if (!error.empty()) return pipeline.fail(std::move(error));
  if (verb == store::Verb::acquire && !said.has(Option::max_wait))
    return pipeline.fail("ERR missing MAXWAIT: how many milliseconds it may wait; " + command_form(command));
  if (std::string why = refuse_tag(pipeline, verb, said.tag); !why.empty())
    return pipeline.fail(std::move(why));
  if (said.has(Option::bound) && pipeline.asking().has_all_holds())
    return pipeline.fail("ERR BOUND: this connection has " + std::to_string(service::BoundHolds::kMost) +
                         " holds that end with it, and may have no more; settle some, or open another");
  service::Ask ask{.verb = verb, .bound = said.has(Option::bound), .tag = said.tag};
  if (said.has(Option::max_wait)) ask.max_wait = said.max_wait;
  if (said.has(Option::hold)) ask.hold = said.hold;
  const ReplyForm reply = with_fields(ReplyForm::reservation, said.has(Option::fields));
  if (!by_file) return ask_rules(pipeline, words, ask, Cost{said.cost}, reply, silent, command);
  if (!pipeline.has_file()) return false;
  if (!read_limits_words(words, 0, pipeline.asker().attributes(), asked, error))
    return pipeline.fail(std::move(error));
  const limits::Description as = asked.asked();
  ask.as = &as;
  return pipeline.add(ask, reply, silent);
}

}  // namespace

bool ask_reserve(Pipeline& pipeline, Arguments words, bool silent) {
  return ask_for_moment(pipeline, words, store::Verb::reserve, silent);
}

bool ask_acquire(Pipeline& pipeline, Arguments words, bool silent) {
  return ask_for_moment(pipeline, words, store::Verb::acquire, silent);
}

void run_leave(RunningCommand& call) {
  call.reply().integer(call.pipeline.leave_line(call.words[1], call.reply()) ? 1 : 0);
}

bool ask_cancel(Pipeline& pipeline, Arguments words, bool silent) {
  return pipeline.add({.verb = store::Verb::cancel, .id = words[1]}, ReplyForm::cancelled, silent);
}

bool ask_moment(Pipeline& pipeline, Arguments words, bool silent) {
  return pipeline.add({.verb = store::Verb::moment, .id = words[1]}, ReplyForm::settled, silent);
}

bool ask_extend(Pipeline& pipeline, Arguments words, bool silent) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t ms = core::parse_integer(words[2]).value_or(-1);
  if (ms < 0) return pipeline.fail(not_in_range("ms", words[2], 0, kMost));
  const auto longest = std::chrono::floor<std::chrono::milliseconds>(service::kLongestHold);
  const std::chrono::milliseconds hold{std::min<std::int64_t>(ms, longest.count())};
  return pipeline.add({.verb = store::Verb::extend, .id = words[1], .hold = hold}, ReplyForm::settled,
                      silent);
}

bool ask_settle(Pipeline& pipeline, Arguments words, bool silent) {
  if (words.size() > 3) return pipeline.fail(wrong_arity(words[0]));
  service::Ask ask{.verb = store::Verb::settle, .id = words[1]};
  std::vector<limits::NamedCost> costs;
  if (words.size() == 3 && words[2].find('=') != std::string_view::npos) {
    if (!pipeline.has_file()) return false;
    std::string error;
    if (!limits::read_costs(words[2], costs, error)) return pipeline.fail("ERR actual: " + error);
    ask.actuals = costs;
  } else if (words.size() == 3) {
    const std::int64_t units = core::parse_integer(words[2]).value_or(-1);
    if (units < 0)
      return pipeline.fail(not_in_range("actual", words[2], 0, std::numeric_limits<std::int64_t>::max()));
    ask.actual = static_cast<std::uint64_t>(units);
  }
  return pipeline.add(ask, ReplyForm::settled, silent);
}

}  // namespace weir::resp
