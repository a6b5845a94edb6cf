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

store::Limit Fallback::scaled(const store::Limit& limit) const {
  const auto part = [this](std::int64_t units) {
    return std::max<std::int64_t>(1,
                                  static_cast<std::int64_t>(std::floor(static_cast<double>(units) * share_)));
  };
  const Quota& quota = limit.rule.quota;
  std::optional<Quota> share;
  if (share_ < 1) {
    const auto made = Quota::make({part(quota.rate().count), quota.rate().period}, part(quota.burst()));
    if (made) share = *made;
  }
  return {.rule = core::Rule{share.value_or(quota)}, .id = limit.id};
}

bool Fallback::count(std::span<store::Check> checks, nanoseconds now) {
  std::array<const store::Limit*, store::kMostChecks> whole{};
  std::vector<store::Limit> limits;
  limits.reserve(checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    whole[i] = checks[i].limit;
    checks[i].limit = &limits.emplace_back(scaled(*whole[i]));
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
    const store::Limit limit = scaled(*check.limit);
    check.limit = &limit;
    embedded_.give_back({.checks = {&check, 1}, .charged = true, .charged_at = charged_at}, now);
  }
}

}  // namespace weir::redis
