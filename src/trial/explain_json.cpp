#include "trial/explain_json.hpp"

#include <chrono>

#include "core/json_writer.hpp"

namespace weir::inline v0_1::limits {
namespace {

using core::JsonWriter;
using core::line_or_null;
using core::or_null;

std::optional<std::int64_t> milliseconds_of(const std::optional<std::chrono::nanoseconds>& wait) {
  if (!wait) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(*wait).count();
}

void write(JsonWriter& json, const ExplainedCheck& check) {
  json.begin_object();
  json.member("limit", check.limit);
  json.member("line", check.line);
  json.member("window", or_null(check.window));
  json.member("key", check.key);
  json.member("rate", or_null(check.rate));
  json.member("override_line", line_or_null(check.override_line));
  json.member("reason", or_null(check.reason));
  json.member("missing", or_null(check.missing));
  json.member("penalty_ms", std::chrono::ceil<std::chrono::milliseconds>(check.penalty.time).count());
  if (check.penalty.grows()) {
    json.member("penalty_growing", check.penalty.growing / double{core::PenaltyTerms::kWhole});
    json.member("penalty_most_ms", std::chrono::ceil<std::chrono::milliseconds>(check.penalty.most).count());
  }
  if (check.penalty.afresh) json.member("penalty_then", "afresh");
  json.member("refunds", check.refunds);
  json.member("verdict", verdict_of(check));
  if (check.decision) {
    json.member("cost", check.cost);
    json.member("burst", check.decision->limit);
    json.member("remaining", check.decision->remaining);
    json.member("retry_after_ms", milliseconds_of(check.decision->retry_after));
  }
  json.end_object();
}

}  // namespace

std::string json_of(const Explanation& explanation, const Answer& answer, const std::string& file) {
  std::string out;
  JsonWriter json(out, JsonWriter::Spelling::shortest);
  json.begin_object();
  json.member("file", file);
  json.member("route_line", line_or_null(explanation.route_line));
  json.member("class", or_null(explanation.class_of));
  json.member("allowed", answer.allowed);
  json.member("by", or_null(answer.by));
  json.member("limit", answer.limit);
  json.member("remaining", answer.remaining);
  json.member("retry_after_ms", milliseconds_of(answer.retry_after));
  json.begin_array("checks");
  for (const ExplainedCheck& check : explanation.checks) write(json, check);
  json.end_array();
  json.end_object();
  return out;
}

}  // namespace weir::limits
