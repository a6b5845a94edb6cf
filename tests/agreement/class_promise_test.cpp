// What classes, guarantees and shadow checks promise (docs/algorithm.md, "Classes", "Guarantee and borrow",
// "Shadow"), through the embedded store, each with a variant known to be wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "agreement/oracle.hpp"
#include "agreement/spans.hpp"
#include "agreement/subject.hpp"
#include "core/chance_test.hpp"
#include "core/gcra.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::class_promise_test {
namespace {

using std::chrono::nanoseconds;
using store::Check;

core::Rule rule_of(std::int64_t burst, std::int64_t interval, std::int64_t kept = 0) {
  core::Rule rule{Quota::make({1, nanoseconds{interval}}, burst).value()};
  rule.kept = nanoseconds{kept};
  return rule;
}

// A store, and requests that are answered at once.
class Counter {
 public:
  struct Part {
    store::Limit limit;
    std::string key;
    std::uint64_t cost = 1;
    bool shadow = false;
    std::uint8_t inside = Check::kNoGuarantee;
  };
  struct Told {
    bool allowed;
    std::vector<Decision> decisions;
  };
  Told ask(const std::vector<Part>& parts, std::int64_t now, std::int64_t arrived) {
    std::vector<Check> checks;
    for (const Part& part : parts)
      checks.push_back({.limit = &part.limit,
                        .key = part.key,
                        .cost = Cost{part.cost},
                        .shadow = part.shadow,
                        .inside = part.inside});
    store::Request request{.checks = checks};
    store::Request* const batch[] = {&request};
    store_.submit(batch, {nanoseconds{arrived}, nanoseconds{now}});
    EXPECT_EQ(request.fault, Fault::none) << request.why;
    Told told{request.allowed(), {}};
    for (const Check& check : checks) told.decisions.push_back(check.decision);
    return told;
  }
  Told ask(const std::vector<Part>& parts, std::int64_t now) { return ask(parts, now, now); }

 private:
  store::EmbeddedStore store_{std::size_t{8} << 20};
};

// What some requests alone would have left of a burst: the yardstick, without a store.
class Alone {
 public:
  Alone(std::int64_t burst, std::int64_t interval) : burst_(burst), interval_(interval) {}
  bool would_pass(std::int64_t now, std::uint64_t cost) const {
    return std::max(tat_, now) - now + need(cost) <= burst_ * interval_;
  }
  void take(std::int64_t now, std::uint64_t cost) { tat_ = std::max(tat_, now) + need(cost); }

 private:
  std::int64_t need(std::uint64_t cost) const { return static_cast<std::int64_t>(cost) * interval_; }

