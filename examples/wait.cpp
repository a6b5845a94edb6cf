// Two workers of one process share a limit on what they send: they wait for their moments, none is denied.
#include <weir/acquire.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  using namespace std::chrono_literals;
  weir::Limiter limiter{weir::Quota::per_second(50).with_burst(1)};
  std::atomic<int> sent{0};
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 2; ++i) {
      workers.emplace_back([&](std::stop_token stop) {
        for (int job = 0; job < 5; ++job) {
          if (weir::acquire(limiter, {.max_wait = 10s}, stop).granted()) ++sent;
        }
      });
    }
    for (std::jthread& worker : workers) worker.join();
  }
  std::printf("%d sent\n", sent.load());

  // A worker that is told to stop gives its moment up.
  weir::Limiter slow{weir::Quota::per_hour(1)};
  static_cast<void>(slow.check());
  std::jthread waits([&](std::stop_token stop) {
    std::puts(weir::acquire(slow, {.max_wait = 2h}, stop).granted() ? "sent" : "stopped");
  });
  waits.request_stop();
  waits.join();

  // A deadline that cannot be met is not slept through.
  if (!weir::acquire(slow, {.max_wait = 1s}).granted()) std::puts("denied at once");
}
