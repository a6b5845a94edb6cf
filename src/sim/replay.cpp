#include "sim/replay.hpp"

#include <algorithm>
#include <bit>

namespace weir::inline v0_1::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kTimelineBins = 120;

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

Replay::Replay(std::vector<core::Rule> rules, std::size_t worst)
    : rules_(std::move(rules)),
      worst_(worst),
      answers_(rules_.size()),
      tallies_(rules_.size()),
      over_time_(1 + rules_.size(), 512),
      peaks_(rules_.size()) {
  for (const core::Rule& rule : rules_) {
    exact_.emplace_back(rule.quota);
    names_.push_back(core::to_text(rule));
  }
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
    for (Tally& tally : tallies_) tally.standings.add();
  }
  ++accounts_[event.client].requests;
  over_time_.add(event.ns, 0);
  std::uint32_t admitted = 0;
  std::uint32_t refused = 0;
  const auto count = [&](std::size_t limit, Answer answer) {
    answers_[limit] = answer;
    Tally& tally = tallies_[limit];
    Standing& standing = tally.standings[event.client];
    if (answer.verdict == Verdict::allowed) {
      ++tally.allowed;
      tally.units += event.cost;
      standing.locked_since = -1;
      admitted |= 1U << limit;
    } else {
      denied(limit, standing, event, answer);
      refused |= 1U << limit;
    }
  };
  const auto decided = [&](std::size_t limit) {
    return decide(limit, tallies_[limit].standings[event.client], event);
  };
  if (plan_of_) {
    const std::size_t plan = plan_of_(event.client);
    const Answer answer = plan == kNoPlan ? Answer{} : decided(1 + plan);
    count(0, answer);
    if (plan != kNoPlan) count(1 + plan, answer);
  } else {
    for (std::size_t limit = 0; limit < rules_.size(); ++limit) count(limit, decided(limit));
  }
  peaks_.add(event.ns, event.cost, admitted);
  const Account& account = accounts_[event.client];
  if (refused != 0 || account.watched != 0 || account.requests == kWorthWatching) watch(event, refused);
  return refused;
}

Replay::Answer Replay::decide(std::size_t limit, Standing& standing, const logs::Event& event) {
  const core::Rule& rule = rules_[limit];
  if (rule.algorithm == Algorithm::gcra) {
    Parts tat = from_words(standing.state);
    const ExactGcra::Answer answer = exact_[limit].decide(tat, event.ns, event.cost);
    standing.state = in_words(tat);
    return {answer.verdict, answer.retry_after};
  }
  const std::chrono::nanoseconds now{event.ns};
  if (core::kept_in_two_words(rule.algorithm)) {
    const core::Step step = core::decide(rule, standing.state, now, Cost{event.cost});
    if (step.changes) standing.state = step.next;
    return {step.verdict, step.retry_after};
  }
  logs::Pieces<Log>& logs = tallies_[limit].logs;
  if (standing.log == 0) {
    logs.add();
    standing.log = static_cast<std::uint32_t>(logs.size());
  }
  Log& log = logs[standing.log - 1];
  if (log.state.count == log.ring.size()) {
    std::rotate(log.ring.begin(), log.ring.begin() + log.state.head, log.ring.end());
    log.state.head = 0;
    log.ring.resize(std::max<std::size_t>(4, log.ring.size() * 2));
  }
  const Decision decision =
      core::sliding_window_log::decide(rule.quota, log.state, log.ring, now, Cost{event.cost});
  return {decision.verdict,
          static_cast<std::uint64_t>(decision.retry_after.value_or(std::chrono::nanoseconds{0}).count())};
}

void Replay::denied(std::size_t limit, Standing& standing, const logs::Event& event, Answer answer) {
  Tally& tally = tallies_[limit];
  ++tally.denied;
  if (answer.verdict == Verdict::never) ++tally.never;
  if (standing.denied++ == 0) {
    standing.first_denied = event.ns;
    ++tally.clients_denied;
  }
  if (standing.locked_since < 0) standing.locked_since = event.ns;
  // A `never` has no moment at which it would have been admitted.
  const std::int64_t wait =
      answer.verdict == Verdict::never ? 0 : static_cast<std::int64_t>(answer.retry_after);
  const std::int64_t locked_out = event.ns - standing.locked_since + wait;
  if (tally.denied == 1 || locked_out > tally.longest ||
      (locked_out == tally.longest && standing.locked_since < tally.longest_since)) {
    tally.longest = locked_out;
    tally.longest_since = standing.locked_since;
    tally.longest_client = event.client;
  }
  over_time_.add(event.ns, 1 + limit);
}

