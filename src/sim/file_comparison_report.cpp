#include <fmt/format.h>

#include "core/printable.hpp"
#include "sim/file_comparison.hpp"
#include "sim/log_words.hpp"
#include "trial/tree_json.hpp"

namespace weir::inline v0_1::sim {
namespace {

using limits::line_or_null;
using limits::text_or_null;
using nlohmann::ordered_json;
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

}  // namespace

std::string text_of(const FileDifference& difference, bool colour) {
  std::string out = to_text(difference.said, difference.before, difference.after);
  if (out.empty()) out = difference.before + " and " + difference.after + " say the same\n";
  return difference.log ? out + text_of(*difference.log, colour) : out;
}

std::string json_of(const FileDifference& difference) {
  ordered_json said = ordered_json::array();
  for (const limits::Difference& each : difference.said) {
    said.push_back({{"kind", name_of(each.kind)},
                    {"path", each.path},
                    {"before", text_or_null(each.before)},
                    {"after", text_or_null(each.after)},
                    {"line_before", line_or_null(each.line_before)},
                    {"line_after", line_or_null(each.line_after)},
                    {"note", text_or_null(each.note)}});
  }
  ordered_json json{
      {"before", difference.before}, {"after", difference.after}, {"differences", std::move(said)}};
  if (difference.log) {
    const ComparisonReport& log = *difference.log;
    ordered_json otherwise = ordered_json::array();
    for (const auto& each : log.otherwise) {
      otherwise.push_back({{"by_before", text_or_null(each.by_before)},
                           {"by_after", text_or_null(each.by_after)},
                           {"requests", each.requests}});
    }
    ordered_json clients = ordered_json::array();
    for (const auto& each : log.clients) {
      clients.push_back({{"client", each.client},
                         {"requests", each.requests},
                         {"denied_before", each.denied_before},
                         {"denied_after", each.denied_after}});
    }
    json["log"] = {{"requests", log.requests},
                   {"denied_before", log.denied_before},
                   {"denied_after", log.denied_after},
                   {"errors_before", log.errors_before},
                   {"errors_after", log.errors_after},
                   {"otherwise", std::move(otherwise)},
                   {"clients_changed", log.clients_changed}};
    json["log"].update(json_of(log.log));
    json["log"]["clients_seen"] = log.log.clients;
    json["log"]["clients"] = std::move(clients);
  }
  return limits::one_line(json);
}

}  // namespace weir::sim
