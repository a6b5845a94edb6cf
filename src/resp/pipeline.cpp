#include "resp/pipeline.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

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

// For describe(): names and values. Times are milliseconds, and what there is none of is -1 or an empty text.
struct ExplainedPairs {
  using Time = std::optional<std::chrono::nanoseconds>;

  void text(std::string_view name, std::string_view value) {
    to.bulk(name);
    to.bulk(value);
  }
  void line(std::string_view name, std::uint32_t line) { number(name, line == 0 ? -1 : std::int64_t{line}); }
  void number(std::string_view name, std::int64_t value) {
    to.bulk(name);
    to.integer(value);
  }
  void thousandths(std::string_view name, std::uint32_t value) { text(name, limits::thousandths(value)); }
  void time(std::string_view name, const Time& time) {
    number(std::string(name) + "_ms", time ? ceil_to_ms(*time) : -1);
  }
  void flag(std::string_view name, bool value) { text(name, value ? "true" : "false"); }

  Writer& to;
};

// Only how many words that is.
struct ExplainedWords {
  template <class Value>
  void text(std::string_view, const Value&) {
    words += 2;
  }
  void line(std::string_view, std::uint32_t) { words += 2; }
  void number(std::string_view, std::int64_t) { words += 2; }
  void thousandths(std::string_view, std::uint32_t) { words += 2; }
  void time(std::string_view, const ExplainedPairs::Time&) { words += 2; }
  void flag(std::string_view, bool) { words += 2; }

  std::size_t& words;
};

// First the route, then a flat row for each check.
void write_explained(Writer& to, const limits::Explanation& explanation,
                     std::optional<std::uint64_t> granted) {
  to.array(1 + explanation.checks.size());
  to.array(granted ? 6 : 4);
  ExplainedPairs writer{to};
  writer.line("route", explanation.route_line);
  writer.text("class", explanation.class_of);
  if (granted) writer.number("granted", static_cast<std::int64_t>(*granted));
  for (const limits::ExplainedCheck& each : explanation.checks) {
    std::size_t words = 0;
    limits::describe(each, ExplainedWords{words});
    to.array(words);
    limits::describe(each, writer);
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

bool Pipeline::refuse_without_file() { return fail("ERR " + std::string(service::kNoLimitsFile)); }

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
