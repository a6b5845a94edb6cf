#include "http/handlers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "http/answer.hpp"
#include "http/audit_routes.hpp"
#include "http/gate.hpp"
#include "http/json.hpp"
#include "http/open_api.hpp"
#include "http/overrides_routes.hpp"
#include "http/prefer.hpp"
#include "http/status_routes.hpp"
#include "http/top_route.hpp"
#include "http/usage_route.hpp"

namespace weir::inline v0_1::http {
namespace {

template <std::size_t i>
void run_verb(const Message& message, Exchange& exchange) {
  exchange.verb = &service::kVerbs[i];
  if constexpr (service::kVerbs[i].verb == store::Verb::acquire) exchange.prefers = preferred_wait(message);
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
constexpr std::size_t kVerbs = service::kVerbs.size();
constexpr std::array kOthers{
    Handler{"/v1/top", false, kGet, Role::operate, false, &run_top},
    Handler{"/v1/usage", false, kPost, Role::operate, true, &run_usage},
    Handler{kOverrides, false, "GET, HEAD, POST, OPTIONS", Role::operate, true, &run_overrides},
    Handler{kOneOverride, true, "GET, HEAD, DELETE, OPTIONS", Role::operate, false, &run_one_override},
    Handler{"/v1/status", false, kGet, Role::operate, false, &run_status},
    Handler{"/v1/audit", false, kGet, Role::admin, false, &run_audit},
    Handler{kGate, true, {}, Role::none, false, &run_gate},
    Handler{"/openapi.json", false, kGet, Role::decide, false, &run_open_api},
};

template <std::size_t i>
constexpr Handler route_of_verb() {
  const service::VerbRow& its = service::kVerbs[i];
  static_assert(!service::kVerbs[i].audited || service::kVerbs[i].verb == store::Verb::reset,
                "what it changes is said before it runs");
  return {its.path, false, kPost, its.role, true, &run_verb<i>, its.audited ? &change_of_reset : nullptr};
}

constexpr auto kRoutes = []<std::size_t... i>(std::index_sequence<i...>) {
  std::array<Handler, kVerbs + kOthers.size()> all{route_of_verb<i>()...};
  std::copy(kOthers.begin(), kOthers.end(), all.begin() + kVerbs);
  return all;
}(std::make_index_sequence<kVerbs>{});

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
