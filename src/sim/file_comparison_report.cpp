#include <fmt/format.h>

#include "core/json_writer.hpp"
#include "core/printable.hpp"
#include "sim/file_comparison.hpp"
#include "sim/log_report.hpp"

namespace weir::inline v0_1::sim {
namespace {

using core::JsonWriter;
using core::line_or_null;
using core::or_null;
using Kind = limits::Difference::Kind;

std::string verdict_by(const std::string& by) { return by.empty() ? "allowed" : "denied by " + by; }

std::string text_of(const ComparisonReport& log, bool colour) {
  std::string out = "\n" + head_of(log.log, colour) +
                    fmt::format("{} denied before, {} after\n", log.denied_before, log.denied_after);
  if (log.errors_before + log.errors_after > 0)
    out +=
        fmt::format("requests that are errors: {} before, {} after\n", log.errors_before, log.errors_after);
  if (log.otherwise.empty()) return out + "nobody would be decided otherwise\n";
  out += "\n  requests  before -> after\n";
  for (const auto& each : log.otherwise)
    out += fmt::format("  {:>8}  {} -> {}\n", each.requests, verdict_by(each.by_before),
                       verdict_by(each.by_after));
  out += fmt::format("\n  requests    denied before     after  client ({})\n", log.log.key);
  for (const auto& each : log.clients) {
    out += fmt::format("  {:>8}  {:>15}  {:>8}  {}\n", each.requests, each.denied_before, each.denied_after,
                       core::printable(each.client));
  }
  if (log.clients_changed > log.clients.size())
    out += fmt::format("  and {} clients more\n", log.clients_changed - log.clients.size());
  return out;
}

const char* name_of(Kind kind) {
  return kind == Kind::added ? "added" : kind == Kind::removed ? "removed" : "changed";
}

void write(JsonWriter& json, const limits::Difference& said) {
  json.begin_object();
  json.member("kind", name_of(said.kind));
  json.member("path", said.path);
  json.member("before", or_null(said.before));
  json.member("after", or_null(said.after));
  json.member("line_before", line_or_null(said.line_before));
  json.member("line_after", line_or_null(said.line_after));
  json.member("note", or_null(said.note));
  json.end_object();
}

void write(JsonWriter& json, const ComparisonReport& log) {
  json.begin_object("log");
  json.member("requests", log.requests);
  json.member("denied_before", log.denied_before);
  json.member("denied_after", log.denied_after);
  json.member("errors_before", log.errors_before);
  json.member("errors_after", log.errors_after);
  json.begin_array("otherwise");
  for (const auto& each : log.otherwise) {
    json.begin_object();
    json.member("by_before", or_null(each.by_before));
    json.member("by_after", or_null(each.by_after));
    json.member("requests", each.requests);
    json.end_object();
  }
  json.end_array();
  json.member("clients_changed", log.clients_changed);
  write_log(json, log.log);
  json.begin_array("clients");
  for (const auto& each : log.clients) {
    json.begin_object();
    json.member("client", each.client);
    json.member("requests", each.requests);
    json.member("denied_before", each.denied_before);
    json.member("denied_after", each.denied_after);
    json.end_object();
  }
  json.end_array();
  json.member("units", log.log.units);
  json.member("clients_seen", log.log.clients);
  json.end_object();
}

}  // namespace

std::string text_of(const FileDifference& difference, bool colour) {
  std::string out = to_text(difference.said, difference.before, difference.after);
  if (out.empty()) out = difference.before + " and " + difference.after + " say the same\n";
  return difference.log ? out + text_of(*difference.log, colour) : out;
}

std::string json_of(const FileDifference& difference) {
  std::string out;
  JsonWriter json(out, JsonWriter::Spelling::shortest);
  json.begin_object();
  json.member("before", difference.before);
  json.member("after", difference.after);
  json.begin_array("differences");
  for (const limits::Difference& each : difference.said) write(json, each);
  json.end_array();
  if (difference.log) write(json, *difference.log);
  json.end_object();
  return out;
}

}  // namespace weir::sim
