// The promise: in any span of length W, for any arrival pattern, any idling, any interleaving of threads, the
// cost admitted for a key is at most burst + W / T.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agreement/spans.hpp"
#include "core/chance_test.hpp"
#include "core/gcra.hpp"
#include "core/set_clock_test.hpp"
#include "store/clock.hpp"
#include "store/table.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::promise_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

TEST(Promise, the_check_of_the_promise_can_fail) {
  EXPECT_TRUE(kept({{0, 3}, {10, 1}, {20, 1}}, 3, 10));
  EXPECT_FALSE(kept({{0, 3}, {9, 1}}, 3, 10));
  EXPECT_FALSE(kept({{0, 1}, {1000, 3}, {1005, 1}}, 3, 10));
}

// The greatest cost of any span beyond what its length drains, by trying all of them.
std::int64_t most_by_trying(const std::vector<Admitted>& acts) {
  std::int64_t most = 0;
  for (const Admitted& first : acts) {
    for (const Admitted& last : acts) {
      if (last.at < first.at) continue;
      std::int64_t sum = first.at - last.at;
      for (const Admitted& each : acts) sum += each.at >= first.at && each.at <= last.at ? each.cost : 0;
      most = std::max(most, sum);
    }
  }
  return most;
}

TEST(Promise, the_walk_over_the_spans_finds_what_trying_all_finds) {
  core::Chance chance;
  for (int run = 0; run < 2'000; ++run) {
    std::vector<Admitted> acts;
    std::int64_t at = 0;
    for (std::int64_t left = chance.up_to(12); left >= 0; --left)
      acts.push_back({at += chance.up_to(4), chance.up_to(5)});
    ASSERT_EQ(most_in_any_span(acts, 1), most_by_trying(acts));
  }
}

TEST(Promise, in_any_span_at_most_burst_plus_w_over_t) {
  core::Chance random;
  for (int trace = 0; trace < 3'000; ++trace) {
    const auto burst = static_cast<std::int64_t>(1 + random() % 50);
    const auto interval = static_cast<std::int64_t>(1 + random() % 1'000'000);
    const Quota quota = Quota::make({1, nanoseconds{interval}}, burst).value();
    core::gcra::State state;
    std::vector<Admitted> admitted;
    std::int64_t now = 0;
    for (int step = 0; step < 1'000; ++step) {
      switch (random() % 5) {  // hammering, a crawl, about the rate, a short idling, a long one
        case 0:
          break;
        case 1:
          now += 1;
          break;
        case 2:
          now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * interval));
          break;
        case 3:
          now += burst * interval;
          break;
        default:
          now += random() % 50 == 0 ? 1'000'000 * interval : 0;
      }
      // One time in ten from a clock that lags, as another thread's reading may.
      const std::int64_t seen = random() % 10 == 0 ? std::max<std::int64_t>(0, now - interval) : now;
      const Cost cost{random() % 4};
      const core::gcra::Step taken = core::gcra::decide(quota, state, nanoseconds{seen}, cost);
      if (taken.changes) state = taken.next;
      if (taken.decision().allowed()) admitted.push_back({seen, static_cast<std::int64_t>(cost.units)});
    }
    std::sort(admitted.begin(), admitted.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    ASSERT_TRUE(kept(admitted, burst, interval)) << "trace " << trace;
  }
}

// A request may be decided later than it arrived. It is charged from its arrival, or from when it passed if
// that is later: by those moments the promise holds.
TEST(Promise, delays_of_ours_hand_out_no_more) {
  core::Chance random;
  for (int trace = 0; trace < 1'000; ++trace) {
    const auto burst = static_cast<std::int64_t>(1 + random() % 5);
    const auto interval = static_cast<std::int64_t>(1 + random() % 10'000);
    const Quota quota = Quota::make({1, nanoseconds{interval}}, burst).value();
    core::gcra::State state;
    std::vector<Admitted> admitted;
    std::int64_t now = 1'000'000;
    for (int step = 0; step < 1'000; ++step) {
      now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * interval));
      const std::int64_t arrived = now - static_cast<std::int64_t>(random() % 1'000'000);
      const auto tat = static_cast<std::int64_t>(state.tat);
      const core::gcra::Step taken =
          core::gcra::decide(quota, state, nanoseconds{now}, Cost{1}, nanoseconds{arrived});
      if (taken.changes) state = taken.next;
      if (!taken.decision().allowed()) continue;
      const std::int64_t passed = std::max(arrived, tat - (burst - 1) * interval);
      ASSERT_LE(passed, now);
      admitted.push_back({passed, 1});
    }
    std::sort(admitted.begin(), admitted.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    ASSERT_TRUE(kept(admitted, burst, interval)) << "trace " << trace;
  }
}

