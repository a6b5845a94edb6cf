#include "http/gate.hpp"

#include <memory>
#include <string>

#include "http/denial.hpp"
#include "http/gate_request.hpp"
#include "http/problem.hpp"
#include "http/rate_limit_fields.hpp"
#include "service/credentials.hpp"

namespace weir::inline v0_1::http {
namespace {

bool may_ask(const limits::Set::Gateway& gateway, const Message& message) {
  if (gateway.token.empty()) return true;
  const Field* const field = message.find(gateway.said->token_header);
  return field != nullptr && message.find(gateway.said->token_header, field) == nullptr &&
         service::same_secret(gateway.token, field->value);
}

int deny_status(const Exchange& exchange) {
  const int said = exchange.gateway->deny_status;
  return said != 0 ? said : exchange.set->file().answers.status;
}

using service::GateRefusal;

GateRefusal refusal_of(GateRequest::Wrong wrong) {
  return wrong == GateRequest::Wrong::header_twice  ? GateRefusal::header
         : wrong == GateRequest::Wrong::odd_address ? GateRefusal::address
                                                    : GateRefusal::path;
}

std::string_view sentence_of(GateRefusal why) {
  switch (why) {
    case GateRefusal::path:
      return "the path can be read in more than one way";
    case GateRefusal::address:
      return "where the client's address should be is something else";
    case GateRefusal::header:
      return "a header that says who asks for what comes twice";
    case GateRefusal::attribute:
    case GateRefusal::kCount:
      break;
  }
  return "an attribute that is needed to decide is missing";
}

// Of what no limit has decided. Gateways that throw the body away, as auth_request does, can pass the field
// on.
void deny(Exchange& exchange, GateRefusal why, std::string_view detail = {}) {
  service::Service& service = exchange.service;
  const std::string sentence(sentence_of(why));
  service.counters.count(&service::Counters::denied);
  service.counters.count(why);
  service.notices.tell(core::Notice::gate_refused, exchange.peer->address,
                       exchange.gateway->name + ": " + sentence);
  append_field(exchange.reply.fields, "Cache-Control", "no-store");
  append_field(exchange.reply.fields, "Proxy-Status",
               "weir; error=http_request_denied; details=\"" + sentence + '"');
  write_problem(exchange.reply, deny_status(exchange), detail.empty() ? sentence : detail);
}

void write_gate_answer(Exchange& exchange) {
  Reply& reply = exchange.reply;
  const Question& question = *exchange.questions.front();
  const bool asked = !question.checks.empty();
  if (asked && question.fault != Fault::none)
    return write_problem(reply, 503, "nobody could decide: " + question.why);
  const limits::Matched& matched = *question.matched;
  const store::Request* const answered = asked ? &question : nullptr;
  exchange.room.counts.count(*exchange.set, matched, answered);
  append_field(reply.fields, "Cache-Control", "no-store");
  append_rate_limit_fields(*exchange.set, matched, answered, exchange.room.forms(),
                           limits::Time(exchange.service.wall_now()), reply.fields);
  const bool listed = matched.outcome == limits::Matched::Outcome::refused;
  if (!listed && (!asked || question.allowed())) return;
  exchange.service.counters.count(&service::Counters::denied);
  begin_denial(reply, deny_status(exchange));
  if (listed) {
    reply.body += "[]";
  } else {
    append_violated(reply.body, *exchange.set, matched, question, Told::shown);
  }
  reply.body += "}\n";
}

// For this thread, so that its memory is used again.
GateRequest& room_for_request() {
  thread_local GateRequest request;
  return request;
}

void ask(const GateRequest& request, Exchange& exchange) {
  Question& question = exchange.ask();
  if (!question.matched) question.matched = std::make_unique<limits::Matched>();
  limits::Matched& matched = *question.matched;
  question.by_file = true;
  const limits::Asked asked{.attributes = request.all(), .costs_an_estimate = true};
  if (!limits::match(*exchange.set, asked, exchange.room.limits_now(), matched)) {
    question.settle();
    if (matched.lacks_required) return deny(exchange, GateRefusal::attribute, matched.error);
    return write_problem(exchange.reply, 400, matched.error);
  }
  const bool lacks = !matched.skipped_of.empty() || !request.has_ip || !request.has_path;
  if (exchange.gateway->deny_missing && lacks && matched.outcome != limits::Matched::Outcome::refused) {
    question.settle();
    return deny(exchange, GateRefusal::attribute);
  }
  question.checks = matched.all();
  if (matched.outcome != limits::Matched::Outcome::meets) {
    question.checks = {};
    question.settle();
  }
  exchange.answer = &write_gate_answer;
}

}  // namespace

void run_gate(const Message& message, Exchange& exchange) {
  std::string_view rest = message.path.substr(kGate.size());
  const std::string_view name = rest.substr(0, rest.find('/'));
  rest = message.target.substr(static_cast<std::size_t>(name.data() + name.size() - message.target.data()));
  exchange.set = exchange.room.renew_limits();
  const limits::Set::Gateway* const gateway = exchange.set == nullptr ? nullptr : exchange.set->gateway(name);
  if (gateway == nullptr)
    return write_problem(exchange.reply, 404, "the limits file has no gateway of this name");
  exchange.gateway = gateway->said;
  if (!may_ask(*gateway, message)) {
    exchange.service.notices.tell(core::Notice::wrong_gate_token, exchange.peer->address);
    return write_problem(exchange.reply, 401,
                         "this gateway has to send its token, in the header that the limits file names");
  }
  exchange.trusted = true;
  GateRequest& request = room_for_request();
  read_gate_request(*gateway->said, message, rest, request);
  if (request.wrong != GateRequest::Wrong::nothing) return deny(exchange, refusal_of(request.wrong));
  if (!request.has_ip)
    exchange.service.notices.tell(core::Notice::gate_without_address, exchange.peer->address,
                                  gateway->said->name);
  ask(request, exchange);
}

}  // namespace weir::http
