// One limit over many processes: each of them runs this, and together they are allowed 5 at once and 10 a
// minute. The store is the first argument, redis://127.0.0.1:6379 without one.
#include <weir/redis.hpp>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    weir::RedisStore store{argc > 1 ? argv[1] : "redis://127.0.0.1:6379"};
    weir::SharedLimiter per_user{weir::Quota::per_minute(10).burst(5), store};
    for (int i = 1; i <= 6; ++i) {
      const weir::Decision decision = per_user.check("user:42");
      std::printf("%d %s\n", i, decision.allowed() ? "allowed" : "denied");
    }
    // Without an answer in time the process decides by itself; a program may want to say so.
    if (store.not_decided() > 0) std::puts("the store did not answer");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
