// What threads do to the memory of denials at once. Run under ThreadSanitizer by ./dev check.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/chance_test.hpp"
#include "core/gcra.hpp"
#include "redis/denial_memory.hpp"

namespace weir::inline v0_1::redis::denial_threads_test {
namespace {

using std::chrono::nanoseconds;

// Event loops that share a memory and a key of the store. What is recalled is denied by the store too, and
// tells of every charge that any loop had been answered before it was recalled.
TEST(DenialThreads, no_loop_is_told_less_than_another_has_been_answered) {
  constexpr int kThreads = 4;
  constexpr std::int64_t kInterval = 1'000;
  const Quota quota = Quota::make({1, nanoseconds{kInterval}}, 20).value();
  std::atomic<int> recalled{0};
  std::atomic<int> wrong{0};
  for (std::uint64_t round = 0; round < 20; ++round) {
    DenialMemory memory;
    std::mutex mutex;
    core::gcra::State state;
    std::atomic<std::int64_t> clock{10'000};
    std::atomic<std::uint64_t> answered{0};  // the latest tat that a loop has been told after a charge
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937_64 random(core::Chance::seed() + round * kThreads + static_cast<std::uint64_t>(thread));
        for (int i = 0; i < 2'000; ++i) {
          const Cost cost{1 + random() % 4};
          const std::uint64_t told = answered.load();
          const nanoseconds now{clock += static_cast<std::int64_t>(random() % 300)};
          if (const auto denial = memory.recall(7, core::Rule{quota}, cost, now)) {
            ++recalled;
            const std::lock_guard lock(mutex);
            const auto tat = static_cast<std::uint64_t>((now + denial->reset_after).count());
            if (core::gcra::decide(quota, state, now, cost).verdict != Verdict::denied || tat < told) ++wrong;
            continue;
          }
          const DenialMemory::Stamp stamp = memory.ask(7, core::Rule{quota}, cost, &random);
          Decision decision;
          std::uint64_t tat = 0;
          {
            const std::lock_guard lock(mutex);
            const core::gcra::Step step =
                core::gcra::decide(quota, state, std::max(now, nanoseconds{clock.load()}), cost);
            if (step.changes) state = step.next;
            decision = step.decision();
            tat = state.tat;
          }
          if (random() % 4 == 0) std::this_thread::yield();
          const nanoseconds then{clock.load()};
          if (decision.verdict == Verdict::denied) {
            memory.denied(7, core::Rule{quota}, cost, decision, now, then, stamp);
            continue;
          }
          memory.charged(7);
          std::uint64_t before = answered.load();
          while (before < tat && !answered.compare_exchange_weak(before, tat)) {
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    // Nothing is under way: a denial is remembered again.
    const nanoseconds now{clock.load() + 20 * kInterval};
    state = {static_cast<std::uint64_t>((now + quota.emission_interval() * 20).count()), kInterval};
    const DenialMemory::Stamp stamp = memory.ask(7, core::Rule{quota}, Cost{4}, nullptr);
    memory.denied(7, core::Rule{quota}, Cost{4}, core::gcra::decide(quota, state, now, Cost{4}).decision(),
                  now, now, stamp);
    EXPECT_TRUE(memory.recall(7, core::Rule{quota}, Cost{4}, now));
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(recalled, 1'000);
}

}  // namespace
}  // namespace weir::redis::denial_threads_test
