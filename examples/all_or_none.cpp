// One request that meets two limits: charged to both, or to none.
#include <weir/limiter.hpp>

#include <cstdio>

using namespace weir::literals;

int main() {
  weir::LocalStore store{{.memory = 16_MiB}};
  weir::KeyedLimiter per_user{weir::Quota::per_minute(2), store};
  weir::KeyedLimiter per_tenant{weir::Quota::per_minute(100), store};
  for (int i = 1; i <= 3; ++i) {
    const auto both = store.check_all({{per_user, "ann"}, {per_tenant, "acme", weir::Cost{10}}});
    std::printf("%d %s by limit %zu\n", i, both.allowed() ? "allowed" : "denied", both.by);
  }
  // A tenant on another plan has a quota of its own, and keeps what it has spent.
  constexpr auto paid = weir::Quota::per_minute(1000);
  const auto d = per_tenant.check("acme", paid, weir::Cost{0});
  std::printf("%lld of %lld left\n", static_cast<long long>(d.remaining), static_cast<long long>(d.limit));
  return d.remaining >= 980 ? 0 : 1;
}
