// Denials that are remembered and told without asking Redis.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "redis/one_key_test.hpp"
#include "redis/shared_world_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

// What was denied is denied here until its retry_after. A smaller request that passes makes it longer than it
// said, and it is asked for again.
TEST(SharedStore, a_denial_is_recalled_until_something_has_passed) {
  struct Row {
    std::uint64_t cost;
    const char* asked;
    const char* expected;
  };
  for (const bool remembers : {true, false}) {
    Habits habits;
    habits.remember_denials = remembers;
    SharedWorld world(kOne, habits);
    for (const Row& row :
         {Row{4, "k 4", "allowed 1"}, Row{3, "k 3", "denied for 1998000us"},
          Row{3, "", "denied for 1996000us"}, Row{2, "", "denied for 994000us"}, Row{0, "k", "allowed 1"},
          Row{3, "k 3", "denied for 1990000us"}, Row{1, "k", "allowed 0"},
          Row{3, "k 3", "denied for 2986000us"}, Row{6, "k 6", "never"}}) {
      const std::size_t id = world.check(rule("5/5s"), "k", row.cost);
      world.run(2ms);
      EXPECT_EQ(world.took(id).substr(0, 14), std::string(row.expected).substr(0, 14));
      EXPECT_TRUE(!remembers || world.asked() == row.asked) << row.cost;
    }
    EXPECT_EQ(world.store().counters().remembered, remembers ? 2U : 0U);
    EXPECT_EQ(world.store().counters().decided, remembers ? 7U : 9U);
  }
}

// However long the answer was on its way: whom the store would let in is asked for.
TEST(SharedStore, a_denial_is_recalled_no_longer_than_the_store_would_deny) {
  for (const auto& ways : {std::pair{1ms, 1ms}, {1ms, 20ms}, {20ms, 1ms}}) {
    SharedWorld world(kOne);
    bool there = false;
    world.latency = [&] { return (there = !there) ? ways.first : ways.second; };
    world.check(rule("1/s"), "k", 1, {.merge = true});
    world.check(rule("1/s"), "k", 1, {.merge = true});
    world.run(40ms + 2ms);
    EXPECT_EQ(world.took(2),
              "denied for " + std::to_string(1'000'000 - (ways.first + ways.second) / 1us) + "us");
    EXPECT_TRUE(world.took(world.check(rule("1/s"), "k")).starts_with("denied"));
    EXPECT_EQ(world.asked(), "k | k");
    world.run(1s - 42ms);
    const std::size_t after = world.check(rule("1/s"), "k");
    world.run(50ms);
    EXPECT_EQ(world.took(after), "allowed 0");
  }
}

TEST(SharedStore, a_merged_denial_is_recalled) {
  SharedWorld world(kOne, merging());
  for (int i = 0; i < 4; ++i) world.check(rule("2/s"), "k");
  world.run(1ms);
  EXPECT_EQ(world.took(world.check(rule("2/s"), "k")), "denied for 499200us");
  EXPECT_EQ(world.asked(), "k | 3 x k");
}

TEST(SharedStore, a_denial_by_a_window_is_recalled_and_by_a_sliding_one_it_is_not) {
  for (const auto& [of, asked] : {std::pair{"1/s algorithm=fixed_window", "k | k"},
                                  {"1/hour algorithm=fixed_window align=clock", "k | k"},
                                  {"1/s algorithm=sliding_window_counter", "k | k | k"},
                                  {"1/s algorithm=sliding_window_log", "k | k | k"}}) {
    SharedWorld world(kOne);
    for (int i = 0; i < 3; ++i) {
      const std::size_t id = world.check(rule(of), "k");
      world.run(1ms);
      EXPECT_EQ(world.requests[id].told->outcome.decision.allowed(), i == 0) << of;
    }
    EXPECT_EQ(world.asked(), asked) << of;
  }
}

// One that asks whether it may pass, of a limit of the trees or of the limits file.
struct OneCharge {
  explicit OneCharge(const char* of, bool to_the_end = true)
      : limit{.rule = rule(of), .sharing = {.remembers_to_the_end = to_the_end}} {
    terms.decides = terms.recalls = true;
    request.verb = store::Verb::charge;
    request.patience = 50ms;
    request.on_answer = [](store::Request&) {};
  }
  std::string ask(SharedWorld& world, std::uint64_t cost = 1) {
    terms.outside.units = cost;
    check.cost = Cost{cost};
    request.checks = {&check, 1};
    request.charge = &terms;
    world.submit(request);
    world.run(1ms);
    const Decision& told = check.decision;
    if (told.allowed()) return "allowed " + std::to_string(told.remaining);
    return told.verdict == Verdict::never ? "never" : "denied";
  }

