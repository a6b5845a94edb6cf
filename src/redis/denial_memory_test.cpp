// What is answered without asking the store has to be what the store would have answered, or less.
#include "redis/denial_memory.hpp"

#include <gtest/gtest.h>

#include <random>

#include "redis/one_key_test.hpp"

namespace weir::redis {
namespace {

using std::chrono::nanoseconds;

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
        const core::gcra::Step truth = core::gcra::decide(quota, store.state, now + offset, cost);
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

}  // namespace
}  // namespace weir::redis
