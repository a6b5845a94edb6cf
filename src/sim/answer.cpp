#include "sim/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/printable.hpp"
#include "sim/words.hpp"

namespace weir::sim {
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

// The one client that stands out among those denied.
std::string leader(const LimitReport& limit) {
  if (limit.worst.empty() || limit.clients_denied < 2) return "";
  const WorstClient& worst = limit.worst.front();
  if (worst.denied * 2 <= limit.denied) return "";
  return fmt::format(", {} alone with {} of what it denied",
                     cut_middle(core::printable(worst.client), kNameColumns),
                     percent(worst.denied, limit.denied));
}

}  // namespace

std::string answer_of(const ReplayReport& report) {
  const std::uint64_t clients = report.log.clients;
  if (report.log.stats.requests == 0) return "There was no request in the log.";
  std::vector<std::string> nobody;
  std::vector<const LimitReport*> denying;
  for (const LimitReport& limit : report.limits) {
    if (report.file && &limit != report.limits.data()) break;  // the others are parts of the first
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
  for (const LimitReport* each : denying) {
    text += text.empty()
                ? fmt::format("{} would have denied ", quoted(report.file ? report.file->name : each->limit))
                : fmt::format("; {} ", quoted(each->limit));
    text += fmt::format("{} ({} of the requests)", whom(each->clients_denied, clients),
                        percent(each->denied, each->allowed + each->denied)) +
            leader(*each);
  }
  return text + ".";
}

std::string answer_of(const SuggestReport& report) {
  if (report.suggestions.empty()) return "No limit meets the criterion.";
  const auto said = [&report](const Figures& limit) {
    return quoted(limit.limit) + " would have denied " + whom(limit.clients_denied, report.log.clients);
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
                                                whom(each.rounded.clients_denied, report.log.clients));
  }
  for (const Figures& each : report.today)
    text += fmt::format("; today\u2019s {} {}", quoted(each.limit),
                        whom(each.clients_denied, report.log.clients));
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
