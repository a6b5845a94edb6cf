#include "http/answer.hpp"

#include <string>

#include "http/denial.hpp"
#include "http/rate_limit_fields.hpp"
#include "limits/explain.hpp"
#include "service/told.hpp"

namespace weir::inline v0_1::http {
namespace {

using service::Question;
using service::Told;

const limits::Set& set_of(const Exchange& exchange, const Question& question) {
  return *exchange.asking->set_of(question);
}

void append_text_or_null(std::string& out, std::string_view text) {
  text.empty() ? void(out += "null") : append_json(out, text);
}

void append_number_or_null(std::string& out, std::int64_t number) {
  number < 0 ? void(out += "null") : append_json(out, number);
}

void append_wait(std::string& out, const std::optional<std::chrono::nanoseconds>& wait) {
  wait ? append_seconds(out, *wait) : void(out += "null");
}

std::string_view verdict_of(Verdict verdict) {
  return verdict == Verdict::allowed ? "allowed" : verdict == Verdict::denied ? "denied" : "never";
}

void append_decision(std::string& out, std::int64_t limit, std::int64_t remaining,
                     const std::optional<std::chrono::nanoseconds>& retry_after,
                     std::chrono::nanoseconds reset_after) {
  out += "\"limit\":";
  append_number_or_null(out, limit);
  out += ",\"remaining\":";
  append_number_or_null(out, remaining);
  out += ",\"retry_after\":";
  append_wait(out, retry_after);
  out += ",\"reset_after\":";
  append_seconds(out, reset_after);
}

void append_own_limits(std::string& out, const Question& question) {
  const auto& said = question.more->said;
  for (std::size_t i = 0; i < question.checks.size(); ++i) {
    const store::Check& check = question.checks[i];
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    append_json(out, own_name(i));
    out += ",\"key\":";
    append_json(out, said[i].first);
    out += ",\"rate\":";
    append_json(out, said[i].second);
    out += ",\"cost\":";
    append_json(out, static_cast<std::int64_t>(check.cost.units));
    out += ",\"verdict\":";
    append_json(out, verdict_of(check.decision.verdict));
    out += ',';
    append_decision(out, check.decision.limit, check.decision.remaining, check.decision.retry_after,
                    check.decision.reset_after);
    out += '}';
  }
}

void append_limits_of_file(std::string& out, const limits::Explanation& explanation) {
  for (const limits::ExplainedCheck& each : explanation.checks) {
    out += &each == explanation.checks.data() ? "{\"name\":" : ",{\"name\":";
    append_json(out, each.limit);
    out += ",\"line\":";
    append_json(out, std::int64_t{each.line});
    out += ",\"window\":";
    append_text_or_null(out, each.window);
    out += ",\"key\":";
    append_json(out, each.key);
    out += ",\"rate\":";
    append_text_or_null(out, each.rate);
    out += ",\"override_line\":";
    append_number_or_null(out, each.override_line == 0 ? -1 : std::int64_t{each.override_line});
    out += ",\"reason\":";
    append_text_or_null(out, each.reason);
    out += ",\"missing\":";
    append_text_or_null(out, each.missing);
    out += each.shadow ? ",\"shadow\":true" : ",\"shadow\":false";
    out += ",\"verdict\":";
    append_json(out, limits::verdict_of(each));
    if (each.decision) {
      out += ",\"cost\":";
      append_json(out, static_cast<std::int64_t>(each.cost));
      out += ',';
      append_decision(out, each.decision->limit, each.decision->remaining, each.decision->retry_after,
                      each.decision->reset_after);
    }
    out += '}';
  }
}

void append_explanation(std::string& out, const Exchange& exchange, const Question& question) {
  if (!question.by_file) {
    out += ",\"limits\":[";
    append_own_limits(out, question);
    out += ']';
    return;
  }
  const limits::Explanation explanation = service::explanation_of(question, set_of(exchange, question));
  out += ",\"route_line\":";
  append_number_or_null(out, explanation.route_line == 0 ? -1 : std::int64_t{explanation.route_line});
  out += ",\"class\":";
  append_text_or_null(out, explanation.class_of);
  out += ",\"limits\":[";
  append_limits_of_file(out, explanation);
  out += ']';
}

void append_denying(std::string& out, const Exchange& exchange, const Question& question) {
  if (!question.by_file) return append_violated(out, question);
  const limits::Set& set = set_of(exchange, question);
  const limits::Matched& matched = question.more->matched;
  if (matched.outcome != limits::Matched::Outcome::refused)
    return append_violated(out, set, matched, question, Shown::all);
  out += '[';
  append_json(out, set.limits()[matched.refused_by].said->name);
  out += ']';
}

void append_reservation(std::string& out, const Told& told) {
  out += ",\"wait\":";
  append_wait(out, told.wait.count() < 0 ? std::nullopt : std::optional(told.wait));
  out += ",\"id\":";
  append_text_or_null(out, told.id);
}

// Without its braces.
void append_members(std::string& out, const Exchange& exchange, const Question& question, const Told& told) {
  out += told.allowed ? "\"allowed\":true,\"verdict\":" : "\"allowed\":false,\"verdict\":";
  append_json(out, verdict_of(told.verdict));
  out += ',';
  append_decision(out, told.limit, told.remaining, told.retry_after, told.reset_after);
  out += ",\"by\":";
  append_text_or_null(out, question.by_file ? told.by : own_name(question.by));
  if (reserves(exchange.kind)) append_reservation(out, told);
  if (question.explains) append_explanation(out, exchange, question);
}

int status_of(const Exchange& exchange, const Question& question, const Told& told) {
  if (told.allowed || !charges(exchange.kind)) return 200;
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
  if (charges(exchange.kind))
    exchange.room.asker.count(question, exchange.asking->set_of(question), told.allowed);
}

void append_fields(Exchange& exchange, const Question& question) {
  const Forms& forms = exchange.room.forms();
  const limits::Time now{exchange.service.wall_now()};
  std::string& fields = exchange.reply.fields;
  if (question.by_file) {
    append_rate_limit_fields(set_of(exchange, question), question.more->matched, service::asked_of(question),
                             forms, now, fields);
  } else {
    append_rate_limit_fields(question, forms, now, fields);
  }
}

// An answer that decides nothing; false for one that does.
bool write_number(std::string& out, Kind kind, const Question& question) {
  if (kind == Kind::reset) {
    out = "{\"reset\":";
    append_json(out, static_cast<std::int64_t>(question.forgotten));
  } else if (kind == Kind::cancel) {
    out = "{\"given_back\":";
    append_json(out, static_cast<std::int64_t>(question.reservation->given_back));
  } else if (kind == Kind::settle) {
    out = "{\"wait\":";
    question.reservation->wait.count() < 0 ? void(out += "-1")
                                           : append_seconds(out, question.reservation->wait);
  } else {
    return false;
  }
  out += "}\n";
  return true;
}

void append_result(std::string& out, Exchange& exchange, const Question& question, const Faults& faults) {
  out += "{\"status\":";
  if (!faults.empty()) {
    out += "400,\"errors\":";
    append_faults(out, faults);
  } else if (question.fault != Fault::none) {
    append_json(out, std::int64_t{status_of(question.fault)});
    out += ",\"detail\":";
    append_json(out, sentence_of(question));
  } else {
    const Told told = told_of(exchange, question);
    count(exchange, question, told);
    append_json(out, std::int64_t{status_of(exchange, question, told)});
    out += ',';
    append_members(out, exchange, question, told);
  }
  out += '}';
}

void tell_of_batch(Exchange& exchange, const Question& question) {
  std::string& out = exchange.reply.body;
  exchange.reply.type = kJson;
  out += exchange.told == 0 ? "{\"results\":[" : ",";
  append_result(out, exchange, question, exchange.faults[exchange.told]);
  if (++exchange.told == exchange.faults.size()) out += "]}\n";
}

}  // namespace

void tell_answer(Exchange& exchange, const Question& question) {
  Reply& reply = exchange.reply;
  if (exchange.batch) return tell_of_batch(exchange, question);
  if (question.ended) return write_problem(reply, 503, "the wait was ended by CLIENT UNBLOCK");
  if (question.fault != Fault::none)
    return write_problem(reply, status_of(question.fault), sentence_of(question));
  std::string& out = reply.body;
  reply.type = kJson;
  if (write_number(out, exchange.kind, question)) return;
  const Told told = told_of(exchange, question);
  count(exchange, question, told);
  if (exchange.kind != Kind::explain) append_fields(exchange, question);
  out = "{";
  if (const int status = status_of(exchange, question, told); status != 200) {
    begin_denial(reply, status);
    append_denying(out, exchange, question);
    out += ',';
  }
  append_members(out, exchange, question, told);
  out += "}\n";
}

}  // namespace weir::http
