// The page of weir diff: what the change does to a log, and where the files differ.
#include <fmt/format.h>

#include <algorithm>

#include "core/json_writer.hpp"
#include "sim/answer.hpp"
#include "sim/fewer_bins.hpp"
#include "sim/naming.hpp"
#include "sim/number_text.hpp"
#include "sim/page_charts.hpp"
#include "sim/page_html.hpp"

namespace weir::inline v0_1::sim {
namespace {

using Kind = limits::Difference::Kind;

std::string coded_verdict(const std::string& by) { return by.empty() ? "allowed" : "denied by " + code(by); }

std::string number(std::uint64_t value, const char* unit) {
  return number_cell(static_cast<double>(value), grouped(value), unit);
}

// Before and after, as limits are compared on a replay's page.
struct Side {
  const char* name;
  std::uint64_t denied;
  std::uint64_t clients;
  Timeline over_time;
};

std::string chart(const Side& side, std::size_t i, bool whole) {
  const OverTime series{side.over_time.from_s, side.over_time.bin_s, side.over_time.requests,
                        side.over_time.denied, peak_of(side.over_time.requests)};
  const std::string what = fmt::format("Requests over time, {}: {} denied", side.name, grouped(side.denied));
  return whole ? chart_of(series, what, std::to_string(i)) : strip_of(series, what, std::to_string(i));
}

std::string sides_of(const ComparisonReport& log, const std::vector<Side>& sides) {
  std::string out =
      "<h2 class=\"first\">Before and after</h2>\n<table class=\"grid\"><thead><tr><th "
      "scope=\"col\">limits</th><th scope=\"col\" class=\"wide\">share denied</th><th scope=\"col\">requests "
      "denied</th><th scope=\"col\">clients denied</th><th scope=\"col\" class=\"wide over\">over "
      "time</th></tr></thead>\n<tbody>\n";
  const auto most = static_cast<double>(std::max(log.denied_before, log.denied_after));
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Side& side = sides[i];
    out += fmt::format("<tr><td class=\"limit\" data-v=\"{}\">{}</td>{}{}{}<td class=\"over\">{}</td></tr>\n",
                       i, side.name,
                       bar_cell(static_cast<double>(side.denied), most, share(side.denied, log.requests)),
                       number(side.denied, "denied"), number(side.clients, "clients"), chart(side, i, false));
  }
  out += "</tbody></table>\n<div class=\"pair even\">";
  for (std::size_t i = 0; i < sides.size(); ++i) {
    out += fmt::format(
        "<figure><figcaption><b>Over time, {}</b><span class=\"legend\"><span "
        "class=\"allowed\">allowed</span>"
        "<span class=\"denied\">denied</span></span></figcaption>{}</figure>",
        sides[i].name, chart(sides[i], i, true));
  }
  return out + "</div>\n";
}

std::string otherwise_of(const ComparisonReport& log) {
  std::string out =
      "<h2>Requests decided otherwise</h2>\n<table class=\"plain\"><thead><tr><th "
      "scope=\"col\">before</th>"
      "<th scope=\"col\" class=\"left\">after</th><th scope=\"col\">requests</th></tr></thead>\n<tbody>\n";
  for (const auto& each : log.otherwise) {
    out += fmt::format("<tr><td class=\"from\">{}</td><td class=\"left\">{}</td>{}</tr>\n",
                       coded_verdict(each.by_before), coded_verdict(each.by_after),
                       number(each.requests, "requests"));
  }
  return out + "</tbody></table>\n";
}

std::string clients_of(const ComparisonReport& log) {
  std::string out =
      "<h2>Clients denied more or less often</h2>\n<table class=\"plain\"><thead><tr><th "
      "scope=\"col\">client, by " +
      escaped(log.log.key) +
      "</th><th scope=\"col\">requests</th><th scope=\"col\">denied before</th><th "
      "scope=\"col\">after</th></tr></thead>\n<tbody>\n";
  for (const auto& each : log.clients) {
    out += fmt::format("<tr><td class=\"client\">{}</td>{}{}{}</tr>\n", named(each.client, 36),
                       number(each.requests, "requests"), number(each.denied_before, "before"),
                       number(each.denied_after, "after"));
  }
  out += "</tbody></table>\n";
  if (log.clients_changed > log.clients.size())
    out += fmt::format("<p class=\"quiet small below\">And {} more.</p>\n",
                       counted(log.clients_changed - log.clients.size(), "client"));
  return out;
}

std::string line_of(std::uint32_t line) { return line == 0 ? "\u2013" : std::to_string(line); }

std::string said_of(const std::vector<limits::Difference>& said) {
  std::string out =
      "<h2>What differs</h2>\n<table class=\"plain\"><thead><tr><th scope=\"col\">what</th><th scope=\"col\" "
      "class=\"left\">before</th><th scope=\"col\" class=\"left\">after</th><th "
      "scope=\"col\">lines</th></tr></thead>\n<tbody>\n";
  for (const limits::Difference& each : said) {
    const char* const kind = each.kind == Kind::added     ? "added"
                             : each.kind == Kind::removed ? "removed"
                                                          : "changed";
    out += fmt::format(
        "<tr><td>{} <span class=\"tag\">{}</span>{}</td><td class=\"left from\">{}</td><td "
        "class=\"left\">{}</td>"
        "<td>{} \u2192 {}</td></tr>\n",
        code(each.path), kind,
        each.note.empty() ? "" : "<br><span class=\"quiet small\">" + escaped(each.note) + "</span>",
        escaped(each.before), escaped(each.after), line_of(each.line_before), line_of(each.line_after));
  }
  return out + "</tbody></table>\n";
}

// As a replay's page has it, for the same script.
std::string data_of(const std::vector<Side>& sides) {
  std::string out;
  core::JsonWriter json(out, core::JsonWriter::Spelling::shortest);
  json.begin_object();
  json.member("kind", "diff");
  json.begin_array("limits");
  for (const Side& each : sides) {
    json.begin_object();
    json.array("series_denied", each.over_time.denied);
    json.end_object();
  }
  json.end_array();
  json.begin_object("series");
  json.member("bin_s", sides[0].over_time.bin_s);
  json.member("from_s", sides[0].over_time.from_s);
  json.array("requests", sides[0].over_time.requests);
  json.end_object();
  json.end_object();
  return out;
}

}  // namespace

