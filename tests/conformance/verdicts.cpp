// What one check is told.
#include <algorithm>
#include <limits>

#include "conformance/model.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// The field's acceptance table, as in tests/agreement/sixteen_rows_test.cpp: limit 5, one a second.
void the_sixteen_rows(Trial& trial) {
  struct Row {
    int at_ms;
    std::uint64_t cost;
    Verdict verdict;
    std::int64_t left;
    int retry_ms;  // 0: absent
    int reset_ms;
  };
  constexpr auto kAllowed = Verdict::allowed;
  constexpr auto kDenied = Verdict::denied;
  constexpr Row kRows[] = {
      {0, 6, Verdict::never, 5, 0, 0},  {0, 1, kAllowed, 4, 0, 1000},    {0, 1, kAllowed, 3, 0, 2000},
      {0, 1, kAllowed, 2, 0, 3000},     {0, 1, kAllowed, 1, 0, 4000},    {0, 1, kAllowed, 0, 0, 5000},
      {0, 1, kDenied, 0, 1000, 5000},   {3000, 1, kAllowed, 2, 0, 3000}, {3100, 1, kAllowed, 1, 0, 3900},
      {4000, 1, kAllowed, 1, 0, 4000},  {8000, 1, kAllowed, 4, 0, 1000}, {9500, 1, kAllowed, 4, 0, 1000},
      {9500, 0, kAllowed, 4, 0, 1000},  {9500, 2, kAllowed, 2, 0, 3000}, {9500, 5, kDenied, 2, 3000, 3000},
      {12500, 5, kAllowed, 0, 0, 5000},
  };
  const Limit limit = trial.limit("1/s burst 5");
  const nanoseconds start = trial.world.now();
  for (const Row& row : kRows) {
    trial.world.advance(start + milliseconds{row.at_ms} - trial.world.now());
    Decision should{row.verdict, 5, row.left, std::nullopt, milliseconds{row.reset_ms}};
    if (row.retry_ms != 0) should.retry_after = milliseconds{row.retry_ms};
    trial.equal(shown(trial.ask(limit, "foo", row.cost)), shown(should),
                "row " + std::to_string(&row - kRows));
  }
}

void a_look_takes_nothing_and_always_passes(Trial& trial) {
  const Limit limit = trial.limit("3/h");
  for (std::int64_t left = 3; left >= 0; --left) {
    for (int i = 0; i < 5; ++i) {
      const Decision look = trial.ask(limit, "key", 0);
      trial.expect(look.allowed(), "a look passes");
      trial.equal(look.remaining, left, "what a look finds left");
    }
    trial.ask(limit, "key");
  }
}

void a_cost_above_the_burst_is_never_and_takes_nothing(Trial& trial) {
  const Limit limit = trial.limit("3/h burst 5");
  for (const std::uint64_t cost : {std::uint64_t{6}, std::uint64_t{1} << 32, std::uint64_t{1} << 63, kMost}) {
    const Decision decision = trial.ask(limit, "key", cost);
    trial.expect(decision.verdict == Verdict::never, "a cost above the burst is never");
    trial.equal(decision.remaining, 5, "left after a never");
  }
  trial.expect(trial.ask(limit, "key", 5).allowed(), "the burst passes at once");
  trial.expect(trial.ask(limit, "key", 6).verdict == Verdict::never, "never, also when used up");
}

void a_denial_takes_nothing_and_its_wait_is_enough(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 4");
  trial.ask(limit, "key", 3);
  for (int i = 0; i < 5; ++i) {
    const Decision denied = trial.ask(limit, "key", 3);
    trial.expect(denied.retry_after == nanoseconds{2s}, "a denial says how long: 2 s");
    trial.equal(denied.remaining, 1, "left after a denial");
  }
  trial.world.advance(2s - 1us);
  trial.expect(!trial.ask(limit, "key", 3).allowed(), "a microsecond earlier is too early");
  trial.world.advance(1us);
  trial.expect(trial.ask(limit, "key", 3).allowed(), "the wait is enough");
}

