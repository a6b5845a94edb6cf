// Those who wait for one limit as a queue: its order, large costs in it, numbers that change while it never
// empties, and what one that waits for something else takes from it. docs/algorithm.md, "Waiting", says why.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agreement/reserving.hpp"
#include "agreement/spans.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::queue_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000'000;

store::Limit limit(std::int64_t interval, std::int64_t burst, std::uint32_t id = 1) {
  return {.rule = {Quota::make({1, nanoseconds{interval}}, burst).value()}, .id = id};
}

TEST(Queue, where_nothing_is_given_back_moments_do_not_decrease_in_the_order_of_grants) {
  core::Chance chance;
  Reserving store;
  for (int trace = 0; trace < 2'000; ++trace) {
    const std::string key = std::to_string(trace);
    const std::int64_t burst = 1 + chance.up_to(5);
    const store::Limit one = limit(1 + chance.up_to(20), burst);
    const std::int64_t most_wait = chance.up_to(200), most_ticks = chance.up_to(30);
    std::vector<std::string> held;
    std::int64_t now = 1'000, last = 0;
    for (int step = 0; step < 60; ++step) {
      const auto cost = static_cast<std::uint64_t>(1 + chance.up_to(burst - 1));
      const std::int64_t what = chance.up_to(9);
      if (what < 4) {
        now += chance.up_to(most_ticks);
      } else if (what < 8) {
        const auto told = store.reserve({{&one, key, cost}}, now, chance.up_to(most_wait), chance.up_to(50));
        if (!told.granted) continue;
        ASSERT_GE(now + told.wait, last);
        last = now + told.wait;
        if (!told.id.empty()) held.push_back(told.id);
      } else if (what < 9 || held.empty()) {
        if (!store.check({{&one, key, cost}}, now).granted) continue;
        ASSERT_GE(now, last);
        last = now;
      } else {
        // What is settled for less while somebody waits may leave room before that.
        const std::int64_t least = last > now ? burst : 0;
        store.settle(held.back(), static_cast<std::uint64_t>(least + chance.up_to(2 * burst)), now);
        held.pop_back();
      }
    }
  }
}

// However many small ones come after a large one, and however they ask, it acts when it was told on entry,
// and that is when all that came before it have drained.
TEST(Queue, a_large_cost_waits_for_those_before_it_and_for_nobody_after_it) {
  core::Chance chance;
  const store::Limit one = limit(10, 20);
  Reserving store;
  std::int64_t now = 1'000;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t before = chance.up_to(100);
    for (std::int64_t i = 0; i < before; ++i) store.reserve({{&one, "k"}}, now, 100'000);
    const std::int64_t owed = store.look({{&one, "k"}}, now).decisions[0].reset_after.count();
    const auto large = store.reserve({{&one, "k", 20}}, now, 100'000);
    ASSERT_TRUE(large.granted);
    ASSERT_EQ(large.wait, owed);
    const std::int64_t moment = now + large.wait;
    while (now < moment) {
      const auto small = store.reserve({{&one, "k"}}, now, 100'000);
      ASSERT_TRUE(small.granted);
      ASSERT_GE(now + small.wait, moment + 10);
      ASSERT_FALSE(store.check({{&one, "k"}}, now).granted);
      now += 1 + chance.up_to(50);
    }
    now += 100'000;
  }
}

// Ten wait at all times, whatever the numbers are.
class Crowd {
 public:
  explicit Crowd(Reserving& store) : store_(store) {}
  // The moments of those that came until `end`, by one limit.
  std::vector<Admitted> until(std::int64_t end, const store::Limit& one) {
    std::vector<Admitted> granted;
    while (now_ < end) {
      waiting_.erase(waiting_.begin(), std::find_if(waiting_.begin(), waiting_.end(),
                                                    [&](std::int64_t moment) { return moment > now_; }));
      while (waiting_.size() < 10) {
        const auto told = store_.reserve({{&one, "k"}}, now_, 3600 * kSecond);
        if (!told.granted) break;
        granted.push_back({now_ + told.wait, 1});
        if (told.wait > 0)
          waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), now_ + told.wait),
                          now_ + told.wait);
      }
      now_ += kSecond / 20;
    }
    return granted;
  }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  Reserving& store_;
  std::int64_t now_ = kSecond;
  std::vector<std::int64_t> waiting_;
};

TEST(Queue, that_never_empties_does_not_keep_a_former_rate_alive) {
  const store::Limit slow = limit(kSecond, 3), fast = limit(kSecond / 10, 3);
  Reserving store;
  Crowd crowd(store);
  crowd.until(20 * kSecond, fast);
  ASSERT_EQ(crowd.waiting(), 10U);
  // All that come after the change come by the new numbers, although ten waited by the former.
  const auto slowed = crowd.until(120 * kSecond, slow);
  ASSERT_EQ(crowd.waiting(), 10U);
  EXPECT_TRUE(kept(slowed, 3, kSecond));
  EXPECT_GE(slowed.size(), 95U);
  const auto raised = crowd.until(220 * kSecond, fast);
  EXPECT_TRUE(kept(raised, 3, kSecond / 10));
  // The ten that wait at the change, a second each, keep their moments; after them it is ten in each second.
  EXPECT_GE(raised.size(), 880U);
}

// A user's limit that is used up, below a tenant's of 1000/s: what the user waits for is not taken from the
// tenant.
TEST(Queue, a_wait_for_one_limit_does_not_lock_another) {
  const store::Limit user = limit(60 * kSecond, 1, 1), tenant = limit(kSecond / 1000, 1000, 2);
  Reserving store;
  std::int64_t now = kSecond;
  const std::vector<Ask> both{{&user, "u"}, {&tenant, "t"}};
  ASSERT_TRUE(store.reserve(both, now, 60 * kSecond).granted);
  int denied = 0, granted = 0;
  for (int i = 0; i < 31'000; ++i) {  // half of what the tenant may
    if (i % 100 == 0) granted += store.reserve(both, now, 60 * kSecond).granted ? 1 : 0;
    denied += store.check({{&tenant, "t"}}, now).granted ? 0 : 1;
    now += kSecond / 500;
  }
  EXPECT_EQ(granted, 2);  // at once for a minute later, and when that has acted for another
  EXPECT_EQ(denied, 0);
}

}  // namespace
}  // namespace weir::queue_test
