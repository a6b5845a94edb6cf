// Commands about the limits of the limits file.
#include <chrono>
#include <utility>

#include "limits/explain.hpp"
#include "limits/match.hpp"
#include "limits/scalars.hpp"
#include "resp/commands.hpp"
#include "resp/limits_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

constexpr OptionSet kOfDecision = options(Option::cost, Option::at_least, Option::class_name);

// As much as there is, where that is said: each limit is then asked about a cost of 1.
void take_if_said(LimitsWords& read, bool looks, service::Ask& ask, service::Ask::Units& units) {
  if (read.said.at_least == 0) return;
  units = {std::exchange(read.said.cost, 1), read.said.at_least, looks};
  ask.verb = store::Verb::take;
  ask.units = &units;
}

// Out of line: few say it.
[[gnu::noinline]] bool ask_at_least(Pipeline& pipeline, LimitsWords& read, bool looks, bool silent) {
  service::Ask ask;
  service::Ask::Units units;
  take_if_said(read, looks, ask, units);
  const limits::Description as = read.asked();
  ask.as = &as;
  return pipeline.add(ask, with_fields(ReplyForm::seven_units, read.said.has(Option::fields)), silent);
}

bool ask(Pipeline& pipeline, Arguments words, store::Verb verb, bool silent) {
  if (!pipeline.has_file()) return false;
  if (words.size() == 1) return pipeline.fail(wrong_arity(words[0]));
  LimitsWords& read = pipeline.words();
  std::string error;
  if (!read_limits_words(words.subspan(1), kOfDecision | options(Option::fields),
                         pipeline.asker().attributes(), read, error))
    return pipeline.fail(std::move(error));
  if (read.said.at_least != 0) [[unlikely]]
    return ask_at_least(pipeline, read, verb == store::Verb::look, silent);
  const limits::Description as = read.asked();
  return pipeline.add({.verb = verb, .as = &as}, with_fields(ReplyForm::six, read.said.has(Option::fields)),
                      silent);
}

}  // namespace

bool ask_check(Pipeline& pipeline, Arguments words, bool silent) {
  return ask(pipeline, words, store::Verb::check, silent);
}

bool ask_look(Pipeline& pipeline, Arguments words, bool silent) {
  return ask(pipeline, words, store::Verb::look, silent);
}

// The answer is written by the pipeline, when it has come.
void run_explain(RunningCommand& call) {
  Pipeline& pipeline = call.pipeline;
  const auto fail = [&call] { call.pipeline.answer(call.reply()); };
  if (!pipeline.has_file()) return fail();
  LimitsWords& read = pipeline.words();
  std::string error;
  if (!read_limits_words(call.words.subspan(1), kOfDecision | options(Option::now),
                         pipeline.asker().attributes(), read, error))
    return call.fail(error);
  service::Ask ask{.verb = store::Verb::look, .explains = true};
  service::Ask::Units units;
  take_if_said(read, true, ask, units);
  const limits::Description as = read.asked();
  ask.as = &as;
  limits::Time at{};
  if (read.said.has(Option::now)) {
    const auto time = limits::read_time(read.said.now);
    if (!time) return call.fail("ERR NOW: " + time.error());
    at = *time;
    ask.at = &at;
  }
  if (!pipeline.add(ask, ReplyForm::explanation, call.silent())) fail();
}

void run_reset(RunningCommand& call) {
  const Arguments words = call.words;
  if (words.size() == 2) return run_del(call);
  if (lower(words[1]) != "as") return call.fail_arity("weir.reset");
  Pipeline& pipeline = call.pipeline;
  const auto fail = [&call] { call.pipeline.answer(call.reply()); };
  if (!pipeline.has_file()) return fail();
  LimitsWords& read = pipeline.words();
  std::string error;
  if (!read_limits_words(words.subspan(2), options(Option::limit), pipeline.asker().attributes(), read,
                         error))
    return call.fail(error);
  const limits::Description as = read.asked();
  const service::Ask ask{.verb = store::Verb::reset, .as = &as, .limit = read.said.limit};
  if (!pipeline.add(ask, ReplyForm::forgotten, call.silent())) fail();
}

namespace {

void set_limits(RunningCommand& call) {
  if (call.words.size() != 3) return call.fail_arity("weir.config|set");
  if (!call.service.testing.set_limits)
    return call.fail("ERR limits can be set only under weir local --virtual-time; elsewhere: RELOAD");
  if (!call.may_begin_tests()) return;
  const std::vector<std::string> errors = call.service.testing.set_limits(std::string(call.words[2]));
  errors.empty() ? call.reply().simple("OK") : call.reply().error("ERR " + errors.front());
}

}  // namespace

void run_limits_config(RunningCommand& call) {
  service::LimitsInForce* file = call.service.limits.get();
  const std::string what = lower(call.words[1]);
  if (what == "set") return set_limits(call);
  if (what != "get" && what != "check" && what != "reload") return call.fail_subcommand(what);
  if (call.words.size() != 2) return call.fail_arity("weir.config|" + what);
  if (!call.pipeline.has_limits() || !call.deferred.possible())
    return call.fail("ERR " + std::string(service::kNoLimitsFile));
  if (what == "get") return call.reply().bulk(file->current()->file().text);
  const bool checks = what == "check";
  const auto ask = [&call, checks](service::LimitsInForce::OnRead told) {
    using Reading = service::LimitsInForce::Reading;
    call.service.read_limits(checks ? Reading::check : Reading::reload, std::move(told));
  };
  call.deferred.ask<DeferredReply::Lines>(call.silent(), ask,
                                          [checks](Writer& to, const DeferredReply::Lines& errors) {
                                            if (checks) {
                                              to.array(errors.size());
                                              for (const std::string& each : errors) to.bulk(each);
                                            } else if (errors.empty()) {
                                              to.simple("OK");
                                            } else {
                                              to.error("ERR " + errors.front());
                                            }
                                          });
}

}  // namespace weir::resp
