#include "http/gate.hpp"

#include <memory>
#include <string>

#include "http/denial.hpp"
#include "http/gate_request.hpp"
#include "http/problem.hpp"
#include "service/credentials.hpp"
#include "service/told.hpp"
#include "store/check_rules.hpp"

namespace weir::inline v0_1::http {
namespace {

// Names the reservation that the application settles.
constexpr std::string_view kReservation = "Weir-Reservation";

bool may_ask(const limits::Set::Gateway& gateway, const Message& message) {
  if (gateway.token.empty()) return true;
  const Field* const field = message.find(gateway.said->token_header);
  return field != nullptr && message.find(gateway.said->token_header, field) == nullptr &&
         service::same_secret(gateway.token, field->value);
}

int deny_status(const Exchange& exchange, const limits::Set& set) {
  const int said = exchange.gateway->deny_status;
  return said != 0 ? said : set.file().answers.status;
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
  write_problem(exchange.reply, deny_status(exchange, *exchange.loop.asker.limits()),
                detail.empty() ? sentence : detail);
}

void tell_fault(Exchange& exchange, const service::Question& question) {
  Reply& reply = exchange.reply;
  if (question.fault != Fault::unsuitable)
    return write_problem(reply, 503, "nobody could decide: " + question.why);
  const bool lacks_hold = !exchange.gateway->holds && store::has_slots(question.checks);
  write_problem(reply, 400,
                question.why + (lacks_hold ? "; or by a gateway whose profile says hold: true" : ""));
}

void tell_gate(Exchange& exchange, const service::Question& question) {
  Reply& reply = exchange.reply;
  if (question.fault != Fault::none) return tell_fault(exchange, question);
  const limits::Set& set = *exchange.asking->set_of(question);
  const limits::Matched& matched = question.more->matched;
  const service::Told told = service::told_of(question, &set);
  const bool allowed = told.allowed;
  exchange.loop.asker.count(question, &set, allowed);
  append_field(reply.fields, "Cache-Control", "no-store");
  exchange.loop.asker.append_fields(question, &set, reply.fields);
  if (allowed) {
    if (!told.id.empty()) append_field(reply.fields, kReservation, told.id);
    return;
  }
  core::JsonWriter json(reply.body);
  begin_denial(reply, json, deny_status(exchange, set), matched.ban != nullptr);
  if (matched.outcome == limits::Matched::Outcome::refused) {
    json.begin_array(kViolated);
    json.end_array();
  } else {
    write_violated(json, set, matched, question, Disclosure::shown);
  }
  json.end_object();
  reply.body += '\n';
}

void ask(const GateRequest& request, Exchange& exchange) {
  service::Asker& asker = exchange.loop.asker;
  const limits::Description as{.attributes = request.all(), .costs_an_estimate = true};
  const service::Question* const question =
      exchange.asking->add({.as = &as, .holds = exchange.gateway->holds}, 0, false);
  if (question == nullptr) {
    const service::Refusal& why = asker.refusal();
    if (why.what == service::Refusal::What::required)
      return deny(exchange, GateRefusal::attribute, why.sentence);
    return write_problem(exchange.reply, 400, why.sentence);
  }
  const limits::Matched& matched = question->more->matched;
  const bool lacks = !matched.skipped_of.empty() || !request.has_ip || !request.has_path;
  if (exchange.gateway->deny_missing && lacks && matched.outcome != limits::Matched::Outcome::refused) {
    asker.drop_last();
    return deny(exchange, GateRefusal::attribute);
  }
  exchange.tell = &tell_gate;
}

}  // namespace

void run_gate(const Message& message, Exchange& exchange) {
  std::string_view rest = message.path.substr(kGate.size());
  const std::string_view name = rest.substr(0, rest.find('/'));
  rest = message.target.substr(static_cast<std::size_t>(name.data() + name.size() - message.target.data()));
  const limits::Set* const set = exchange.loop.asker.limits();
  const limits::Set::Gateway* const gateway = set == nullptr ? nullptr : set->gateway(name);
  if (gateway == nullptr)
    return write_problem(exchange.reply, 404, "the limits file has no gateway of this name");
  exchange.gateway = gateway->said;
  if (!may_ask(*gateway, message)) {
    exchange.service.notices.tell(core::Notice::wrong_gate_token, exchange.peer->address);
    return write_problem(exchange.reply, 401,
                         "this gateway has to send its token, in the header that the limits file names");
  }
  exchange.trusted = true;
  GateRequest& request = *exchange.loop.gate_request;
  read_gate_request(*gateway->said, message, rest, request);
  if (request.wrong != GateRequest::Wrong::nothing) return deny(exchange, refusal_of(request.wrong));
  if (!request.has_ip)
    exchange.service.notices.tell(core::Notice::gate_without_address, exchange.peer->address,
                                  gateway->said->name);
  if (!request.proxy.empty())
    exchange.service.notices.tell_once(core::Notice::gate_untrusted_proxy, exchange.peer->address,
                                       gateway->said->name + ": " + std::string(request.proxy));
  ask(request, exchange);
}

}  // namespace weir::http
