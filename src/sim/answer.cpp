#include "sim/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/printable.hpp"
#include "sim/fewer_bins.hpp"
#include "sim/number_text.hpp"

namespace weir::inline v0_1::sim {
namespace {

constexpr std::size_t kNameColumns = 28;

std::string quoted(const std::string& limit) { return "`" + limit + "`"; }

std::string listed(const std::vector<std::string>& limits) {
  std::string text;
  for (std::size_t i = 0; i < limits.size(); ++i)
    text += (i == 0 ? "" : i + 1 == limits.size() ? " and " : ", ") + limits[i];
  return text;
}

std::string whom(std::uint64_t clients_denied, std::uint64_t clients) {
  if (clients_denied == 0) return "nobody";
  if (clients_denied == clients) return clients == 1 ? "the one client" : "all " + counted(clients, "client");
  return fmt::format("{} of {}", grouped(clients_denied), counted(clients, "client"));
}

// What is known of a client that asked all the time: of sixteen spans of equal length or a few less, nine of
// ten, each has between half and twice the mean. People pause.
struct Pace {
  double seconds;  // between two requests, on average
  std::int64_t for_ns;
};
std::optional<Pace> steady_pace(const std::optional<Timeline>& timeline) {
  constexpr std::size_t kSpans = 16;
  constexpr std::size_t kFewestSpans = 6;
  constexpr std::uint64_t kFewest = 100;  // requests that can show it
  if (!timeline) return std::nullopt;
  const Timeline spans = in_fewer_bins(*timeline, kSpans);
  if (spans.requests.size() < kFewestSpans + 2) return std::nullopt;
  // The first and the last are not whole.
  const std::vector<std::uint64_t> whole(spans.requests.begin() + 1, spans.requests.end() - 1);
  const std::uint64_t requests = std::accumulate(whole.begin(), whole.end(), std::uint64_t{0});
  if (requests < kFewest) return std::nullopt;
  const auto mean = static_cast<double>(requests) / static_cast<double>(whole.size());
  const auto even = std::count_if(whole.begin(), whole.end(), [mean](std::uint64_t each) {
    return static_cast<double>(each) >= mean / 2 && static_cast<double>(each) <= mean * 2;
  });
  if (static_cast<std::size_t>(even) * 10 < whole.size() * 9) return std::nullopt;
  const auto length_s = static_cast<std::int64_t>(timeline->requests.size()) * timeline->bin_s;
  return Pace{static_cast<double>(spans.bin_s) / mean, length_s * 1'000'000'000};
}

// "every 1.2s", "10 times a second".
std::string how_often(double seconds) {
  constexpr double kOnce = 1.05;  // below it, a rate would be rounded to "1 times a second"
  const double rate = 1 / seconds;
  if (rate < kOnce) return "every " + about(std::llround(seconds * 100) * 10'000'000);
  const auto whole = static_cast<std::uint64_t>(std::llround(rate));
  return (rate < 10 ? fmt::format("{:.2g}", rate) : grouped(whole)) + " times a second";
}

// What a client did that was denied most: only what the log shows.
std::string what_it_did(const WorstClient& client, std::uint64_t requests) {
  if (const std::optional<Pace> pace = steady_pace(client.timeline)) {
    return fmt::format("which asked {} for {}", how_often(pace->seconds), about(pace->for_ns));
  }
  constexpr std::uint64_t kMuch = 10;  // a tenth of all requests
  if (client.requests * kMuch < requests) return "";
  return fmt::format("which sent {} of all requests", percent(client.requests, requests));
}

std::string name_of(const WorstClient& client) {
  return cut_middle(core::printable(client.client), kNameColumns);
}

// "2 of 28 clients, one of them, 192.0.2.1, with 89 % of the denials, which asked every 1.2s for 6h". `told`:
// the client of which that was said before.
std::string denied_by(const LimitReport& limit, std::uint64_t clients, std::uint64_t requests,
                      std::string& told) {
  std::string text = whom(limit.clients_denied, clients);
  const std::string share =
      fmt::format(" ({} of the requests)", percent(limit.denied, limit.allowed + limit.denied));
  // The one client that stands out among those denied.
  if (limit.worst.empty() || limit.worst.front().denied * 2 <= limit.denied) return text + share;
  const WorstClient& worst = limit.worst.front();
  const std::string name = name_of(worst);
  const bool first = name != told;
  told = name;
  const std::string did = first ? what_it_did(worst, requests) : "";
  if (limit.clients_denied == 1) return text + (did.empty() || clients == 1 ? share : ", " + did);
  text += fmt::format(", {}{} with {} of the denials", first ? "one of them, " : "",
                      name + (first ? "," : ""), percent(worst.denied, limit.denied));
  return did.empty() ? text : text + ", " + did;
}

}  // namespace

std::string answer_of(const ReplayReport& report) {
  const std::uint64_t clients = report.log.clients;
  if (report.log.stats.requests == 0) return "There was no request in the log.";
  std::vector<std::string> nobody;
  std::vector<const LimitReport*> denying;
  for (const LimitReport& limit : report.limits) {
    if (report.parts && &limit != report.limits.data()) break;
    if (limit.denied > 0) {
      denying.push_back(&limit);
    } else {
      nobody.push_back(quoted(report.file ? report.file->name : limit.limit));
    }
  }
  std::sort(denying.begin(), denying.end(), [](const LimitReport* a, const LimitReport* b) {
    return a->denied != b->denied ? a->denied < b->denied : a < b;
  });
  std::string text;
  if (!nobody.empty()) {
    text = (nobody.size() <= 2 ? listed(nobody)
                               : fmt::format("{} of {} limits", nobody.size(), report.limits.size())) +
           " would have denied nobody";
  }
  // The mildest and the strictest say what the others lie between.
  if (denying.size() > 2) denying = {denying.front(), denying.back()};
  std::string told;
  for (const LimitReport* each : denying) {
    text += text.empty()
                ? fmt::format("{} would have denied ", quoted(report.file ? report.file->name : each->limit))
                : fmt::format("; {} ", quoted(each->limit));
    text += denied_by(*each, clients, report.log.stats.requests, told);
  }
  return text + ".";
}

namespace {

// Of the criterion, or of what denies nothing.
std::string answer_of_slots(const SuggestReport& report) {
  const SuggestedSlots& first = report.in_flight.front();
  return fmt::format("`in_flight={}` would have denied {} ({} of the requests).", first.slots,
                     whom(first.clients_denied, report.clients), percent(first.denied, report.requests));
}

}  // namespace

std::string answer_of(const SuggestReport& report) {
  if (!report.in_flight.empty()) return answer_of_slots(report);
  if (report.suggestions.empty()) return "No limit meets the criterion.";
  const auto said = [&report](const Figures& limit) {
    return quoted(limit.limit) + " would have denied " + whom(limit.clients_denied, report.clients);
  };
  const Suggestion* plain = &report.suggestions.front();
  for (const Suggestion& each : report.suggestions) {
    if (each.period == "min" && !each.beyond_the_log) plain = &each;
  }
  std::string text = said(plain->rounded);
  for (const Suggestion& each : report.knee) {
    if (each.rounded.limit == plain->rounded.limit) continue;
    text += fmt::format(", and so would {}", quoted(each.rounded.limit));
    if (each.rounded.clients_denied != plain->rounded.clients_denied)
      text = said(plain->rounded) + fmt::format("; {} {}", quoted(each.rounded.limit),
                                                whom(each.rounded.clients_denied, report.clients));
  }
  for (const Figures& each : report.today)
    text +=
        fmt::format("; today\u2019s {} {}", quoted(each.limit), whom(each.clients_denied, report.clients));
  return text + ".";
}

std::string answer_of(const FileDifference& difference) {
  if (difference.said.empty()) return "The two files say the same.";
  const std::string changes = counted(difference.said.size(), "difference");
  if (!difference.log) return changes + ".";
  const ComparisonReport& log = *difference.log;
  if (log.otherwise.empty())
    return fmt::format("{}, and nobody in the log would be decided otherwise.", changes);
  if (log.denied_after == log.denied_before)
    return fmt::format("As many requests would be denied, {}, but not the same.", grouped(log.denied_after));
  const bool more = log.denied_after > log.denied_before;
  const std::uint64_t by = more ? log.denied_after - log.denied_before : log.denied_before - log.denied_after;
  return fmt::format("The new file would have denied {} of {}: {} instead of {}.",
                     counted(by, more ? "more request" : "fewer request"), grouped(log.requests),
                     grouped(log.denied_after), grouped(log.denied_before));
}

}  // namespace weir::sim