  store::Limit limit;
  store::Check check{.limit = &limit, .key = "k"};
  store::ChargeTerms terms;
  store::Request request;
};

// However often it is asked for: the window's end is what makes room.
TEST(SharedStore, what_a_window_denies_is_denied_without_asking_until_its_end) {
  constexpr const char* kHour = "2/hour algorithm=fixed_window align=clock";
  SharedWorld world(kOne);
  OneCharge one(kHour);
  EXPECT_EQ(one.ask(world), "allowed 1");
  EXPECT_EQ(one.ask(world), "allowed 0");
  EXPECT_EQ(one.ask(world, 3), "never");
  const nanoseconds end = world.now + one.check.decision.reset_after;
  world.asked();
  std::uint64_t times = 0;
  for (; world.now + 60s < end; times += 2) {
    world.run(50s);
    EXPECT_EQ(one.ask(world), "denied");
    EXPECT_EQ(one.request.source, Source::remembered);
    EXPECT_EQ(one.check.decision.retry_after, one.check.decision.reset_after);
    EXPECT_EQ(one.ask(world, 3), "never");
  }
  EXPECT_EQ(world.asked(), "");
  EXPECT_EQ(world.store().counters().remembered, times);
  world.run(end - world.now);
  EXPECT_EQ(one.ask(world), "allowed 1");
}

TEST(SharedStore, a_window_is_asked_again_when_its_denial_may_be_outdated) {
  constexpr const char* kHour = "2/hour algorithm=fixed_window align=clock";
  using Does = void (*)(SharedWorld&, OneCharge&);
  const auto refunds = [](SharedWorld& world, OneCharge& one) {
    OneCharge back = one;
    back.check.limit = &back.limit;
    back.terms.recalls = false;
    back.terms.outside.form = Outside::Form::refund;
    back.ask(world, 2);
  };
  for (const auto& [what, does, says] : {
           std::tuple{"nothing", Does{[](SharedWorld&, OneCharge&) {}}, "denied without asking"},
           {"a reset", [](SharedWorld& world, OneCharge&) { world.reset("k"), world.run(1ms); }, "allowed 1"},
           {"a refund", refunds, "allowed 0"},
           {"a raised limit",
            [](SharedWorld&, OneCharge& one) {
              one.limit.rule = rule("9/hour algorithm=fixed_window align=clock");
            },
            "allowed 5"},
           {"a lowered one",
            [](SharedWorld&, OneCharge& one) {
              one.limit.rule = rule("1/hour algorithm=fixed_window align=clock");
            },
            "denied"},
           {"a report", [](SharedWorld&, OneCharge& one) { one.terms.recalls = false; }, "denied"},
       }) {
    SharedWorld world(kOne);
    OneCharge one(kHour);
    for (int i = 0; i < 3; ++i) one.ask(world);
    does(world, one);
    const std::string told = one.ask(world);
    EXPECT_EQ(told + (one.request.source == Source::remembered ? " without asking" : ""), says) << what;
  }
}

// Another server may reset the keys of the limits file.
TEST(SharedStore, a_window_that_others_may_reset_is_asked_every_second) {
  SharedWorld world(kOne, {}, 2);
  OneCharge one("1/hour algorithm=fixed_window align=clock", false);
  one.ask(world), one.ask(world);
  world.reset("k", 1);
  world.run(900ms);
  EXPECT_EQ(one.ask(world), "denied");
  world.run(100ms);
  EXPECT_EQ(one.ask(world), "allowed 0");
}

// Those that are over leave the others free, which are told what they have: so all of them are asked, unless
// all are over.
TEST(SharedStore, charges_that_leave_others_free_are_recalled_where_all_of_them_are_denied) {
  for (const bool both : {false, true}) {
    SharedWorld world(kOne);
    std::array<store::Limit, 2> limits{
        {{.rule = rule("1/hour algorithm=fixed_window")}, {.rule = rule("9/hour algorithm=fixed_window")}}};
    if (both) limits[1].rule = limits[0].rule;
    std::array<store::Check, 2> checks{};
    for (std::size_t i = 0; i < 2; ++i)
      checks[i] = {.limit = &limits[i], .key = i == 0 ? "a" : "b", .cost = Cost{1}};
    store::ChargeTerms terms{.others_free = store::OthersFree{}, .recalls = true};
    store::Request request{.checks = checks, .verb = store::Verb::charge, .charge = &terms, .patience = 50ms};
    request.on_answer = [](store::Request&) {};
    for (int i = 0; i < 4; ++i) {
      world.submit(request);
      world.run(1ms);
      EXPECT_EQ(checks[0].decision.allowed(), i == 0);
      EXPECT_EQ(checks[1].decision.allowed(), i == 0 || !both);
    }
    EXPECT_EQ(world.store().counters().remembered, both ? 2U : 0U);
  }
}

