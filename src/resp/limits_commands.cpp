// Commands about the limits of the limits file.
#include <chrono>

#include "limits/explain.hpp"
#include "limits/match.hpp"
#include "limits/scalars.hpp"
#include "resp/commands.hpp"
#include "resp/limits_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

bool ask(Pipeline& pipeline, Arguments words, store::Verb verb, bool silent) {
  const limits::Set* set = pipeline.limits();
  if (set == nullptr) return pipeline.fail(std::string(kNoLimitsFile));
  if (words.size() == 1) return pipeline.fail(wrong_arity(words[0]));
  LimitsWords asked;
  std::string error;
  if (!read_limits_words(words.subspan(1), false, pipeline.attribute_room(), asked, error))
    return pipeline.fail(std::move(error));
  Question& question = pipeline.add_limits(Reply::six_by_limit, verb, silent);
  limits::Matched& matched = question.more->matched;
  if (!limits::match(*set, asked.asked(), pipeline.limits_now(), matched)) {
    pipeline.drop();
    return pipeline.fail("ERR " + matched.error);
  }
  pipeline.ask_matched(question);
  return true;
}

}  // namespace

bool ask_check(Pipeline& pipeline, Arguments words, bool silent) {
  return ask(pipeline, words, store::Verb::check, silent);
}

bool ask_look(Pipeline& pipeline, Arguments words, bool silent) {
  return ask(pipeline, words, store::Verb::look, silent);
}

// The answer is written by the pipeline, when it has come.
void run_explain(Call& call) {
  Pipeline& pipeline = call.pipeline;
  const limits::Set* set = pipeline.limits();
  if (set == nullptr) return call.fail(kNoLimitsFile);
  LimitsWords asked;
  std::string error;
  if (!read_limits_words(call.words.subspan(1), true, pipeline.attribute_room(), asked, error))
    return call.fail(error);
  limits::Time now = pipeline.limits_now();
  if (!asked.now.empty()) {
    const auto time = limits::read_time(asked.now);
    if (!time) return call.fail("ERR NOW: " + time.error());
    now = *time;
  }
  Question& question = pipeline.add_limits(Reply::explanation, store::Verb::look, call.silent());
  Question::More& more = *question.more;
  if (!limits::match(*set, asked.asked(), now, more.matched, &more.trace)) {
    pipeline.drop();
    return call.fail("ERR " + more.matched.error);
  }
  for (const limits::Attribute& each : asked.asked().attributes)
    more.attributes.emplace_back(each.name, each.value);
  pipeline.ask_matched(question);
}

void run_reset(Call& call) {
  const Arguments words = call.words;
  if (words.size() == 2) return run_del(call);
  if (lower(words[1]) != "as") return call.fail_arity("weir.reset");
  Pipeline& pipeline = call.pipeline;
  const limits::Set* set = pipeline.limits();
  if (set == nullptr) return call.fail(kNoLimitsFile);
  Arguments rest = words.subspan(2);
  std::string_view name;
  if (rest.size() > 1 && lower(rest[0]) == "limit") {
    name = rest[1];
    rest = rest.subspan(2);
  }
  LimitsWords asked;
  std::string error;
  if (!read_limits_words(rest, false, pipeline.attribute_room(), asked, error)) return call.fail(error);
  Question& question = pipeline.add_limits(Reply::forgotten, store::Verb::reset, call.silent());
  Question::More& more = *question.more;
  more.checks.clear();
  if (!limits::find_states(*set, asked.asked().attributes, name, more.matched, more.checks)) {
    pipeline.drop();
    return call.fail("ERR " + more.matched.error);
  }
  question.forgotten = 0;
  pipeline.ask_states(question);
}

void run_limits_config(Call& call) {
  service::LimitsInForce* file = call.service.limits.get();
  const std::string what = lower(call.words[1]);
  if (what != "get" && what != "check" && what != "reload") return call.fail_subcommand(what);
  if (file == nullptr || !call.later.possible()) return call.fail(kNoLimitsFile);
  if (what == "get") return call.reply().bulk(file->current()->file().text);
  const bool checks = what == "check";
  const auto ask = [&call, checks](service::LimitsInForce::Told told) {
    using Reading = service::LimitsInForce::Reading;
    call.service.read_limits(checks ? Reading::check : Reading::reload, std::move(told));
  };
  call.later.read(call.silent(), ask, [checks](Writer& to, const Later::Lines& errors) {
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