TEST(Promise, a_saturated_limit_of_burst_1_loses_nothing_to_delays) {
  const Quota quota = Quota::per_second(100'000).with_burst(1);
  core::gcra::State state;
  int admitted = 0;
  // A buffer of requests is read every 70 us and was waiting since the one before.
  for (nanoseconds now = 1s; now < 2s; now += 70us) {
    for (int request = 0; request < 500; ++request) {
      const core::gcra::Step taken = core::gcra::decide(quota, state, now, Cost{}, now - 70us);
      if (taken.changes) state = taken.next;
      admitted += taken.decision().allowed() ? 1 : 0;
    }
  }
  EXPECT_LE(admitted, 100'001 + 7);
  EXPECT_GE(admitted, 99'990);
}

TEST(Promise, idling_does_not_double_the_burst) {
  const Quota quota = Quota::per_second(1).with_burst(10);
  for (nanoseconds idle = 0s; idle <= 60s; idle += 250ms) {
    Limiter limiter(quota, kSetClock);
    int admitted = 0;
    for (int i = 0; i < 40; ++i) static_cast<void>(at_time(1s, limiter).check());
    for (int i = 0; i < 40; ++i) admitted += at_time(1s + idle, limiter).check().allowed() ? 1 : 0;
    ASSERT_LE(admitted, 10) << idle.count();
    ASSERT_EQ(admitted, std::min<std::int64_t>(10, idle / 1s));
  }
}

// Two quotas in turn on one key, as a rolling deployment uses them: together never more than the greater
// burst and the faster rate.
TEST(Promise, quotas_in_turn_admit_no_more_than_the_greater_of_each) {
  const Quota wide = Quota::per_second(10).with_burst(10);
  const Quota narrow = Quota::per_second(5).with_burst(5);
  core::gcra::State state;
  std::vector<Admitted> admitted;
  for (nanoseconds now = 0s; now < 20s; now += 3ms) {
    for (const Quota* quota : {&wide, &narrow, &wide}) {
      const core::gcra::Step taken = core::gcra::decide(*quota, state, now, Cost{});
      if (taken.changes) state = taken.next;
      if (taken.decision().allowed()) admitted.push_back({now.count(), 1});
    }
  }
  EXPECT_TRUE(kept(admitted, 10, std::chrono::nanoseconds{100ms}.count()));
  EXPECT_GE(admitted.size(), 100U);
}

// With both in turn and every request a millisecond old, all of 1000 were admitted once: the change of the
// quota forgot a tat that was past but not as old as the request.
TEST(Promise, quotas_in_turn_and_delays_of_ours_hand_out_no_more) {
  const Quota fast = Quota::per_second(10'000).with_burst(1);
  const Quota slow = Quota::per_second(5'000).with_burst(1);
  core::gcra::State state;
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) {
    const nanoseconds now = 1s + i * 1us;
    const core::gcra::Step taken =
        core::gcra::decide(i % 2 == 0 ? fast : slow, state, now, Cost{}, now - 1ms);
    if (taken.changes) state = taken.next;
    admitted += taken.decision().allowed() ? 1 : 0;
  }
  EXPECT_LE(admitted, 1 + 20);  // W is the millisecond of the loop and the one that the first waited
  EXPECT_GE(admitted, 8);
}

// Quotas in turn on one key, with readings of the clock that lag by up to `lag`, mostly so that the fast
// one's do. By how much a trace exceeds the greatest burst + (W + 2 x lag) / the smallest T, in ns of that T;
// at most 0 when the bound holds.
template <class Ask>
std::int64_t beyond_the_bound_for_quotas_in_turn(core::Chance& chance, std::int64_t& now, const Ask& ask) {
  const std::int64_t interval = 1 + chance.up_to(50);
  std::vector<Quota> quotas;
  for (const std::int64_t t : {interval, interval * (2 + chance.up_to(100)), interval + chance.up_to(100)})
    quotas.push_back(Quota::make({1, nanoseconds{t}}, 1 + chance.up_to(9)).value());
  const std::int64_t burst = std::max({quotas[0].burst(), quotas[1].burst(), quotas[2].burst()});
  const std::int64_t lag = interval * (1 + chance.up_to(30));
  now += 1'000'000;
  std::vector<Admitted> admitted;
  for (int step = 0; step < 300; ++step) {
    now += chance.up_to(9) == 0 ? chance.up_to(interval) : 0;
    std::size_t which = static_cast<std::size_t>(step % 2);
    std::int64_t seen = which == 0 ? now - lag : now;
    if (chance.up_to(9) == 0) {
      which = static_cast<std::size_t>(chance.up_to(2));
      seen = now - chance.up_to(lag);
    }
    const std::int64_t cost = 1 + chance.up_to(9) / 9;
    if (ask(quotas[which], nanoseconds{seen}, Cost{static_cast<std::uint64_t>(cost)}))
      admitted.push_back({seen, cost});
  }
  std::sort(admitted.begin(), admitted.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
  return static_cast<std::int64_t>(most_in_any_span(admitted, interval) - burst * interval - 2 * lag);
}

TEST(Promise, quotas_in_turn_by_clocks_that_lag_count_each_lag_once) {
  core::Chance chance;
  KeyedLimiter alone(Quota::per_second(1), {.memory = 1_MiB, .clock = &kSetClock});
  LocalStore store({.memory = 1_MiB, .clock = &kSetClock});
  KeyedLimiter one(Quota::per_second(1), store);
  KeyedLimiter other(Quota::per_second(1), store);
  std::int64_t now = 0;
  for (int trace = 0; trace < 1'000; ++trace) {
    const std::string key = std::to_string(trace);
    const bool together = trace % 2 == 0;
    const auto ask = [&](const Quota& quota, nanoseconds at, Cost cost) {
      if (!together) return at_time(at, alone).check(key, quota, cost).allowed();
      const std::array checks = {KeyedCheck{one, key, cost, quota}, KeyedCheck{other, key, cost, quota}};
      return at_time(at, store).check_all(checks).allowed();
    };
    ASSERT_LE(beyond_the_bound_for_quotas_in_turn(chance, now, ask), 0) << "trace " << trace;
  }
}

// The canary: the rule alone, without a store that keeps changes of the quota in order, drains the same time
// again with each lag.
TEST(Promise, quotas_in_turn_by_clocks_that_lag_would_drain_a_time_twice) {
  core::Chance chance;
  std::int64_t now = 0;
  int beyond = 0;
  for (int trace = 0; trace < 1'000; ++trace) {
    core::gcra::State state;
    beyond +=
        beyond_the_bound_for_quotas_in_turn(chance, now, [&](const Quota& quota, nanoseconds at, Cost cost) {
          const core::gcra::Step step = core::gcra::decide(quota, state, at, cost);
          if (step.changes) state = step.next;
          return step.decision().allowed();
        }) > 0;
  }
  EXPECT_GT(beyond, 30);
}

TEST(Promise, any_interleaving_of_threads_on_one_key) {
  const Quota quota = Quota::per_second(200'000).with_burst(7);
  const std::int64_t interval = quota.emission_interval().count();
  for (const bool keyed : {false, true}) {
    Limiter limiter(quota, kSetClock);
    KeyedLimiter table(quota, {.memory = 1_MiB, .clock = &kSetClock});
    std::mutex mutex;
    std::vector<Admitted> all;
    const auto hammer = [&] {
      std::vector<Admitted> mine;
      for (int i = 0; i < 100'000; ++i) {
        const nanoseconds now = store::steady_now();
        const Decision decision = keyed ? at_time(now, table).check("key") : at_time(now, limiter).check();
        if (decision.allowed()) mine.push_back({now.count(), 1});
      }
      const std::lock_guard lock(mutex);
      all.insert(all.end(), mine.begin(), mine.end());
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(hammer);
    for (std::thread& thread : threads) thread.join();
    ASSERT_GT(all.size(), 7U);
    const auto [first, last] =
        std::minmax_element(all.begin(), all.end(), [](auto a, auto b) { return a.at < b.at; });
    EXPECT_LE(static_cast<std::int64_t>(all.size()), 7 + (last->at - first->at) / interval);
  }
}

}  // namespace
}  // namespace weir::promise_test