// A cost of 60 of 100, 50 (denied), 10 elsewhere, 50 again: with one memory for the process its event loops
// know of each other's charges at once, and of a raised limit.
TEST(SharedStore, event_loops_share_what_they_remember) {
  SharedWorld world(kOne);
  world.add(kOne, {}, world.home_of(0));
  world.run(1ms);
  const auto took = [&](std::size_t loop, const char* of, std::uint64_t cost) {
    const std::size_t id = world.check(rule(of), "k", cost, {}, loop);
    world.run(1ms);
    return world.took(id).substr(0, 13);
  };
  constexpr const char* kSlow = "1/1000s burst 100";
  EXPECT_EQ(took(0, kSlow, 60), "allowed 40");
  EXPECT_EQ(took(0, kSlow, 50), "denied for 99");
  EXPECT_EQ(world.asked(), "k 60 | k 50");
  EXPECT_EQ(took(1, kSlow, 50), "denied for 99");
  EXPECT_EQ(world.asked(), "");
  EXPECT_EQ(took(1, kSlow, 10), "allowed 30");
  EXPECT_EQ(took(0, kSlow, 50), "denied for 19");
  // 70 units are owed, less what has drained since.
  EXPECT_EQ(took(1, "1/s burst 100", 50), "denied for 19");
  EXPECT_EQ(took(1, "1/s burst 200", 50), "allowed 80");
  EXPECT_EQ(world.asked(), "k 10 | k 50 | k 50 | k 50");
}

