#include <fmt/format.h>

#include <algorithm>

#include "core/printable.hpp"
#include "core/utc_text.hpp"
#include "sim/log_report.hpp"
#include "sim/number_text.hpp"
#include "sim/report.hpp"

namespace weir::inline v0_1::sim {
namespace {

// A table: the first column is left-aligned, the others right-aligned.
class Columns {
 public:
  void row(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (widths_.size() <= i) widths_.push_back(0);
      widths_[i] = std::max(widths_[i], width_of(cells[i]));
    }
    rows_.push_back(std::move(cells));
  }
  std::string text(std::string_view indent) const {
    std::string out;
    for (const auto& cells : rows_) {
      std::string line(indent);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string space(widths_[i] - width_of(cells[i]), ' ');
        line += i == 0 ? cells[i] + space : "  " + space + cells[i];
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

constexpr std::size_t kWorstColumns = 44;

}  // namespace

std::string left_out_in_words(const LogReport& log) {
  if (log.stats.left_out == 0) return "";
  std::string by;
  for (std::size_t i = 0; i < log.asked.size(); ++i) {
    by += i == 0 ? "" : i + 1 == log.asked.size() ? " and " : ", ";
    by += log.asked[i].what + log.asked[i].value;
  }
  return fmt::format(
      "{} left out by {}",
      log.stats.left_out == 1 ? "1 other request is" : grouped(log.stats.left_out) + " other requests are",
      by);
}

std::string cut_in_words(const LogReport& log) {
  return fmt::format("{} began more than --reorder {} before one of a line above, and {} from there",
                     counted(log.stats.clamped, "request"), log.reorder,
                     log.stats.clamped == 1 ? "counts" : "count");
}

std::string head_of(const LogReport& log, bool colour) {
  const logs::LogStats& stats = log.stats;
  std::string out;
  for (const std::string& each : log.warnings)
    out += fmt::format("{}warning: {}{}\n", colour ? "\x1b[1;33m" : "", core::printable(each),
                       colour ? "\x1b[0m" : "");
  if (log.interrupted) out += "interrupted: what was found so far\n";
  out += fmt::format("{} {} of {} {}", grouped(stats.requests), stats.requests == 1 ? "request" : "requests",
                     grouped(log.clients), log.clients == 1 ? "client" : "clients");
  if (stats.requests > 0) {
    out += fmt::format(", {} to {} ({})", core::utc_text(log.first_ns), core::utc_text(log.last_ns),
                       about(log.last_ns - log.first_ns));
  }
  out += fmt::format("; by {}", log.key);
  if (log.cost != "1") out += fmt::format(", cost {}: {} units", log.cost, grouped(log.units));
  out += "\n";
  if (stats.left_out > 0) out += core::printable(left_out_in_words(log)) + "\n";
  if (log.spans) {
    if (stats.clamped > 0) out += cut_in_words(log) + "\n";
  } else if (stats.reordered + stats.clamped > 0) {
    out += fmt::format("{} lines were out of order: {} sorted, {} later than --reorder {} and clamped\n",
                       grouped(stats.reordered + stats.clamped), grouped(stats.reordered),
                       grouped(stats.clamped), log.reorder);
  }
  if (stats.unreadable > 0) {
    out += fmt::format("{} of {} lines could not be read\n", grouped(stats.unreadable), grouped(stats.read));
    for (const logs::Unreadable& each : stats.examples) {
      out += fmt::format("  {}:{}: {}{}{}\n", each.file, each.line, each.why, each.text.empty() ? "" : ": ",
                         cut(core::printable(each.text), 60));
    }
    out += fmt::format("  expected lines such as: {}\n", stats.expected);
  }
  return out;
}

namespace {

std::string about(const FileTotals& file) {
  std::string out;
  if (file.unlimited > 0) out += fmt::format("{} requests met no limit\n", grouped(file.unlimited));
  if (file.errors > 0) {
    out += fmt::format("{} requests are errors{}{}\n", grouped(file.errors),
                       file.first_error.empty() ? "" : ", the first: ", core::printable(file.first_error));
  }
  return out;
}

std::string text_of(const std::vector<AtOnce>& clients) {
  Columns table;
  table.row({"most at once", "requests", "first at"});
  for (const AtOnce& each : clients) {
    table.row({cut(core::printable(each.client), kWorstColumns), grouped(each.most),
               core::utc_text(each.first_ns)});
  }
  return clients.empty() ? "" : "\n" + table.text("");
}

std::string text_of(const std::vector<SuggestedSlots>& rows, std::uint64_t requests) {
  Columns table;
  table.row({"to deny at most", "limit", "would deny", "of the requests", "clients"});
  for (const SuggestedSlots& each : rows) {
    table.row({each.when, fmt::format("in_flight={}", each.slots), grouped(each.denied),
               percent(each.denied, requests), grouped(each.clients_denied)});
  }
  return "\n" + table.text("");
}

std::string text_of(const Top& top) {
  constexpr std::size_t kValueColumns = 70;
  Columns table;
  table.row({"denied most by " + top.field, "requests", "denied"});
  for (const Top::Value& each : top.values) {
    table.row({each.value.empty() ? "(none)" : cut(core::printable(each.value), kValueColumns),
               grouped(each.requests), grouped(each.denied)});
  }
  return table.text("  ");
}

}  // namespace

std::string text_of(const ReplayReport& report, bool colour) {
  const char* const red = colour ? "\x1b[31m" : "";
  const char* const bold = colour ? "\x1b[1m" : "";
  const char* const plain = colour ? "\x1b[0m" : "";
  std::string out = head_of(report.log, colour);

  if (const auto& file = report.file) out += about(*file);

  Columns table;
  table.row({"limit", "requests", "allowed", "denied", "share", "clients denied", "longest lockout", "peak/s",
             "peak/min"});
  for (const LimitReport& limit : report.limits) {
    const std::uint64_t requests = limit.allowed + limit.denied;
    table.row({limit.limit, grouped(requests), grouped(limit.allowed), grouped(limit.denied),
               percent(limit.denied, requests), grouped(limit.clients_denied),
               limit.denied > 0 ? about(limit.longest_locked_out_ns) : "-", grouped(limit.peak_second),
               grouped(limit.peak_minute)});
  }
  out += "\n" + table.text("");
  for (const LimitReport& limit : report.limits) {
    if (limit.never == 0) continue;
    out += fmt::format("{}: {} requests cost more than the limit, so waiting would not help\n", limit.limit,
                       grouped(limit.never));
  }

  for (const LimitReport& limit : report.limits) {
    if (limit.would_deny > 0)
      out += fmt::format("{}: in shadow it would deny {} requests\n", limit.limit, grouped(limit.would_deny));
  }

  for (const LimitReport& limit : report.limits) {
    if (limit.denied > 0 && limit.worst.empty()) continue;  // --worst 0
    if (limit.denied == 0 && report.file) continue;         // the table says so, and a file has many limits
    if (limit.denied == 0) {
      out += fmt::format("\n{}{}{}: nobody would have been denied\n", bold, limit.limit, plain);
      continue;
    }
    out += limit.clients_denied == 1 ? fmt::format("\n{}{}{}: the client denied\n", bold, limit.limit, plain)
                                     : fmt::format("\n{}{}{}: the worst of {} clients denied\n", bold,
                                                   limit.limit, plain, grouped(limit.clients_denied));
    Columns worst;
    worst.row({"client", "requests", "denied", "share", "first denied at"});
    for (const WorstClient& each : limit.worst) {
      worst.row({cut(core::printable(each.client), kWorstColumns), grouped(each.requests),
                 grouped(each.denied), percent(each.denied, each.requests),
                 core::utc_text(each.first_denied_ns)});
    }
    out += worst.text("  ");
    if (limit.longest_locked_out_client) {
      out += fmt::format("  {}locked out longest: {} for {}{}\n", red,
                         cut(core::printable(*limit.longest_locked_out_client), kWorstColumns),
                         about(limit.longest_locked_out_ns), plain);
    }
    for (const Top& each : limit.top) out += text_of(each);
  }
  return out + text_of(report.at_once);
}

std::string text_of(const SuggestReport& report, bool colour) {
  std::string out = head_of(report.log, colour);
  if (report.log.spans) return out + text_of(report.in_flight, report.requests) + text_of(report.at_once);
  if (report.count_of_clients) {
    out += fmt::format("\nthe smallest limits that deny at most {} of {}:\n",
                       grouped(*report.count_of_clients), counted(report.clients, "client"));
  } else if (report.deny_clients) {
    out += fmt::format("\nthe smallest limits that deny at most {:g} % of the clients ({} of {}):\n",
                       *report.deny_clients * 100, grouped(report.clients_that_may_be_denied.value_or(0)),
                       grouped(report.clients));
  } else if (report.deny_requests) {
    out += fmt::format("\nthe smallest limits that deny at most {:g} % of the requests:\n",
                       *report.deny_requests * 100);
  } else {
    out += fmt::format("\nthe smallest limits that deny none of {} good clients:\n",
                       grouped(report.good_clients.value_or(0)));
  }
  if (report.bad_clients)
    out += fmt::format("{} known to be bad {} apart\n", counted(*report.bad_clients, "client"),
                       *report.bad_clients == 1 ? "counts" : "count");
  Columns table;
  const auto row = [&table, &report](const Figures& limit, std::vector<std::string> more) {
    std::vector<std::string> cells{limit.limit, grouped(limit.denied), percent(limit.denied, report.requests),
                                   grouped(limit.clients_denied)};
    if (report.bad_clients)
      cells.push_back(fmt::format("{} of {}", grouped(limit.bad_denied), grouped(*report.bad_clients)));
    cells.insert(cells.end(), more.begin(), more.end());
    table.row(std::move(cells));
  };
  const auto suggested = [&row](const Suggestion& each, const char* note) {
    row(each.rounded, {each.exact.limit, grouped(each.exact.denied), note});
  };
  std::vector<std::string> head{"limit", "would deny", "of the requests", "clients"};
  if (report.bad_clients) head.push_back("bad clients");
  head.insert(head.end(), {"not rounded up", "would deny", ""});
  table.row(std::move(head));
  for (const Suggestion& each : report.suggestions)
    suggested(each, each.beyond_the_log ? "a period longer than the log" : "");
  for (const Suggestion& each : report.knee) suggested(each, "the knee");
  for (const Figures& each : report.today) row(each, {"", "", "today"});
  out += table.text("  ");

  out += "\nwhat a rate costs in burst:\n";
  std::int64_t most = 1;
  for (const TradeOff& each : report.trade_off) most = std::max(most, each.burst);
  constexpr std::int64_t kLongest = 50;
  for (const TradeOff& each : report.trade_off) {
    // Linear, to show where a lower rate begins to need a far greater burst.
    const std::string bar(static_cast<std::size_t>(std::max<std::int64_t>(1, each.burst * kLongest / most)),
                          '#');
    const bool knee = !report.knee.empty() && report.knee[0].exact.per_second == each.per_second;
    out += fmt::format("  {:>12}  burst {:>9}  {}{}\n", each.rate,
                       grouped(static_cast<std::uint64_t>(each.burst)), bar, knee ? "  the knee" : "");
  }
  return out;
}

}  // namespace weir::sim