  std::int64_t burst_;
  std::int64_t interval_;
  std::int64_t tat_ = 0;
};

std::int64_t step_of_time(core::Chance& chance, std::int64_t interval) {
  switch (chance.up_to(5)) {
    case 0:
      return 1;
    case 1:
      return chance.up_to(2 * interval);
    case 2:
      return chance.up_to(20) == 0 ? chance.up_to(100 * interval) : interval;
    default:
      return 0;
  }
}

// ------------------------------------------------------------------------------------------------ classes

// All together keep the limit's promise; and those that keep at least k free, a smaller one.
TEST(ClassPromise, together_no_more_than_the_limit_and_less_important_ones_less) {
  core::Chance chance;
  Counter counter;
  std::int64_t now = 1;
  for (int trace = 0; trace < 500; ++trace) {
    const std::int64_t burst = 2 + chance.up_to(30), interval = 1 + chance.up_to(10'000);
    std::vector<core::Rule> classes;
    for (int i = 0; i < 3; ++i)
      classes.push_back(rule_of(burst, interval, i == 0 ? 0 : chance.up_to(burst * interval)));
    std::sort(classes.begin(), classes.end(), [](auto& a, auto& b) { return a.kept < b.kept; });
    std::array<std::vector<Admitted>, 3> admitted;  // by the class and those less important
    for (int step = 0; step < 400; ++step) {
      now += step_of_time(chance, interval);
      const auto which = static_cast<std::size_t>(chance.up_to(2));
      const std::uint64_t cost = 1 + chance() % 3;
      if (!counter.ask({{{.rule = classes[which], .id = 1}, std::to_string(trace), cost}}, now).allowed)
        continue;
      for (std::size_t i = 0; i <= which; ++i) admitted[i].push_back({now, static_cast<std::int64_t>(cost)});
    }
    for (std::size_t i = 0; i < 3; ++i)
      ASSERT_LE(most_in_any_span(admitted[i], interval), burst * interval - classes[i].kept.count());
    now += burst * interval;
  }
}

// How often a request was denied that fits into r x B beside what has passed of its own class, while the less
// important ones keep r x B free, or a unit less.
int denied_within_their_share(bool keep_less) {
  core::Chance chance;
  Counter counter;
  int denied = 0;
  std::int64_t now = 1;
  for (int trace = 0; trace < 400; ++trace) {
    const std::int64_t burst = 2 + chance.up_to(20), interval = 2 + chance.up_to(10'000);
    const std::int64_t share = 1 + chance.up_to(burst - 1);  // r x B, in units
    const std::int64_t kept = share * interval - (keep_less ? interval : 0);
    const store::Limit critical{.rule = rule_of(burst, interval), .id = 1};
    const store::Limit bulk{.rule = rule_of(burst, interval, kept), .id = 1};
    const store::Limit least{.rule = rule_of(burst, interval, chance.up_to(burst * interval - kept) + kept),
                             .id = 1};
    Alone alone(share, interval);
    const std::string key = std::to_string(trace);
    for (int step = 0; step < 400; ++step) {
      now += step_of_time(chance, interval);
      if (chance.up_to(2) != 0) {
        counter.ask({{chance.up_to(3) == 0 ? least : bulk, key, 1 + chance() % 2}}, now);
        continue;
      }
      const std::uint64_t cost = 1 + chance() % static_cast<std::uint64_t>(share);
      const bool due = alone.would_pass(now, cost);
      const bool passes = counter.ask({{critical, key, cost}}, now).allowed;
      denied += due && !passes ? 1 : 0;
      if (passes) alone.take(now, cost);
    }
    now += burst * interval;
  }
  return denied;
}

TEST(ClassPromise, what_is_within_its_share_is_never_denied_because_of_less_important_ones) {
  EXPECT_EQ(denied_within_their_share(false), 0);
}

// The canary: a unit less is kept free.
TEST(ClassPromise, a_share_that_is_kept_a_unit_short_is_found_out) {
  EXPECT_GT(denied_within_their_share(true), 20);
}

// ---------------------------------------------------------------------------------- guarantee and borrow

struct Ways {
  bool borrowers_keep = true;      // the reserve
  bool charges_on_denial = false;  // the guarantee, though the request was denied
  bool promises_too_much = false;  // the guarantees' rates, together
  std::int64_t waits = 0;          // how long before its decision a request came, at most
};

// The requests that were refused by the parent although a limit of the guarantee's numbers that counts only
// what has passed would have let them pass.
int refused_by_the_parent(const Ways& ways) {
  core::Chance chance;
  Counter counter;
  int refused = 0;
  std::int64_t now = 1'000'000'000;
  for (int trace = 0; trace < 300; ++trace) {
    const std::int64_t burst = 4 + chance.up_to(20), interval = 10 + chance.up_to(1'000);
    const auto children = static_cast<std::size_t>(1 + chance.up_to(2));
    const std::string run = std::to_string(trace) + "/";
    // Rates as 1/T that sum to the parent's at most: each at most its n-th part.
    std::vector<store::Limit> guarantees;
    std::int64_t reserved = 0;
    for (std::size_t i = 0; i < children; ++i) {
      const std::int64_t its_burst = 1 + chance.up_to(std::max<std::int64_t>(0, burst / 4 - 1));
      std::int64_t its =
          interval * static_cast<std::int64_t>(children) + (chance.up_to(1) == 0 ? 0 : chance.up_to(500));
      if (ways.promises_too_much) its = interval * static_cast<std::int64_t>(children) / 2 - 1;
      guarantees.push_back({.rule = rule_of(its_burst, its), .id = 10 + i});
      reserved += its_burst;
    }
    const std::int64_t kept = reserved * interval - (ways.borrowers_keep ? 0 : interval);
    const store::Limit parent{.rule = rule_of(burst, interval, kept), .id = 1};
    const store::Limit bulk{.rule = rule_of(burst, interval, kept + chance.up_to(burst * interval - kept)),
                            .id = 1};
    const store::Limit own{.rule = rule_of(3, 2 * interval), .id = 2};
    std::vector<Alone> alone;
    for (const store::Limit& each : guarantees)
      alone.emplace_back(each.rule.quota.burst(), each.rule.quota.emission_interval().count());
    for (int step = 0; step < 400; ++step) {
      now += step_of_time(chance, interval);
      const std::int64_t arrived = now - chance.up_to(ways.waits);
      if (chance.up_to(3) == 0) {  // outside any guarantee
        counter.ask({{chance.up_to(1) == 0 ? parent : bulk, run, 1 + chance() % 3}}, now, arrived);
        continue;
      }
      const auto which = static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(children) - 1));
      const store::Limit& guarantee = guarantees[which];
      const std::string key = run + std::to_string(which);
      const std::uint64_t cost = 1 + chance() % static_cast<std::uint64_t>(guarantee.rule.quota.burst());
      const bool due = alone[which].would_pass(now, cost);
      // Half of them meet a limit of the child's own, too.
      std::vector<Counter::Part> parts = {{guarantee, key, cost, true}, {parent, run, cost, false, 0}};
      if (chance.up_to(1) == 0) parts.push_back({own, key, 1});
      const Counter::Told told = counter.ask(parts, now, arrived);
      refused += due && !told.decisions[1].allowed() ? 1 : 0;
      if (due && told.allowed) alone[which].take(now, cost);
      if (ways.charges_on_denial && !told.allowed && told.decisions[0].allowed())
        counter.ask({{guarantee, key, cost}}, now);
    }
    now += burst * interval * 100;
  }
  return refused;
}

TEST(GuaranteePromise, a_guaranteed_request_is_never_refused_by_the_parent) {
  EXPECT_EQ(refused_by_the_parent({}), 0);
}
TEST(GuaranteePromise, nor_when_requests_have_waited_here) {
  EXPECT_EQ(refused_by_the_parent({.waits = 5'000}), 0);
}

// The canaries.
TEST(GuaranteePromise, borrowers_that_keep_a_unit_too_little_are_found_out) {
  EXPECT_GT(refused_by_the_parent({.borrowers_keep = false}), 20);
}
TEST(GuaranteePromise, a_guarantee_that_is_charged_for_what_was_denied_is_found_out) {
  EXPECT_GT(refused_by_the_parent({.charges_on_denial = true}), 20);
}
TEST(GuaranteePromise, guarantees_above_the_parents_rate_are_found_out) {
  EXPECT_GT(refused_by_the_parent({.promises_too_much = true}), 20);
}

// Every trace of up to seven steps, against token buckets in fractions.
TEST(GuaranteePromise, every_small_trace_is_told_what_an_independent_model_says) {
  struct Numbers {
    std::int64_t burst, interval, kept, guaranteed_burst, guaranteed_interval;
  };
  Counter counter;
  const int kSteps = 7;
  std::int64_t refused = 0;
  int traces = 0;
  for (const Numbers& n : {Numbers{3, 2, 2, 1, 2}, Numbers{3, 2, 4, 2, 3}, Numbers{4, 3, 6, 2, 5}}) {
    const store::Limit parent{.rule = rule_of(n.burst, n.interval, n.kept), .id = 1};
    const store::Limit guarantee{.rule = rule_of(n.guaranteed_burst, n.guaranteed_interval), .id = 2};
    const store::Limit own{.rule = rule_of(2, 4), .id = 3};
    int all = 1;
    for (int i = 0; i < kSteps; ++i) all *= 4;
    for (int trace = 0; trace < all; ++trace) {
      const std::string key = std::to_string(traces++);
      std::int64_t now = 1'000 + traces * 100;
      oracle::TokenBucket of_parent, of_guarantee, of_own;
      for (int step = 0, rest = trace; step < kSteps; ++step, rest /= 4) {
        if (rest % 4 == 0) {
          ++now;
        } else if (rest % 4 == 1) {
          const auto told = counter.ask({{parent, key, 1}}, now);
          const oracle::Answer should = of_parent.ask(now, n.burst, n.interval, 1, n.kept);
          ASSERT_TRUE(same(told.decisions[0], should)) << "trace " << trace << ", step " << step;
        } else {
          const std::uint64_t cost = rest % 4 == 2 ? 1 : 2;
          const auto told =
              counter.ask({{guarantee, key, cost, true}, {own, key, 1}, {parent, key, cost, false, 0}}, now);
          oracle::TokenBucket g = of_guarantee, o = of_own, p = of_parent;
          auto in_guarantee = g.ask(now, n.guaranteed_burst, n.guaranteed_interval, cost);
          const bool inside = in_guarantee.kind == oracle::Answer::Kind::allowed;
          auto in_own = o.ask(now, 2, 4, 1);
          auto in_parent = p.ask(now, n.burst, n.interval, cost, inside ? 0 : n.kept);
          const bool passes =
              in_own.kind == oracle::Answer::Kind::allowed && in_parent.kind == oracle::Answer::Kind::allowed;
          if (passes) {
            if (inside) of_guarantee = g;
            of_own = o;
            of_parent = p;
          } else {
            // Nothing is charged: those that allow it tell what is there.
            const auto is_allowed = [](const oracle::Answer& each) {
              return each.kind == oracle::Answer::Kind::allowed;
            };
            if (inside) in_guarantee = of_guarantee.ask(now, n.guaranteed_burst, n.guaranteed_interval, 0);
            if (is_allowed(in_own)) in_own = of_own.ask(now, 2, 4, 0);
            if (is_allowed(in_parent))
              in_parent = of_parent.ask(now, n.burst, n.interval, 0, inside ? 0 : n.kept);
          }
          ASSERT_EQ(told.allowed, passes) << "trace " << trace << ", step " << step;
          ASSERT_TRUE(same(told.decisions[0], in_guarantee) && same(told.decisions[1], in_own) &&
                      same(told.decisions[2], in_parent))
              << "trace " << trace << ", step " << step;
          refused += inside && in_parent.kind != oracle::Answer::Kind::allowed ? 1 : 0;
        }
      }
    }
  }
  EXPECT_EQ(refused, 0);  // by the parent, inside a guarantee
  EXPECT_EQ(traces, 3 * 16'384);
}

// ------------------------------------------------------------------------------------------------- shadow

// The enforced checks of a request are decided as if there were no others; and a shadow's limit keeps its own
// promise for what it was charged. How many requests were decided otherwise.
int decided_otherwise(bool enforce) {
  core::Chance chance;
  int otherwise = 0;
  std::int64_t now = 1;
  Counter with, without;
  for (int trace = 0; trace < 200; ++trace) {
    const std::int64_t interval = 1 + chance.up_to(1'000);
    const store::Limit limit{.rule = rule_of(1 + chance.up_to(8), interval), .id = 1};
    const store::Limit tried{.rule = rule_of(1 + chance.up_to(8), 1 + chance.up_to(2'000)), .id = 2};
    const std::string key = std::to_string(trace);
    std::vector<Admitted> admitted;
    for (int step = 0; step < 300; ++step) {
      now += step_of_time(chance, interval);
      const std::uint64_t cost = chance() % 4;
      const Counter::Part enforced{limit, key, cost};
      const Counter::Part shadow{tried, key, 1, !enforce};
      const Counter::Told one = without.ask({enforced}, now);
      const bool first = chance.up_to(1) == 0;
      const Counter::Told both =
          with.ask(first ? std::vector{shadow, enforced} : std::vector{enforced, shadow}, now);
      otherwise += one.allowed != both.allowed || one.decisions[0] != both.decisions[first ? 1 : 0] ? 1 : 0;
      if (both.allowed && both.decisions[first ? 0 : 1].allowed()) admitted.push_back({now, 1});
    }
    EXPECT_TRUE(kept(admitted, tried.rule.quota.burst(), tried.rule.quota.emission_interval().count()));
    now += 100'000;
  }
  return otherwise;
}

TEST(ShadowPromise, a_shadow_check_changes_no_answer_of_the_others) {
  EXPECT_EQ(decided_otherwise(false), 0);
}
TEST(ShadowPromise, one_that_is_enforced_is_found_out) { EXPECT_GT(decided_otherwise(true), 20); }

}  // namespace
}  // namespace weir::class_promise_test
