// Commands about moments that are promised: charge now, act later.
#include <limits>

#include "core/number.hpp"
#include "limits/match.hpp"
#include "resp/commands.hpp"
#include "resp/limits_words.hpp"
#include "resp/reservation_words.hpp"
#include "waiting/queues.hpp"

namespace weir::inline v0_1::resp {
namespace {

constexpr std::string_view kForm =
    "the form is WEIR.RESERVE [COST n] [MAXWAIT ms] [CLASS c] [HOLD ms] [KEYS] key rule [key rule ...], or "
    "... AS attribute=value ...";
constexpr std::string_view kAcquireForm =
    "the form is WEIR.ACQUIRE MAXWAIT ms [COST n] [CLASS c] [HOLD ms] [KEYS] key rule [key rule ...], or ... "
    "AS "
    "attribute=value ...";

// Null: it has failed.
Question* reserve_keys(Pipeline& pipeline, const ReservationWords& asked, bool silent,
                       std::string_view form) {
  Question* const question =
      gather_keys(pipeline, asked.rest, Reply::reservation, Cost{asked.cost.value_or(1)}, silent, form);
  if (question == nullptr) return nullptr;
  question->reserve(asked.max_wait.value_or(std::chrono::milliseconds{0}),
                    asked.hold.value_or(std::chrono::milliseconds{0}), pipeline.client());
  return question;
}

Question* fail(Pipeline& pipeline, std::string text) {
  pipeline.fail(std::move(text));
  return nullptr;
}

Question* reserve_by_file(Pipeline& pipeline, const ReservationWords& asked, bool silent, bool waits) {
  const limits::Set* set = pipeline.limits();
  if (set == nullptr) return fail(pipeline, std::string(kNoLimitsFile));
  LimitsWords words;
  std::string error;
  if (!read_limits_words(asked.rest, false, pipeline.attribute_room(), words, error))
    return fail(pipeline, std::move(error));
  words.cost = asked.cost.value_or(1);
  words.class_name = asked.class_name;
  words.costs_an_estimate = !asked.cost;
  words.costs = asked.costs;
  Question& question = pipeline.add_limits(Reply::reservation_by_limit, store::Verb::reserve, silent);
  limits::Matched& matched = question.more->matched;
  if (!limits::match(*set, words.asked(), pipeline.limits_now(), matched)) {
    pipeline.drop();
    return fail(pipeline, "ERR " + matched.error);
  }
  const limits::Waiting waiting = limits::prepare_waiting(*set, matched);
  if (waiting.max_wait && asked.max_wait && *asked.max_wait > *waiting.max_wait) {
    pipeline.drop();
    return fail(pipeline,
                not_in_range("MAXWAIT", std::to_string(asked.max_wait->count()), 0,
                             std::chrono::floor<std::chrono::milliseconds>(*waiting.max_wait).count()));
  }
  if (waiting.hold.count() != 0 && asked.hold && *asked.hold > waiting.hold) {
    pipeline.drop();
    return fail(pipeline, not_in_range("HOLD", std::to_string(asked.hold->count()), 1,
                                       std::chrono::floor<std::chrono::milliseconds>(waiting.hold).count()));
  }
  // It may have to stand in line while another file comes into force.
  if (waits && waiting::Queues::keeps_free(matched.all())) {
    question.more->asked.keep(words.asked());
    question.keeps_words = true;
  }
  question.reserve(asked.max_wait ? *asked.max_wait : waiting.max_wait.value_or(std::chrono::nanoseconds{0}),
                   asked.hold ? *asked.hold : waiting.hold, pipeline.client());
  pipeline.ask_matched(question);
  return &question;
}

}  // namespace

bool ask_reserve(Pipeline& pipeline, Arguments words, bool silent) {
  ReservationWords asked;
  std::string error;
  if (!read_reservation_words(words.subspan(1), pipeline.max_wait(), asked, error))
    return pipeline.fail(std::move(error));
  return (asked.by_file ? reserve_by_file(pipeline, asked, silent, false)
                        : reserve_keys(pipeline, asked, silent, kForm)) != nullptr;
}

bool ask_acquire(Pipeline& pipeline, Arguments words, bool silent) {
  ReservationWords asked;
  std::string error;
  if (!read_reservation_words(words.subspan(1), pipeline.max_wait(), asked, error))
    return pipeline.fail(std::move(error));
  if (!asked.max_wait)
    return pipeline.fail("ERR missing MAXWAIT: how many milliseconds it may wait; " +
                         std::string(kAcquireForm));
  Question* const question = asked.by_file ? reserve_by_file(pipeline, asked, silent, true)
                                           : reserve_keys(pipeline, asked, silent, kAcquireForm);
  if (question == nullptr) return false;
  pipeline.acquire(*question);
  return true;
}

bool ask_cancel(Pipeline& pipeline, Arguments words, bool silent) {
  pipeline.ask_about(words[1], store::Verb::cancel, silent);
  return true;
}

bool ask_settle(Pipeline& pipeline, Arguments words, bool silent) {
  if (words.size() > 3) return pipeline.fail(wrong_arity(words[0]));
  std::optional<std::uint64_t> actual;
  std::vector<store::Actual> actuals;
  if (words.size() == 3 && words[2].find('=') != std::string_view::npos) {
    const limits::Set* const set = pipeline.limits();
    if (set == nullptr) return pipeline.fail(std::string(kNoLimitsFile));
    std::vector<limits::NamedCost> costs;
    std::string error;
    if (!limits::read_costs(words[2], costs, error) || !limits::find_actuals(*set, costs, actuals, error))
      return pipeline.fail("ERR actual: " + error);
  } else if (words.size() == 3) {
    const std::int64_t units = core::parse_integer(words[2]).value_or(-1);
    if (units < 0)
      return pipeline.fail(not_in_range("actual", words[2], 0, std::numeric_limits<std::int64_t>::max()));
    actual = static_cast<std::uint64_t>(units);
  }
  store::Reservation& asked = pipeline.ask_about(words[1], store::Verb::settle, silent);
  asked.actual = actual;
  asked.actuals = std::move(actuals);
  return true;
}

}  // namespace weir::resp