// What another process does to a key is known here a second later at most; what is told until then counts
// down.
TEST(SharedStore, a_denial_is_outdated_by_a_second_at_most) {
  for (const nanoseconds later : {100ms, 999ms}) {
    SharedWorld world(kOne, {}, 2);
    constexpr const char* kSlow = "1/1000s burst 2";
    for (int i = 0; i < 3; ++i) world.check(rule(kSlow), "k");
    world.run(1ms);
    EXPECT_EQ(world.took(3), "denied for 1000000000us");
    world.reset("k", 1);
    world.run(later - 1ms);
    EXPECT_EQ(world.took(world.check(rule(kSlow), "k")),
              "denied for " + std::to_string(1'000'000'200 - later / 1us) + "us");
    world.run(1s - later);
    const std::size_t after = world.check(rule(kSlow), "k");
    world.run(1ms);
    EXPECT_EQ(world.took(after), "allowed 1");
  }
}

// The store's clock goes back an hour, for 0.8 s: what is owed then is cut to what can be, in the store too,
// and a key is denied by what was remembered no longer than that, and a second more.
TEST(SharedStore, a_clock_that_steps_back_locks_nobody_out) {
  struct Row {
    const char* of;
    const char* soon;  // 0.8 s later
  };
  for (const Row& row : {Row{"10/s burst 10", "allowed"}, Row{"1000/s burst 10", "allowed"},
                         Row{"1/1000s burst 3", "denied for "}}) {
    SharedWorld world(kOne);
    const nanoseconds T = rule(row.of).quota.emission_interval();
    const nanoseconds full = T * rule(row.of).quota.burst();
    world.check(rule(row.of), "k");
    world.run(1ms);
    world.redis.ahead -= 1h;
    const std::size_t denied = world.check(rule(row.of), "k");
    world.run(800ms);
    EXPECT_TRUE(world.took(denied).starts_with("denied for ")) << world.took(denied);
    EXPECT_LE(world.requests[denied].told->outcome.decision.retry_after.value_or(24h), T + 60s);
    EXPECT_LE(world.redis.owed("k", rule(row.of), world.now), rule(row.of).quota.burst());
    const std::size_t last = world.check(rule(row.of), "k");
    world.run(1ms);
    EXPECT_TRUE(world.took(last).starts_with(row.soon)) << row.of << ": " << world.took(last);
    world.redis.ahead += 1h;
    world.run(std::min<nanoseconds>(1s, full));
    const std::size_t after = world.check(rule(row.of), "k");
    world.run(1ms);
    EXPECT_TRUE(world.took(after).starts_with("allowed")) << row.of << ": " << world.took(after);
  }
}

// The same of windows and logs: what was used in them is forgotten, and they deny for a period more.
TEST(SharedStore, windows_from_before_a_step_back_lock_nobody_out) {
  for (const char* of : {"2/s algorithm=fixed_window", "2/s algorithm=fixed_window align=clock",
                         "2/s algorithm=sliding_window_counter", "2/s algorithm=sliding_window_log"}) {
    SharedWorld world(kOne);
    for (int i = 0; i < 2; ++i) {
      const std::size_t first = world.check(rule(of), "k");
      world.run(1ms);
      EXPECT_TRUE(world.took(first).starts_with("allowed")) << of << ": " << world.took(first);
    }
    world.redis.ahead -= 1h;
    const std::size_t denied = world.check(rule(of), "k");
    world.run(1s);
    EXPECT_TRUE(world.took(denied).starts_with("denied for ")) << of << ": " << world.took(denied);
    EXPECT_LE(world.requests[denied].told->outcome.decision.retry_after.value_or(24h), 1s) << of;
    const std::size_t last = world.check(rule(of), "k");
    world.run(1ms);
    EXPECT_TRUE(world.took(last).starts_with("allowed")) << of << ": " << world.took(last);
  }
}

// Nobody waits for longer than two periods and what a step is that nobody sees.
TEST(SharedStore, windows_from_before_a_small_step_back_deny_no_longer_than_two_periods) {
  for (const char* of : {"2/10s algorithm=fixed_window", "2/10s algorithm=fixed_window align=clock",
                         "2/10s algorithm=sliding_window_counter", "2/10s algorithm=sliding_window_log"}) {
    for (const nanoseconds step : {11500ms, 20000ms, 21500ms, 30000ms, 45000ms}) {
      SharedWorld world(kOne);
      for (int i = 0; i < 2; ++i) world.check(rule(of), "k");
      world.run(1ms);
      world.redis.ahead -= step;
      const nanoseconds began = world.now;
      for (bool allowed = false; !allowed && world.now - began < 60s;) {
        const std::size_t next = world.check(rule(of), "k");
        world.run(100ms);
        allowed = world.took(next).starts_with("allowed");
      }
      EXPECT_LE(world.now - began, 21'200ms) << of << " after " << step.count();
    }
  }
}

// A long pipeline of one connection, of any costs: nobody is told numbers that leave out what was asked
// before. Another process, or a reset, would be seen later; this one asks alone.
TEST(SharedStore, a_pipeline_is_answered_in_its_order) {
  std::mt19937_64 random(seed());
  std::size_t remembered = 0;
  for (int trace = 0; trace < 40; ++trace) {
    SharedWorld world(kOne);
    world.latency = [&] { return nanoseconds{static_cast<std::int64_t>(1'000 + random() % 2'000'000)}; };
    const core::Rule slow = rule("1/1000s burst 100");
    const std::vector<std::uint64_t> costs =
        trace % 2 == 0 ? std::vector<std::uint64_t>{1, 10, 50} : std::vector<std::uint64_t>{1 + random() % 9};
    for (int i = 0; i < 300; ++i) {
      world.check(slow, "k", costs[random() % costs.size()]);
      world.run(nanoseconds{static_cast<std::int64_t>(random() % (trace % 3 == 0 ? 30'000 : 3'000'000))});
    }
    world.run(60ms);
    std::int64_t left = 100;
    for (std::size_t id = 1; id < world.requests.size(); ++id) {
      const SharedWorld::Request& request = world.requests[id];
      ASSERT_TRUE(request.told);
      const auto cost = static_cast<std::int64_t>(request.cost.units);
      const bool fits = cost <= left;
      if (fits) left -= cost;
      ASSERT_EQ(request.told->outcome.decision.allowed(), fits) << id;
      ASSERT_EQ(request.told->outcome.decision.remaining, left) << id;
    }
    remembered += world.store().counters().remembered;
  }
  EXPECT_GT(remembered, 1'000U);
}

// Of a key at its bound this process cannot know what others have spent: while the store is busy its checks
// leave first, also when all has drained since the denial.
TEST(SharedStore, a_key_that_was_denied_lately_leaves_first) {
  constexpr const char* kFast = "50/s burst 5";
  for (const bool denied : {false, true}) {
    SharedWorld world(kOne);
    for (int i = 0; i < (denied ? 6 : 1); ++i) world.check(rule(kFast), "v");
    world.run(300ms);
    for (int i = 0; i < 300; ++i) world.check(rule("1/hour burst 10"), "other" + std::to_string(i));
    world.check(rule(kFast), "v");
    world.run(40ms);
    const std::string asked = world.asked();
    EXPECT_EQ(asked.rfind("| v") < asked.rfind("| other299"), denied) << asked;
    world.expect_all_told();
  }
}

}  // namespace
}  // namespace weir::redis
