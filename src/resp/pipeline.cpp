#include "resp/pipeline.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/utc_text.hpp"
#include "limits/explain.hpp"
#include "limits/scalars.hpp"
#include "resp/option_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

using service::Question;
using service::Refusal;

// A request that nothing could decide is answered with an error, whose code clients of Redis know.
std::string error_of(const Question& request) {
  if (request.ended() == service::Ended::by_operator) return "UNBLOCKED client unblocked via CLIENT UNBLOCK";
  if (request.ended() == service::Ended::as_the_server_ends) return "ERR " + std::string(service::kShutsDown);
  switch (request.fault) {
    case Fault::foreign_value:
      return request.why.starts_with("WRONGTYPE ") ? request.why : "WRONGTYPE " + request.why;
    case Fault::store_down:
      return "ERR the store: " + request.why;
    case Fault::unsuitable:
    case Fault::none:
      break;
  }
  return "ERR " + request.why;
}

std::int64_t in_ms_or_never(std::chrono::nanoseconds time) {
  return time.count() < 0 ? -1 : ceil_to_ms(time);
}

// First the route, then a flat row for each check.
void write_explained(Writer& to, const limits::Explanation& explanation,
                     std::optional<std::uint64_t> granted) {
  to.array(1 + explanation.checks.size());
  to.array(granted ? 6 : 4);
  to.bulk("route");
  to.integer(explanation.route_line == 0 ? -1 : std::int64_t{explanation.route_line});
  to.bulk("class");
  to.bulk(explanation.class_of);
  if (granted) {
    to.bulk("granted");
    to.integer(static_cast<std::int64_t>(*granted));
  }
  for (const limits::ExplainedCheck& each : explanation.checks) {
    const auto text = [&to](std::string_view name, std::string_view value) {
      to.bulk(name);
      to.bulk(value);
    };
    const auto number = [&to](std::string_view name, std::int64_t value) {
      to.bulk(name);
      to.integer(value);
    };
    const core::PenaltyTerms& penalty = each.penalty;
    to.array(18 + (penalty ? 2 : 0) + (penalty.grows() ? 4 : 0) + (penalty.afresh ? 2 : 0) +
             (each.refunds ? 2 : 0) + (each.steered ? 8 : 0));
    text("limit", each.limit);
    text("window", each.window);
    text("key", each.key);
    text("rate", each.rate);
    number("override_line", each.override_line == 0 ? -1 : std::int64_t{each.override_line});
    text("class", explanation.class_of);
    text("verdict", limits::verdict_of(each));
    number("remaining", each.decision ? each.decision->remaining : -1);
    number("retry_after_ms",
           each.decision && each.decision->retry_after ? ceil_to_ms(*each.decision->retry_after) : -1);
    if (penalty) number("penalty_ms", ceil_to_ms(penalty.time));
    if (penalty.grows()) {
      text("penalty_growing", limits::thousandths(penalty.growing));
      number("penalty_most_ms", ceil_to_ms(penalty.most));
    }
    if (penalty.afresh) text("penalty_then", "afresh");
    if (each.refunds) text("refunds", "true");
    if (!each.steered) continue;
    number("override", static_cast<std::int64_t>(each.steered->number));
    text("override_reason", each.steered->reason);
    text("override_user", each.steered->user);
    text("override_until", core::utc_ms_text(each.steered->until.time_since_epoch().count()));
  }
}

ReplyForm form_of(const Question& question) {
  return static_cast<ReplyForm>(question.form & ~unsigned{kFields});
}

}  // namespace

// A reply says which key decided.
void Pipeline::keep(Question& question) {
  const ReplyForm reply = form_of(question);
  if (!question.by_file && (reply == ReplyForm::six || reply == ReplyForm::seven_units ||
                            reply == ReplyForm::reservation || reply == ReplyForm::charged))
    question.keep_keys();
}

bool Pipeline::refuse() {
  const Refusal& why = loop_.asker.refusal();
  const auto most = std::chrono::floor<std::chrono::milliseconds>(why.most).count();
  switch (why.what) {
    case Refusal::What::max_wait:
      return fail(not_in_range("MAXWAIT", std::to_string(why.came.count()), 0, most));
    case Refusal::What::hold:
      return fail(not_in_range("HOLD", std::to_string(why.came.count()), 1, most));
    case Refusal::What::actual:
      return fail("ERR actual: " + why.sentence);
    default:
      return fail("ERR " + why.sentence);
  }
}

