// GET /v1/audit.
#include "http/audit_routes.hpp"

#include <array>
#include <string_view>

#include "http/json.hpp"
#include "http/query.hpp"

namespace weir::inline v0_1::http {
namespace {

using simdjson::dom::object;

}  // namespace

std::optional<steering::OperatorChange> change_of_reset(const Message& message, Exchange& exchange) {
  steering::OperatorChange change{.by = *exchange.actor, .verb = "RESET"};
  simdjson::dom::element root;
  object asked;
  Faults faults;  // told when it runs
  if (!parse_body(message.body, *exchange.loop.json, root, faults) || root.get(asked) != simdjson::SUCCESS)
    return std::nullopt;
  std::string_view limit;
  if (asked["limit"].get(limit) == simdjson::SUCCESS) change.limit = limit;
  const limits::Set* const set = exchange.loop.asker.limits();
  if (!change.limit.empty() && (set == nullptr || set->find(change.limit) == nullptr)) return std::nullopt;
  std::string_view key;
  if (asked["key"].get(key) == simdjson::SUCCESS) change.when.emplace_back("key", key);
  object attributes;
  if (asked["attributes"].get(attributes) == simdjson::SUCCESS) {
    for (const auto& [name, value] : attributes) {
      std::string_view text;
      if (value.get(text) == simdjson::SUCCESS) change.when.emplace_back(name, text);
    }
  }
  return change.when.empty() ? std::nullopt : std::optional(std::move(change));
}

void run_audit(const Message& message, Exchange& exchange) {
  constexpr std::array<std::string_view, 1> kKnown = {"count"};
  Faults faults;
  const Query query(message.query, kKnown, faults);
  const std::uint64_t count = query.number("count", 10, 1, 1024, faults);
  if (!faults.empty())
    return write_problem(exchange.reply, 400, "the query is not what it should be", faults);
  append_field(exchange.reply.fields, "Cache-Control", "no-store");
  exchange.reply.type = kJson;
  std::string& body = exchange.reply.body;
  body = R"({"lines": [)";
  // They are JSON already.
  for (const std::string& each : exchange.service.operators.recorded(static_cast<std::size_t>(count)))
    body += (body.ends_with('[') ? "" : ", ") + each;
  body += "]}";
}

}  // namespace weir::http