// Each algorithm on a trace of its own against src/core, or its stated refusal.
void every_algorithm_counts_as_the_rule_says_or_is_refused(Trial& trial) {
  core::Chance random;
  for (const char* const text :
       {"7/s burst 3", "5/s algorithm=fixed_window", "5/s algorithm=fixed_window align=clock",
        "5/s algorithm=sliding_window_log", "5/s algorithm=sliding_window_counter"}) {
    const Limit limit = trial.limit(text, 7);
    if (trial.world.refuses(limit.rule)) {
      TestRequest question(limit, "key");
      trial.ask(question);
      trial.expect(question.fault == Fault::unsuitable, std::string(text) + " is refused");
      continue;
    }
    Model model;
    for (int step = 0; step < 300; ++step) {
      const std::vector<Part> parts = {{limit, text + std::to_string(random() % 3), random() % 5}};
      const Decision should = model.ask(parts, trial.world.now())[0];
      const Decision is = trial.ask(limit, parts[0].key, parts[0].cost);
      trial.equal(shown(is), shown(should), text + (", step " + std::to_string(step)));
      if (is != should) break;
      if (random() % 2 == 0) trial.world.advance(milliseconds{random() % 700});
    }
  }
}

// Numbers at the ends of what a Quota allows.
void large_numbers_are_exact_or_refused(Trial& trial) {
  struct Row {
    std::int64_t count;
    nanoseconds period;
    std::int64_t burst;
  };
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  for (const Row& row :
       {Row{1, 1ns, 9'000'000'000'000'000}, Row{1, 1ns, 9'100'000'000'000'000}, Row{1, 1ns, kEnd},
        Row{1, nanoseconds{kEnd}, 1}, Row{1'000'000'000, 1s, 1'000'000'000}, Row{1, 24h, 100'000}}) {
    const Limit limit = trial.limit(core::Rule{Quota::make({row.count, row.period}, row.burst).value()});
    const std::string what = std::to_string(row.burst) + " at once";
    TestRequest question(limit, what, static_cast<std::uint64_t>(row.burst));
    trial.ask(question);
    if (trial.world.refuses(limit.rule)) {
      trial.expect(question.fault == Fault::unsuitable, what + " is refused");
      continue;
    }
    trial.expect(question.allowed(), what + " passes: " + question.why);
    trial.expect(trial.ask(limit, what, static_cast<std::uint64_t>(row.burst)).verdict == Verdict::denied,
                 what + " is used up");
  }
}

// At most burst + W / T in any span: the greatest sum of cost x T - elapsed over all starts (Kadane's walk).
void in_any_span_at_most_burst_plus_w_over_t(Trial& trial) {
  core::Chance random;
  for (int trace = 0; trace < trial.runs(20); ++trace) {
    const auto burst = static_cast<std::int64_t>(1 + random() % 20);
    const nanoseconds interval = 1us * (1 + random() % 5'000);
    const Limit limit = trial.limit(core::Rule{Quota::make({1, interval}, burst).value()}, 1);
    const std::string key = std::to_string(trace);
    nanoseconds worst{0}, last = trial.world.now();
    std::int64_t admitted = 0;
    const nanoseconds start = last;
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t cost = random() % 4;
      const nanoseconds now = trial.world.now();
      if (trial.ask(limit, key, cost).allowed()) {
        worst = std::max(nanoseconds{0}, worst - (now - last)) + interval * static_cast<std::int64_t>(cost);
        last = now;
        admitted += static_cast<std::int64_t>(cost);
      }
      trial.expect(worst <= interval * burst, "the promise");
      switch (random() % 5) {  // hammering, about the rate, a whole burst's time
        case 0:
          trial.world.advance(1us * (random() % static_cast<std::uint64_t>(2 * interval / 1us)));
          break;
        case 1:
          trial.world.advance(interval * (random() % 8 == 0 ? burst : 1));
          break;
        default:
          break;
      }
    }
    // Nothing is kept back either.
    const std::int64_t earned = (trial.world.now() - start) / interval;
    trial.expect(admitted >= std::min(burst, earned) / 2, "what was promised is admitted");
  }
}

}  // namespace

std::vector<Property> verdict_properties() {
  return {{"the_sixteen_rows", the_sixteen_rows},
          {"a_look_takes_nothing_and_always_passes", a_look_takes_nothing_and_always_passes},
          {"a_cost_above_the_burst_is_never_and_takes_nothing",
           a_cost_above_the_burst_is_never_and_takes_nothing},
          {"a_denial_takes_nothing_and_its_wait_is_enough", a_denial_takes_nothing_and_its_wait_is_enough},
          {"every_algorithm_counts_as_the_rule_says_or_is_refused",
           every_algorithm_counts_as_the_rule_says_or_is_refused},
          {"large_numbers_are_exact_or_refused", large_numbers_are_exact_or_refused},
          {"in_any_span_at_most_burst_plus_w_over_t", in_any_span_at_most_burst_plus_w_over_t}};
}

}  // namespace weir::store::conformance
