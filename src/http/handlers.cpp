#include "http/handlers.hpp"

#include <array>

#include "http/answer.hpp"
#include "http/gate.hpp"
#include "http/json.hpp"
#include "http/open_api.hpp"
#include "http/prefer.hpp"

namespace weir::inline v0_1::http {
namespace {

template <RequestKind kind>
void run_api(const Message& message, Exchange& exchange) {
  exchange.kind = kind;
  if constexpr (kind == RequestKind::acquire) exchange.prefers = preferred_wait(message);
  append_field(exchange.reply.fields, "Cache-Control", "no-store");
  Faults faults;
  read_questions(message.body, exchange, faults);
  if (!faults.empty())
    return write_problem(exchange.reply, 400, "the request's body is not what it should be", faults);
  exchange.tell = &tell_answer;
}

void run_open_api(const Message&, Exchange& exchange) {
  exchange.reply.type = kJson;
  exchange.reply.body = open_api();
}

constexpr std::string_view kPost = "POST, OPTIONS";
constexpr std::array kRoutes{
    Handler{"/v1/check", false, kPost, true, &run_api<RequestKind::check>},
    Handler{"/v1/look", false, kPost, true, &run_api<RequestKind::look>},
    Handler{"/v1/explain", false, kPost, true, &run_api<RequestKind::explain>},
    Handler{"/v1/reset", false, kPost, true, &run_api<RequestKind::reset>},
    Handler{"/v1/reserve", false, kPost, true, &run_api<RequestKind::reserve>},
    Handler{"/v1/acquire", false, kPost, true, &run_api<RequestKind::acquire>},
    Handler{"/v1/cancel", false, kPost, true, &run_api<RequestKind::cancel>},
    Handler{"/v1/settle", false, kPost, true, &run_api<RequestKind::settle>},
    Handler{"/v1/charge", false, kPost, true, &run_api<RequestKind::charge>},
    Handler{"/v1/refund", false, kPost, true, &run_api<RequestKind::refund>},
    Handler{"/v1/moment", false, kPost, true, &run_api<RequestKind::moment>},
    Handler{"/v1/extend", false, kPost, true, &run_api<RequestKind::extend>},
    Handler{kGate, true, {}, false, &run_gate},
    Handler{"/openapi.json", false, "GET, HEAD, OPTIONS", false, &run_open_api},
};

}  // namespace

std::span<const Handler> routes() { return kRoutes; }

const Handler* find_route(std::string_view path) {
  for (const Handler& each : kRoutes) {
    if (each.prefix ? path.starts_with(each.path) : path == each.path) return &each;
  }
  return nullptr;
}

}  // namespace weir::http
