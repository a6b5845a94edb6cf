// What a check costs, compared with the least that it could cost, alternately in one run.
//
//   weir_bench_table [--quick]
//
// The baselines do no more than they must: a compare-and-swap loop on one tat; an open-addressing table of
// {64-bit hash, 64-bit tat} without bound, growth, locks over several fields, or an interval, with the same
// hash, clock, huge pages and number of keys, at the load that 2^21 slots give it. Every figure is the median
// of alternating rounds; the ratio is that of the medians.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/siphash.hpp"
#include "store/clock.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::bench {
namespace {

// A key that was checked once stays in use until the end, and none is ever denied: every check charges.
constexpr Quota kKeyed = Quota::per_day(1).with_burst(100'000);
constexpr Quota kSingle = Quota::per_second(1'000'000'000).with_burst(1'000'000'000);

class BareLimiter {
 public:
  bool check() {
    const auto now = static_cast<std::uint64_t>(store::steady_now().count());
    std::uint64_t tat = tat_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t next = std::max(tat, now) + kInterval;
      if (next > now + kFull) return false;
      if (tat_.compare_exchange_weak(tat, next, std::memory_order_relaxed)) return true;
    }
  }

 private:
  static constexpr std::uint64_t kInterval = 1;
  static constexpr std::uint64_t kFull = 1'000'000'000;
  std::atomic<std::uint64_t> tat_{0};
};

class BareTable {
 public:
  explicit BareTable(std::size_t slots) : mask_(slots - 1), bytes_(slots * sizeof(Slot)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    madvise(memory, bytes_, MADV_HUGEPAGE);
    slots_ = static_cast<Slot*>(memory);
  }
  ~BareTable() { munmap(slots_, bytes_); }
  BareTable(const BareTable&) = delete;
  BareTable& operator=(const BareTable&) = delete;

  bool check(std::string_view key) {
    const std::uint64_t hash = core::siphash<1, 3>(seed_, key) | 1;
    const auto now = static_cast<std::uint64_t>(store::steady_now().count());
    for (std::size_t at = (hash >> 20) & mask_;; at = (at + 1) & mask_) {
      std::uint64_t seen = slots_[at].hash.load(std::memory_order_relaxed);
      if (seen == 0 && slots_[at].hash.compare_exchange_strong(seen, hash, std::memory_order_relaxed))
        seen = hash;
      if (seen != hash) continue;
      std::uint64_t tat = slots_[at].tat.load(std::memory_order_relaxed);
      for (;;) {
        const std::uint64_t next = std::max(tat, now) + kInterval;
        if (next > now + kFull) return false;
        if (slots_[at].tat.compare_exchange_weak(tat, next, std::memory_order_relaxed)) return true;
      }
    }
  }

