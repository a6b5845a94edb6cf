// WEIR.CHARGE: what happened outside, which nobody was asked for. WEIR.REFUND: what did not happen after all.
#include <string>
#include <utility>

#include "resp/commands.hpp"
#include "resp/limits_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

// What is said of a charge, whose options go to `said`; false: it is wrong, and `error` says how.
bool read_charge(const OptionWords& said, service::Ask& into, std::string& error) {
  const bool remains = said.has(Option::remaining);
  const bool pauses = said.has(Option::pause);
  if (remains && pauses) {
    error = "ERR PAUSE and REMAINING: it is one or the other";
    return false;
  }
  if ((remains || pauses) && said.has(Option::cost)) {
    error = std::string("ERR COST and ") + (remains ? "REMAINING" : "PAUSE") + ": it is one or the other";
    return false;
  }
  if (remains) into.form = Outside::Form::remaining;
  if (pauses) into.form = Outside::Form::pause;
  into.remaining = said.remaining;
  into.pause = {.length = said.pause, .afresh = said.afresh};
  into.limit = said.limit;
  if (said.has(Option::window)) into.window = said.window;
  return true;
}

bool ask(Pipeline& pipeline, Arguments words, Outside::Form form, bool silent) {
  const bool refunds = form == Outside::Form::refund;
  const OptionSet takes =
      refunds ? options(Option::cost)
              : options(Option::cost, Option::remaining, Option::pause, Option::limit, Option::window);
  const ReplyForm reply = refunds ? ReplyForm::refunded : ReplyForm::charged;
  LimitsWords& asked = pipeline.words();
  service::Ask ask{.verb = store::Verb::charge, .form = form};
  std::string error;
  words = words.subspan(1);
  if (!read_options(words, takes, asked.said, error) || !read_charge(asked.said, ask, error))
    return pipeline.fail(std::move(error));
  if (take_what_follows(words) == Follows::keys) {
    if (error = refuse_for_rules(asked.said); !error.empty()) return pipeline.fail(std::move(error));
    return ask_rules(pipeline, words, ask, Cost{asked.said.cost}, reply, silent,
                     refunds ? "WEIR.REFUND" : "WEIR.CHARGE");
  }
  if (!pipeline.has_file()) return false;
  if (!read_limits_words(words, 0, pipeline.asker().attributes(), asked, error))
    return pipeline.fail(std::move(error));
  limits::Description as = asked.asked();
  as.costs_an_estimate = false;
  ask.as = &as;
  return pipeline.add(ask, reply, silent);
}

}  // namespace

bool ask_charge(Pipeline& pipeline, Arguments words, bool silent) {
  return ask(pipeline, words, Outside::Form::cost, silent);
}

bool ask_refund(Pipeline& pipeline, Arguments words, bool silent) {
  return ask(pipeline, words, Outside::Form::refund, silent);
}

}  // namespace weir::resp
