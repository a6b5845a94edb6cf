// What a language model's answer costs is known only afterwards: reserve an estimate by a limits file, wait
// for the moment, act, and settle what it did cost.
#include <weir/limits.hpp>

#include <chrono>
#include <cstdio>
#include <thread>

int main() {
  weir::Limits limits = weir::Limits::from_text(R"(
version: 1
limits:
  tokens: { by: [tenant, model], rate: 1000/s burst 1000, max_wait: 5s, hold: { estimate: 600, ttl: 60s } }
)");
  const weir::Attribute asks[] = {{"tenant", "acme"}, {"model", "large"}};
  for (int call = 0; call < 2; ++call) {
    weir::LimitsReservation mine = limits.reserve({asks});
    if (!mine.granted()) {
      std::printf("denied by %s\n", mine.by.c_str());
      continue;
    }
    std::this_thread::sleep_for(mine.reservation.left());
    std::printf("%s\n", mine.reservation.wait() > std::chrono::nanoseconds{0} ? "waited, sent" : "sent");
    mine.reservation.settle(900);  // more than was thought: those who come next wait for it
  }
}
