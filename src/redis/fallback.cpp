#include "redis/fallback.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "store/check_rules.hpp"
#include "store/taking.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

namespace {

// What is answered when nothing has counted: enough for a client to come back, not to hammer.
constexpr nanoseconds kRetryUnknown = std::chrono::seconds{1};

}  // namespace

std::optional<Decision> Fallback::uncounted(const store::Limit& limit, Cost cost) {
  const std::int64_t burst = limit.rule.quota.burst();
  const auto most = static_cast<std::int64_t>(core::most_units(limit.rule));
  if (core::counts_slots(limit.rule.algorithm)) cost.units = std::min<std::uint64_t>(cost.units, 1);
  if (cost.units > static_cast<std::uint64_t>(most))
    return Decision{Verdict::never, burst, most, std::nullopt, nanoseconds{0}};
  switch (limit.on_store_error) {
    case OnStoreError::allow:
      return Decision{Verdict::allowed, burst, most, std::nullopt, nanoseconds{0}};
    case OnStoreError::deny:
      if (cost.units == 0) return Decision{Verdict::allowed, burst, 0, std::nullopt, kRetryUnknown};
      return Decision{Verdict::denied, burst, 0, kRetryUnknown, kRetryUnknown};
    case OnStoreError::local:
      break;
  }
  return std::nullopt;
}

namespace {

using Wide = unsigned __int128;

constexpr Wide kMillion = 1'000'000;
constexpr Wide kMostTime = std::numeric_limits<std::int64_t>::max();

// A share is a whole number of millionths: one that a double cannot hold exactly is the nearest, and any
// other is rounded down.
Wide millionths_of(double share) {
  const double exact = share * static_cast<double>(kMillion);
  const double nearest = std::round(exact);
  const double kept = std::abs(exact - nearest) < 1e-6 ? nearest : std::floor(exact);
  return static_cast<Wide>(std::max(kept, 1.0));
}

// The interval is scaled and never the count: one unit each millisecond has no whole units to share, and a
// quarter of it is one each 4 ms. It is rounded up, so that all shares together are never above the whole.
// The least burst is one unit; a burst x T that nanoseconds cannot hold loses units.
Quota share_of_quota(const Quota& whole, double share) {
  const Wide part = millionths_of(share);
  const auto whole_interval = static_cast<Wide>(whole.emission_interval().count());
  const Wide interval = std::min((whole_interval * kMillion + part - 1) / part, kMostTime);
  const Wide most = kMostTime / interval;
  const Wide burst = std::clamp<Wide>(static_cast<Wide>(whole.burst()) * part / kMillion, 1, most);
  return Quota::make({1, nanoseconds{static_cast<std::int64_t>(interval)}}, static_cast<std::int64_t>(burst))
      .value();
}

}  // namespace

const Quota& Fallback::scaled(const Quota& quota, double share) {
  if (share >= 1) return quota;
  const auto known = std::find_if(scaled_.begin(), scaled_.end(), [&](const Scaled& each) {
    return each.whole == quota && each.by == share;
  });
  if (known != scaled_.end()) return known->share;
  const Scaled made{quota, share, share_of_quota(quota, share)};
  if (scaled_.size() < kScaled) return scaled_.emplace_back(made).share;
  return (scaled_[next_++ % kScaled] = made).share;
}

namespace {

Wide wide_burst(const Quota& quota) {
  return static_cast<Wide>(quota.burst()) * static_cast<Wide>(quota.emission_interval().count());
}

// The same part of the one burst as this is of the other, rounded up.
std::uint64_t as_part(std::uint64_t time, const Quota& of, const Quota& to) {
  const Wide whole = std::max<Wide>(wide_burst(of), 1);  // it is: a quota has a burst and an interval
  return static_cast<std::uint64_t>((time * wide_burst(to) + whole - 1) / whole);
}

// What is owed of the burst is owed of its share; what is owed beyond it, which is booked ahead, drains in
// the same time.
std::uint64_t debt_as_part(std::uint64_t debt, const Quota& of, const Quota& to) {
  const std::uint64_t of_burst = std::min(debt, static_cast<std::uint64_t>(wide_burst(of)));
  return as_part(of_burst, of, to) + (debt - of_burst);
}

}  // namespace

// The server's own slots meanwhile: its share of them, rounded down, and of what a class leaves rounded up.
core::Rule Fallback::scaled_slots(const store::Limit& limit) const {
  const core::Rule& whole = limit.rule;
  const Wide part = std::min(millionths_of(share_of(limit)), kMillion);
  const auto count =
      static_cast<std::int64_t>(std::max<Wide>(static_cast<Wide>(whole.quota.burst()) * part / kMillion, 1));
  core::Rule rule = *core::Rule::slots(std::to_string(count));
  const auto kept = static_cast<std::int64_t>(
      (static_cast<Wide>(core::kept_slots(whole)) * part + kMillion - 1) / kMillion);
  rule.kept = rule.quota.emission_interval() * std::min(kept, count - 1);
  return rule;
}

