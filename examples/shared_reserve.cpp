// Calls to somebody else's API that many processes make, each of them this one: 20 a second are allowed, over
// all of them together, and none is denied that can be made within 5 s. The store is the first argument,
// redis://127.0.0.1:6379 without one.
#include <weir/acquire.hpp>
#include <weir/redis.hpp>

#include <chrono>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  try {
    weir::RedisStore store{argc > 1 ? argv[1] : "redis://127.0.0.1:6379"};
    weir::SharedLimiter partner{weir::Quota::per_second(20).with_burst(2), store};
    int sent = 0;
    for (int call = 0; call < 6; ++call)
      sent += weir::acquire(partner, "partner", {.max_wait = 5s}).granted() ? 1 : 0;
    std::printf("%d sent\n", sent);

    // What is not needed any more goes to the next that asks, in any process.
    weir::SharedLimiter daily{weir::Quota::per_day(1), store};
    if (!daily.check("report").allowed()) std::puts("the report was made today");
    weir::Reservation tomorrow = daily.reserve("report", {.max_wait = 48h});
    std::printf("gave %llu back\n", static_cast<unsigned long long>(tomorrow.cancel()));
    if (!daily.reserve("report", {.max_wait = 1h}).granted()) std::puts("denied at once");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