std::string page_of(const FileDifference& difference) {
  Page page;
  page.kind = "diff";
  const std::string old_name = without_folder(difference.before);
  const std::string new_name = without_folder(difference.after);
  page.answer = answer_of(difference);
  page.json = "{\"kind\":\"diff\"}";
  page.facts.emplace_back("before", named(old_name, 48));
  page.facts.emplace_back("after", named(new_name, 48));
  if (difference.log) {
    const ComparisonReport& log = *difference.log;
    describe(page, log.log);
    if (log.errors_before + log.errors_after > 0)
      page.warnings.push_back(fmt::format("requests that are errors: {} before, {} after",
                                          grouped(log.errors_before), grouped(log.errors_after)));
    constexpr std::size_t kBins = 120;
    const std::vector<Side> sides{
        {"before", log.denied_before, log.clients_denied_before, in_fewer_bins(log.before, kBins)},
        {"after", log.denied_after, log.clients_denied_after, in_fewer_bins(log.after, kBins)}};
    page.body += sides_of(log, sides);
    page.json = data_of(sides);
    if (!log.otherwise.empty()) page.body += otherwise_of(log);
    if (!log.clients.empty()) page.body += clients_of(log);
  }
  page.title = "weir diff: " + old_name + ", " + new_name;
  if (!difference.said.empty()) page.body += said_of(difference.said);
  return html_of(page);
}

}  // namespace weir::sim
