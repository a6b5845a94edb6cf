// The rule agrees with the oracle: on every trace of up to five requests over a grid, then on long random
// ones.
//
// WEIR_LONG=1 takes a grid of more than 10^10 steps; WEIR_SEED=n repeats a random run.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "agreement/oracle.hpp"
#include "agreement/subject.hpp"
#include "core/chance_test.hpp"
#include "core/gcra.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::agreement_test {
namespace {

using oracle::TokenBucket;
using oracle::Wide;
using std::chrono::nanoseconds;

// A quota whose emission interval is exactly `interval` ns.
Quota quota_of(std::int64_t burst, std::int64_t interval) {
  return Quota::make({1, nanoseconds{interval}}, burst).value();
}

struct Grid {
  std::vector<std::int64_t> gaps;
  std::vector<std::uint64_t> costs;
};

// Walks the tree of all traces, so that a common beginning is decided once.
class Walk {
 public:
  Walk(std::vector<core::Rule> rules, Grid grid) : rules_(std::move(rules)), grid_(std::move(grid)) {}

  std::uint64_t steps = 0;
  std::uint64_t wrong = 0;

  void all(int depth) { from(depth, {}, {}, std::int64_t{1} << 40); }

 private:
  void from(int depth, core::gcra::State state, const TokenBucket& bucket, std::int64_t now) {
    for (const std::int64_t gap : grid_.gaps) {
      for (const std::uint64_t cost : grid_.costs) {
        for (const core::Rule& rule : rules_) {
          const Quota& quota = rule.quota;
          const std::int64_t at = now + gap;
          const core::gcra::Step step =
              core::gcra::decide(quota, state, nanoseconds{at}, Cost{cost}, nanoseconds{at}, rule.kept);
          TokenBucket then = bucket;
          const oracle::Answer answer =
              then.ask(at, quota.burst(), quota.emission_interval().count(), Wide{cost}, rule.kept.count());
          ++steps;
          const core::gcra::State next = step.changes ? step.next : state;
          wrong += same(step.decision(), answer) && sound(rule, state, step, at, Cost{cost}) ? 0 : 1;
          if (depth > 1) from(depth - 1, next, then, at);
        }
      }
    }
  }

  // retry_after is enough, and not a nanosecond longer than it must be; a denial or a look changes nothing.
  bool sound(const core::Rule& rule, core::gcra::State state, const core::gcra::Step& step, std::int64_t now,
             Cost cost) {
    if (step.decision().verdict == Verdict::allowed) return cost.units != 0 || !step.changes;
    if (step.changes) return false;
    if (step.decision().verdict == Verdict::never) return true;
    const nanoseconds enough = nanoseconds{now} + *step.decision().retry_after;
    const auto passes = [&](nanoseconds at) {
      return core::gcra::decide(rule.quota, state, at, cost, at, rule.kept).decision().allowed();
    };
    return passes(enough) && !passes(enough - nanoseconds{1});
  }

