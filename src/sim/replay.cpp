#include "sim/replay.hpp"

#include <algorithm>
#include <bit>

#include "logs/zone.hpp"

namespace weir::inline v0_1::sim {
namespace {

using logs::kSecond;

constexpr std::size_t kClientBins = 120;

}  // namespace

void Peaks::expire(std::int64_t ns, std::int64_t span, std::uint64_t& oldest, std::vector<Sum>& sums) {
  for (; oldest != end_ && at(oldest).ns <= ns - span; ++oldest) {
    const Admission& gone = at(oldest);
    for (std::uint32_t left = gone.admitted; left != 0; left &= left - 1) {
      sums[static_cast<std::size_t>(std::countr_zero(left))].now -= gone.units;
    }
  }
}

void Peaks::add(std::int64_t ns, std::uint64_t units, std::uint32_t admitted) {
  expire(ns, kSecond, oldest_of_second_, second_);
  expire(ns, 60 * kSecond, oldest_, minute_);
  for (std::uint32_t left = admitted; left != 0; left &= left - 1) {
    const auto limit = static_cast<std::size_t>(std::countr_zero(left));
    for (Sum* sum : {&second_[limit], &minute_[limit]}) {
      sum->now += units;
      sum->most = std::max(sum->most, sum->now);
    }
  }
  if (end_ != oldest_of_second_) {
    // Most logs record whole seconds.
    Admission& last = at(end_ - 1);
    if (last.ns == ns && last.admitted == admitted && last.units < UINT64_MAX / 4 && units < UINT64_MAX / 4) {
      last.units += units;
      return;
    }
  }
  if (end_ - oldest_ == ring_.size()) {
    std::vector<Admission> larger(ring_.size() * 2);
    for (std::uint64_t i = oldest_; i != end_; ++i) larger[i & (larger.size() - 1)] = at(i);
    ring_ = std::move(larger);
  }
  at(end_++) = {ns, units, admitted};
}

Replay::Replay(std::size_t limits, std::size_t worst)
    : worst_(worst), answers_(limits), limits_(limits), over_time_(1 + limits, 512), peaks_(limits) {}

Replay::Replay(std::vector<core::Rule> rules, std::size_t worst) : Replay(rules.size(), worst) {
  rules_ = std::move(rules);
  for (const core::Rule& rule : rules_) {
    exact_.emplace_back(rule.quota);
    names_.push_back(core::to_text(rule));
  }
}

Replay::Replay(const std::vector<InFlight>& slots, std::size_t worst) : Replay(slots.size(), worst) {
  slots_ = slots;
  for (const InFlight each : slots) names_.push_back("in_flight=" + std::to_string(each.most));
}

namespace {

std::vector<core::Rule> rules_of(const std::vector<Replay::Plan>& plans) {
  std::vector<core::Rule> rules{plans.at(0).rule};
  for (const Replay::Plan& each : plans) rules.push_back(each.rule);
  return rules;
}

}  // namespace

Replay::Replay(std::string name, const std::vector<Plan>& plans, PlanOf plan_of, std::size_t worst)
    : Replay(rules_of(plans), worst) {
  names_[0] = std::move(name);
  for (std::size_t i = 0; i < plans.size(); ++i) names_[1 + i] = plans[i].name + ": " + names_[1 + i];
  plan_of_ = std::move(plan_of);
}

std::uint32_t Replay::take(const logs::Event& event) {
  // Clients are numbered in the order of reading, which is not quite the order of time.
  while (event.client >= accounts_.size()) {
    accounts_.add();
    for (PerLimit& limit : limits_) limit.clients.add();
    if (!slots_.empty()) under_way_.add();
  }
  const std::uint64_t cost = slots_.empty() ? event.cost : 1;
  ++accounts_[event.client].requests;
  over_time_.add(event.ns, 0);
  std::uint32_t admitted = 0;
  std::uint32_t refused = 0;
  const auto count = [&](std::size_t limit, Answer answer) {
    answers_[limit] = answer;
    Tally& tally = limits_[limit].tally;
    Standing& standing = limits_[limit].clients[event.client];
    if (answer.verdict == Verdict::allowed) {
      tally.charge(cost);
      tally.allow(standing);
      admitted |= 1U << limit;
    } else {
      // A `never` has no moment at which it would have been admitted.
      const std::uint64_t wait = answer.verdict == Verdict::never ? 0 : answer.retry_after;
      tally.deny(standing, event.client, event.ns, answer.verdict, static_cast<std::int64_t>(wait));
      over_time_.add(event.ns, 1 + limit);
      refused |= 1U << limit;
    }
  };
  const auto decided = [&](std::size_t limit) {
    return decide(limit, limits_[limit].clients[event.client], event);
  };
  if (!slots_.empty()) {
    const std::size_t place =
        under_way_[event.client].take(event.ns, std::max(event.ns, static_cast<std::int64_t>(event.cost)));
    for (std::size_t limit = 0; limit < slots_.size(); ++limit)
      count(limit, decide_slots(limit, place, event));
  } else if (plan_of_) {
    const std::size_t plan = plan_of_(event.client);
    const Answer answer = plan == kNoPlan ? Answer{} : decided(1 + plan);
    count(0, answer);
    if (plan != kNoPlan) count(1 + plan, answer);
  } else {
    for (std::size_t limit = 0; limit < rules_.size(); ++limit) count(limit, decided(limit));
  }
  peaks_.add(event.ns, cost, admitted);
  const Account& account = accounts_[event.client];
  if (refused != 0 || account.watched != 0 || account.requests == kWorthWatching) watch(event, refused);
  return refused;
}

Replay::Answer Replay::decide_slots(std::size_t limit, std::size_t place, const logs::Event& event) const {
  const std::size_t slots = slots_[limit].most;
  if (place < slots) return {};
  const std::int64_t wait = under_way_[event.client].free_at(slots) - event.ns;
  return {Verdict::denied, static_cast<std::uint64_t>(wait)};
}

Replay::Answer Replay::decide(std::size_t limit, Client& client, const logs::Event& event) {
  const core::Rule& rule = rules_[limit];
  if (core::has_burst(rule.algorithm)) {
    Parts tat = from_words(client.state);
    const ExactGcra::Answer answer = exact_[limit].decide(tat, event.ns, event.cost);
    client.state = in_words(tat);
    return {answer.verdict, answer.retry_after};
  }
  const std::chrono::nanoseconds now{event.ns};
  if (core::kept_in_two_words(rule.algorithm)) {
    const core::Step step = core::decide(rule, client.state, now, Cost{event.cost});
    if (step.changes) client.state = step.next;
    return {step.verdict, step.retry_after};
  }
  logs::Pieces<core::GrowingLog>& logs = limits_[limit].logs;
  if (client.log == 0) {
    logs.add();
    client.log = static_cast<std::uint32_t>(logs.size());
  }
  const Decision decision = logs[client.log - 1].decide(rule.quota, now, Cost{event.cost});
  return {decision.verdict,
          static_cast<std::uint64_t>(decision.retry_after.value_or(std::chrono::nanoseconds{0}).count())};
}

void Replay::watch(const logs::Event& event, std::uint32_t refused) {
  Account& account = accounts_[event.client];
  if (account.watched == 0) {
    if (watched_.size() >= kMostWatched) forget_the_least();
    watched_.push_back({event.client, 0, Series{1 + limits_.size(), kClientBins}});
    account.watched = static_cast<std::uint32_t>(watched_.size());
  }
  Watched& watched = watched_[account.watched - 1];
  watched.series.add(event.ns, 0);
  for (std::uint32_t left = refused; left != 0; left &= left - 1) {
    ++watched.denied;
    watched.series.add(event.ns, 1 + static_cast<std::size_t>(std::countr_zero(left)));
  }
}

void Replay::forget_the_least() {
  const auto more = [this](const Watched& a, const Watched& b) {
    return a.denied != b.denied ? a.denied > b.denied
                                : accounts_[a.client].requests > accounts_[b.client].requests;
  };
  const auto half = watched_.begin() + static_cast<std::ptrdiff_t>(kMostWatched / 2);
  std::nth_element(watched_.begin(), half, watched_.end(), more);
  for (const Watched& each : watched_) accounts_[each.client].watched = 0;
  watched_.erase(half, watched_.end());
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    accounts_[watched_[i].client].watched = static_cast<std::uint32_t>(i + 1);
  }
}

