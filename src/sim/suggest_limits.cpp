#include "sim/suggest_limits.hpp"

#include <fmt/core.h>

#include <stdexcept>

#include "core/printable.hpp"
#include "sim/log_report.hpp"

namespace weir::inline v0_1::sim {
namespace {

const std::string& checked(const std::string& field) {
  constexpr std::size_t kLongest = 64;
  const bool good = field.size() <= kLongest && !field.empty() && field[0] >= 'a' && field[0] <= 'z' &&
                    field.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.-") == std::string::npos;
  if (good) return field;
  throw std::runtime_error(
      "as-limits: '" + field +
      "' cannot be an attribute's name; one begins with a-z and has at most 64 of a-z, 0-9, "
      "_, . and -");
}

std::string group(const core::Prefixes& prefixes) {
  return fmt::format("    group_ip: {{ v4: {}, v6: {} }}\n", prefixes.v4, prefixes.v6);
}

}  // namespace

std::string limits_of(const SuggestReport& report, const logs::Wanted& wanted) {
  std::string by;
  std::string more;
  for (const logs::Wanted::Part& each : wanted.key) {
    by += (by.empty() ? "" : ", ") + checked(each.field);
    if (each.address) more = group(each.prefixes);
  }
  if (wanted.key.empty()) {
    by = "ip";
    more = group(wanted.prefixes);
  }
  if (!wanted.cost.empty()) more += "    cost: { from: " + checked(wanted.cost) + " }\n";
  std::string out;
  for (const std::string& each : report.log.warnings) out += "# Beware: " + core::printable(each) + ".\n";
  if (const std::string left_out = left_out_in_words(report.log); !left_out.empty())
    out += "# " + core::printable(left_out) + ".\n";
  out += "version: 1\nlimits:\n  client:\n    by: [" + by + "]\n" + more;
  const char* mark = "";
  for (const Suggestion& each : report.suggestions) {
    out += fmt::format("    {}rate: {:<18} # would have denied {} of {} requests, {} of {} clients\n", mark,
                       each.rounded.limit, each.rounded.denied, report.requests, each.rounded.clients_denied,
                       report.clients);
    if (each.beyond_the_log) out.insert(out.size() - 1, "; its period is longer than the log");
    mark = "# ";
  }
  return out;
}

}  // namespace weir::sim