core::Rule Fallback::scaled(const store::Limit& limit) {
  if (core::counts_slots(limit.rule.algorithm)) return scaled_slots(limit);
  const Quota& whole = limit.rule.quota;
  core::Rule rule{scaled(whole, share_of(limit))};
  const auto kept = static_cast<std::int64_t>(
      as_part(static_cast<std::uint64_t>(limit.rule.kept.count()), whole, rule.quota));
  const std::int64_t most = rule.quota.emission_interval().count() * (rule.quota.burst() - 1);
  rule.kept = nanoseconds{core::most_units(limit.rule) > 0 ? std::min(kept, most) : kept};
  return rule;
}

bool Fallback::count(std::span<store::Check> checks, nanoseconds now, store::Verb verb,
                     store::ChargeTerms* terms) {
  std::array<const store::Limit*, store::kMostChecks> whole{};
  std::vector<store::Limit> limits;
  limits.reserve(checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    whole[i] = checks[i].limit;
    checks[i].limit = &limits.emplace_back(store::Limit{.rule = scaled(*whole[i]),
                                                        .id = whole[i]->id,
                                                        .when_full = whole[i]->when_full,
                                                        .penalty = whole[i]->penalty});
  }
  store::Request request{.checks = checks, .verb = verb, .charge = terms};
  store::Request* const batch[] = {&request};
  embedded_.submit(batch, {now, now});
  const bool passes = request.allowed();
  for (std::size_t i = 0; i < checks.size(); ++i) checks[i].limit = whole[i];
  return passes;
}

// What the embedded store is to count of some checks; and what needs no counting is decided.
struct Fallback::Here {
  Here(Fallback& in, std::span<store::Check> checks);
  // What was decided of them.
  void tell() const;

  std::span<store::Check> whole;
  std::vector<std::size_t> counted{};
  std::vector<store::Limit> limits{};
  std::vector<store::Check> checks{};
  bool passes = true;  // so far
};

Fallback::Here::Here(Fallback& in, std::span<store::Check> all) : whole(all) {
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto decided = uncounted(*whole[i].limit, whole[i].cost);
    whole[i].hash = decided ? kUncounted : 0;
    if (!decided) {
      counted.push_back(i);
      continue;
    }
    whole[i].decision = *decided;
    passes = passes && (decided->allowed() || whole[i].shadow);
  }
  limits.reserve(counted.size());
  for (const std::size_t i : counted) {
    store::Limit& limit = limits.emplace_back(*whole[i].limit);
    limit.rule = in.scaled(*whole[i].limit);
    store::Check& made = checks.emplace_back(whole[i]);
    made.limit = &limit;
    if (made.inside == store::Check::kNoGuarantee) continue;
    const auto guarantee = std::find(counted.begin(), counted.end(), made.inside);
    made.inside = guarantee < counted.begin() + static_cast<std::ptrdiff_t>(checks.size()) - 1
                      ? static_cast<std::uint8_t>(guarantee - counted.begin())
                      : store::Check::kNoGuarantee;
  }
}

void Fallback::Here::tell() const {
  for (std::size_t i = 0; i < counted.size(); ++i) {
    whole[counted[i]].decision = checks[i].decision;
    whole[counted[i]].hash = checks[i].hash;
  }
}

void Fallback::look(std::span<store::Check> checks, nanoseconds now) {
  Here here(*this, checks);
  if (here.counted.empty()) return;
  store::Request request{.checks = here.checks, .verb = store::Verb::look};
  store::Request* const batch[] = {&request};
  embedded_.submit(batch, {now, now});
  here.tell();
}

Fallback::Reserved Fallback::reserve(std::span<store::Check> checks, store::ReservationTerms& asked,
                                     nanoseconds now) {
  Here here(*this, checks);
  Reserved told{.charged = here.passes};
  asked.id.clear();
  asked.wait = nanoseconds{0};
  for (std::size_t i = 0; i < here.counted.size() && !asked.lines.empty(); ++i)
    asked.lines[i] = asked.lines[here.counted[i]];
  if (told.charged && !here.counted.empty()) {
    store::Request request{.checks = here.checks, .verb = store::Verb::reserve, .reservation = &asked};
    store::Request* const batch[] = {&request};
    embedded_.submit(batch, {now, now});
    told = {request.charged, static_cast<std::uint8_t>(here.counted[request.by]), request.fault,
            std::move(request.why)};
    here.tell();
  }
  if (here.counted.size() == checks.size() || told.fault != Fault::none) return told;
  told.by = store::deciding(checks);
  if (!told.charged) asked.wait = checks[told.by].decision.retry_after.value_or(nanoseconds{-1});
  return told;
}