LimitReport Replay::report_of(std::size_t limit, const logs::ClientIndex& clients,
                              std::size_t key_parts) const {
  const PerLimit& its = limits_[limit];
  LimitReport report;
  report.limit = names_[limit];
  if (!slots_.empty()) {
    report.algorithm = "in_flight";
  } else if (!plan_of_ || limit > 0) {
    report.algorithm = std::string(core::name_of(rules_[limit].algorithm));
  }
  report.peak_second = peaks_.second(limit);
  report.peak_minute = peaks_.minute(limit);
  report.denied_over_time = over_time_.counts(1 + limit);
  its.tally.add_to(
      report, static_cast<std::uint32_t>(accounts_.size()), worst_,
      [&](std::uint32_t client) { return Tally::Met{&its.clients[client], accounts_[client].requests}; },
      [&](std::uint32_t client) { return logs::shown(clients.name(client), key_parts); });
  for (auto& each : report.worst) {
    const std::uint32_t watched = accounts_[each.number].watched;
    if (watched == 0) continue;
    const Series& series = watched_[watched - 1].series;
    each.timeline = Timeline{series.from_s(), series.bin_s(), series.counts(0), series.counts(1 + limit)};
  }
  return report;
}

std::vector<AtOnce> Replay::most_at_once(const logs::ClientIndex& clients, std::size_t key_parts) const {
  return greatest_at_once(
      under_way_, [&](std::uint32_t client) { return logs::shown(clients.name(client), key_parts); },
      std::max<std::size_t>(1, worst_));
}

Replay::Denials Replay::denials(std::size_t limit, const std::vector<bool>& good) const {
  const PerLimit& its = limits_[limit];
  Denials denials{its.tally.denied(), its.tally.clients_denied(), 0};
  for (std::size_t client = 0; client < std::min(good.size(), its.clients.size()); ++client) {
    if (good[client] && its.clients[client].denied > 0) ++denials.good_clients;
  }
  return denials;
}

ReplayReport Replay::report(const logs::ClientIndex& clients, std::size_t key_parts) const {
  ReplayReport report;
  report.parts = plan_of_ != nullptr;
  report.from_s = over_time_.from_s();
  report.bin_s = over_time_.bin_s();
  report.requests_over_time = over_time_.counts(0);
  for (std::uint32_t client = 0; client < accounts_.size(); ++client)
    count_by_size(report.clients_by_size, accounts_[client].requests);
  if (!slots_.empty()) report.at_once = most_at_once(clients, key_parts);
  for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
    report.limits.push_back(report_of(limit, clients, key_parts));
    report.limits.back().denied_clients_by_size.resize(report.clients_by_size.size());
  }
  return report;
}

}  // namespace weir::sim