void Pipeline::write_push(Writer& to, Question& question) {
  if (!question.silent) {
    to.push(3);
    to.bulk("weir.acquire");
    to.bulk(question.more->tag);
  }
  write(to, question);
}

void Pipeline::write(Writer& to, Question& question) {
  if (question.ended() != service::Ended::no || question.fault != Fault::none) [[unlikely]] {
    if (!question.silent) to.error(error_of(question));
    return;
  }
  switch (const ReplyForm reply = form_of(question)) {
    case ReplyForm::five:
      loop_.asker.count(question, question.check.decision.allowed());
      if (!question.silent) to.five_integers(five_integers(question.check.decision));
      break;
    case ReplyForm::six:
    case ReplyForm::seven_units:
    case ReplyForm::reservation:
      write_decision(to, question, reply);
      break;
    case ReplyForm::explanation:
      if (!question.silent) write_explanation(to, question);
      break;
    case ReplyForm::forgotten:
      if (!question.silent) to.integer(static_cast<std::int64_t>(question.forgotten));
      break;
    case ReplyForm::cancelled:
      if (!question.silent) to.integer(static_cast<std::int64_t>(question.reservation->given_back));
      break;
    case ReplyForm::charged:
      write_charged(to, question);
      break;
    case ReplyForm::refunded:
      if (!question.silent) to.integer(static_cast<std::int64_t>(question.charge->told.charged));
      break;
    case ReplyForm::holds:
      if (!question.silent) write_holds(to, question);
      break;
    case ReplyForm::settled:
      loop_.asker.service().counters.drop(question.reservation->dropped);
      if (!question.silent) to.integer(in_ms_or_never(question.reservation->wait));
      break;
    case ReplyForm::queued:
      if (!question.silent) to.simple("QUEUED");
      break;
  }
}

void Pipeline::write_explanation(Writer& to, const Question& question) {
  const limits::Set& set = *asking_.set_of(question);
  std::optional<std::uint64_t> granted;
  if (question.verb == store::Verb::take) granted = service::told_of(question, &set).granted;
  write_explained(to, service::explanation_of(question, set), granted);
}

void Pipeline::write_charged(Writer& to, const Question& question) {
  const Charged& its = question.charge->told;
  loop_.asker.service().counters.drop(its.dropped);
  if (question.silent) return;
  const std::array<std::int64_t, 4> numbers = {static_cast<std::int64_t>(its.charged),
                                               static_cast<std::int64_t>(its.overdraft), ceil_to_ms(its.wait),
                                               ceil_to_ms(its.reset_after)};
  to.four(numbers, question.by_file ? service::told_of(question, asking_.set_of(question)).by
                                    : question.checks[question.by].key);
}

void Pipeline::write_decision(Writer& to, const Question& question, ReplyForm reply) {
  const limits::Set* const set = question.by_file ? asking_.set_of(question) : nullptr;
  const service::Told told = service::told_of(question, set);
  if (!question.looks()) loop_.asker.count(question, set, told.allowed);
  if (question.silent) return;
  const bool fields = (question.form & kFields) != 0;
  if (reply == ReplyForm::six && !fields) return to.six(five_in_ms(told), told.by);
  std::array<std::int64_t, 5> numbers = five_in_ms(told);
  if (reply == ReplyForm::reservation) {
    numbers[3] = in_ms_or_never(told.wait);
    if (!fields) return to.seven(numbers, told.id, told.by);
  }
  to.array((reply == ReplyForm::six ? 6 : 7) + (fields ? 1 : 0));
  for (const std::int64_t each : numbers) to.integer(each);
  if (reply == ReplyForm::reservation) told.id.empty() ? to.null() : to.bulk(told.id);
  to.bulk(told.by);
  if (reply == ReplyForm::seven_units) to.integer(static_cast<std::int64_t>(told.granted));
  if (fields) write_fields(to, question, set);
}

void Pipeline::write_fields(Writer& to, const Question& question, const limits::Set* set) {
  std::string lines;
  loop_.asker.append_fields(question, set, lines);
  std::vector<std::string_view> words;
  service::for_each_field(lines, [&words](std::string_view name, std::string_view value) {
    words.push_back(name);
    words.push_back(value);
  });
  to.array(words.size());
  for (const std::string_view each : words) to.bulk(each);
}

}  // namespace weir::resp
