// The page of weir replay: the answer, all limits in one grid, then one limit at a time.
#include <fmt/format.h>

#include <algorithm>

#include "sim/answer.hpp"
#include "sim/fewer_bins.hpp"
#include "sim/number_text.hpp"
#include "sim/page_charts.hpp"
#include "sim/page_html.hpp"

namespace weir::inline v0_1::sim {
namespace {

constexpr std::size_t kMostRows = 100;   // of clients under a limit: a page has a bound
constexpr std::size_t kMostStrips = 20;  // of these with a strip
// As many as can be told apart in a chart and in a strip.
constexpr std::size_t kChartBins = 120;
constexpr std::size_t kStripBins = 60;

std::uint64_t requests_of(const LimitReport& limit) { return limit.allowed + limit.denied; }

double denied_share(const LimitReport& limit) {
  const std::uint64_t requests = requests_of(limit);
  return requests == 0 ? 0 : static_cast<double>(limit.denied) / static_cast<double>(requests);
}

// A column of the grid: what it says, and the number by which it is sorted and the least of which is best.
struct Column {
  const char* head;
  const char* unit;  // after the text where the head is not shown
  double (*number)(const LimitReport&);
  std::string (*text)(const LimitReport&);
};

constexpr Column kColumns[] = {
    {"requests denied", "denied", [](const LimitReport& l) { return static_cast<double>(l.denied); },
     [](const LimitReport& l) { return grouped(l.denied); }},
    {"clients denied", "clients", [](const LimitReport& l) { return static_cast<double>(l.clients_denied); },
     [](const LimitReport& l) { return grouped(l.clients_denied); }},
    {"longest lockout", "locked out",
     [](const LimitReport& l) { return static_cast<double>(l.longest_locked_out_ns); },
     [](const LimitReport& l) {
       return l.denied == 0 ? std::string("\u2013") : about(l.longest_locked_out_ns);
     }},
    {"peak a second", "a second", [](const LimitReport& l) { return static_cast<double>(l.peak_second); },
     [](const LimitReport& l) { return grouped(l.peak_second); }},
    {"peak a minute", "a minute", [](const LimitReport& l) { return static_cast<double>(l.peak_minute); },
     [](const LimitReport& l) { return grouped(l.peak_minute); }},
};

// The best of a column, where it is better than all others; parts of one whole do not compete.
const LimitReport* best_of(const ReplayReport& report, const Column& column) {
  if (report.parts || report.limits.size() < 2) return nullptr;
  const auto less = [&column](const LimitReport& a, const LimitReport& b) {
    return column.number(a) < column.number(b);
  };
  const auto best = std::min_element(report.limits.begin(), report.limits.end(), less);
  const bool alone = std::count_if(report.limits.begin(), report.limits.end(), [&](const LimitReport& each) {
                       return column.number(each) == column.number(*best);
                     }) == 1;
  return alone ? &*best : nullptr;
}

std::string cell(const ReplayReport& report, const LimitReport& limit, const Column& column) {
  const bool is_best = best_of(report, column) == &limit;
  return number_cell(column.number(limit), column.text(limit), column.unit, is_best ? "best" : "");
}

OverTime series_of(const ReplayReport& report, const LimitReport& limit) {
  return {report.from_s, report.bin_s, report.requests_over_time, limit.denied_over_time,
          peak_of(report.requests_over_time)};
}

std::string below_the_grid(const ReplayReport& report) {
  if (report.limits.size() == 1) return "";
  std::string text = report.file
                         ? "A request is charged to all limits that it meets or to none; each row counts "
                           "what its limit saw."
                     : report.parts ? "Each client is decided by the limit of its plan."
                                    : "Each limit as if it were the only one.";
  if (std::any_of(std::begin(kColumns), std::end(kColumns),
                  [&report](const Column& each) { return best_of(report, each) != nullptr; })) {
    text +=
        " <span class=\"best\">Best in its column</span>: the least denied or locked out, or the lowest "
        "peak, "
        "which is the most that is let through in any second or minute.";
  }
  return "<p class=\"quiet small below\">" + text + "</p>\n";
}

std::string grid_of(const ReplayReport& report) {
  double most = 0;
  for (const LimitReport& each : report.limits) most = std::max(most, denied_share(each));
  std::string out =
      "<table class=\"grid\"><thead><tr><th scope=\"col\">limit</th><th scope=\"col\" class=\"wide\">share "
      "denied</th>";
  for (const Column& each : kColumns) out += fmt::format("<th scope=\"col\">{}</th>", each.head);
  out += "<th scope=\"col\" class=\"wide over\">over time</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < report.limits.size(); ++i) {
    const LimitReport& limit = report.limits[i];
    out += fmt::format("<tr><td class=\"limit\" data-v=\"{0}\"><a href=\"#limit-{1}\">{2}</a></td>{3}", i,
                       i + 1, code(limit.limit),
                       bar_cell(denied_share(limit), most, share(limit.denied, requests_of(limit))));
    for (const Column& each : kColumns) out += cell(report, limit, each);
    out += "<td class=\"over\">" +
           strip_of(series_of(report, limit), limit.limit + " over time", std::to_string(i)) + "</td></tr>\n";
  }
  return out + "</tbody></table>\n" + below_the_grid(report);
}

std::string verdict(const ReplayReport& report, const LimitReport& limit) {
  if (limit.denied == 0)
    return requests_of(limit) == 0
               ? "<p class=\"lead\">No request met it.</p>\n"
               : fmt::format("<p class=\"lead\">Nobody would have been denied: {} allowed.</p>\n",
                             requests_of(limit) == 1 ? "the one request is"
                                                     : "all " + counted(requests_of(limit), "request"));
  std::string out = fmt::format(
      "<p class=\"lead\">Would have denied <strong class=\"red\">{}</strong> of {} ({}), from "
      "<strong class=\"red\">{}</strong>",
      counted(limit.denied, "request"), grouped(requests_of(limit)), share(limit.denied, requests_of(limit)),
      counted(limit.clients_denied, "client"));
  if (!report.parts) out += fmt::format(" of {}", grouped(report.log.clients));
  if (limit.longest_locked_out_client) {
    out += fmt::format(". Locked out longest: {}, for {}", named(*limit.longest_locked_out_client),
                       about(limit.longest_locked_out_ns));
  }
  if (limit.never > 0) {
    out +=
        fmt::format(". {} cost more than the limit ever lets through at once: waiting would not have helped",
                    counted(limit.never, "request"));
  }
  if (limit.would_deny > 0)
    out += fmt::format(". In shadow it would deny {}", counted(limit.would_deny, "request"));
  return out + ".</p>\n";
}

std::string worst_of(const LimitReport& limit, std::size_t at) {
  if (limit.worst.empty()) return "";
  const bool strips = std::any_of(limit.worst.begin(), limit.worst.end(),
                                  [](const WorstClient& each) { return each.timeline.has_value(); });
  const std::string title = limit.clients_denied == 1 ? "The client denied"
                            : limit.clients_denied == limit.worst.size()
                                ? fmt::format("The {} clients denied", limit.worst.size())
                                : fmt::format("The {} of {} clients denied most", limit.worst.size(),
                                              grouped(limit.clients_denied));
  std::string out = fmt::format(
      "<h3>{}</h3>\n<table class=\"worst\"><thead><tr><th scope=\"col\">client</th><th "
      "scope=\"col\">requests</th><th scope=\"col\">denied</th><th scope=\"col\">first denied (UTC)</th>{}"
      "</tr></thead>\n<tbody>\n",
      title, strips ? "<th scope=\"col\" class=\"wide over\">its requests over time</th>" : "");
  for (std::size_t i = 0; i < limit.worst.size(); ++i) {
    const WorstClient& each = limit.worst[i];
    out += fmt::format(
        "<tr><td class=\"client\">{}</td>{}{}<td class=\"number\" data-v=\"{}\"><time>{}</time></td>",
        named(each.client, 36),
        number_cell(static_cast<double>(each.requests), grouped(each.requests), "requests"),
        number_cell(static_cast<double>(each.denied), grouped(each.denied), "denied", "red"),
        each.first_denied_ns, stamp(each.first_denied_ns));
    if (strips) out += "<td class=\"over\">";
    if (const auto& series = each.timeline) {
      out += strip_of(
          {series->from_s, series->bin_s, series->requests, series->denied, peak_of(series->requests)},
          fmt::format("{} requests, {} denied, over time", each.requests, each.denied),
          fmt::format("{} {}", at, i));
    }
    out += strips ? "</td></tr>\n" : "</tr>\n";
  }
  out += "</tbody></table>\n";
  return !strips
             ? out
             : out + "<p class=\"quiet small below\">Each strip has its own scales of height and time.</p>\n";
}

std::string section_of(const ReplayReport& report, std::size_t i) {
  const LimitReport& limit = report.limits[i];
  return fmt::format("<section class=\"limit\" id=\"limit-{}\">\n<h2>{}</h2>\n", i + 1, code(limit.limit)) +
         verdict(report, limit) +
         "<div class=\"pair\"><figure><figcaption><b>Over time</b><span class=\"legend\"><span "
         "class=\"allowed\">allowed</span>"
         "<span class=\"denied\">denied</span></span></figcaption>" +
         chart_of(series_of(report, limit),
                  fmt::format("Requests over time, {}: {} of {} denied", limit.limit, grouped(limit.denied),
                              grouped(requests_of(limit))),
                  std::to_string(i)) +
         "</figure><figure><figcaption><b>Clients by size</b></figcaption>" +
         sizes_of(report.clients_by_size, limit.denied_clients_by_size) + "</figure></div>\n" +
         worst_of(limit, i) + "</section>\n";
}

// No more rows than a reader reads, and no more bins than a reader sees.
ReplayReport for_a_page(ReplayReport report) {
  const Bins fine{report.from_s, report.bin_s};
  const Bins wide = fewer_bins(fine, report.requests_over_time.size(), kChartBins);
  report.from_s = wide.from_s;
  report.bin_s = wide.bin_s;
  report.requests_over_time = added_up(report.requests_over_time, fine, wide);
  if (report.at_once.size() > kMostRows) report.at_once.resize(kMostRows);
  for (LimitReport& limit : report.limits) {
    limit.denied_over_time = added_up(limit.denied_over_time, fine, wide);
    if (limit.worst.size() > kMostRows) limit.worst.resize(kMostRows);
    for (std::size_t i = 0; i < limit.worst.size(); ++i) {
      std::optional<Timeline>& timeline = limit.worst[i].timeline;
      if (i >= kMostStrips) timeline.reset();
      if (timeline) timeline = in_fewer_bins(*timeline, kStripBins);
    }
  }
  return report;
}

}  // namespace

std::string page_of(const ReplayReport& whole) {
  const ReplayReport report = for_a_page(whole);
  Page page;
  page.kind = "replay";
  page.answer = answer_of(whole);
  describe(page, report.log);
  if (const auto& file = report.file) {
    page.facts.emplace_back("limits file", named(file->name));
    if (file->unlimited > 0) page.notes.push_back(counted(file->unlimited, "request") + " met no limit");
    if (file->errors > 0)
      page.warnings.push_back(counted(file->errors, "request") +
                              " could not be decided, and count as errors");
  }
  const std::size_t limits = report.limits.size();
  page.body =
      fmt::format("<h2 class=\"first\">{}</h2>\n", limits == 1     ? "The limit"
                                                   : !report.parts ? fmt::format("{} limits compared", limits)
                                                   : report.file   ? "All limits together, and each of them"
                                                                   : "All plans together, and each of them") +
      grid_of(report);
  if (report.log.stats.requests > 0) {
    for (std::size_t i = 0; i < report.limits.size(); ++i) page.body += section_of(report, i);
  }
  page.body += most_at_once(report.at_once);
  page.json = json_of(report);
  return html_of(page);
}

}  // namespace weir::sim
