// Every algorithm agrees with its definition, and every one keeps what a Decision says: as pure functions,
// and through KeyedLimiter. WEIR_LONG=1 walks more traces; WEIR_SEED=n repeats a random run.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agreement/subject.hpp"
#include "core/chance_test.hpp"
#include "core/set_clock_test.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::algorithms_test {
namespace {

using std::chrono::nanoseconds;

struct Numbers {
  std::int64_t limit;
  std::int64_t period;
};

core::Rule rule_of(Algorithm algorithm, Numbers numbers) {
  return core::Rule::make(Quota::make({numbers.limit, nanoseconds{numbers.period}}).value(), algorithm)
      .value();
}

// Periods that counts divide, since a quota is slowed by no more than 0.1 %.
Numbers random_numbers(Chance& chance, std::int64_t most_limit, std::int64_t most_period) {
  const std::int64_t limit = chance.from_one_to(most_limit);
  return {limit, limit * chance.from_one_to(most_period / limit)};
}

std::vector<std::int64_t> gaps_for(Numbers numbers) {
  std::vector<std::int64_t> gaps = {0};
  for (const std::int64_t gap : {std::int64_t{1}, numbers.period / 2, numbers.period - 1, numbers.period}) {
    if (gap > gaps.back()) gaps.push_back(gap);
  }
  return gaps;
}

// Walks the tree of all traces. At each request: the answer is the oracle's; so is that to a look; a denial
// changes nothing; its wait is enough, and a nanosecond less is not.
class Walk {
 public:
  explicit Walk(const core::Rule& rule, Numbers numbers)
      : limit_(numbers.limit), gaps_(gaps_for(numbers)), history_(history_for(rule)), start_(rule) {
    for (std::int64_t cost = 1; cost <= std::min<std::int64_t>(limit_, core::Chance::is_long() ? 4 : 2);
         ++cost)
      costs_.push_back(cost);
  }

  std::uint64_t steps = 0;
  std::uint64_t wrong = 0;

  void all(int depth, std::int64_t from) { walk(depth, start_, from); }

 private:
  void walk(int depth, const Subject& before, std::int64_t now) {
    for (const std::int64_t gap : gaps_) {
      const std::int64_t at = now + gap;
      look(before, at);
      for (const std::int64_t cost : costs_) {
        ++steps;
        Subject after = before;
        const std::size_t admissions = history_.admissions();
        const Decision decision = after.ask(at, static_cast<std::uint64_t>(cost));
        const oracle::Answer answer = history_.ask(at, cost);
        wrong += same(decision, answer) ? 0 : 1;
        if (decision.verdict == Verdict::denied) honest(before, after, at, cost, *decision.retry_after);
        if (depth > 1) walk(depth - 1, after, at);
        history_.back_to(admissions);
      }
    }
  }

  void look(const Subject& subject, std::int64_t at) {
    Subject after = subject;
    const std::uint64_t too_much = static_cast<std::uint64_t>(limit_) + 1;
    wrong += same(after.ask(at, 0), history_.ask(at, 0)) ? 0 : 1;
    wrong += same(after.ask(at, too_much), history_.ask(at, limit_ + 1)) ? 0 : 1;
    wrong += after.same_state(subject) ? 0 : 1;
  }

  void honest(const Subject& before, const Subject& after, std::int64_t at, std::int64_t cost,
              nanoseconds wait) {
    wrong += after.same_state(before) ? 0 : 1;
    Subject later = before;
    wrong +=
        later.ask(at + wait.count() - 1, static_cast<std::uint64_t>(cost)).verdict == Verdict::denied ? 0 : 1;
    wrong += later.ask(at + wait.count(), static_cast<std::uint64_t>(cost)).allowed() ? 0 : 1;
  }

  std::int64_t limit_;
  std::vector<std::int64_t> gaps_;
  std::vector<std::int64_t> costs_;
  oracle::History history_;
  Subject start_;
};

TEST(Algorithms, every_trace_of_up_to_five_requests) {
  struct Case {
    Algorithm algorithm;
    Numbers numbers;
    std::int64_t phase;  // of the first request in a window by the clock
  };
  std::vector<Case> cases;
  for (const Algorithm algorithm : kAlgorithms) {
    for (const Numbers numbers : {Numbers{1, 1}, Numbers{1, 4}, Numbers{2, 4}, Numbers{2, 10}, Numbers{3, 3},
                                  Numbers{3, 6}, Numbers{3, 9}}) {
      for (const std::int64_t phase : {std::int64_t{0}, numbers.period - 1}) {
        cases.push_back({algorithm, numbers, phase});
      }
    }
    if (core::Chance::is_long()) cases.push_back({algorithm, {5, 10}, 3});
  }
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> steps{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      const auto& [algorithm, numbers, phase] = cases[i];
      Walk walk(rule_of(algorithm, numbers), numbers);
      walk.all(core::Chance::is_long() ? 6 : 5, 1000 * numbers.period + phase);
      steps += walk.steps;
      EXPECT_EQ(walk.wrong, 0U) << kAlgorithmNames[static_cast<std::size_t>(algorithm)] << " "
                                << numbers.limit << " per " << numbers.period << " ns";
    }
  };
  std::thread other(work);
  work();
  other.join();
  std::printf("%llu steps\n", static_cast<unsigned long long>(steps.load()));
  EXPECT_GE(steps, core::Chance::is_long() ? 40'000'000U : 3'000'000U);
}

