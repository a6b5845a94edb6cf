#include "sim/file_comparison.hpp"

#include <algorithm>
#include <tuple>

#include "logs/line_parser.hpp"

namespace weir::inline v0_1::sim {
namespace {

bool counts_by(const limits::File& file, const std::string& attribute) {
  return std::any_of(file.limits.begin(), file.limits.end(), [&attribute](const limits::NamedLimit& limit) {
    return std::any_of(limit.by.begin(), limit.by.end(),
                       [&attribute](const limits::By& by) { return by.attribute == attribute; });
  });
}

std::uint64_t change_of(const ComparisonReport::Client& client) {
  return std::max(client.denied_before, client.denied_after) -
         std::min(client.denied_before, client.denied_after);
}

}  // namespace

FileComparison::FileComparison(const std::shared_ptr<const limits::Set>& before,
                               const std::shared_ptr<const limits::Set>& after,
                               const std::vector<std::string>& attributes, bool costs_an_estimate)
    : before_(before, attributes, 0, costs_an_estimate),
      after_(after, attributes, 0, costs_an_estimate),
      attributes_(attributes) {
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (!counts_by(before->file(), attributes[i]) && !counts_by(after->file(), attributes[i])) continue;
    who_.push_back(i);
    key_ += (key_.empty() ? "" : ", ") + attributes[i];
  }
}

void FileComparison::take(const logs::Event& event, const logs::ClientIndex& clients) {
  const FileReplay::Taken before = before_.take(event, clients);
  const FileReplay::Taken after = after_.take(event, clients);
  ++totals_.requests;
  totals_.errors_before += before.error ? 1 : 0;
  totals_.errors_after += after.error ? 1 : 0;
  // A request that nobody can decide is neither allowed nor denied.
  const bool denied_before = !before.error && !before.allowed;
  const bool denied_after = !after.error && !after.allowed;
  totals_.denied_before += denied_before ? 1 : 0;
  totals_.denied_after += denied_after ? 1 : 0;
  over_time_.add(event.ns, 0);
  if (denied_before) over_time_.add(event.ns, 1);
  if (denied_after) over_time_.add(event.ns, 2);
  const std::vector<std::string_view> values =
      logs::values_of(clients.name(event.client), attributes_.size());
  std::string who;
  for (const std::size_t each : who_) who += (who.empty() ? "" : " ") + std::string(values[each]);
  Counts& counts = clients_.try_emplace(who, Counts{clients_.size()}).first->second;
  ++counts.requests;
  counts.before += denied_before ? 1 : 0;
  counts.after += denied_after ? 1 : 0;
  if (denied_before == denied_after) return;
  ++otherwise_[{denied_before ? std::string(before.by) : "", denied_after ? std::string(after.by) : ""}];
}

std::string FileComparison::names() const {
  std::string lines;
  for (const auto& [who, counts] : clients_) lines += names_line(who, counts.number);
  return lines;
}

ComparisonReport with_names(ComparisonReport report, Naming naming) {
  for (ComparisonReport::Client& each : report.clients)
    each.client = called(each.client, each.number, naming);
  if (naming != Naming::as_is) leave_out_texts(report.log);
  return report;
}

std::vector<std::string> FileComparison::some_names() const {
  constexpr std::size_t kSample = 1000;
  std::vector<std::string> names;
  for (auto each = clients_.begin(); each != clients_.end() && names.size() < kSample; ++each)
    names.push_back(each->first);
  return names;
}

ComparisonReport FileComparison::report(LogReport log) const {
  ComparisonReport report = totals_;
  report.log = std::move(log);
  report.log.key = key_;
  report.log.clients = clients_.size();
  for (const auto& [by, requests] : otherwise_) report.otherwise.push_back({by.first, by.second, requests});
  // Not std::stable_sort, which libstdc++ 12 builds on what clang calls deprecated.
  std::sort(report.otherwise.begin(), report.otherwise.end(), [](const auto& a, const auto& b) {
    return std::tie(b.requests, a.by_before, a.by_after) < std::tie(a.requests, b.by_before, b.by_after);
  });
  const auto timeline = [this](std::size_t denied) {
    return Timeline{over_time_.from_s(), over_time_.bin_s(), over_time_.counts(0), over_time_.counts(denied)};
  };
  report.before = timeline(1);
  report.after = timeline(2);
  for (const auto& [who, counts] : clients_) {
    report.clients_denied_before += counts.before > 0 ? 1 : 0;
    report.clients_denied_after += counts.after > 0 ? 1 : 0;
    if (counts.before != counts.after)
      report.clients.push_back({who, counts.number, counts.requests, counts.before, counts.after});
  }
  report.clients_changed = report.clients.size();
  std::sort(report.clients.begin(), report.clients.end(), [](const auto& a, const auto& b) {
    const auto change_a = change_of(a);
    const auto change_b = change_of(b);
    return std::tie(change_b, a.client) < std::tie(change_a, b.client);
  });
  if (report.clients.size() > ComparisonReport::kMostClients)
    report.clients.resize(ComparisonReport::kMostClients);
  return report;
}

}  // namespace weir::sim
