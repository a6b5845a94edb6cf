// The page of weir suggest: the answer, the suggestions beside today's limit, the curve that they lie on.
#include <fmt/format.h>

#include <algorithm>

#include "sim/answer.hpp"
#include "sim/naming.hpp"
#include "sim/number_text.hpp"
#include "sim/page_charts.hpp"
#include "sim/page_html.hpp"

namespace weir::inline v0_1::sim {
namespace {

std::string criterion_of(const SuggestReport& report) {
  if (report.count_of_clients)
    return fmt::format("at most {} of {} would ever have been denied a request",
                       grouped(*report.count_of_clients), counted(report.clients, "client"));
  if (report.deny_clients && *report.deny_clients == 0)
    return "no client would ever have been denied a request";
  if (report.deny_clients) {
    return fmt::format("at most {:g} % of the clients ({} of {}) would ever have been denied a request",
                       *report.deny_clients * 100, grouped(report.clients_that_may_be_denied.value_or(0)),
                       grouped(report.clients));
  }
  if (report.deny_requests)
    return fmt::format("at most {:g} % of the requests would have been denied", *report.deny_requests * 100);
  return fmt::format("none of {} would ever have been denied a request",
                     counted(report.good_clients.value_or(0), "good client"));
}

struct Row {
  const Figures* limit;
  const Figures* exact;  // null: not a suggestion
  const char* note;
};

std::vector<Row> rows_of(const SuggestReport& report) {
  std::vector<Row> rows;
  for (const Suggestion& each : report.suggestions)
    rows.push_back({&each.rounded, &each.exact, each.beyond_the_log ? "period longer than the log" : ""});
  for (const Suggestion& each : report.knee) rows.push_back({&each.rounded, &each.exact, "the knee"});
  for (const Figures& each : report.today) rows.push_back({&each, nullptr, "today"});
  return rows;
}

std::string exact_of(const Row& row) {
  if (row.exact == nullptr) return "";
  if (row.exact->limit == row.limit->limit) return "exact";
  return fmt::format("{} denies {}", code(row.exact->limit), grouped(row.exact->denied));
}

std::string grid_of(const SuggestReport& report, const std::vector<Row>& rows) {
  const std::uint64_t requests = report.requests;
  std::uint64_t most = 1;
  for (const Row& each : rows) most = std::max(most, each.limit->denied);
  std::string out =
      "<table class=\"grid suggested\"><thead><tr><th scope=\"col\">limit</th><th scope=\"col\" "
      "class=\"wide\">share denied</th>"
      "<th scope=\"col\">requests denied</th><th scope=\"col\">clients denied</th>";
  if (report.bad_clients) out += "<th scope=\"col\">bad clients denied</th>";
  out += "<th scope=\"col\" class=\"left\">before rounding</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Figures& limit = *rows[i].limit;
    const std::string note =
        *rows[i].note == '\0' ? "" : fmt::format(" <span class=\"tag\">{}</span>", rows[i].note);
    out += fmt::format(
        "<tr><td class=\"limit\" data-v=\"{}\"><b class=\"dot\">{}</b>{}{}</td>{}{}{}{}<td class=\"left "
        "exact\">{}</td></tr>\n",
        i, i + 1, code(limit.limit), note,
        bar_cell(static_cast<double>(limit.denied), static_cast<double>(most), share(limit.denied, requests)),
        number_cell(static_cast<double>(limit.denied), grouped(limit.denied), "denied"),
        number_cell(static_cast<double>(limit.clients_denied), grouped(limit.clients_denied), "clients"),
        report.bad_clients
            ? number_cell(static_cast<double>(limit.bad_denied),
                          fmt::format("{} of {}", grouped(limit.bad_denied), grouped(*report.bad_clients)),
                          "bad clients")
            : "",
        exact_of(rows[i]));
  }
  return out + "</tbody></table>\n";
}

std::string page_of_slots(Page page, const SuggestReport& report) {
  page.body =
      "<h2 class=\"first\">Slots</h2>\n<p class=\"lead\">The fewest slots a client that deny no more than "
      "this.</p>\n"
      "<table class=\"grid\"><thead><tr><th scope=\"col\">to deny at most</th><th "
      "scope=\"col\">limit</th><th "
      "scope=\"col\">requests denied</th><th scope=\"col\">of the requests</th><th scope=\"col\">clients "
      "denied</th></tr></thead>\n<tbody>\n";
  for (const SuggestedSlots& each : report.in_flight) {
    page.body += fmt::format(
        "<tr><td>{}</td><td class=\"limit\" data-v=\"{}\">{}</td>{}<td class=\"number\">{}</td>{}</tr>\n",
        escaped(each.when), each.slots, code(fmt::format("in_flight={}", each.slots)),
        number_cell(static_cast<double>(each.denied), grouped(each.denied), "denied"),
        share(each.denied, report.requests),
        number_cell(static_cast<double>(each.clients_denied), grouped(each.clients_denied), "clients"));
  }
  page.body += "</tbody></table>\n" + most_at_once(report.at_once);
  page.json = json_of(report);
  return html_of(page);
}

}  // namespace

std::string page_of(const SuggestReport& all) {
  SuggestReport report = all;
  leave_out_texts(report.log);
  rename_clients(report.at_once, Naming::addresses);
  const std::vector<Row> rows = rows_of(report);
  Page page;
  page.kind = "suggest";
  page.answer = answer_of(report);
  describe(page, report.log);
  if (report.log.spans) return page_of_slots(std::move(page), report);
  if (report.bad_clients) page.facts.emplace_back("of them known to be bad", grouped(*report.bad_clients));
  page.body = "<h2 class=\"first\">Suggested limits</h2>\n";
  if (report.suggestions.empty()) {
    page.body += "<p class=\"lead\">None could be found.</p>\n";
  } else {
    page.body += fmt::format(
        "<p class=\"lead\">With any one of these limits, {}. Each is the smallest for its period, "
        "rounded upwards to numbers to publish.</p>\n",
        criterion_of(report));
  }
  if (!rows.empty()) page.body += grid_of(report, rows);
  std::vector<Figures> dots;
  std::string elsewhere;
  for (const Row& each : rows) {
    if (each.limit->on_the_curve) {
      dots.push_back(*each.limit);
    } else {
      elsewhere =
          fmt::format(" {} counts by a rule of its own, so it is not drawn here.", code(each.limit->limit));
    }
  }
  if (const std::string curve = curve_of(report, dots); !curve.empty()) {
    page.body +=
        "<section>\n<h2>Rate against burst</h2>\n<p class=\"lead\">A lower rate needs a greater burst. ";
    page.body +=
        report.greater_meets_it_too
            ? "Every limit on the line or above it meets the criterion, and none below it does. "
            : "Each point meets the criterion. As costs differ, a greater limit may not: it may let a "
              "request in that fills it. ";
    if (!report.knee.empty()) {
      page.body += fmt::format(
          "The curve bends at the knee, {}: a slower rate costs far more burst, a faster one saves "
          "little.",
          code(report.knee[0].exact.limit));
    }
    page.body += elsewhere + "</p>\n<figure>" + curve + "</figure>\n</section>\n";
  }
  page.json = json_of(report);
  return html_of(page);
}

}  // namespace weir::sim