TEST(Algorithms, long_random_traces) {
  Chance chance;
  for (const Algorithm algorithm : kAlgorithms) {
    for (int trace = 0; trace < (core::Chance::is_long() ? 5'000 : 250); ++trace) {
      const bool counter = algorithm == Algorithm::sliding_window_counter;
      const bool log = algorithm == Algorithm::sliding_window_log;
      const Numbers numbers = random_numbers(chance,
                                             log       ? 500
                                             : counter ? 0xffff'ffff
                                                       : std::int64_t{1} << 50,
                                             std::int64_t{1} << 52);
      const core::Rule rule = rule_of(algorithm, numbers);
      Subject subject(rule);
      oracle::History history = history_for(rule);
      std::int64_t now = chance.up_to(std::int64_t{1} << 60);
      for (int step = 0; step < 200; ++step) {
        const std::int64_t unit = numbers.period / numbers.limit;
        const std::int64_t spans[] = {0,
                                      unit * chance.up_to(3),
                                      chance.up_to(2 * unit),
                                      chance.up_to(numbers.period),
                                      numbers.period - now % numbers.period,
                                      numbers.period * chance.up_to(3)};
        now += spans[chance.up_to(5)];
        const std::int64_t cost =
            chance.up_to(2) == 0 ? chance.from_one_to(numbers.limit + 1) : chance.up_to(3);
        const Decision decision = subject.ask(now, static_cast<std::uint64_t>(cost));
        ASSERT_TRUE(same(decision, history.ask(now, cost)))
            << kAlgorithmNames[static_cast<std::size_t>(algorithm)] << " " << numbers.limit << " per "
            << numbers.period << " ns, trace " << trace << " step " << step;
      }
    }
  }
}

// Every trace of up to four requests, each with a key of its own, through the whole store.
TEST(Algorithms, the_store_agrees_on_many_keys) {
  for (const Algorithm algorithm : kAlgorithms) {
    const Numbers numbers{3, 6};
    const core::Rule rule = rule_of(algorithm, numbers);
    KeyedLimiter limiter(rule.quota, {.memory = 1_MiB, .algorithm = algorithm, .clock = &kSetClock});
    const std::vector<std::int64_t> gaps = gaps_for(numbers);
    const std::vector<std::int64_t> costs = {0, 1, 2, 3, 4};
    const std::size_t choices = gaps.size() * costs.size();
    std::int64_t now = 1'000'000;
    std::uint64_t wrong = 0;
    for (std::size_t trace = 0; trace < choices * choices * choices * choices; ++trace) {
      oracle::History history = history_for(rule);
      const std::string key = std::to_string(trace);
      std::size_t rest = trace;
      for (int step = 0; step < 4; ++step, rest /= choices) {
        now += gaps[rest % gaps.size()];
        const std::int64_t cost = costs[rest / gaps.size() % costs.size()];
        const Decision decision =
            at_time(nanoseconds{now}, limiter).check(key, Cost{static_cast<std::uint64_t>(cost)});
        wrong += same(decision, history.ask(now, cost)) ? 0 : 1;
      }
    }
    EXPECT_EQ(wrong, 0U) << kAlgorithmNames[static_cast<std::size_t>(algorithm)];
    EXPECT_EQ(limiter.refused(), 0U);
  }
}

TEST(Algorithms, reset_forgets_one_key_of_the_store) {
  for (const Algorithm algorithm : kAlgorithms) {
    KeyedLimiter limiter(Quota::per_second(3),
                         {.memory = 1_MiB, .algorithm = algorithm, .clock = &kSetClock});
    const auto now = std::chrono::hours{1};
    for (const char* key : {"key", "other"}) EXPECT_TRUE(at_time(now, limiter).check(key, Cost{3}).allowed());
    at_time(now, limiter).reset("key");
    EXPECT_TRUE(at_time(now, limiter).check("key", Cost{3}).allowed());
    EXPECT_FALSE(at_time(now, limiter).check("other").allowed());
  }
}

// What any store has to keep, told by nothing but its answers.
class Conformance : public testing::TestWithParam<std::tuple<Algorithm, bool>> {
 protected:
  // New keys under new numbers, either the functions alone or in a store.
  void start(Numbers chosen) {
    const auto [algorithm, stored] = GetParam();
    numbers = chosen;
    rule = rule_of(algorithm, chosen);
    alone.clear();
    if (stored)
      limiter.emplace(rule->quota, KeyedLimiter::Options{1_MiB, WhenFull::deny, algorithm, &kSetClock});
  }
  Decision ask(std::int64_t now, std::int64_t cost, const char* key = "key") {
    const auto units = static_cast<std::uint64_t>(cost);
    if (limiter) return at_time(nanoseconds{now}, *limiter).check(key, Cost{units});
    return alone.try_emplace(key, *rule).first->second.ask(now, units);
  }

  // Somewhere, with something used.
  std::int64_t use_some(Chance& chance) {
    std::int64_t now = chance.up_to(std::int64_t{1} << 50);
    for (std::int64_t requests = chance.up_to(12); requests >= 0; --requests) {
      ask(now, chance.from_one_to(numbers.limit));
      now += chance.up_to(chance.up_to(1) == 0 ? numbers.period / 8 : numbers.period);
    }
    return now;
  }
  void each(const std::function<void(Chance&, std::int64_t now)>& check) {
    Chance chance;
    for (int i = 0; i < 300; ++i) {
      start(random_numbers(chance, 100, 1'000'000'000));
      SCOPED_TRACE(std::to_string(numbers.limit) + " per " + std::to_string(numbers.period) + " ns");
      check(chance, use_some(chance));
      if (HasFatalFailure()) return;
    }
  }

  Numbers numbers{};
  std::optional<core::Rule> rule;
  std::map<std::string, Subject> alone;
  std::optional<KeyedLimiter> limiter;
};

TEST_P(Conformance, a_look_is_allowed_and_takes_nothing) {
  each([&](Chance&, std::int64_t now) {
    const Decision before = ask(now, 0);
    ASSERT_EQ(before.verdict, Verdict::allowed);
    ASSERT_FALSE(before.retry_after);
    ASSERT_EQ(ask(now, 0), before);
  });
}

TEST_P(Conformance, remaining_is_what_passes_and_one_more_does_not) {
  each([&](Chance&, std::int64_t now) {
    const std::int64_t remaining = ask(now, 0).remaining;
    ASSERT_LE(remaining, numbers.limit);
    ASSERT_EQ(ask(now, remaining + 1).verdict, remaining == numbers.limit ? Verdict::never : Verdict::denied);
    ASSERT_TRUE(ask(now, remaining).allowed());
    ASSERT_EQ(ask(now, 0).remaining, 0);
    ASSERT_EQ(ask(now, 1).verdict, Verdict::denied);
  });
}

TEST_P(Conformance, a_cost_above_the_limit_never_passes_and_takes_nothing) {
  each([&](Chance& chance, std::int64_t now) {
    const Decision before = ask(now, 0);
    const Decision never = ask(now, numbers.limit + chance.from_one_to(std::int64_t{1} << 40));
    ASSERT_EQ(never.verdict, Verdict::never);
    ASSERT_FALSE(never.retry_after);
    ASSERT_EQ(never.limit, numbers.limit);
    ASSERT_EQ(ask(now, 0), before);
  });
}

TEST_P(Conformance, a_denial_takes_nothing_and_its_wait_is_the_least_that_is_enough) {
  int denials = 0;
  each([&](Chance& chance, std::int64_t now) {
    const std::int64_t remaining = ask(now, 0).remaining;
    if (remaining == numbers.limit) return;
    const std::int64_t cost = remaining + chance.from_one_to(numbers.limit - remaining);
    const Decision before = ask(now, 0);
    const Decision denied = ask(now, cost);
    ++denials;
    ASSERT_EQ(denied.verdict, Verdict::denied);
    ASSERT_GT(denied.retry_after.value(), nanoseconds{0});
    ASSERT_EQ(ask(now, 0), before);
    ASSERT_EQ(ask(now + denied.retry_after->count() - 1, cost).verdict, Verdict::denied);
    ASSERT_TRUE(ask(now + denied.retry_after->count(), cost).allowed());
  });
  EXPECT_GE(denials, 100);
}

TEST_P(Conformance, after_reset_after_the_key_is_as_never_used_and_not_before) {
  each([&](Chance& chance, std::int64_t now) {
    const std::int64_t wait = ask(now, 0).reset_after.count();
    ASSERT_GE(wait, 0);
    if (wait > 0) {
      ASSERT_NE(ask(now + wait - 1, 0), ask(now + wait - 1, 0, "fresh"));
    }
    const std::int64_t cost = chance.from_one_to(numbers.limit);
    ASSERT_EQ(ask(now + wait, 0), ask(now + wait, 0, "fresh"));
    ASSERT_EQ(ask(now + wait, cost), ask(now + wait, cost, "fresh"));
  });
}

INSTANTIATE_TEST_SUITE_P(Every, Conformance,
                         testing::Combine(testing::ValuesIn(kAlgorithms), testing::Bool()),
                         [](const auto& one) {
                           return std::string(
                                      kAlgorithmNames[static_cast<std::size_t>(std::get<0>(one.param))]) +
                                  (std::get<1>(one.param) ? "_stored" : "_alone");
                         });

}  // namespace
}  // namespace weir::algorithms_test
