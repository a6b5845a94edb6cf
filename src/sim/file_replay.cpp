#include "sim/file_replay.hpp"

#include <algorithm>
#include <utility>

#include "core/rule.hpp"
#include "core/severity.hpp"
#include "limits/explain.hpp"
#include "logs/line_parser.hpp"
#include "sim/naming.hpp"

namespace weir::inline v0_1::sim {
namespace {

constexpr std::size_t kTimelineBins = 512;
// Address space for the states of all keys; memory is taken as it is used.
constexpr std::size_t kStoreBytes = std::size_t{1} << 34;

std::int64_t wait_of(const Decision& decision) {
  return decision.retry_after.value_or(std::chrono::nanoseconds{0}).count();
}

std::int64_t end_of(const logs::Event& event) {
  return std::max(event.ns, static_cast<std::int64_t>(event.cost));
}

std::string algorithms_of(const limits::NamedLimit& limit) {
  std::string text;
  for (const limits::Window& each : limit.windows) {
    const std::string name = core::name_of(each.rule.algorithm);
    if (text.find(name) == std::string::npos) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

FileReplay::FileReplay(std::shared_ptr<const limits::Set> set, std::vector<std::string> attributes,
                       std::size_t worst, bool costs_an_estimate, bool spans)
    : set_(std::move(set)),
      attributes_(std::move(attributes)),
      worst_(worst),
      costs_an_estimate_(costs_an_estimate),
      spans_(spans),
      trial_(*set_, kStoreBytes),
      limits_(set_->file().limits.size()),
      under_way_(limits_.size()),
      over_time_(2 + limits_.size(), kTimelineBins) {
  totals_.name = set_->file().name;
  for (std::size_t i = 0; i < attributes_.size(); ++i) {
    const auto names_it = [this, i](const limits::NamedLimit& limit) {
      return std::any_of(limit.by.begin(), limit.by.end(),
                         [this, i](const limits::By& by) { return by.attribute == attributes_[i]; });
    };
    const auto& all = set_->file().limits;
    if (std::any_of(all.begin(), all.end(), names_it)) counted_by_.push_back(i);
  }
}

std::string FileReplay::key() const {
  std::string text;
  for (const std::size_t each : counted_by_) text += (text.empty() ? "" : ", ") + attributes_[each];
  return text.empty() ? "nothing" : text;
}

// The request that is found. It takes its slots as long as it took; nothing, with an error, where that cannot
// be.
std::optional<limits::Trial::Told> FileReplay::decide(const logs::Event& event) {
  const limits::Time now{std::chrono::nanoseconds{event.ns}};
  const auto longest = spans_ ? trial_.longest_hold() : std::nullopt;
  if (!longest) return trial_.ask(now);
  const std::chrono::nanoseconds took{end_of(event) - event.ns};
  constexpr std::chrono::nanoseconds kNoWait{0};
  auto told = trial_.reserve(now, kNoWait, std::clamp(took, std::chrono::nanoseconds{1}, *longest));
  if (told && told->allowed && took.count() == 0) over_ = told->id;
  return told;
}

FileReplay::Taken FileReplay::take(const logs::Event& event, const logs::ClientIndex& clients) {
  const std::vector<std::string_view> all = logs::values_of(clients.name(event.client), attributes_.size());
  values_.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].data() != nullptr) values_.push_back({attributes_[i], all[i]});
  }
  over_time_.add(event.ns, 0);
  const limits::Time now{std::chrono::nanoseconds{event.ns}};
  Taken taken;
  for (const std::size_t each : counted_by_)
    taken.client += (taken.client.empty() ? "" : " ") + std::string(all[each]);
  const std::uint64_t cost = spans_ ? 1 : event.cost;
  const bool found = trial_.find({.attributes = values_,
                                  .cost = cost,
                                  .costs_an_estimate = costs_an_estimate_,
                                  .takes_any_attribute = true},
                                 now);
  const auto told = found ? decide(event) : std::nullopt;
  if (!told) {
    if (totals_.errors++ == 0) totals_.first_error = trial_.error();
    taken.error = true;
    taken.allowed = false;
    return taken;
  }
  const limits::Trial::Told& answer = *told;
  if (answer.limit < 0) ++totals_.unlimited;
  taken.allowed = answer.allowed;
  taken.by = answer.by;
  taken.verdict = answer.verdict;
  if (answer.retry_after) taken.retry_after_ns = answer.retry_after->count();
  taken.client_number = together_.add(
      {taken.client, event.ns, taken.verdict, taken.retry_after_ns.value_or(0), answer.allowed, cost},
      [&taken] { return taken.client; });
  if (!answer.allowed) over_time_.add(event.ns, 1);
  take_limits(event, answer.allowed);
  if (!answer.allowed) {
    const auto& limits = set_->file().limits;
    const auto by = std::find_if(limits.begin(), limits.end(), [&answer](const limits::NamedLimit& each) {
      return each.name == answer.by;
    });
    if (by != limits.end()) limits_[static_cast<std::size_t>(by - limits.begin())].decided();
  }
  if (!over_.empty()) trial_.ask(now, {.verb = store::Verb::settle, .id = over_});
  over_.clear();
  return taken;
}

// The windows of a limit count as one: the worst of their verdicts.
void FileReplay::take_limits(const logs::Event& event, bool charged) {
  const std::vector<limits::TraceStep>& steps = trial_.trace().steps;
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps.size();) {
    const limits::Index limit = steps[i].limit;
    const limits::NamedLimit& said = set_->file().limits[limit];
    const store::Check* worst = nullptr;
    bool refused = false;
    for (; i < steps.size() && steps[i].limit == limit; ++i) {
      refused = refused || steps[i].what == limits::TraceStep::What::denied;
      if (steps[i].what != limits::TraceStep::What::counted) continue;
      const store::Check& check = trial_.checks()[next++];
      if (steps[i].window == limits::kNone) continue;  // what a guarantee counts
      if (worst == nullptr || core::decides(check.decision, worst->decision)) worst = &check;
      if (spans_ && core::counts_slots(check.limit->rule.algorithm))
        watch(limit, limits::key_text(said, values_), event);
    }
    if (worst == nullptr && !refused) continue;
    const bool allowed = !refused && worst->decision.allowed();
    if (!allowed && said.shadow(limits::Time{std::chrono::nanoseconds{event.ns}})) {
      limits_[limit].would_deny();
      continue;
    }
    if (!allowed) over_time_.add(event.ns, 2 + limit);
    const std::string key = limits::key_text(said, values_);
    limits_[limit].add(
        {key, event.ns, refused ? Verdict::denied : worst->decision.verdict,
         refused ? 0 : wait_of(worst->decision), charged && allowed, refused ? 0 : worst->cost.units},
        [&key] { return key; });
  }
}