  std::vector<core::Rule> rules_;
  Grid grid_;
};

TEST(Agreement, every_trace_of_up_to_five_requests) {
  std::vector<std::pair<std::int64_t, std::int64_t>> cases;  // burst, T
  for (const std::int64_t burst : {1, 2, 3}) {
    for (const std::int64_t interval : {1, 3, 10}) cases.emplace_back(burst, interval);
  }
  if (core::Chance::is_long()) {
    for (const std::int64_t burst : {5, 4}) cases.emplace_back(burst, 1000);
  }
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> wrong{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      const auto [burst, interval] = cases[i];
      Grid grid{{0, 1, interval - 1, interval, burst * interval}, {0, 1, 2}};
      if (core::Chance::is_long())
        grid = {{0, 1, 2, interval - 1, interval, interval + 1, 2 * interval, burst * interval},
                {0, 1, 2, 3}};
      Walk walk({{quota_of(burst, interval)}}, grid);
      walk.all(core::Chance::is_long() ? 6 : 5);
      steps += walk.steps;
      wrong += walk.wrong;
    }
  };
  std::thread other(work);
  work();
  other.join();
  std::printf("%llu steps\n", static_cast<unsigned long long>(steps.load()));
  EXPECT_EQ(wrong, 0U);
  EXPECT_GE(steps, core::Chance::is_long() ? 10'000'000'000U : 6'000'000U);
}

TEST(Agreement, every_trace_of_up_to_four_requests_under_changing_quotas) {
  Walk walk({{quota_of(1, 7)}, {quota_of(3, 7)}, {quota_of(3, 2)}, {quota_of(2, 20)}},
            {{0, 1, 7, 15}, {0, 1, 3}});
  walk.all(core::Chance::is_long() ? 5 : 4);
  EXPECT_EQ(walk.wrong, 0U);
}

core::Rule leaving(const Quota& quota, std::int64_t kept) {
  core::Rule rule{quota};
  rule.kept = nanoseconds{kept};
  return rule;
}

// Classes of one key, which leave nothing, a part of a unit, a unit, more, or all of the burst; then together
// with another quota of the key.
TEST(Agreement, every_trace_of_up_to_four_requests_of_several_classes) {
  for (const auto& [burst, interval] : {std::pair{3, 7}, std::pair{1, 5}, std::pair{4, 1}}) {
    const Quota quota = quota_of(burst, interval);
    const std::int64_t full = burst * interval;
    std::vector<core::Rule> rules;
    for (const std::int64_t kept : {std::int64_t{0}, std::int64_t{1}, std::int64_t{interval}, full - 1, full})
      rules.push_back(leaving(quota, std::min(kept, full)));
    Walk walk(rules, {{0, 1, interval, full}, {0, 1, 2}});
    walk.all(core::Chance::is_long() ? 5 : 4);
    EXPECT_EQ(walk.wrong, 0U) << burst << " " << interval;
  }
  Walk walk({leaving(quota_of(3, 7), 8),
             leaving(quota_of(3, 2), 1),
             leaving(quota_of(2, 20), 20),
             {quota_of(4, 3)}},
            {{0, 1, 7, 15}, {0, 1, 2}});
  walk.all(core::Chance::is_long() ? 5 : 4);
  EXPECT_EQ(walk.wrong, 0U);
}

TEST(Agreement, long_random_traces_with_changing_quotas) {
  Chance random;
  const auto up_to = [&random](std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>{0, most}(random);
  };
  const int traces = core::Chance::is_long() ? 100'000 : 2'000;
  for (int trace = 0; trace < traces; ++trace) {
    // Intervals and bursts of every magnitude that fits.
    std::vector<Quota> quotas;
    for (int i = 0; i < 3; ++i) {
      const auto interval =
          static_cast<std::int64_t>(1 + (up_to(~0ULL >> 1) >> up_to(62)) % (std::uint64_t{1} << 50));
      const std::int64_t most = (std::int64_t{1} << 52) / interval;
      quotas.push_back(quota_of(
          1 + static_cast<std::int64_t>(up_to(static_cast<std::uint64_t>(most)) >> up_to(20)), interval));
    }
    core::gcra::State state;
    TokenBucket bucket;
    std::int64_t now = static_cast<std::int64_t>(up_to(std::uint64_t{1} << 50));
    std::size_t current = 0;
    for (int step = 0; step < 1'000; ++step) {
      if (up_to(50) == 0) current = up_to(2);
      const Quota& quota = quotas[current];
      const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
      const std::uint64_t whole = interval * up_to(3);
      now += static_cast<std::int64_t>(up_to(4) == 0 ? up_to(interval * 4) : whole);
      const std::uint64_t cost =
          up_to(1) == 0 ? up_to(3) : up_to(static_cast<std::uint64_t>(quota.burst()) + 1);
      const std::int64_t full = quota.burst() * quota.emission_interval().count();
      const std::int64_t kept = up_to(2) == 0 ? random.up_to(full) : 0;
      const core::gcra::Step taken =
          core::gcra::decide(quota, state, nanoseconds{now}, Cost{cost}, nanoseconds{now}, nanoseconds{kept});
      const oracle::Answer answer =
          bucket.ask(now, quota.burst(), quota.emission_interval().count(), Wide{cost}, kept);
      if (taken.changes) state = taken.next;
      ASSERT_TRUE(same(taken.decision(), answer)) << "trace " << trace << " step " << step;
    }
  }
}

TEST(Agreement, the_table_agrees_on_many_keys) {
  Chance random;
  constexpr std::size_t kKeys = 150'000;  // grows the table several times
  store::Table table(8_MiB, WhenFull::deny);
  std::vector<TokenBucket> buckets(kKeys);
  const std::array quotas = {quota_of(5, 1'000'000), quota_of(2, 3'000), quota_of(100, 7'777'777)};
  std::int64_t now = 0;
  for (int step = 0; step < (core::Chance::is_long() ? 2'000'000 : 1'000'000); ++step) {
    now += static_cast<std::int64_t>(random() % 100);
    const std::size_t key = random() % kKeys;
    const Quota& quota = quotas[random() % 8 == 0 ? random() % 3 : key % 3];
    const std::uint64_t cost = random() % 4;
    const Decision decision =
        table.check(table.locate(std::to_string(key)), quota, Cost{cost}, nanoseconds{now});
    const oracle::Answer answer =
        buckets[key].ask(now, quota.burst(), quota.emission_interval().count(), Wide{cost});
    ASSERT_TRUE(same(decision, answer)) << "step " << step << " key " << key;
  }
  EXPECT_EQ(table.refused(), 0U);
}

}  // namespace
}  // namespace weir::agreement_test
