#include "http/handlers.hpp"

#include <algorithm>
#include <array>

#include "http/answer.hpp"
#include "http/audit_routes.hpp"
#include "http/gate.hpp"
#include "http/json.hpp"
#include "http/open_api.hpp"
#include "http/overrides_routes.hpp"
#include "http/prefer.hpp"
#include "http/status_routes.hpp"
#include "http/top_route.hpp"

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

using steering::Role;

constexpr std::string_view kPost = "POST, OPTIONS";
constexpr std::string_view kGet = "GET, HEAD, OPTIONS";
constexpr std::array kRoutes{
    Handler{"/v1/check", false, kPost, Role::decide, true, &run_api<RequestKind::check>},
    Handler{"/v1/look", false, kPost, Role::decide, true, &run_api<RequestKind::look>},
    Handler{"/v1/explain", false, kPost, Role::operate, true, &run_api<RequestKind::explain>},
    Handler{"/v1/reset", false, kPost, Role::operate, true, &run_api<RequestKind::reset>, &change_of_reset},
    Handler{"/v1/reserve", false, kPost, Role::decide, true, &run_api<RequestKind::reserve>},
    Handler{"/v1/acquire", false, kPost, Role::decide, true, &run_api<RequestKind::acquire>},
    Handler{"/v1/cancel", false, kPost, Role::decide, true, &run_api<RequestKind::cancel>},
    Handler{"/v1/settle", false, kPost, Role::decide, true, &run_api<RequestKind::settle>},
    Handler{"/v1/charge", false, kPost, Role::decide, true, &run_api<RequestKind::charge>},
    Handler{"/v1/refund", false, kPost, Role::decide, true, &run_api<RequestKind::refund>},
    Handler{"/v1/moment", false, kPost, Role::decide, true, &run_api<RequestKind::moment>},
    Handler{"/v1/extend", false, kPost, Role::decide, true, &run_api<RequestKind::extend>},
    Handler{kOverrides, false, "GET, HEAD, POST, OPTIONS", Role::operate, true, &run_overrides},
    Handler{kOneOverride, true, "GET, HEAD, DELETE, OPTIONS", Role::operate, false, &run_one_override},
    Handler{"/v1/holds", false, kPost, Role::operate, true, &run_api<RequestKind::holds>},
    Handler{"/v1/status", false, kGet, Role::operate, false, &run_status},
    Handler{"/v1/audit", false, kGet, Role::admin, false, &run_audit},
    Handler{"/v1/top", false, "GET, HEAD, OPTIONS", Role::operate, false, &run_top},
    Handler{kGate, true, {}, Role::none, false, &run_gate},
    Handler{"/openapi.json", false, kGet, Role::decide, false, &run_open_api},
};

}  // namespace

bool Handler::takes(std::string_view method) const {
  std::string_view left = methods;
  while (!left.empty()) {
    const std::string_view each = left.substr(0, left.find(','));
    if (each == method) return true;
    left.remove_prefix(std::min(left.size(), each.size() + 2));
  }
  return false;
}

std::span<const Handler> routes() { return kRoutes; }

const Handler* find_route(std::string_view path) {
  for (const Handler& each : kRoutes) {
    if (each.prefix ? path.starts_with(each.path) : path == each.path) return &each;
  }
  return nullptr;
}

}  // namespace weir::http
