// What is answered without asking the store has to be what the store would have answered, or less.
#include "redis/leases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "redis/one_key_test.hpp"

namespace weir::redis {
namespace {

using std::chrono::nanoseconds;

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