void Replay::watch(const logs::Event& event, std::uint32_t refused) {
  Account& account = accounts_[event.client];
  if (account.watched == 0) {
    if (watched_.size() >= kMostWatched) forget_the_least();
    watched_.push_back({event.client, 0, Series{1 + rules_.size(), kTimelineBins}});
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

LimitReport Replay::report_of(std::size_t limit, const logs::Clients& clients, std::size_t key_parts) const {
  const Tally& tally = tallies_[limit];
  LimitReport report;
  report.limit = names_[limit];
  if (!plan_of_ || limit > 0) report.algorithm = std::string(core::name_of(rules_[limit].algorithm));
  report.allowed = tally.allowed;
  report.denied = tally.denied;
  report.never = tally.never;
  report.units_admitted = tally.units > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(tally.units);
  report.clients_denied = tally.clients_denied;
  report.longest_locked_out_ns = tally.longest;
  if (tally.denied > 0) {
    report.longest_locked_out_client = logs::shown(clients.name(tally.longest_client), key_parts);
    report.longest_locked_out_number = tally.longest_client;
  }
  report.peak_second = peaks_.second(limit);
  report.peak_minute = peaks_.minute(limit);
  report.denied_over_time = over_time_.counts(1 + limit);

  std::vector<std::uint32_t> worst;
  for (std::uint32_t client = 0; client < accounts_.size(); ++client) {
    if (tally.standings[client].denied == 0) continue;
    worst.push_back(client);
    const auto size = static_cast<std::size_t>(std::bit_width(accounts_[client].requests) - 1);
    if (report.denied_clients_by_size.size() <= size) report.denied_clients_by_size.resize(size + 1);
    ++report.denied_clients_by_size[size];
  }
  const auto shown_ones = static_cast<std::ptrdiff_t>(std::min(worst.size(), worst_));
  std::partial_sort(
      worst.begin(), worst.begin() + shown_ones, worst.end(), [&](std::uint32_t a, std::uint32_t b) {
        const Standing& left = tally.standings[a];
        const Standing& right = tally.standings[b];
        if (left.denied != right.denied) return left.denied > right.denied;
        if (left.first_denied != right.first_denied) return left.first_denied < right.first_denied;
        return logs::shown(clients.name(a), key_parts) < logs::shown(clients.name(b), key_parts);
      });
  worst.resize(static_cast<std::size_t>(shown_ones));
  for (const std::uint32_t client : worst) {
    const Standing& standing = tally.standings[client];
    report.worst.push_back({logs::shown(clients.name(client), key_parts), client, accounts_[client].requests,
                            standing.denied, standing.first_denied, std::nullopt});
    if (const std::uint32_t watched = accounts_[client].watched; watched != 0) {
      const Series& series = watched_[watched - 1].series;
      report.worst.back().timeline =
          Timeline{series.from_s(), series.bin_s(), series.counts(0), series.counts(1 + limit)};
    }
  }
  return report;
}

Replay::Denials Replay::denials(std::size_t limit, const std::vector<bool>& good) const {
  const Tally& tally = tallies_[limit];
  Denials denials{tally.denied, tally.clients_denied, 0};
  for (std::size_t client = 0; client < std::min(good.size(), tally.standings.size()); ++client) {
    if (good[client] && tally.standings[client].denied > 0) ++denials.good_clients;
  }
  return denials;
}

ReplayReport Replay::report(const logs::Clients& clients, std::size_t key_parts) const {
  ReplayReport report;
  report.parts = plan_of_ != nullptr;
  report.from_s = over_time_.from_s();
  report.bin_s = over_time_.bin_s();
  report.requests_over_time = over_time_.counts(0);
  for (std::uint32_t client = 0; client < accounts_.size(); ++client) {
    const auto size = static_cast<std::size_t>(std::bit_width(accounts_[client].requests) - 1);
    if (report.clients_by_size.size() <= size) report.clients_by_size.resize(size + 1);
    ++report.clients_by_size[size];
  }
  for (std::size_t limit = 0; limit < rules_.size(); ++limit) {
    report.limits.push_back(report_of(limit, clients, key_parts));
    report.limits.back().denied_clients_by_size.resize(report.clients_by_size.size());
  }
  return report;
}

}  // namespace weir::sim
