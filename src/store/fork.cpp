#include "store/fork.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace weir::inline v0_1::store {
namespace {

// A child that has threads of its own cannot tell whose a lock is, but by how long it is held.
constexpr int kMostSleeps = 200'000;  // 10 s and more

std::atomic<std::uint32_t> forks_so_far{0};
[[maybe_unused]] const int kRegistered =
    pthread_atfork(nullptr, nullptr, [] { forks_so_far.fetch_add(1, std::memory_order_relaxed); });

// Each is a folder there. Nothing is known of other systems.
bool is_alone() {
  struct stat threads{};
  return stat("/proc/self/task", &threads) == 0 && threads.st_nlink == 2 + 1;
}

}  // namespace

std::uint32_t forks() noexcept { return forks_so_far.load(std::memory_order_relaxed); }

void expect_a_holder(int sleeps) noexcept {
  if (forks() == 0 || (!is_alone() && sleeps < kMostSleeps)) return;
  constexpr std::string_view kWhy =
      "weir: another thread was in a call of this limiter at fork(), and its lock is held in the child; "
      "expected a limiter that the child has made\n";
  static_cast<void>(!write(STDERR_FILENO, kWhy.data(), kWhy.size()));
  std::abort();
}

}  // namespace weir::store
