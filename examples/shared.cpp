// One limit over many processes: each of them runs this, and together they are allowed 5 at once and 10 a
// minute. The store is the first argument, redis://127.0.0.1:6379 without one.
#include <weir/redis.hpp>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    weir::RedisStore store{argc > 1 ? argv[1] : "redis://127.0.0.1:6379"};
    weir::SharedLimiter per_user{weir::Quota::per_minute(10).with_burst(5), store};
    for (int i = 1; i <= 6; ++i) {
      const weir::Decision decision = per_user.check("user:42");
      std::printf("%d %s\n", i, decision.allowed() ? "allowed" : "denied");
    }
    // A request that meets two limits is charged to both, or to none.
    weir::SharedLimiter per_tenant{weir::Quota::per_hour(1000), store};
    const auto both = store.check_all({{per_user, "user:43"}, {per_tenant, "tenant:7", weir::Cost{10}}});
    std::printf("both %s, %lld left of limit %zu\n", both.allowed() ? "allow" : "deny",
                static_cast<long long>(both.decision.remaining), both.by);
    // Without an answer in time the process decides by itself; a program may want to say so.
    if (store.not_decided() > 0) std::puts("the store did not answer");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