bool Fallback::take(std::span<store::Check> checks, store::TakeTerms& asked, nanoseconds now) {
  Here here(*this, checks);
  // What is denied without counting is not charged here either, but what is there is told.
  store::TakeTerms terms{.most = std::max(store::most_to_ask(checks, asked), asked.least),
                         .least = asked.least,
                         .looks = asked.looks || !here.passes};
  for (std::size_t i = 0; i < here.counted.size(); ++i) terms.unit[i] = asked.unit[here.counted[i]];
  terms.granted = terms.most;
  if (!here.counted.empty()) {
    store::Request request{.checks = here.checks, .verb = store::Verb::take, .take = &terms};
    store::Request* const batch[] = {&request};
    embedded_.submit(batch, {now, now});
    here.tell();
  }
  asked.granted = here.passes ? terms.granted : 0;
  if (asked.granted != 0) store::set_costs(checks, asked, asked.granted);
  return asked.granted != 0 && !asked.looks;
}

Charged Fallback::charge(store::Check& check, Outside outside, bool decides, nanoseconds now) {
  const store::Limit& limit = *check.limit;
  const store::Limit here{.rule = scaled(limit), .id = limit.id, .when_full = limit.when_full};
  // What is left of the whole is left of the share in proportion, rounded down.
  if (outside.form == Outside::Form::remaining) {
    const auto whole = static_cast<std::uint64_t>(limit.rule.quota.burst());
    const auto units = static_cast<Wide>(std::min(outside.units, whole));
    outside.units = static_cast<std::uint64_t>(units * static_cast<Wide>(here.rule.quota.burst()) / whole);
  }
  store::Check scaled_check{.limit = &here, .key = check.key, .cost = Cost{outside.units}};
  store::ChargeTerms terms{.outside = outside, .decides = decides};
  store::Request request{.checks = {&scaled_check, 1}, .verb = store::Verb::charge, .charge = &terms};
  store::Request* const batch[] = {&request};
  embedded_.submit(batch, {now, now});
  check.decision = scaled_check.decision;
  return terms.told;
}

void Fallback::undo(store::Request& request, nanoseconds now) {
  store::Request here{.verb = request.verb, .reservation = request.reservation};
  store::Request* const batch[] = {&here};
  embedded_.submit(batch, {now, now});
  request.fault = here.fault;
  request.why = std::move(here.why);
}

void Fallback::give_back(std::span<const store::Check> charged, nanoseconds charged_at, nanoseconds now) {
  for (store::Check check : charged) {
    if (check.hash == 0 || check.hash == kUncounted) continue;
    const store::Limit limit{scaled(*check.limit), check.limit->id};
    check.limit = &limit;
    embedded_.give_back({.checks = {&check, 1}, .charged = true, .charged_at = charged_at}, now);
  }
}

nanoseconds debt_of(const core::Rule& rule, const Decision& answer) {
  const Quota& quota = rule.quota;
  const nanoseconds interval = quota.emission_interval();
  const nanoseconds full = interval * quota.burst();
  const std::int64_t left = std::clamp<std::int64_t>(answer.remaining, 0, quota.burst());
  // Beyond the burst there is what was booked ahead. What a class keeps free may be owed by others: nothing
  // left then says little.
  if (core::has_burst(rule.algorithm) && left == 0 && answer.reset_after > full) return answer.reset_after;
  const nanoseconds most = left > 0 ? full - rule.kept - interval * left : full;
  const nanoseconds above = full - rule.kept - interval * (left + 1);
  // As GCRA has it in the present T, all but a part of a unit is the same.
  const bool exact = answer.reset_after <= most && answer.reset_after > above;
  return exact ? answer.reset_after : most;
}

void Fallback::owe(const store::Limit& limit, const core::Rule& rule, std::string_view key,
                   const Decision& answer, nanoseconds now) {
  if (limit.on_store_error != OnStoreError::local || core::counts_slots(limit.rule.algorithm)) return;
  auto debt = static_cast<std::uint64_t>(debt_of(rule, answer).count());
  if (debt == 0) return;
  const Quota& share = scaled(rule.quota, share_of(limit));
  debt = debt_as_part(debt, rule.quota, share);
  // The store decided before its answer came, so its tat is this late at the latest: a round trip too late at
  // most.
  const std::uint64_t tat = static_cast<std::uint64_t>(now.count()) + debt;
  embedded_.reservations().raise(hash_of(limit, key), share, tat, now);
}

std::uint64_t Fallback::hash_of(const store::Limit& limit, std::string_view key) const {
  return embedded_.table().hash(key, core::first_that(core::has_burst), limit.id);
}

// A key that is named without its limit may be that of either.
Fallback::Hashes Fallback::hashes_of(const store::Limit& limit, std::string_view key) const {
  return {hash_of(limit, key), embedded_.table().hash(key, core::first_that(core::counts_slots), limit.id)};
}

void Fallback::forget(const Hashes& key, nanoseconds now) {
  embedded_.reservations().reset(key.rate, now);
  embedded_.reservations().reset(key.slots, now);
}

}  // namespace weir::redis
