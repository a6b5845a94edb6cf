#include "redis/fallback.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace weir::redis {

using std::chrono::nanoseconds;

namespace {

// What is answered when nothing has counted: enough for a client to come back, not to hammer.
constexpr nanoseconds kRetryUnknown = std::chrono::seconds{1};

}  // namespace

std::optional<Decision> Fallback::uncounted(const store::Limit& limit, Cost cost) {
  const std::int64_t burst = limit.rule.quota.burst();
  if (cost.units > static_cast<std::uint64_t>(burst))
    return Decision{Verdict::never, burst, burst, std::nullopt, nanoseconds{0}};
  switch (limit.on_store_error) {
    case OnStoreError::allow:
      return Decision{Verdict::allowed, burst, burst, std::nullopt, nanoseconds{0}};
    case OnStoreError::deny:
      if (cost.units == 0) return Decision{Verdict::allowed, burst, 0, std::nullopt, kRetryUnknown};
      return Decision{Verdict::denied, burst, 0, kRetryUnknown, kRetryUnknown};
    case OnStoreError::local:
      break;
  }
  return std::nullopt;
}

const Quota& Fallback::scaled(const Quota& quota) {
  if (share_ >= 1) return quota;
  const auto known =
      std::find_if(scaled_.begin(), scaled_.end(), [&](const Scaled& each) { return each.whole == quota; });
  if (known != scaled_.end()) return known->share;
  const auto part = [this](std::int64_t units) {
    return std::max<std::int64_t>(1,
                                  static_cast<std::int64_t>(std::floor(static_cast<double>(units) * share_)));
  };
  const Scaled made{
      quota,
      Quota::make({part(quota.rate().count), quota.rate().period}, part(quota.burst())).value_or(quota)};
  if (scaled_.size() < kScaled) return scaled_.emplace_back(made).share;
  return (scaled_[next_++ % kScaled] = made).share;
}

bool Fallback::count(std::span<store::Check> checks, nanoseconds now) {
  std::array<const store::Limit*, store::kMostChecks> whole{};
  std::vector<store::Limit> limits;
  limits.reserve(checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    whole[i] = checks[i].limit;
    checks[i].limit =
        &limits.emplace_back(store::Limit{core::Rule{scaled(whole[i]->rule.quota)}, whole[i]->id});
  }
  store::Request request{.checks = checks};
  store::Request* const batch[] = {&request};
  embedded_.submit(batch, {now, now});
  for (std::size_t i = 0; i < checks.size(); ++i) checks[i].limit = whole[i];
  return request.allowed();
}

void Fallback::give_back(std::span<const store::Check> charged, nanoseconds charged_at, nanoseconds now) {
  for (store::Check check : charged) {
    if (check.hash == 0 || check.hash == kUncounted) continue;
    const store::Limit limit{core::Rule{scaled(check.limit->rule.quota)}, check.limit->id};
    check.limit = &limit;
    embedded_.give_back({.checks = {&check, 1}, .charged = true, .charged_at = charged_at}, now);
  }
}

nanoseconds debt_of(const Quota& quota, const Decision& answer) {
  const nanoseconds interval = quota.emission_interval();
  const nanoseconds most =
      interval * (quota.burst() - std::clamp<std::int64_t>(answer.remaining, 0, quota.burst()));
  // As GCRA has it in the present T, all but a part of a unit is the same.
  const bool exact = answer.reset_after <= most && answer.reset_after > most - interval;
  return exact ? answer.reset_after : most;
}

void Fallback::owe(const store::Limit& limit, std::string_view key, const Decision& answer, nanoseconds now) {
  if (limit.on_store_error != OnStoreError::local) return;
  const Quota& whole = limit.rule.quota;
  auto debt = static_cast<std::uint64_t>(debt_of(whole, answer).count());
  if (debt == 0) return;
  const Quota& share = scaled(whole);
  if (share_ < 1) {
    // The same part of the burst, rounded up.
    using Wide = unsigned __int128;
    const auto full = [](const Quota& quota) {
      return static_cast<Wide>(quota.burst()) * static_cast<Wide>(quota.emission_interval().count());
    };
    debt = static_cast<std::uint64_t>((debt * full(share) + full(whole) - 1) / full(whole));
  }
  // The store decided before its answer came, so its tat is this late at the latest: a round trip too late at
  // most.
  const std::uint64_t tat = static_cast<std::uint64_t>(now.count()) + debt;
  embedded_.table().raise(store::Table::place_of(hash_of(limit, key)), share, tat, now);
}

std::uint64_t Fallback::hash_of(const store::Limit& limit, std::string_view key) const {
  return embedded_.table().hash(key, Algorithm::gcra, limit.id);
}

void Fallback::forget(std::uint64_t hash, nanoseconds now) {
  embedded_.table().reset(store::Table::place_of(hash), now);
}

}  // namespace weir::redis