void FileReplay::watch(limits::Index limit, const std::string& key, const logs::Event& event) {
  UnderWay& its = under_way_[limit];
  const auto [at, fresh] = its.index.try_emplace(key, static_cast<std::uint32_t>(its.keys.size()));
  if (fresh) {
    its.keys.push_back(key);
    its.spans.add();
  }
  its.spans[at->second].take(event.ns, end_of(event));
}

// Of several limits with slots each key has the limit's name before it.
std::vector<AtOnce> FileReplay::most_at_once() const {
  const auto all = std::count_if(under_way_.begin(), under_way_.end(),
                                 [](const UnderWay& each) { return !each.keys.empty(); });
  std::vector<AtOnce> most;
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    const std::string prefix = all > 1 ? set_->file().limits[i].name + " " : "";
    const UnderWay& its = under_way_[i];
    const auto name = [&](std::uint32_t key) { return prefix + its.keys[key]; };
    for (AtOnce& each : greatest_at_once(its.spans, name, std::max<std::size_t>(1, worst_)))
      most.push_back(std::move(each));
  }
  return most;
}

std::vector<std::string> FileReplay::some_names() const {
  constexpr std::uint64_t kSome = 1000;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < std::min(kSome, together_.keys()); ++i) names.push_back(together_.name(i));
  return names;
}

std::string FileReplay::names() const {
  std::string lines;
  const auto add = [&lines](const KeyTally& tally, const std::string& kind) {
    for (std::uint64_t i = 0; i < tally.keys(); ++i) lines += names_line(tally.name(i), i, kind);
  };
  add(together_, "client");
  for (std::size_t i = 0; i < limits_.size(); ++i) add(limits_[i], set_->file().limits[i].name + " key");
  return lines;
}

ReplayReport FileReplay::report() const {
  ReplayReport report;
  report.file = totals_;
  report.parts = true;
  report.from_s = over_time_.from_s();
  report.bin_s = over_time_.bin_s();
  report.requests_over_time = over_time_.counts(0);
  report.clients_by_size = together_.by_size();
  report.at_once = most_at_once();
  const auto add = [&](const KeyTally& tally, std::string name, std::string algorithm, std::size_t channel) {
    LimitReport& limit = report.limits.emplace_back(tally.report(worst_));
    limit.limit = std::move(name);
    limit.algorithm = std::move(algorithm);
    limit.denied_over_time = over_time_.counts(channel);
    report.clients_by_size.resize(
        std::max(report.clients_by_size.size(), limit.denied_clients_by_size.size()));
  };
  add(together_, "together", "", 1);
  for (std::size_t i = 0; i < limits_.size(); ++i)
    add(limits_[i], set_->file().limits[i].name, algorithms_of(set_->file().limits[i]), 2 + i);
  for (LimitReport& each : report.limits) each.denied_clients_by_size.resize(report.clients_by_size.size());
  return report;
}

}  // namespace weir::sim
