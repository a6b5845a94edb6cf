// What is answered without asking the store has to be what the store would have answered, or less.
#include "redis/shared_store.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "core/gcra.hpp"

namespace weir::redis {
namespace {

using std::chrono::nanoseconds;

std::uint64_t seed() {
  const char* given = std::getenv("WEIR_SEED");
  const std::uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("WEIR_SEED=%llu\n", static_cast<unsigned long long>(chosen));
  return chosen;
}

// The store: one key, its clock `offset` ahead of ours.
struct Store {
  gcra::State state;
  Decision ask(const Quota& quota, nanoseconds now, std::uint64_t cost) {
    const gcra::Step step = gcra::decide(quota, state, now, Cost{cost});
    if (step.changes) state = step.next;
    return step.decision();
  }
};

TEST(DenialMemory, never_denies_what_the_store_would_allow_and_asks_for_little_else) {
  std::mt19937_64 random(seed());
  int remembered = 0;
  for (int trace = 0; trace < 500; ++trace) {
    const Quota quota = Quota::make({1, nanoseconds{static_cast<std::int64_t>(1 + random() % 1000)}},
                                    static_cast<std::int64_t>(1 + random() % 6))
                            .value();
    const nanoseconds offset{static_cast<std::int64_t>(random() % 1'000'000)};
    Store store;
    DenialMemory memory;
    nanoseconds now{1000};
    for (int step = 0; step < 300; ++step) {
      now += nanoseconds{static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 3000 : 100))};
      const Cost cost{random() % 4};
      if (random() % 3 == 0) {
        store.ask(quota, now + offset, 1 + random() % 3);  // another process
        continue;
      }
      if (const auto denial = memory.recall(7, quota, cost, now, 0)) {
        ++remembered;
        ASSERT_EQ(denial->verdict, Verdict::denied);
        const gcra::Step truth = gcra::decide(quota, store.state, now + offset, cost);
        ASSERT_EQ(truth.verdict, Verdict::denied);
        continue;
      }
      // On its way there and back.
      const nanoseconds there{static_cast<std::int64_t>(random() % 200)};
      const nanoseconds back{static_cast<std::int64_t>(random() % 200)};
      const Decision decision = store.ask(quota, now + there + offset, cost.units);
      if (decision.verdict == Verdict::denied)
        memory.remember(7, quota, cost, decision, now, now + there + back, 0);
      now += there + back;
    }
  }
  EXPECT_GT(remembered, 5'000);
}

TEST(DenialMemory, its_retry_after_is_enough) {
  const Quota quota = Quota::make({1, nanoseconds{1000}}, 2).value();
  Store store;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(store.ask(quota, nanoseconds{10'050}, 1).allowed());
  const Decision denial = store.ask(quota, nanoseconds{10'100}, 1);  // asked at 10'000, answered at 10'200
  ASSERT_EQ(denial.retry_after, nanoseconds{950});
  DenialMemory memory;
  memory.remember(7, quota, Cost{1}, denial, nanoseconds{10'000}, nanoseconds{10'200}, 0);
  const auto recalled = memory.recall(7, quota, Cost{1}, nanoseconds{10'500}, 0);
  ASSERT_TRUE(recalled);
  EXPECT_EQ(recalled->retry_after, nanoseconds{650});
  EXPECT_TRUE(store.ask(quota, nanoseconds{10'500} + *recalled->retry_after, 1).allowed());
  // The first moment at which it may have ended: the store is asked.
  EXPECT_TRUE(memory.recall(7, quota, Cost{1}, nanoseconds{10'949}, 0));
  EXPECT_FALSE(memory.recall(7, quota, Cost{1}, nanoseconds{10'950}, 0));
}

TEST(DenialMemory, forgets_for_a_reset_another_quota_another_key_and_a_look) {
  const Quota quota = Quota::make({1, nanoseconds{1000}}, 1).value();
  Store store;
  ASSERT_TRUE(store.ask(quota, nanoseconds{10'000}, 1).allowed());
  const Decision denial = store.ask(quota, nanoseconds{10'000}, 1);
  DenialMemory memory;
  memory.remember(7, quota, Cost{1}, denial, nanoseconds{10'000}, nanoseconds{10'000}, 3);
  EXPECT_TRUE(memory.recall(7, quota, Cost{1}, nanoseconds{10'001}, 3));
  EXPECT_FALSE(memory.recall(7, quota, Cost{1}, nanoseconds{10'001}, 4));
  EXPECT_FALSE(memory.recall(9, quota, Cost{1}, nanoseconds{10'001}, 3));
  EXPECT_FALSE(memory.recall(7, quota, Cost{0}, nanoseconds{10'001}, 3));
  EXPECT_FALSE(
      memory.recall(7, Quota::make({1, nanoseconds{999}}, 1).value(), Cost{1}, nanoseconds{10'001}, 3));
}

// Several processes with leases on one key: together at most burst + W / T in any span (the walk is that of
// tests/agreement/promise_test.cpp).
TEST(Leases, keep_the_promise) {
  std::mt19937_64 random(seed());
  std::uint64_t from_leases = 0;
  for (int trace = 0; trace < 1'000; ++trace) {
    const std::int64_t interval = 1 + static_cast<std::int64_t>(random() % 1000);
    const std::int64_t burst = 1 + static_cast<std::int64_t>(random() % 30);
    const Quota quota = Quota::make({1, nanoseconds{interval}}, burst).value();
    Store store;
    std::array<Leases, 3> processes;
    nanoseconds now{1'000'000};
    __int128 sum = 0;
    nanoseconds last = now;
    for (int step = 0; step < 300; ++step) {
      const std::int64_t most = random() % 6 == 0 ? burst * interval * 2 : interval;
      now += nanoseconds{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1))};
      Leases& leases = processes[random() % processes.size()];
      const Cost cost{1 + random() % 2};
      bool admitted = false;
      if (leases.spend(7, quota, cost, now, 0)) {
        admitted = true;
        ++from_leases;
      } else if (cost.units <= static_cast<std::uint64_t>(burst)) {
        const nanoseconds asked = now;
        now += nanoseconds{static_cast<std::int64_t>(random() % 50)};
        const std::uint64_t units = std::min(static_cast<std::uint64_t>(burst), cost.units + random() % 10);
        admitted = store.ask(quota, now, units).allowed();
        if (admitted) leases.grant(7, quota, units, cost.units, asked, 0);
      }
      if (!admitted) continue;
      sum = std::max<__int128>(0, sum - (now - last).count()) + static_cast<__int128>(cost.units) * interval;
      last = now;
      ASSERT_LE(sum, static_cast<__int128>(burst) * interval) << "trace " << trace << " step " << step;
    }
  }
  EXPECT_GT(from_leases, 10'000);
}

TEST(Leases, melt) {
  const Quota quota = Quota::make({1, nanoseconds{100}}, 10).value();
  Leases leases;
  leases.grant(7, quota, 5, 1, nanoseconds{1000}, 0);
  EXPECT_EQ(leases.spend(7, quota, Cost{1}, nanoseconds{1000}, 0)->remaining, 3);
  EXPECT_EQ(leases.spend(7, quota, Cost{1}, nanoseconds{1001}, 0)->remaining, 1);  // one has begun to melt
  EXPECT_FALSE(leases.spend(7, quota, Cost{2}, nanoseconds{1001}, 0));
  EXPECT_FALSE(leases.spend(7, quota, Cost{1}, nanoseconds{1101}, 0));
  leases.grant(7, quota, 5, 1, nanoseconds{1000}, 0);
  EXPECT_FALSE(leases.spend(7, quota, Cost{1}, nanoseconds{1000}, 1));  // reset since
  EXPECT_FALSE(leases.spend(7, quota, Cost{1}, nanoseconds{1000}, 0));
}

}  // namespace
}  // namespace weir::redis
