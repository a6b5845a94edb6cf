// What is answered without asking the store has to be what the store would have answered, or less.
#include "redis/leases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "redis/one_key_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

using std::chrono::nanoseconds;

// Several processes with leases on one key, some of which end early and are given back: together at most
// burst + W / T in any span (the walk is that of tests/agreement/promise_test.cpp).
TEST(Leases, keep_the_promise) {
  std::mt19937_64 random(seed());
  std::uint64_t from_leases = 0;
  std::uint64_t given_back = 0;
  for (int trace = 0; trace < 1'000; ++trace) {
    const std::int64_t interval = 1 + static_cast<std::int64_t>(random() % 1000);
    const std::int64_t burst = 1 + static_cast<std::int64_t>(random() % 30);
    const Quota quota = Quota::make({1, nanoseconds{interval}}, burst).value();
    Store store;
    // As the script does it: what is owed of the units, and not more than is owed at all.
    const auto give_back = [&](const Lease& lease, nanoseconds now) {
      const auto need = static_cast<std::int64_t>(lease.units - lease.spent) * interval;
      const std::int64_t owed = std::min(need, (lease.charged_at - now).count() + need);
      const auto debt = static_cast<std::int64_t>(core::ahead_of(store.state.tat, now));
      store.state.tat -= static_cast<std::uint64_t>(std::clamp<std::int64_t>(owed, 0, debt));
      ++given_back;
    };
    std::array<Leases, 3> processes;
    nanoseconds now{1'000'000};
    __int128 sum = 0;
    nanoseconds last = now;
    for (int step = 0; step < 300; ++step) {
      const std::int64_t most = random() % 6 == 0 ? burst * interval * 2 : interval;
      now += nanoseconds{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1))};
      Leases& leases = processes[random() % processes.size()];
      if (random() % 4 == 0) {
        const auto ended = leases.end(now, random() % 2 == 0);
        now += nanoseconds{static_cast<std::int64_t>(random() % 50)};
        for (const auto& [hash, lease] : ended) give_back(lease, now);
      }
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
        const nanoseconds until = asked + nanoseconds{static_cast<std::int64_t>(random() % 20) * interval};
        if (admitted) {
          if (const auto rest = leases.grant(7, {"k", quota, units, cost.units, asked, now, until, 0}))
            give_back(*rest, now);
        }
      }
      if (!admitted) continue;
      sum = std::max<__int128>(0, sum - (now - last).count()) + static_cast<__int128>(cost.units) * interval;
      last = now;
      ASSERT_LE(sum, static_cast<__int128>(burst) * interval) << "trace " << trace << " step " << step;
    }
  }
  EXPECT_GT(from_leases, 10'000U);
  EXPECT_GT(given_back, 10'000U);
}

std::int64_t remaining(const std::optional<Leases::Spent>& spent) {
  return spent ? spent->decision.remaining : -1;
}

TEST(Leases, melt_and_end) {
  const Quota quota = Quota::make({1, nanoseconds{100}}, 10).value();
  Leases leases;
  const auto grant = [&] {
    return leases.grant(7, {"k", quota, 5, 1, nanoseconds{1000}, nanoseconds{0}, nanoseconds{1200}, 0});
  };
  EXPECT_FALSE(grant());
  EXPECT_EQ(remaining(leases.spend(7, quota, Cost{1}, nanoseconds{1000}, 0)), 3);
  EXPECT_EQ(remaining(leases.spend(7, quota, Cost{1}, nanoseconds{1001}, 0)), 1);  // one has begun to melt
  EXPECT_FALSE(leases.spend(7, quota, Cost{2}, nanoseconds{1001}, 0));
  EXPECT_FALSE(leases.spend(7, quota, Cost{1}, nanoseconds{1001}, 1)) << "reset since";
  EXPECT_FALSE(leases.spend(7, quota, Cost{1}, nanoseconds{1101}, 0));
  EXPECT_TRUE(leases.end(nanoseconds{1101}).empty()) << "nothing is left of it";
  EXPECT_TRUE(leases.empty());

  EXPECT_FALSE(grant());
  EXPECT_TRUE(leases.end(nanoseconds{1199}).empty());
  EXPECT_TRUE(leases.spend(7, quota, Cost{1}, nanoseconds{1199}, 0));
  EXPECT_FALSE(leases.spend(7, quota, Cost{1}, nanoseconds{1200}, 0)) << "it has ended";
  const auto ended = leases.end(nanoseconds{1200});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].second.spent, 2U);
  EXPECT_TRUE(leases.empty());

  EXPECT_FALSE(grant());
  EXPECT_TRUE(grant()) << "the former one";
  EXPECT_EQ(leases.end(nanoseconds{1000}, true).size(), 1U);
}

}  // namespace
}  // namespace weir::redis
