#include "sim/exact_gcra.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/chance_test.hpp"
#include "core/gcra.hpp"
#include "logs/zone.hpp"

namespace weir::inline v0_1::sim {
namespace {

using logs::kSecond;

core::gcra::Step served(const Quota& quota, const core::gcra::State& state, std::int64_t ns,
                        std::uint64_t cost) {
  return core::gcra::decide(quota, state, std::chrono::nanoseconds{ns}, Cost{cost});
}

Quota quota_of(std::int64_t count, std::int64_t period_ns, std::int64_t burst) {
  return Quota::make({count, std::chrono::nanoseconds{period_ns}}, burst).value();
}

TEST(ExactGcra, denies_none_of_as_many_in_each_second_as_the_limit_says) {
  const Quota quota = Quota::parse("3/s").value();
  const ExactGcra exact(quota);
  Parts tat = 0;
  core::gcra::State state;
  int denied = 0;
  for (std::int64_t second = 1'800'000'000; second < 1'800'000'600; ++second) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(exact.decide(tat, second * kSecond, 1).verdict, Verdict::allowed);
      const core::gcra::Step step = served(quota, state, second * kSecond, 1);
      state = step.next;
      if (step.verdict != Verdict::allowed) ++denied;
    }
  }
  EXPECT_EQ(denied, 300);  // by an interval that is a third of a nanosecond longer per unit
}

TEST(ExactGcra, rounds_the_wait_up_to_when_the_request_passes) {
  const ExactGcra exact(Quota::parse("3/s").value());
  Parts tat = 0;
  EXPECT_EQ(exact.decide(tat, 5, 3).verdict, Verdict::allowed);
  EXPECT_EQ(exact.decide(tat, 5, 1).retry_after, 333'333'334U);
  EXPECT_EQ(exact.decide(tat, 5, 3).retry_after, 1'000'000'000U);
  EXPECT_EQ(exact.decide(tat, 5, 4).verdict, Verdict::never);
  EXPECT_EQ(exact.decide(tat, 5, 0).verdict, Verdict::allowed);
  Parts early = tat;
  EXPECT_EQ(exact.decide(early, 5 + 333'333'333, 1).verdict, Verdict::denied);
  EXPECT_EQ(exact.decide(tat, 5 + 333'333'334, 1).verdict, Verdict::allowed);
}

TEST(ExactGcra, keeps_the_greatest_numbers) {
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t latest = 4'102'444'800 * kSecond;
  // The longest period in the most parts that a Quota takes, and the greatest burst.
  const std::int64_t count = kLongest / 1'000'003;
  const Interval interval = Interval::of(count, kLongest);
  const ExactGcra exact(quota_of(count, kLongest, static_cast<std::int64_t>(interval.most_burst())));
  Parts tat = 0;
  EXPECT_EQ(exact.decide(tat, latest, interval.most_burst()).verdict, Verdict::allowed);
  const ExactGcra::Answer all = exact.decide(tat, latest, interval.most_burst());
  EXPECT_EQ(all.verdict, Verdict::denied);
  EXPECT_GT(all.retry_after, static_cast<std::uint64_t>(kLongest) / 1001 * 1000);
  EXPECT_LE(all.retry_after, static_cast<std::uint64_t>(kLongest));
  EXPECT_EQ(from_words(in_words(tat)), tat);
}

TEST(ExactGcra, is_the_served_rule_where_the_interval_is_whole) {
  core::Chance random;
  for (int trial = 0; trial < 300; ++trial) {
    const auto count = static_cast<std::int64_t>(1 + random() % 20);
    const auto burst = static_cast<std::int64_t>(1 + random() % 30);
    const Quota quota = quota_of(count, count * static_cast<std::int64_t>(1 + random() % 50), burst);
    const ExactGcra exact(quota);
    Parts tat = 0;
    core::gcra::State state;
    auto now = static_cast<std::int64_t>(random() % 1000);
    for (int i = 0; i < 200; ++i) {
      now += static_cast<std::int64_t>(random() % 40);
      const std::uint64_t cost = random() % 4;
      const core::gcra::Step step = served(quota, state, now, cost);
      state = step.next;
      const ExactGcra::Answer answer = exact.decide(tat, now, cost);
      ASSERT_EQ(answer.verdict, step.verdict);
      ASSERT_EQ(answer.retry_after, answer.verdict == Verdict::denied ? step.retry_after : 0);
    }
  }
}

// How far, in parts, a request is from the moment at which it would just pass.
Parts distance(Interval interval, std::uint64_t burst, Parts tat, std::int64_t ns, std::uint64_t cost) {
  const Parts now = interval.at(ns);
  const Parts ahead = std::max(tat, now) - now;
  const Parts room = Parts{burst - cost} * interval.parts;
  return ahead > room ? ahead - room : room - ahead;
}

TEST(ExactGcra, differs_from_the_served_rule_only_within_1_ns_for_each_unit_charged_since_the_key_was_idle) {
  core::Chance random;
  int differed = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    // About as many requests as the limit lets pass, at multiples of what stamps are: the worst case.
    const auto count = static_cast<std::int64_t>(1 + random() % 30);
    const std::int64_t period = static_cast<std::int64_t>(1 + random() % 3) * kSecond;
    const auto burst = static_cast<std::int64_t>(1 + random() % 40);
    const Quota quota = quota_of(count, period, burst);
    const Interval interval = Interval::of(count, period);
    const ExactGcra exact(quota);
    Parts tat = 0;
    core::gcra::State state;
    std::int64_t now = static_cast<std::int64_t>(1 + random() % 1000) * kSecond;
    std::uint64_t charged = 0;
    const std::int64_t step_ns = random() % 2 == 0 ? period : period / count;
    for (int i = 0; i < 100; ++i) {
      now += static_cast<std::int64_t>(random() % 3 == 0 ? 1 : 0) * step_ns;
      const std::uint64_t cost = 1 + random() % static_cast<std::uint64_t>(burst);
      if (state.tat <= static_cast<std::uint64_t>(now)) charged = 0;
      const Parts before = tat;
      const core::gcra::Step step = served(quota, state, now, cost);
      state = step.next;
      const ExactGcra::Answer answer = exact.decide(tat, now, cost);
      if (answer.verdict != step.verdict) {
        ++differed;
        EXPECT_EQ(answer.verdict, Verdict::allowed);  // the shorter interval is the more generous one
        EXPECT_LT(distance(interval, static_cast<std::uint64_t>(burst), before, now, cost),
                  Parts{charged} * interval.in_ns);
        break;  // from here on they have charged different requests
      }
      if (step.verdict == Verdict::allowed) charged += cost;
    }
  }
  EXPECT_GT(differed, 100);
}

}  // namespace
}  // namespace weir::sim
