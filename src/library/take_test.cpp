// As much as there is: each limiter against one that is asked for each number.
#include "weir/take.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/chance_test.hpp"
#include "weir/clock.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::store {
namespace {

using namespace std::chrono_literals;

// What the greatest number that `check` allows comes to: a denial changes nothing, so each is tried.
template <class Check>
Taken tried(Cost most, Cost least, const Check& check) {
  for (std::uint64_t units = most.units; units > least.units; --units) {
    if (const Decision decision = check(Cost{units}); decision.allowed()) return {decision, units};
  }
  const Decision decision = check(least);
  return {decision, decision.allowed() ? least.units : 0};
}

template <class Take, class Check>
void expect_alike(ManualClock& clock, const Take& take, const Check& check) {
  core::Chance chance;
  int partly = 0;
  for (int step = 0; step < 500; ++step) {
    const Cost least{static_cast<std::uint64_t>(chance.from_one_to(4))};
    const Cost most{least.units + static_cast<std::uint64_t>(chance.up_to(9))};
    const Taken should = tried(most, least, check);
    const Taken is = take(most, least);
    ASSERT_EQ(is.granted, should.granted) << step;
    ASSERT_EQ(is.decision, should.decision) << step;
    partly += is.granted != 0 && is.granted < most.units ? 1 : 0;
    clock.advance(chance.up_to(2) * 333ms);
  }
  EXPECT_GT(partly, 20);
}

TEST(TakeUpTo, a_limiter_grants_the_greatest_number_that_a_check_is_allowed) {
  const Quota quota = Quota::per_second(3).with_burst(8);
  for (const bool is_scheduled : {false, true}) {
    ManualClock clock;
    Limiter one{quota, clock}, other{quota, clock};
    if (is_scheduled) {
      for (Limiter* each : {&one, &other}) each->set_quota(Quota::per_second(2).with_burst(9));
    }
    expect_alike(
        clock, [&](Cost most, Cost least) { return one.take_up_to(most, least); },
        [&](Cost cost) { return other.check(cost); });
  }
}

TEST(TakeUpTo, a_keyed_limiter_does_by_every_algorithm) {
  for (const Algorithm algorithm : {Algorithm::gcra, Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                    Algorithm::sliding_window_log, Algorithm::sliding_window_counter}) {
    ManualClock clock;
    const KeyedLimiter::Options options{.memory = 1_MiB, .algorithm = algorithm, .clock = &clock};
    KeyedLimiter one{Quota::per(8, 2s), options}, other{Quota::per(8, 2s), options};
    expect_alike(
        clock, [&](Cost most, Cost least) { return one.take_up_to("k", most, least); },
        [&](Cost cost) { return other.check("k", cost); });
  }
}

TEST(TakeUpTo, brings_a_quota_of_its_own) {
  ManualClock clock;
  KeyedLimiter limiter{Quota::per_hour(2), {.memory = 1_MiB, .clock = &clock}};
  EXPECT_EQ(limiter.take_up_to("k", Quota::per_hour(5), Cost{9}).granted, 5U);
  limiter.set_quota(Quota::per_hour(7));
  EXPECT_EQ(limiter.take_up_to("k", Cost{9}).granted, 2U);
}

TEST(TakeUpTo, threads_take_all_there_is_and_no_more) {
  ManualClock clock;
  Limiter one{Quota::per_hour(10'000), clock};
  KeyedLimiter keyed{Quota::per_hour(10'000), {.memory = 1_MiB, .clock = &clock}};
  std::atomic<std::uint64_t> of_one{0}, of_key{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (const std::uint64_t units = one.take_up_to(Cost{7}).granted) of_one += units;
      while (const std::uint64_t units = keyed.take_up_to("k", Cost{7}).granted) of_key += units;
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(of_one, 10'000U);
  EXPECT_EQ(of_key, 10'000U);
}

TEST(TakeUpTo, says_what_is_wrong) {
  Limiter limiter{Quota::per_second(5)};
  KeyedLimiter keyed{Quota::per_second(5), {.memory = 1_MiB}};
  const auto refusal = [](const auto& ask) -> std::string {
    try {
      ask();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([&] { (void)limiter.take_up_to(Cost{2}, Cost{3}); }),
            "weir::Limiter::take_up_to: at least 3 and at most 2 units; expected 1 <= least <= most");
  EXPECT_EQ(refusal([&] { (void)keyed.take_up_to("k", Cost{2}, Cost{0}); }),
            "weir::KeyedLimiter::take_up_to: at least 0 and at most 2 units; expected 1 <= least <= most");
}

}  // namespace
}  // namespace weir::store
