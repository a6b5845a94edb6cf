#include "resp/info.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::inline v0_1::resp {
namespace {

using service::Metric;
using service::Section;

// A section's names, and the lines in it that are there for Redis' clients alone.
struct Shown {
  Section section;
  std::string_view name;
  std::string_view title;
  std::string before;
  std::string after;
};

const std::array kShown = {
    Shown{Section::server, "server", "Server",
          "redis_version:" + std::string(kRedisVersion) + "\r\nredis_mode:standalone\r\n", ""},
    Shown{Section::clients, "clients", "Clients", "", ""},
    Shown{Section::memory, "memory", "Memory", "", "maxmemory_policy:noeviction\r\n"},
    Shown{Section::persistence, "persistence", "Persistence", "loading:0\r\n",
          "aof_rewrite_in_progress:0\r\n"},
    Shown{Section::stats, "stats", "Stats", "", ""},
    Shown{Section::limits, "limits", "Limits", "", ""},
    Shown{Section::rls, "rls", "Rls", "", ""},
    Shown{Section::store, "store", "Store", "", ""},
    Shown{Section::replication, "replication", "Replication", "role:master\r\nconnected_slaves:0\r\n", ""},
    Shown{Section::keyspace, "keyspace", "Keyspace", "", ""},
};

bool asked_for(std::string_view section, std::span<const std::string> sections) {
  return sections.empty() || std::any_of(sections.begin(), sections.end(), [section](std::string_view each) {
           return each == section || each == "all" || each == "default" || each == "everything";
         });
}

std::string text_of(const std::variant<std::uint64_t, std::string>& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : std::to_string(std::get<std::uint64_t>(value));
}

// Redis tells of the keys of each database, and there is one.
std::string database_line(const std::string& keys) {
  return keys == "0" ? "" : "db0:keys=" + keys + ",expires=" + keys + ",avg_ttl=0\r\n";
}

}  // namespace

Info tell_info(std::span<const Metric> metrics, std::span<const std::string> sections) {
  Info info;
  for (const Shown& shown : kShown) {
    if (!asked_for(shown.name, sections)) continue;
    std::string lines = shown.before;
    std::string after = shown.after;
    for (const Metric& metric : metrics) {
      if (metric.section != shown.section) continue;
      const Metric::Value value = metric.read();
      if (!value) continue;
      info.slow = info.slow || metric.slow;
      const std::string text = text_of(*value);
      lines += metric.name + ":" + text + "\r\n";
      if (metric.name == "live_keys") after += database_line(text);
    }
    lines += after;
    if (!lines.empty()) info.text += "# " + std::string(shown.title) + "\r\n" + lines + "\r\n";
  }
  return info;
}

}  // namespace weir::resp
