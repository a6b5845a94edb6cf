#include "http/answer.hpp"

#include <string>

#include "core/json_writer.hpp"
#include "http/denial.hpp"
#include "http/holds_answer.hpp"
#include "limits/explained_json.hpp"
#include "service/told.hpp"

namespace weir::inline v0_1::http {
namespace {

using core::JsonWriter;
using core::line_or_null;
using core::or_null;
using service::Question;
using service::Tells;
using service::Told;

const limits::Set& set_of(const Exchange& exchange, const Question& question) {
  return *exchange.asking->set_of(question);
}

JsonWriter::Known verdict_of(Verdict verdict) {
  if (verdict == Verdict::allowed) return "allowed";
  if (verdict == Verdict::busy) return "busy";
  return verdict == Verdict::denied ? JsonWriter::Known("denied") : "never";
}

void write_decision(JsonWriter& json, std::int64_t limit, std::int64_t remaining,
                    const std::optional<std::chrono::nanoseconds>& retry_after,
                    std::chrono::nanoseconds reset_after) {
  json.member("limit", or_null(limit));
  json.member("remaining", or_null(remaining));
  json.member("retry_after", retry_after);
  json.member("reset_after", reset_after);
}

void write_decision(JsonWriter& json, const Decision& decision) {
  write_decision(json, decision.limit, decision.remaining, decision.retry_after, decision.reset_after);
}

void write_own_limits(JsonWriter& json, const Question& question) {
  const auto& said = question.more->explained_of().said;
  for (std::size_t i = 0; i < question.checks.size(); ++i) {
    const store::Check& check = question.checks[i];
    json.begin_object();
    json.member("name", own_name(i));
    json.member("key", said[i].first);
    json.member("rate", said[i].second);
    json.member("cost", check.cost.units);
    json.member("verdict", verdict_of(check.decision.verdict));
    write_decision(json, check.decision);
    json.end_object();
  }
}

void write_limits_of_file(JsonWriter& json, const limits::Explanation& explanation) {
  for (const limits::ExplainedCheck& each : explanation.checks) {
    json.begin_object();
    limits::describe(each, limits::ExplainedJson{json});
    json.end_object();
  }
}

void write_explanation(JsonWriter& json, const Exchange& exchange, const Question& question) {
  if (!question.by_file) {
    json.begin_array("limits");
    write_own_limits(json, question);
    return json.end_array();
  }
  const limits::Explanation explanation = service::explanation_of(question, set_of(exchange, question));
  json.member("route_line", line_or_null(explanation.route_line));
  json.member("class", or_null(explanation.class_of));
  json.begin_array("limits");
  write_limits_of_file(json, explanation);
  json.end_array();
}

void write_denying(JsonWriter& json, const Exchange& exchange, const Question& question) {
  if (!question.by_file) return write_violated(json, question);
  const limits::Set& set = set_of(exchange, question);
  const limits::Matched& matched = question.more->matched;
  if (matched.outcome != limits::Matched::Outcome::refused)
    return write_violated(json, set, matched, question, Disclosure::all);
  json.begin_array(kViolated);
  json.value(set.limits()[matched.refused_by].said->name);
  json.end_array();
}

// Without its braces.
void write_members(JsonWriter& json, const Exchange& exchange, const Question& question, const Told& told) {
  json.member("allowed", told.allowed);
  json.member("verdict", verdict_of(told.verdict));
  write_decision(json, told.limit, told.remaining, told.retry_after, told.reset_after);
  json.member("by", or_null(question.by_file ? told.by : own_name(question.by)));
  if (question.verb == store::Verb::take) json.member("granted", told.granted);
  if (exchange.verb->tells == Tells::reservation) {
    json.member("wait", told.wait.count() < 0 ? std::nullopt : std::optional(told.wait));
    json.member("id", or_null(told.id));
  }
  if (question.explains) write_explanation(json, exchange, question);
}

int status_of(const Exchange& exchange, const Question& question, const Told& told) {
  if (told.allowed || !exchange.verb->charges) return 200;
  return question.by_file ? set_of(exchange, question).file().answers.status : 429;
}

// Why nobody could decide.
int status_of(Fault fault) { return fault == Fault::unsuitable ? 400 : 503; }

std::string sentence_of(const store::Request& request) {
  return (request.fault == Fault::store_down ? "the store: " : "") + request.why;
}

Told told_of(const Exchange& exchange, const Question& question) {
  return service::told_of(question, question.by_file ? exchange.asking->set_of(question) : nullptr);
}

void count(Exchange& exchange, const Question& question, const Told& told) {
  if (exchange.verb->charges)
    exchange.loop.asker.count(question, exchange.asking->set_of(question), told.allowed);
}

void write_charged(JsonWriter& json, Exchange& exchange, const Question& question) {
  const Charged& its = question.charge->told;
  exchange.service.counters.drop(its.dropped);
  const Told told = told_of(exchange, question);
  json.begin_object();
  json.member("charged", its.charged);
  json.member("owed", its.overdraft);
  json.member("wait", its.wait);
  json.member("reset_after", its.reset_after);
  json.member("by", or_null(question.by_file ? told.by : own_name(question.by)));
  json.end_object();
}

// An answer of one number.
void write_number(JsonWriter& json, Tells tells, const Question& question) {
  json.begin_object();
  json.unknown_name(service::number_of(tells));
  if (!service::is_time(tells)) {
    json.value(service::count_told(question));
  } else if (const auto time = question.reservation->wait; time.count() < 0) {
    json.value(-1);
  } else {
    json.value(time);
  }
  json.end_object();
}

void write_result(JsonWriter& json, Exchange& exchange, const Question& question, const Faults& faults) {
  json.begin_object();
  if (!faults.empty()) {
    json.member("status", 400);
    write_faults(json, faults);
  } else if (question.fault != Fault::none) {
    json.member("status", status_of(question.fault));
    json.member("detail", sentence_of(question));
  } else {
    const Told told = told_of(exchange, question);
    count(exchange, question, told);
    json.member("status", status_of(exchange, question, told));
    write_members(json, exchange, question, told);
  }
  json.end_object();
}

void tell_of_batch(Exchange& exchange, const Question& question) {
  JsonWriter json(exchange.reply.body);
  exchange.reply.type = kJson;
  if (exchange.told == 0) {
    json.begin_object();
    json.begin_array("results");
  }
  write_result(json, exchange, question, exchange.faults[exchange.told]);
  if (++exchange.told < exchange.faults.size()) return;
  json.end_array();
  json.end_object();
  exchange.reply.body += '\n';
}

void write_decision(JsonWriter& json, Exchange& exchange, const Question& question) {
  const Told told = told_of(exchange, question);
  count(exchange, question, told);
  if (exchange.verb->tells != Tells::explanation)
    exchange.loop.asker.append_fields(question, exchange.asking->set_of(question), exchange.reply.fields);
  if (const int status = status_of(exchange, question, told); status != 200) {
    begin_denial(exchange.reply, json, status, question.by_file && question.more->matched.ban != nullptr);
    write_denying(json, exchange, question);
  } else {
    json.begin_object();
  }
  write_members(json, exchange, question, told);
  json.end_object();
}

void tell_of_one(JsonWriter& json, Exchange& exchange, const Question& question) {
  exchange.reply.type = kJson;
  const Tells tells = exchange.verb->tells;
  if (question.verb == store::Verb::settle) exchange.service.counters.drop(question.reservation->dropped);
  switch (tells) {
    case Tells::charged:
      return write_charged(json, exchange, question);
    case Tells::holds:
      return write_holds(json, question);
    case Tells::forgotten:
    case Tells::given_back:
    case Tells::hold:
    case Tells::wait:
      return write_number(json, tells, question);
    case Tells::decision:
    case Tells::explanation:
    case Tells::reservation:
      return write_decision(json, exchange, question);
  }
}

}  // namespace

void tell_answer(Exchange& exchange, const Question& question) {
  Reply& reply = exchange.reply;
  if (exchange.batch) return tell_of_batch(exchange, question);
  if (question.ended() == service::Ended::by_operator)
    return write_problem(reply, 503, "the wait was ended by CLIENT UNBLOCK");
  if (question.ended() == service::Ended::as_the_server_ends)
    return write_problem(reply, 503, std::string(service::kShutsDown));
  if (question.fault != Fault::none)
    return write_problem(reply, status_of(question.fault), sentence_of(question));
  JsonWriter json(reply.body);
  tell_of_one(json, exchange, question);
  reply.body += '\n';
}

}  // namespace weir::http
