#include "trial/explain_json.hpp"

#include "limits/explained_json.hpp"

namespace weir::inline v0_1::limits {

std::string json_of(const Explanation& explanation, const Answer& answer, const std::string& file) {
  std::string out;
  core::JsonWriter json(out, core::JsonWriter::Spelling::shortest);
  json.begin_object();
  json.member("file", file);
  json.member("route_line", core::line_or_null(explanation.route_line));
  json.member("class", core::or_null(explanation.class_of));
  json.member("allowed", answer.allowed);
  json.member("by", core::or_null(answer.by));
  json.member("limit", answer.limit);
  json.member("remaining", answer.remaining);
  json.member("retry_after_ms", milliseconds_of(answer.retry_after));
  json.begin_array("checks");
  for (const ExplainedCheck& check : explanation.checks) {
    json.begin_object();
    describe(check, ExplainedJson{json, /*in_milliseconds*/ true});
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out;
}

}  // namespace weir::limits
