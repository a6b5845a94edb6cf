#include "sim/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/digits.hpp"
#include "logs/line_parser.hpp"
#include "sim/log_report.hpp"
#include "sim/number_text.hpp"

namespace weir::inline v0_1::sim {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kEnough = 20;  // requests from which a kind of log can be told
constexpr std::uint32_t kSample = 1000;

bool like_month(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return std::find(kMonths.begin(), kMonths.end(), name.substr(0, name.find(' '))) != kMonths.end();
}

// "05:49:47", "2026-11-21T...", "[21/Nov/2026:05...", "20261121...", "1795240187.123".
bool like_time(std::string_view name) {
  std::string shape;
  for (const char c : name.substr(0, 24)) {
    const char kind = core::is_digit(c) ? '9' : (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ? 'a' : c;
    shape += kind;
  }
  if (!shape.empty() && (shape[0] == '[' || shape[0] == '<')) shape.erase(0, 1);
  const std::string_view seen = shape;
  const bool epoch =
      seen.starts_with("9999999999") && (seen.size() == 10 || seen.size() == 13 || seen[10] == '.');
  return epoch || seen.starts_with("99:99:99") || seen.starts_with("9999-99-99") ||
         seen.starts_with("9999/99/99") || seen.starts_with("99/aaa/9999");
}

bool like_path(std::string_view name) {
  return name.starts_with('/') || name.starts_with("http://") || name.starts_with("https://");
}

bool key_is_a_path(std::string_view key) {
  constexpr std::array<std::string_view, 6> kWords{"path", "uri", "url", "request", "referer", "target"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [key](std::string_view word) { return key.find(word) != std::string_view::npos; });
}

template <class Like>
bool mostly(const std::vector<std::string>& names, Like like) {
  const auto many = static_cast<std::size_t>(std::count_if(names.begin(), names.end(), like));
  return many * 2 > names.size();
}

std::string listed_in_quotes(const std::vector<std::string>& limits) {
  std::string text;
  for (std::size_t i = 0; i < limits.size(); ++i)
    text += (i == 0 ? "" : i + 1 == limits.size() ? " and " : ", ") + ("'" + limits[i] + "'");
  return text;
}

std::vector<std::string> about_the_clients(const LogReport& log, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  const std::uint64_t requests = log.stats.requests;
  const auto alike = [&out, &log](std::string_view what) {
    out.push_back(fmt::format(
        "the clients (by {}) have names that look like {}: the lines may be laid out differently; "
        "--format and --key say how",
        log.key, what));
  };
  if (mostly(names, like_month)) alike("months");
  if (mostly(names, like_time)) alike("times");
  if (mostly(names, like_path) && !key_is_a_path(log.key)) alike("paths");
  if (requests < kEnough) return out;
  if (log.clients * 10 >= requests * 9) {
    out.push_back(
        fmt::format("nearly every request is a new client ({} of {}), so no limit denies much: {} may hold "
                    "a port, a time or a number of the request; --key chooses what makes a client",
                    grouped(log.clients), counted(requests, "request"), log.key));
  }
  if (log.clients == 1) {
    out.push_back(
        fmt::format("all {} are of one client: if a proxy passes them on, the clients are in another "
                    "field, such as X-Forwarded-For; --key chooses it",
                    counted(requests, "request")));
  }
  return out;
}

// More than one in a hundred is worth an interruption.
bool many(std::uint64_t part, std::uint64_t whole) { return part * 100 > whole; }

std::vector<std::string> about_the_lines(const LogReport& log) {
  const logs::LogStats& stats = log.stats;
  std::vector<std::string> out;
  if (many(stats.unreadable, stats.read)) {
    out.push_back(fmt::format("{} of {} ({}) could not be read, and are not counted",
                              grouped(stats.unreadable), counted(stats.read, "line"),
                              percent(stats.unreadable, stats.read)));
  }
  if (stats.first_year != 0) {
    out.push_back(
        fmt::format("the times name no year: the first is taken to be of {}, by when the file was "
                    "written",
                    stats.first_year));
  }
  if (many(stats.clamped, stats.requests) && log.spans) {
    out.push_back(cut_in_words(log) + ": a longer --reorder, or all, counts them whole");
  } else if (many(stats.clamped, stats.requests)) {
    out.push_back(
        fmt::format("{} ({} of the requests) came too late to be sorted, and {} at the greatest time "
                    "before: the log seems to hold days in the wrong order; --reorder all sorts "
                    "the whole log",
                    counted(stats.clamped, "line"), percent(stats.clamped, stats.requests),
                    stats.clamped == 1 ? "counts" : "count"));
  }
  return out;
}

// A limit that drains within seconds sees requests of one stamp come at once.
bool drains_fast(const core::Rule& rule, std::int64_t stamps_ns) {
  return rule.quota.emission_interval().count() <= stamps_ns &&
         rule.quota.burst() <= 10 * (stamps_ns / rule.quota.emission_interval().count());
}

}  // namespace

std::vector<std::string> some_names(const logs::ClientIndex& clients, std::size_t key_parts) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < std::min(clients.count(), kSample); ++i)
    names.push_back(logs::shown(clients.name(i), key_parts));
  return names;
}

bool beyond_the_log(const LogReport& log, nanoseconds period) {
  const std::int64_t span = log.last_ns - log.first_ns;
  return log.stats.requests > 0 && span < period.count() - period.count() / 20;
}

std::vector<std::string> warnings_of(const LogReport& log, const std::vector<std::string>& names,
                                     std::span<const TriedRule> tried) {
  std::vector<std::string> out = about_the_lines(log);
  for (std::string& each : about_the_clients(log, names)) out.push_back(std::move(each));
  std::vector<std::string> longer;
  std::vector<std::string> fast;
  const auto add = [](std::vector<std::string>& to, const core::Rule& rule) {
    if (std::string text = core::to_text(rule); std::find(to.begin(), to.end(), text) == to.end())
      to.push_back(std::move(text));
  };
  for (const auto& [rule, denied] : tried) {
    if (beyond_the_log(log, rule.quota.rate().period)) add(longer, rule);
    if (denied > 0 && log.stamps_ns > 1 && drains_fast(rule, log.stamps_ns)) add(fast, rule);
  }
  if (!longer.empty()) {
    out.push_back(
        fmt::format("the log spans {}, less than the period of {}: what would be denied in a whole period "
                    "is not known",
                    about(log.last_ns - log.first_ns), listed_in_quotes(longer)));
  }
  if (!fast.empty() && log.stats.requests >= kEnough) {
    const char* const stamp = log.stamps_ns >= 60'000'000'000 ? "minute" : "second";
    out.push_back(
        fmt::format("the times are whole {0}s, so requests of one {0} count as simultaneous: {1} may deny "
                    "less live than here; --spread distributes them",
                    stamp, listed_in_quotes(fast)));
  }
  return out;
}

}  // namespace weir::sim
