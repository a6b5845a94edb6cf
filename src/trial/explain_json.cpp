#include "trial/explain_json.hpp"

#include <chrono>

#include "trial/tree_json.hpp"

namespace weir::inline v0_1::limits {
namespace {

using nlohmann::ordered_json;

ordered_json wait_of(const std::optional<std::chrono::nanoseconds>& wait) {
  if (!wait) return nullptr;
  return std::chrono::ceil<std::chrono::milliseconds>(*wait).count();
}

ordered_json json_of(const ExplainedCheck& check) {
  ordered_json json{{"limit", check.limit},
                    {"line", check.line},
                    {"window", text_or_null(check.window)},
                    {"key", check.key},
                    {"rate", text_or_null(check.rate)},
                    {"override_line", line_or_null(check.override_line)},
                    {"reason", text_or_null(check.reason)},
                    {"missing", text_or_null(check.missing)},
                    {"verdict", verdict_of(check)}};
  if (!check.decision) return json;
  const Decision& decision = *check.decision;
  json["cost"] = check.cost;
  json["burst"] = decision.limit;
  json["remaining"] = decision.remaining;
  json["retry_after_ms"] = wait_of(decision.retry_after);
  return json;
}

}  // namespace

std::string json_of(const Explanation& explanation, const Answer& answer, const std::string& file) {
  ordered_json checks = ordered_json::array();
  for (const ExplainedCheck& check : explanation.checks) checks.push_back(json_of(check));
  const ordered_json json{{"file", file},
                          {"route_line", line_or_null(explanation.route_line)},
                          {"class", text_or_null(explanation.class_of)},
                          {"allowed", answer.allowed},
                          {"by", text_or_null(std::string(answer.by))},
                          {"limit", answer.limit},
                          {"remaining", answer.remaining},
                          {"retry_after_ms", wait_of(answer.retry_after)},
                          {"checks", std::move(checks)}};
  return one_line(json);
}

}  // namespace weir::limits
