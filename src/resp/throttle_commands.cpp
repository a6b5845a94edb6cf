// Commands about limits whose numbers the request brings.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "core/number.hpp"
#include "resp/commands.hpp"
#include "resp/option_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

bool gather(Pipeline& pipeline, const Throttle& throttle, bool silent) {
  if (throttle.limit == nullptr) return pipeline.fail(pipeline.parser().error());
  pipeline.check(throttle, silent);
  return true;
}

std::string wrong_pairs(Arguments words, std::string_view command) {
  if (words.empty()) return "ERR missing a key and its rule; " + command_form(command);
  if (words.size() % 2 != 0)
    return "ERR missing the rule of key '" + std::string(words.back().substr(0, 32)) + "'; " +
           command_form(command);
  return "ERR " + std::to_string(words.size() / 2) + " keys; one call may have at most " +
         std::to_string(store::kMostChecks);
}

std::string wrong_rule(const service::Refusal& why, std::string_view key) {
  return why.what == service::Refusal::What::key_twice
             ? "ERR key '" + std::string(key.substr(0, 32)) +
                   "' is given twice; one call charges each key once"
             : "ERR " + why.sentence;
}

}  // namespace

bool ask_cl_throttle(Pipeline& pipeline, Arguments words, bool silent) {
  return gather(pipeline, pipeline.parser().cl_throttle(words), silent);
}

bool ask_gcra(Pipeline& pipeline, Arguments words, bool silent) {
  return gather(pipeline, pipeline.parser().gcra(words), silent);
}

bool ask_rules(Pipeline& pipeline, Arguments words, const service::Ask& ask, Cost cost, ReplyForm reply,
               bool silent, std::string_view command) {
  const std::size_t count = words.size() / 2;
  if (count == 0 || words.size() % 2 != 0 || count > store::kMostChecks)
    return pipeline.fail(wrong_pairs(words, command));
  service::Asker& asker = pipeline.asker();
  asker.begin_rules(count);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (asker.add_rule(words[i], words[i + 1], cost)) continue;
    asker.drop_rules();
    return pipeline.fail(wrong_rule(asker.refusal(), words[i]));
  }
  return pipeline.add(ask, reply, silent);
}

namespace {

template <std::size_t N>
bool take_word(Arguments& rest, const char (&name)[N]) {
  if (rest.empty() || !is_word(rest[0], name)) return false;
  rest = rest.subspan(1);
  return true;
}

// The end of the options, and then the keys.
bool ask_keys(Pipeline& pipeline, Arguments rest, const service::Ask& ask, Cost cost, ReplyForm reply,
              bool silent) {
  const bool fields = take_word(rest, "FIELDS");
  take_word(rest, "KEYS");
  return ask_rules(pipeline, rest, ask, cost, with_fields(reply, fields), silent, "WEIR.THROTTLE");
}

// From the word ATLEAST on: as much as there is. Out of line: few say it.
[[gnu::noinline]] bool ask_rules_at_least(Pipeline& pipeline, Arguments rest,
                                          std::optional<std::uint64_t> most, bool silent) {
  service::Ask::Units units;
  std::string error;
  if (!most) return pipeline.fail(std::string(kNeedsCost));
  units.most = *most;
  if (!read_at_least(rest[1], units.most, units.least, error)) return pipeline.fail(std::move(error));
  return ask_keys(pipeline, rest.subspan(2), {.verb = store::Verb::take, .units = &units}, Cost{1},
                  ReplyForm::seven_units, silent);
}

}  // namespace

bool ask_throttle(Pipeline& pipeline, Arguments words, bool silent) {
  Arguments rest = words.subspan(1);
  Cost cost{};
  const bool has_cost = rest.size() > 1 && is_word(rest[0], "COST");
  if (has_cost) {
    if (rest[1].find('=') != std::string_view::npos) return pipeline.fail(std::string(kCostsAreTheFiles));
    const std::int64_t units = core::parse_integer(rest[1]).value_or(-1);
    if (units < 0)
      return pipeline.fail(not_in_range("COST", rest[1], 0, std::numeric_limits<std::int64_t>::max()));
    cost.units = static_cast<std::uint64_t>(units);
    rest = rest.subspan(2);
  }
  if (rest.size() > 1 && is_word(rest[0], "ATLEAST")) [[unlikely]]
    return ask_rules_at_least(pipeline, rest, has_cost ? std::optional(cost.units) : std::nullopt, silent);
  return ask_keys(pipeline, rest, {}, cost, ReplyForm::six, silent);
}

// The answer is written by the pipeline, when it has come.
void run_del(RunningCommand& call) {
  call.pipeline.add({.verb = store::Verb::reset, .keys = call.words.subspan(1)}, ReplyForm::forgotten,
                    call.silent());
}

// The rate limiters of many languages come as a script that they send to Redis; their users meet this text.
void refuse_script(RunningCommand& call) {
  call.transaction.refuse();
  call.fail(
      "ERR weir runs no scripts; a rate limiter that sends one needs Redis itself. Send CL.THROTTLE key "
      "max_burst count period instead: CL.THROTTLE user:42 15 30 60 allows 30 requests a minute and up to 16 "
      "at once");
}

}  // namespace weir::resp
