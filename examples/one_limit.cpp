// One limit inside one process: twenty at once, then a hundred a minute.
#include <weir/limiter.hpp>

#include <chrono>
#include <cstdio>

int main() {
  weir::Limiter limiter{weir::Quota::per_minute(100).with_burst(20)};
  int allowed = 0;
  for (int i = 0; i < 25; ++i) {
    if (const auto d = limiter.check(); d.allowed()) {
      ++allowed;
    } else if (d.retry_after) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*d.retry_after);
      std::printf("request %d is denied, try again in %lld ms\n", i, static_cast<long long>(wait.count()));
    } else {
      std::printf("request %d costs more than the burst: waiting does not help\n", i);
    }
  }
  std::printf("%d of 25 were allowed\n", allowed);
  return allowed == 20 ? 0 : 1;
}