 private:
  static constexpr std::uint64_t kInterval = 86'400'000'000'000;
  static constexpr std::uint64_t kFull = kInterval * 100'000;
  struct Slot {
    std::atomic<std::uint64_t> hash;
    std::atomic<std::uint64_t> tat;
  };
  core::HashKey seed_{3, 5};
  std::size_t mask_;
  std::size_t bytes_;
  Slot* slots_ = nullptr;
};

// Nanoseconds for each of `count` calls by each of `threads` threads.
double time_each(std::size_t count, int threads, const std::function<void(int thread)>& work) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> others;
  const auto wait = [&](int thread) {
    ++ready;
    while (!go) {
    }
    work(thread);
  };
  for (int i = 1; i < threads; ++i) others.emplace_back(wait, i);
  while (ready != threads - 1) {
  }
  const auto before = store::steady_now();
  go = true;
  work(0);
  for (std::thread& other : others) other.join();
  return static_cast<double>((store::steady_now() - before).count()) / static_cast<double>(count);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Case {
  const char* name;
  std::function<double()> run;
  std::vector<double> ns{};
};

void ratio(const char* what, const Case& over, const Case& under, const char* target, bool turned = false) {
  const double a = median(over.ns);
  const double b = median(under.ns);
  std::printf("%-58s %6.2f   (target %s)\n", what, turned ? b / a : a / b, target);
}

int main_with(bool quick) {
  const std::size_t keys_count = quick ? 10'000 : 1'000'000;
  const std::size_t checks = quick ? 20'000 : 2'000'000;
  const int rounds = quick ? 1 : 9;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < keys_count; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "user:%012zu:login", i);
    keys.emplace_back(text);
  }
  // Two orders, one for each thread, laid out so that reading the key's text is not what is measured.
  std::array<std::vector<std::array<char, 24>>, 2> text;
  std::array<std::vector<std::string_view>, 2> order;
  std::mt19937_64 random(42);
  for (std::size_t thread = 0; thread < 2; ++thread) {
    text[thread].resize(checks);
    for (auto& each : text[thread]) std::memcpy(each.data(), keys[random() % keys_count].data(), 23);
    for (const auto& each : text[thread]) order[thread].emplace_back(each.data(), 23);
  }

  Limiter limiter{kSingle};
  BareLimiter bare_limiter;
  KeyedLimiter keyed{kKeyed, {.memory = 64_MiB}};
  BareTable bare_table(std::size_t{1} << 21);
  std::atomic<std::uint64_t> sink{0};
  const auto keyed_one = [&](int thread) {
    std::uint64_t allowed = 0;
    for (const std::string_view key : order[static_cast<std::size_t>(thread)])
      allowed += keyed.check(key).allowed() ? 1 : 0;
    sink += allowed;
  };
  const auto bare_one = [&](int thread) {
    std::uint64_t allowed = 0;
    for (const std::string_view key : order[static_cast<std::size_t>(thread)])
      allowed += bare_table.check(key) ? 1 : 0;
    sink += allowed;
  };
  const auto batches = [&](int thread) {
    std::array<Decision, 16> decisions;
    const std::span<const std::string_view> all(order[static_cast<std::size_t>(thread)]);
    for (std::size_t at = 0; at + 16 <= all.size(); at += 16) keyed.check(all.subspan(at, 16), decisions);
    sink += static_cast<std::uint64_t>(decisions[0].remaining);
  };
  const std::size_t simple = quick ? 20'000 : 10'000'000;
  const auto limiter_one = [&](int) {
    std::uint64_t allowed = 0;
    for (std::size_t i = 0; i < simple; ++i) allowed += limiter.check().allowed() ? 1 : 0;
    sink += allowed;
  };
  // Without a hold, as a request that acts now.
  const auto limiter_reserve = [&](int) {
    std::uint64_t granted = 0;
    for (std::size_t i = 0; i < simple; ++i)
      granted += limiter.reserve({.max_wait = std::chrono::seconds{1}}).granted() ? 1 : 0;
    sink += granted;
  };
  const auto keyed_reserve = [&](int thread) {
    std::uint64_t granted = 0;
    for (const std::string_view key : order[static_cast<std::size_t>(thread)])
      granted += keyed.reserve(key, {.max_wait = std::chrono::seconds{1}}).granted() ? 1 : 0;
    sink += granted;
  };
  const auto bare_limiter_one = [&](int) {
    std::uint64_t allowed = 0;
    for (std::size_t i = 0; i < simple; ++i) allowed += bare_limiter.check() ? 1 : 0;
    sink += allowed;
  };
  std::vector<Case> cases = {
      {"one Limiter", [&] { return time_each(simple, 1, limiter_one); }},
      {"bare compare-and-swap", [&] { return time_each(simple, 1, bare_limiter_one); }},
      {"KeyedLimiter, 1 thread", [&] { return time_each(checks, 1, keyed_one); }},
      {"bare table, 1 thread", [&] { return time_each(checks, 1, bare_one); }},
      {"KeyedLimiter, 2 threads", [&] { return time_each(2 * checks, 2, keyed_one); }},
      {"bare table, 2 threads", [&] { return time_each(2 * checks, 2, bare_one); }},
      {"KeyedLimiter, batches of 16, 1 thread", [&] { return time_each(checks, 1, batches); }},
      {"KeyedLimiter, batches of 16, 2 threads", [&] { return time_each(2 * checks, 2, batches); }},
      {"one Limiter, reserve()", [&] { return time_each(simple, 1, limiter_reserve); }},
      {"KeyedLimiter, reserve(), 1 thread", [&] { return time_each(checks, 1, keyed_reserve); }},
  };
  for (Case& each : cases) each.run();  // fills the tables, wakes the processor
  for (int round = 0; round < rounds; ++round) {
    for (Case& each : cases) each.ns.push_back(each.run());
  }
  std::printf("%zu keys of 23 bytes, %zu live, medians of %d alternating rounds\n", keys_count,
              static_cast<std::size_t>(keyed.live()), rounds);
  for (const Case& each : cases) std::printf("%-58s %6.1f ns\n", each.name, median(each.ns));
  ratio("one Limiter / bare compare-and-swap", cases[0], cases[1], "at most 1.3");
  ratio("KeyedLimiter / bare table, 1 thread", cases[2], cases[3], "at most 1.5");
  ratio("two threads' rate / one thread's", cases[4], cases[2], "at least 1.7", true);
  ratio("rate in batches of 16 / one by one", cases[6], cases[2], "at least 4", true);
  ratio("Limiter: reserve() that acts now / check()", cases[8], cases[0], "at most 1.2");
  ratio("KeyedLimiter: reserve() that acts now / check()", cases[9], cases[2], "at most 1.2");
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  return weir::bench::main_with(argc > 1 && std::string_view(argv[1]) == "--quick");
}
