// WEIR.CHARGE: what happened outside, which nobody was asked for. WEIR.REFUND: what did not happen after all.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/duration.hpp"
#include "core/number.hpp"
#include "limits/costs.hpp"
#include "resp/commands.hpp"
#include "resp/limits_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

struct ChargeWords {
  service::Ask ask{.verb = store::Verb::charge};
  ReplyForm reply = ReplyForm::charged;
  std::optional<std::uint64_t> cost{};
  std::vector<limits::NamedCost> costs{};
  std::string_view form{};  // REMAINING or PAUSE, where it is said
  bool by_file = false;
  Arguments rest{};  // keys and rules, or attributes
};

bool fail(std::string& error, std::string text) {
  error = std::move(text);
  return false;
}

bool read_units(std::string_view name, std::string_view value, std::uint64_t& into, std::string& error) {
  const std::int64_t units = core::parse_integer(value).value_or(-1);
  if (units < 0) return fail(error, not_in_range(name, value, 0, std::numeric_limits<std::int64_t>::max()));
  into = static_cast<std::uint64_t>(units);
  return true;
}

// False: it is not the name of an option, or the option is wrong, and then there is an error.
bool read_option(std::string_view name, std::string_view value, ChargeWords& into, std::string& error) {
  const auto twice = [&] { return fail(error, "ERR " + std::string(name) + " is given twice"); };
  if (is_word(name, "COST")) {
    if (into.cost || !into.costs.empty()) return twice();
    if (value.find('=') == std::string_view::npos)
      return read_units("COST", value, into.cost.emplace(0), error);
    std::string why;
    return limits::read_costs(value, into.costs, why) || fail(error, "ERR COST: " + why);
  }
  if (into.ask.form == Outside::Form::refund) return false;
  if (is_word(name, "LIMIT") || is_word(name, "WINDOW")) {
    if (value.empty()) return fail(error, "ERR missing the value of " + std::string(name));
    if (is_word(name, "LIMIT")) {
      if (!into.ask.limit.empty()) return twice();
      into.ask.limit = value;
      return true;
    }
    if (into.ask.window) return twice();
    into.ask.window = core::parse_period(value);
    return into.ask.window ||
           fail(error, "ERR WINDOW: '" + std::string(value.substr(0, 32)) + "' is not a period, as in 1min");
  }
  constexpr std::string_view kRemaining = "remaining";
  const bool remains = name.size() == kRemaining.size() && lower(name) == kRemaining;
  if (!remains && !is_word(name, "PAUSE")) return false;
  if (into.form == (remains ? "REMAINING" : "PAUSE")) return twice();
  if (!into.form.empty()) return fail(error, "ERR PAUSE and REMAINING: it is one or the other");
  into.form = remains ? "REMAINING" : "PAUSE";
  into.ask.form = remains ? Outside::Form::remaining : Outside::Form::pause;
  if (remains) return read_units("REMAINING", value, into.ask.remaining, error);
  constexpr std::int64_t kMost = std::chrono::floor<std::chrono::milliseconds>(Pause::kLongest).count();
  const std::int64_t ms = core::parse_integer(value).value_or(-1);
  if (ms < 0 || ms > kMost) return fail(error, not_in_range("PAUSE", value, 0, kMost));
  into.ask.pause.length = std::chrono::milliseconds{ms};
  return true;
}

bool read_words(Arguments words, ChargeWords& into, std::string& error) {
  while (words.size() > 1 && read_option(words[0], words[1], into, error)) {
    const bool is_pause = is_word(words[0], "PAUSE");
    words = words.subspan(2);
    if (!is_pause || words.empty() || !is_word(words[0], "AFRESH")) continue;
    into.ask.pause.afresh = true;
    words = words.subspan(1);
  }
  if (!error.empty()) return false;
  into.by_file = !words.empty() && is_word(words[0], "AS");
  if (!words.empty() && (into.by_file || is_word(words[0], "KEYS"))) words = words.subspan(1);
  into.rest = words;
  if (!into.form.empty() && (into.cost || !into.costs.empty()))
    return fail(error, "ERR COST and " + std::string(into.form) + ": it is one or the other");
  if (into.by_file) return true;
  if (!into.costs.empty()) return fail(error, std::string(kCostsAreTheFiles));
  if (!into.ask.limit.empty() || into.ask.window)
    return fail(error, "ERR LIMIT and WINDOW are for limits of the limits file, after AS");
  return true;
}

}  // namespace

namespace {

bool ask(Pipeline& pipeline, Arguments words, ChargeWords asked, bool silent) {
  std::string error;
  if (!read_words(words.subspan(1), asked, error)) return pipeline.fail(std::move(error));
  const std::uint64_t cost = asked.cost.value_or(1);
  if (!asked.by_file)
    return ask_rules(pipeline, asked.rest, asked.ask, Cost{cost}, asked.reply, silent,
                     asked.reply == ReplyForm::refunded ? "WEIR.REFUND" : "WEIR.CHARGE");
  if (!pipeline.has_file()) return false;
  LimitsWords said;
  if (!read_limits_words(asked.rest, LimitsOption::none, pipeline.asker().attributes(), said, error))
    return pipeline.fail(std::move(error));
  said.cost = cost;
  said.costs_an_estimate = false;
  said.costs = asked.costs;
  const limits::Description as = said.asked();
  asked.ask.as = &as;
  return pipeline.add(asked.ask, asked.reply, silent);
}

}  // namespace

bool ask_charge(Pipeline& pipeline, Arguments words, bool silent) { return ask(pipeline, words, {}, silent); }

bool ask_refund(Pipeline& pipeline, Arguments words, bool silent) {
  ChargeWords asked{.reply = ReplyForm::refunded};
  asked.ask.form = Outside::Form::refund;
  return ask(pipeline, words, std::move(asked), silent);
}

}  // namespace weir::resp
