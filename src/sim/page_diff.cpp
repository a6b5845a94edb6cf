// The page of weir diff: what the change does to a log, and where the files differ.
#include <fmt/format.h>

#include <algorithm>

#include "sim/answer.hpp"
#include "sim/naming.hpp"
#include "sim/page_html.hpp"
#include "sim/words.hpp"

namespace weir::sim {
namespace {

using Kind = limits::Difference::Kind;

std::string verdict(const std::string& by) { return by.empty() ? "allowed" : "denied by " + code(by); }

std::string number(std::uint64_t value, const char* unit) {
  return fmt::format("<td class=\"number\" data-v=\"{}\">{} <span class=\"unit\">{}</span></td>", value,
                     grouped(value), unit);
}

std::string otherwise_of(const ComparisonReport& log) {
  std::string out =
      "<h2 class=\"first\">Requests decided otherwise</h2>\n<table class=\"plain\"><thead><tr><th "
      "scope=\"col\">before</th>"
      "<th scope=\"col\" class=\"left\">after</th><th scope=\"col\">requests</th></tr></thead>\n<tbody>\n";
  for (const auto& each : log.otherwise) {
    out += fmt::format("<tr><td>{}</td><td class=\"left\">{}</td>{}</tr>\n", verdict(each.by_before),
                       verdict(each.by_after), number(each.requests, "requests"));
  }
  return out + "</tbody></table>\n";
}

std::string clients_of(const ComparisonReport& log) {
  std::string out =
      "<h2>Clients denied more or less often</h2>\n<table class=\"plain\"><thead><tr><th "
      "scope=\"col\">client, by " +
      escaped(log.key) +
      "</th><th scope=\"col\">requests</th><th scope=\"col\">denied before</th><th "
      "scope=\"col\">after</th></tr></thead>\n<tbody>\n";
  for (const auto& each : log.clients) {
    out += fmt::format("<tr><td class=\"client\">{}</td>{}{}{}</tr>\n", named(each.client, 36),
                       number(each.requests, "requests"), number(each.denied_before, "before"),
                       number(each.denied_after, "after"));
  }
  out += "</tbody></table>\n";
  if (log.clients_changed > log.clients.size())
    out += fmt::format("<p class=\"quiet small\">And {} more.</p>\n",
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
        "<tr><td>{} <span class=\"tag\">{}</span>{}</td><td class=\"left\">{}</td><td class=\"left\">{}</td>"
        "<td>{} \u2192 {}</td></tr>\n",
        code(each.path), kind,
        each.note.empty() ? "" : "<br><span class=\"quiet small\">" + escaped(each.note) + "</span>",
        escaped(each.before), escaped(each.after), line_of(each.line_before), line_of(each.line_after));
  }
  return out + "</tbody></table>\n";
}

}  // namespace

std::string page_of(const FileDifference& difference) {
  Page page;
  page.kind = "diff";
  page.title = "weir diff: " + difference.before + ", " + difference.after;
  page.answer = answer_of(difference);
  page.facts.emplace_back("before", named(difference.before, 48));
  page.facts.emplace_back("after", named(difference.after, 48));
  if (difference.log) {
    const ComparisonReport& log = *difference.log;
    page.facts.emplace_back("requests", grouped(log.requests));
    page.facts.emplace_back("denied before", grouped(log.denied_before));
    page.facts.emplace_back("denied after", grouped(log.denied_after));
    if (log.errors_before + log.errors_after > 0)
      page.warnings.push_back(fmt::format("requests that are errors: {} before, {} after",
                                          grouped(log.errors_before), grouped(log.errors_after)));
    if (!log.otherwise.empty()) page.body += otherwise_of(log);
    if (!log.clients.empty()) page.body += clients_of(log);
  }
  if (!difference.said.empty()) page.body += said_of(difference.said);
  page.json = "{\"kind\":\"diff\"}";
  return html_of(page);
}

}  // namespace weir::sim
