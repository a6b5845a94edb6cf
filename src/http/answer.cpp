#include "http/answer.hpp"

#include <string>

#include "http/denial.hpp"
#include "http/rate_limit_fields.hpp"
#include "limits/explain.hpp"

namespace weir::inline v0_1::http {
namespace {

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
  for (std::size_t i = 0; i < question.checks.size(); ++i) {
    const store::Check& check = question.checks[i];
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    append_json(out, own_name(i));
    out += ",\"key\":";
    append_json(out, question.keys_and_rules[i].first);
    out += ",\"rate\":";
    append_json(out, question.keys_and_rules[i].second);
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
  std::vector<limits::Attribute> attributes;
  for (const auto& [name, value] : question.attributes) attributes.push_back({name, value});
  const limits::Explanation explanation =
      limits::explain(exchange.set->file(), question.trace, attributes, question.checks,
                      question.checks.empty() ? nullptr : &question);
  out += ",\"route_line\":";
  append_number_or_null(out, explanation.route_line == 0 ? -1 : std::int64_t{explanation.route_line});
  out += ",\"class\":";
  append_text_or_null(out, explanation.class_of);
  out += ",\"limits\":[";
  append_limits_of_file(out, explanation);
  out += ']';
}

void append_violated(std::string& out, const Exchange& exchange, const Question& question) {
  const limits::Set* const set = exchange.set;
  if (!question.by_file) return append_violated(out, question);
  if (question.matched->outcome != limits::Matched::Outcome::refused)
    return append_violated(out, *set, *question.matched, question, Told::all);
  out += '[';
  append_json(out, set->limits()[question.matched->refused_by].said->name);
  out += ']';
}

void append_reservation(std::string& out, const Question& question, const Decided& decided) {
  const bool asked = !question.checks.empty();
  const std::chrono::nanoseconds wait = asked             ? question.reserved.wait
                                        : decided.allowed ? std::chrono::nanoseconds{0}
                                                          : std::chrono::nanoseconds{-1};
  out += ",\"wait\":";
  append_wait(out, wait.count() < 0 ? std::nullopt : std::optional(wait));
  out += ",\"id\":";
  append_text_or_null(out, asked ? question.reserved.id : std::string_view{});
}

// Without its braces.
void append_members(std::string& out, const Exchange& exchange, const Question& question,
                    const Decided& decided) {
  out += decided.allowed ? "\"allowed\":true,\"verdict\":" : "\"allowed\":false,\"verdict\":";
  append_json(out, decided.verdict);
  out += ',';
  append_decision(out, decided.limit, decided.remaining, decided.retry_after, decided.reset_after);
  out += ",\"by\":";
  append_text_or_null(out, decided.by);
  if (reserves(exchange.kind)) append_reservation(out, question, decided);
  if (question.explains) append_explanation(out, exchange, question);
}

int status_of(const Exchange& exchange, const Question& question, const Decided& decided) {
  if (decided.allowed || !charges(exchange.kind)) return 200;
  return question.by_file ? exchange.set->file().answers.status : 429;
}

// Why nobody could decide.
int status_of(Fault fault) { return fault == Fault::unsuitable ? 400 : 503; }

std::string sentence_of(const store::Request& request) {
  return (request.fault == Fault::store_down ? "the store: " : "") + request.why;
}

// Null: it met nothing that is counted.
const store::Request* answered_of(const Question& question) {
  return question.checks.empty() ? nullptr : &question;
}

void count(Exchange& exchange, const Question& question, const Decided& decided) {
  if (!decided.allowed) exchange.service.counters.count(&service::Counters::denied);
  service::DecisionCounts& counts = exchange.room.counts;
  if (question.by_file) {
    counts.count(*exchange.set, *question.matched, answered_of(question));
  } else {
    counts.count(question);
  }
}

void append_fields(Exchange& exchange, const Question& question) {
  const Forms& forms = exchange.room.forms();
  const limits::Time now{exchange.service.wall_now()};
  std::string& fields = exchange.reply.fields;
  if (question.by_file) {
    append_rate_limit_fields(*exchange.set, *question.matched, answered_of(question), forms, now, fields);
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
    append_json(out, static_cast<std::int64_t>(question.reserved.given_back));
  } else if (kind == Kind::settle) {
    out = "{\"wait\":";
    question.reserved.wait.count() < 0 ? void(out += "-1") : append_seconds(out, question.reserved.wait);
  } else {
    return false;
  }
  out += "}\n";
  return true;
}

void append_result(std::string& out, Exchange& exchange, const Question& question) {
  out += "{\"status\":";
  if (!question.faults.empty()) {
    out += "400,\"errors\":";
    append_faults(out, question.faults);
  } else if (question.fault != Fault::none) {
    append_json(out, std::int64_t{status_of(question.fault)});
    out += ",\"detail\":";
    append_json(out, sentence_of(question));
  } else {
    const Decided decided = decided_of(exchange, question);
    count(exchange, question, decided);
    append_json(out, std::int64_t{status_of(exchange, question, decided)});
    out += ',';
    append_members(out, exchange, question, decided);
  }
  out += '}';
}

void write_batch(Exchange& exchange) {
  std::string& out = exchange.reply.body;
  exchange.reply.type = kJson;
  out = "{\"results\":[";
  for (const auto& each : exchange.questions) {
    if (&each != exchange.questions.data()) out += ',';
    append_result(out, exchange, *each);
  }
  out += "]}\n";
}

}  // namespace

Decided decided_of(const Exchange& exchange, const Question& question) {
  if (question.by_file) {
    const limits::Answer answer =
        limits::answer_of(*exchange.set, *question.matched, question.checks.empty() ? nullptr : &question);
    Decided decided{.allowed = answer.allowed,
                    .limit = answer.limit,
                    .remaining = answer.remaining,
                    .retry_after = answer.retry_after,
                    .reset_after = answer.reset_after,
                    .by = answer.by};
    // `never` is for a cost that is too large; a list denies for as long as it has the request.
    if (question.matched->outcome == limits::Matched::Outcome::refused) {
      decided.verdict = "denied";
    } else if (!answer.allowed) {
      decided.verdict = verdict_of(question.decision().verdict);
    }
    return decided;
  }
  const Decision& decision = question.decision();
  return {.allowed = decision.allowed(),
          .verdict = verdict_of(decision.verdict),
          .limit = decision.limit,
          .remaining = decision.remaining,
          .retry_after = decision.retry_after,
          .reset_after = decision.reset_after,
          .by = own_name(question.by)};
}

void write_answer(Exchange& exchange) {
  Reply& reply = exchange.reply;
  if (exchange.batch) return write_batch(exchange);
  const Question& question = *exchange.questions.front();
  if (question.fault != Fault::none)
    return write_problem(reply, status_of(question.fault), sentence_of(question));
  std::string& out = reply.body;
  reply.type = kJson;
  if (write_number(out, exchange.kind, question)) return;
  const Decided decided = decided_of(exchange, question);
  if (charges(exchange.kind)) count(exchange, question, decided);
  if (exchange.kind != Kind::explain) append_fields(exchange, question);
  out = "{";
  if (const int status = status_of(exchange, question, decided); status != 200) {
    begin_denial(reply, status);
    append_violated(out, exchange, question);
    out += ',';
  }
  append_members(out, exchange, question, decided);
  out += "}\n";
}

}  // namespace weir::http
