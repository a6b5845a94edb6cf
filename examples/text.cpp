// Decisions and quotas as text: for a stream, and for fmt, whose header comes before weir's.
#include <fmt/format.h>
#include <weir/format.hpp>
#include <weir/limiter.hpp>

#include <iostream>

int main() {
  using namespace std::chrono_literals;
  weir::ManualClock clock;
  weir::Limiter limiter{weir::Quota::per_minute(6).with_burst(2), clock};
  std::cout << limiter.quota() << '\n' << limiter.check(weir::Cost{2}) << std::endl;
  clock.advance(1500ms);
  fmt::print("{}\n", limiter.check());
  fmt::print("{:.5}: {}\n", limiter.check(weir::Cost{3}), limiter.quota());
}
