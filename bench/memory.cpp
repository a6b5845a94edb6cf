// What keys cost, what a flood of them does, and how long growth stops another thread.
//
//   weir_bench_memory [--quick]
//
// Sizes are those of this process's resident set; the cost of a key includes the program and its libraries.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "store/clock.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::bench {
namespace {

constexpr Quota kDaily = Quota::per_day(1);

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Fresh keys in batches, as a server's engine checks them.
void flood(KeyedLimiter& limiter, std::uint64_t first, std::uint64_t count) {
  constexpr std::size_t kBatch = 32;
  std::array<std::array<char, 24>, kBatch> text;
  std::array<std::string_view, kBatch> keys;
  std::array<Decision, kBatch> decisions;
  for (std::uint64_t i = 0; i < count; i += kBatch) {
    for (std::size_t k = 0; k < kBatch; ++k) {
      const int length = std::snprintf(text[k].data(), text[k].size(), "flood:%016llx",
                                       static_cast<unsigned long long>(first + i + k));
      keys[k] = {text[k].data(), static_cast<std::size_t>(length)};
    }
    limiter.check(keys, decisions);
  }
}

void live_keys(std::uint64_t count, std::size_t memory) {
  KeyedLimiter limiter{kDaily, {.memory = memory}};
  flood(limiter, 0, count);
  const std::uint64_t live = limiter.live();
  std::printf("%llu keys live of %llu asked in %zu MiB: %.2f bytes of RSS a key   (target at most 28)\n",
              static_cast<unsigned long long>(live), static_cast<unsigned long long>(count), memory >> 20,
              static_cast<double>(resident_bytes()) / static_cast<double>(live));
}

bool flooded(std::uint64_t count, std::size_t memory) {
  const std::size_t without = resident_bytes();
  KeyedLimiter limiter{kDaily, {.memory = memory}};
  for (int i = 0; i < 10'000; ++i) static_cast<void>(limiter.check("drained:" + std::to_string(i)));
  const auto before = store::steady_now();
  flood(limiter, 0, count);
  const auto each = static_cast<double>((store::steady_now() - before).count()) / static_cast<double>(count);
  int drained = 0;
  for (int i = 0; i < 10'000; ++i) drained += limiter.check("drained:" + std::to_string(i)).allowed() ? 0 : 1;
  std::printf(
      "%llu fresh keys into %zu MiB: RSS grew by the cap %+.2f %%, %d of 10000 drained keys still drained, "
      "%llu "
      "live of %llu slots, %llu refused, %.0f ns each   (target within 5 %%, 10000)\n",
      static_cast<unsigned long long>(count), memory >> 20,
      (static_cast<double>(resident_bytes() - without) / static_cast<double>(memory) - 1) * 100, drained,
      static_cast<unsigned long long>(limiter.live()), static_cast<unsigned long long>(limiter.capacity()),
      static_cast<unsigned long long>(limiter.refused()), each);
  return drained == 10'000;
}

// The longest checks of a thread that only asks for keys it has, while another does `work`.
template <class Work>
void pauses(const char* what, KeyedLimiter& limiter, Work work) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    work();
    done = true;
  });
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("settled:" + std::to_string(i));
  std::vector<std::int64_t> longest;
  std::uint64_t checks = 0;
  for (std::size_t i = 0; !done; i = (i + 1) % keys.size(), ++checks) {
    const auto before = store::steady_now();
    static_cast<void>(limiter.check(keys[i]));
    const std::int64_t took = (store::steady_now() - before).count();
    if (took > 20'000) longest.push_back(took);
  }
  other.join();
  std::sort(longest.rbegin(), longest.rend());
  std::printf("%s: %llu checks beside it, %zu longer than 20 us, the longest:", what,
              static_cast<unsigned long long>(checks), longest.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(8, longest.size()); ++i) {
    std::printf(" %lld", static_cast<long long>(longest[i] / 1000));
  }
  std::printf(" us\n");
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  using namespace weir;
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  bench::live_keys(quick ? 100'000 : 10'000'000, quick ? 4_MiB : 256_MiB);
  const bool kept = bench::flooded(quick ? 1'000'000 : 100'000'000, quick ? 2_MiB : 64_MiB);
  KeyedLimiter growing{bench::kDaily, {.memory = quick ? 4_MiB : 128_MiB}};
  bench::flood(growing, 0, 1000);
  const std::uint64_t keys = quick ? 150'000 : 5'000'000;
  bench::pauses("while the table grows", growing, [&] { bench::flood(growing, 0, keys); });
  bench::pauses("the same keys again, no growth", growing, [&] { bench::flood(growing, 0, keys); });
  return kept ? 0 : 1;
}
