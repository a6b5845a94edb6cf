// GET /v1/audit.
#include "http/audit_routes.hpp"

#include <array>
#include <string_view>

#include "http/json.hpp"
#include "http/query.hpp"

namespace weir::inline v0_1::http {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

std::string text_in(object from, std::string_view name) {
  std::string_view text;
  return from[name].get_string().get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace

steering::Change change_of_reset(const Message& message, Exchange& exchange) {
  steering::Change change{.by = *exchange.actor, .verb = "RESET"};
  HttpLoop::Json& json = *exchange.loop.json;
  object asked;
  if (json.parser.parse(message.body.data(), message.body.size()).get(asked) != simdjson::SUCCESS) return change;
  simdjson::dom::array requests;
  if (asked["requests"].get(requests) == simdjson::SUCCESS) {
    change.after = std::to_string(requests.size()) + " resets";
    return change;
  }
  change.limit = text_in(asked, "limit");
  if (std::string key = text_in(asked, "key"); !key.empty()) change.when.emplace_back("key", std::move(key));
  object attributes;
  if (asked["attributes"].get(attributes) != simdjson::SUCCESS) return change;
  for (const auto& [name, value] : attributes) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) change.when.emplace_back(name, text);
  }
  return change;
}

void run_audit(const Message& message, Exchange& exchange) {
  constexpr std::array<std::string_view, 1> kKnown = {"count"};
  Faults faults;
  const Query query(message.query, kKnown, faults);
  const std::uint64_t count = query.number("count", 10, 1, 1024, faults);
  if (!faults.empty()) return write_problem(exchange.reply, 400, "the query is not what it should be", faults);
  append_field(exchange.reply.fields, "Cache-Control", "no-store");
  exchange.reply.type = kJson;
  std::string& body = exchange.reply.body;
  body = R"({"lines": [)";
  // They are JSON already.
  for (const std::string& each : exchange.service.recorded(static_cast<std::size_t>(count)))
    body += (body.ends_with('[') ? "" : ", ") + each;
  body += "]}";
}

}  // namespace weir::http
