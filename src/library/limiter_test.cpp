#include "weir/limiter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/set_clock_test.hpp"

namespace weir::inline v0_1::store {
namespace {

using namespace std::chrono_literals;

TEST(Limiter, admits_the_burst_and_then_says_when) {
  Limiter limiter{Quota::per_minute(100).with_burst(20), kSetClock};
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(at_time(1s, limiter).check().allowed());
  const Decision denied = at_time(1s, limiter).check();
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.retry_after, 600ms);
  EXPECT_TRUE(at_time(1600ms, limiter).check().allowed());
  limiter.reset();
  EXPECT_EQ(at_time(1600ms, limiter).check().remaining, 19);
}

TEST(Limiter, uses_the_steady_clock) {
  Limiter limiter{Quota::per_hour(1)};
  EXPECT_TRUE(limiter.check().allowed());
  EXPECT_FALSE(limiter.check().allowed());
  EXPECT_EQ(limiter.check(Cost{2}).verdict, Verdict::never);
}

TEST(KeyedLimiter, counts_each_key_for_itself) {
  KeyedLimiter limiter{Quota::per_second(2), {.memory = 1_MiB, .clock = &kSetClock}};
  EXPECT_EQ(at_time(1s, limiter).check("a", Cost{2}).remaining, 0);
  EXPECT_FALSE(at_time(1s, limiter).check("a").allowed());
  EXPECT_EQ(at_time(1s, limiter).check("b").remaining, 1);
  EXPECT_TRUE(at_time(1s, limiter).check("").allowed());
}

TEST(KeyedLimiter, a_key_is_any_bytes) {
  KeyedLimiter limiter{Quota::per_hour(1), {.memory = 1_MiB}};
  const std::vector<std::string> keys = {std::string("a\0b", 3),   std::string("a\0c", 3),
                                         std::string("a"),         "\xff\xfe",
                                         std::string("\0", 1),     "\r\n",
                                         std::string(1 << 20, 'x')};
  for (const std::string& key : keys) {
    EXPECT_TRUE(limiter.check(key).allowed());
    EXPECT_FALSE(limiter.check(key).allowed());
  }
  EXPECT_EQ(limiter.live(), keys.size());
}

TEST(KeyedLimiter, a_batch_decides_as_one_by_one_does) {
  constexpr Quota quota = Quota::per_hour(3);
  KeyedLimiter one{quota, {.memory = 1_MiB}};
  KeyedLimiter many{quota, {.memory = 1_MiB}};
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back("key " + std::to_string(i % 120));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<Decision> decisions(keys.size());
  many.check(keys, decisions);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Decision expected = one.check(keys[i]);
    EXPECT_EQ(decisions[i].verdict, expected.verdict) << i;
    EXPECT_EQ(decisions[i].remaining, expected.remaining) << i;
  }
}

TEST(KeyedLimiter, a_batch_has_a_cost_for_each_key) {
  KeyedLimiter limiter{Quota::per_hour(10), {.memory = 1_MiB}};
  const std::vector<KeyCost> keys = {{"a", Cost{3}}, {"b"}, {"a", Cost{8}}, {"a", Cost{0}}, {"b", Cost{11}}};
  std::vector<Decision> decisions(keys.size());
  limiter.check(keys, decisions);
  EXPECT_EQ(decisions[0].remaining, 7);
  EXPECT_EQ(decisions[1].remaining, 9);
  EXPECT_EQ(decisions[2].verdict, Verdict::denied);
  EXPECT_EQ(decisions[3].remaining, 7);
  EXPECT_EQ(decisions[4].verdict, Verdict::never);
  EXPECT_FALSE(decisions[4].retry_after);
}

template <class Act>
std::string refusal(Act act) {
  try {
    act();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(KeyedLimiter, a_batch_of_another_size_than_its_decisions_is_refused_and_charges_nothing) {
  KeyedLimiter limiter{Quota::per_hour(1), {.memory = 1_MiB}};
  const std::array<std::string_view, 3> keys = {"a", "b", "c"};
  const std::array<KeyCost, 1> one = {{{"a"}}};
  std::array<Decision, 2> decisions;
  EXPECT_EQ(refusal([&] { limiter.check(keys, decisions); }),
            "weir::KeyedLimiter::check: 3 requests and room for 2 decisions; expected as many");
  EXPECT_EQ(refusal([&] { limiter.check(one, decisions); }),
            "weir::KeyedLimiter::check: 1 requests and room for 2 decisions; expected as many");
  EXPECT_TRUE(limiter.check("a").allowed());
  Limiter single{Quota::per_hour(1)};
  const std::array<Cost, 1> costs{};
  EXPECT_EQ(refusal([&] { single.check(costs, decisions); }),
            "weir::Limiter::check: 1 requests and room for 2 decisions; expected as many");
  EXPECT_TRUE(single.check().allowed());
}

TEST(Limiter, a_batch_decides_in_order) {
  ManualClock clock;
  Limiter limiter{Quota::per_second(5), clock};
  const std::array<Cost, 4> costs = {Cost{3}, Cost{3}, Cost{2}, Cost{6}};
  std::array<Decision, 4> decisions;
  limiter.check(costs, decisions);
  EXPECT_EQ(decisions[0].remaining, 2);
  EXPECT_EQ(decisions[1].retry_after, 200ms);
  EXPECT_EQ(decisions[2].remaining, 0);
  EXPECT_EQ(decisions[3].verdict, Verdict::never);
}

TEST(Limiter, several_are_charged_all_or_none) {
  ManualClock clock;
  Limiter wide{Quota::per_second(10), clock};
  Limiter narrow{Quota::per_second(2), clock};
  const auto ask = [&](Cost of_wide) { return check_all({{wide, of_wide}, {narrow}}); };
  EXPECT_EQ(ask(Cost{3}).by, 1U);
  EXPECT_TRUE(ask(Cost{3}).allowed());
  const JointDecision denied = ask(Cost{3});
  EXPECT_EQ(denied.by, 1U);
  EXPECT_EQ(denied.decision.retry_after, 500ms);
  EXPECT_EQ(wide.check(Cost{0}).remaining, 4) << "what was denied has charged none";
  clock.advance(500ms);
  const JointDecision never = ask(Cost{11});
  EXPECT_EQ(never.by, 0U);
  EXPECT_EQ(never.decision.verdict, Verdict::never);
  EXPECT_EQ(narrow.check(Cost{0}).remaining, 1);
  wide.reset();
  EXPECT_EQ(wide.check(Cost{0}).remaining, 10);
}

TEST(LocalStore, new_keys_of_one_request_end_in_an_answer_though_the_memory_is_full) {
  ManualClock clock;
  LocalStore store{{.memory = 1_MiB, .clock = &clock}};
  KeyedLimiter limiter{Quota::per_day(1), store};
  int refused = 0;
  for (int number = 0; refused < 10'000; number += 2) {
    ASSERT_LT(number, 200'000);
    clock.advance(11ms);  // past the pause after a search for room that failed
    const std::string one = std::to_string(number);
    const std::string two = std::to_string(number + 1);
    const bool allowed = store.check_all({{limiter, one}, {limiter, two}}).allowed();
    refused += allowed ? 0 : 1;
    for (const std::string& key : {one, two})
      ASSERT_EQ(limiter.check(key, Cost{0}).remaining, allowed ? 0 : 1) << number;
  }
  EXPECT_GT(limiter.live(), limiter.capacity() * 95 / 100);
}

TEST(Limiter, check_all_says_what_is_wrong) {
  Limiter limiter{Quota::per_second(1)};
  Limiter other{Quota::per_second(1)};
  EXPECT_EQ(refusal([] { return check_all(std::span<const LimiterCheck>()); }),
            "weir::check_all: 0 limiters are not 1 to 16");
  const std::vector<LimiterCheck> many(17, {limiter});
  EXPECT_EQ(refusal([&] { return check_all(many); }), "weir::check_all: 17 limiters are not 1 to 16");
  EXPECT_EQ(refusal([&] { return check_all({{limiter}, {other}, {limiter}}); }),
            "weir::check_all: one limiter comes twice");
  EXPECT_TRUE(limiter.check().allowed());
}

// Both tats move together or not at all: with the same quota and costs, no look that takes both can find one
// ahead of the other. Threads name them in opposite orders, which must not lock them up.
TEST(Limiter, no_thread_sees_a_request_charged_to_some) {
  ManualClock clock;
  const Quota quota = Quota::make({1'000'000'000, 1s}, 1'000'000'000).value();
  Limiter a{quota, clock};
  Limiter b{quota, clock};
  constexpr int kEach = 20'000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        const JointDecision both = thread % 2 == 0 ? check_all({{a}, {b}}) : check_all({{b}, {a}});
        EXPECT_TRUE(both.allowed());
        // Alike, the first decides: one that lagged would show as the other.
        EXPECT_EQ(both.by, 0U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(a.check(Cost{0}).remaining, 1'000'000'000 - 4 * kEach);
  EXPECT_EQ(b.check(Cost{0}).remaining, 1'000'000'000 - 4 * kEach);
}

TEST(LocalStore, a_request_is_charged_to_all_its_limits_or_to_none) {
  ManualClock clock;
  LocalStore store{{.memory = 1_MiB, .clock = &clock}};
  KeyedLimiter users{Quota::per_hour(2), store};
  KeyedLimiter tenants{Quota::per_hour(5), store};
  KeyedLimiter windows{Quota::per_hour(4), store, Algorithm::fixed_window};
  // All count under one key, and each for itself.
  const auto ask = [&](std::string_view user) {
    return store.check_all({{users, user}, {tenants, "acme"}, {windows, "acme"}});
  };
  EXPECT_EQ(ask("acme").decision.remaining, 1);
  EXPECT_EQ(ask("bob").by, 0U);
  EXPECT_TRUE(ask("acme").allowed());
  const JointDecision denied = ask("acme");
  EXPECT_EQ(denied.by, 0U);
  EXPECT_EQ(denied.decision.retry_after, 30min);
  EXPECT_EQ(tenants.check("acme", Cost{0}).remaining, 2) << "what was denied has charged none";
  EXPECT_EQ(windows.check("acme", Cost{0}).remaining, 1);
  EXPECT_TRUE(ask("cid").allowed());
  EXPECT_EQ(ask("dora").by, 2U) << "the window is full";
  EXPECT_EQ(users.check("dora", Cost{0}).remaining, 2);
  const JointDecision never = store.check_all({{users, "eve"}, {tenants, "acme", Cost{6}}});
  EXPECT_EQ(never.by, 1U);
  EXPECT_EQ(never.decision.verdict, Verdict::never);
  clock.advance(24h);
  EXPECT_TRUE(ask("acme").allowed());
  EXPECT_EQ(users.live(), 3U) << "of all limiters";
  EXPECT_TRUE(users.reset("acme"));
  EXPECT_EQ(tenants.check("acme", Cost{0}).remaining, 4) << "a reset forgets one limiter's";
}

TEST(LocalStore, several_keys_of_one_limiter_and_a_quota_of_the_request) {
  LocalStore store{{.memory = 1_MiB, .clock = &kSetClock}};
  KeyedLimiter limiter{Quota::per_hour(2), store};
  const std::vector<KeyedCheck> both = {{limiter, "a"}, {limiter, "b", Cost{2}}};
  EXPECT_TRUE(at_time(1s, store).check_all(both).allowed());
  EXPECT_EQ(at_time(1s, store).check_all(both).by, 1U);
  EXPECT_EQ(at_time(1s, limiter).check("a", Cost{0}).remaining, 1);
  const std::vector<KeyedCheck> raised = {{limiter, "a"}, {limiter, "b", Cost{2}, Quota::per_hour(4)}};
  EXPECT_TRUE(at_time(1s, store).check_all(raised).allowed());
}

TEST(LocalStore, outlives_itself_in_its_limiters) {
  std::optional<LocalStore> store(std::in_place, LocalStore::Options{.memory = 1_MiB});
  KeyedLimiter limiter{Quota::per_hour(1), *store};
  store.reset();
  EXPECT_TRUE(limiter.check("a").allowed());
  EXPECT_FALSE(limiter.check("a").allowed());
}

TEST(LocalStore, says_what_is_wrong) {
  LocalStore store{{.memory = 1_MiB}};
  LocalStore other{{.memory = 1_MiB}};
  KeyedLimiter limiter{Quota::per_hour(3), store};
  KeyedLimiter window{Quota::per_hour(3), store, Algorithm::fixed_window};
  KeyedLimiter elsewhere{Quota::per_hour(3), other};
  KeyedLimiter alone{Quota::per_hour(3), {.memory = 1_MiB}};
  const auto said = [&store](const std::vector<KeyedCheck>& checks) {
    return refusal([&] { return store.check_all(checks); });
  };
  const std::string all = "weir::LocalStore::check_all: ";
  EXPECT_EQ(said({}), all + "0 limits are not 1 to 16");
  EXPECT_EQ(said(std::vector<KeyedCheck>(17, {limiter, "a"})), all + "17 limits are not 1 to 16");
  EXPECT_EQ(said({{limiter, "a"}, {elsewhere, "a"}}), all + "limit 1 has another store");
  EXPECT_EQ(said({{alone, "a"}}), all + "limit 0 has another store");
  EXPECT_EQ(said({{limiter, "a"}, {window, "a"}, {limiter, "a"}}),
            all + "two checks of a request have the same limit and key");
  EXPECT_EQ(
      said({{limiter, "a"}, {window, "a", Cost{1}, Quota::per_hour(3).with_burst(4)}}),
      "weir::KeyedLimiter::check: burst: 4 does not apply to fixed_window, which admits the count (3); only "
      "gcra has a burst");
  EXPECT_EQ(refusal([&] { KeyedLimiter(Quota::per_hour(3), store, Algorithm::sliding_window_log); }),
            "weir::KeyedLimiter: sliding_window_log has no place in a LocalStore");
  EXPECT_EQ(refusal([] { LocalStore{{.memory = 1000}}; }),
            "memory: 1000 bytes is below the minimum (1048576)");
  EXPECT_EQ(limiter.check("a", Cost{0}).remaining, 3);
}

TEST(KeyedLimiter, a_key_that_changes_plans_keeps_its_debt_in_units) {
  constexpr Quota kFree = Quota::per_minute(10);
  constexpr Quota kPaid = Quota::per_minute(100);
  ManualClock clock;
  KeyedLimiter limiter{kFree, {.memory = 1_MiB, .clock = &clock}};
  EXPECT_EQ(limiter.check("acme", Cost{8}).remaining, 2);
  EXPECT_EQ(limiter.check("acme", kPaid, Cost{0}).remaining, 92);
  EXPECT_EQ(limiter.check("acme", kPaid, Cost{2}).remaining, 90);
  EXPECT_EQ(limiter.check("acme").verdict, Verdict::denied) << "back on the free plan: 10 units are spent";
  EXPECT_EQ(limiter.check("other", kPaid).limit, 100);

  KeyedLimiter window{kFree, {.memory = 1_MiB, .algorithm = Algorithm::fixed_window, .clock = &clock}};
  EXPECT_TRUE(window.check("acme", Cost{8}).allowed());
  EXPECT_EQ(window.check("acme", kPaid, Cost{0}).remaining, 92);
  EXPECT_EQ(refusal([&] { return window.check("acme", kPaid.with_burst(20)); }),
            "weir::KeyedLimiter::check: burst: 20 does not apply to fixed_window, which admits the count "
            "(100); only "
            "gcra has a burst");
  KeyedLimiter log{kFree, {.memory = 1_MiB, .algorithm = Algorithm::sliding_window_log}};
  EXPECT_TRUE(log.check("acme", kFree).allowed());
  EXPECT_EQ(refusal([&] { return log.check("acme", kPaid); }),
            "weir::KeyedLimiter::check: sliding_window_log counts by one quota only");
}

TEST(KeyedLimiter, can_be_moved_and_keeps_what_it_counted) {
  std::vector<KeyedLimiter> limiters;
  for (int i = 0; i < 5; ++i) {
    limiters.emplace_back(Quota::per_hour(1), KeyedLimiter::Options{.memory = 1_MiB});
    EXPECT_TRUE(limiters.back().check("a").allowed());
  }
  for (KeyedLimiter& limiter : limiters) EXPECT_FALSE(limiter.check("a").allowed());
  limiters[0] = KeyedLimiter(Quota::per_hour(2), {.memory = 1_MiB});
  EXPECT_EQ(limiters[0].check("a").limit, 2);
}

TEST(Clock, every_limiter_reads_the_one_that_it_is_given) {
  for (const Algorithm algorithm : {Algorithm::gcra, Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                    Algorithm::sliding_window_log, Algorithm::sliding_window_counter}) {
    ManualClock clock{90s};
    KeyedLimiter limiter{Quota::per_minute(1), {.memory = 1_MiB, .algorithm = algorithm, .clock = &clock}};
    EXPECT_TRUE(limiter.check("a").allowed());
    EXPECT_FALSE(limiter.check("a").allowed());
    EXPECT_EQ(limiter.live(), 1U);
    // The counter still sees half of the window before.
    clock.advance(algorithm == Algorithm::sliding_window_counter ? 2min : 1min);
    EXPECT_EQ(limiter.live(), 0U);
    EXPECT_TRUE(limiter.check("a").allowed());
    // A window by the clock ends at the multiples of its period on that clock: 2:00 and not 2:30.
    if (algorithm == Algorithm::fixed_window_clock) {
      EXPECT_EQ(limiter.check("a", Cost{0}).reset_after, 30s);
    }
    EXPECT_TRUE(limiter.reset("a"));
  }
}

TEST(KeyedLimiter, a_clock_may_be_moved_to_the_times_of_events) {
  for (const Algorithm algorithm : {Algorithm::gcra, Algorithm::sliding_window_log}) {
    ManualClock clock;
    KeyedLimiter limiter{Quota::per_second(1), {.memory = 1_MiB, .algorithm = algorithm, .clock = &clock}};
    clock.advance_to(1s);
    EXPECT_TRUE(limiter.check("a").allowed());
    EXPECT_EQ(limiter.live(), 1U);
    clock.advance_to(2s);
    EXPECT_EQ(limiter.live(), 0U);
    EXPECT_FALSE(limiter.reset("a"));
    clock.advance_to(3s);
    clock.advance_to(1s);
    EXPECT_EQ(clock.now(), 3s) << "a clock never goes back";
    EXPECT_TRUE(limiter.check("a").allowed());
    EXPECT_TRUE(limiter.reset("a"));
  }
}

// One limit that is changed, in each form: what was spent stays spent, in units.
struct Changing {
  std::function<Decision(Cost)> check;
  std::function<void(Quota)> set_quota;
  std::function<Quota()> quota;
};
std::vector<Changing> changing(const Quota& quota, const Clock& clock) {
  const auto one = std::make_shared<Limiter>(quota, clock);
  const auto keyed =
      std::make_shared<KeyedLimiter>(quota, KeyedLimiter::Options{.memory = 1_MiB, .clock = &clock});
  const auto store = std::make_shared<LocalStore>(LocalStore::Options{.memory = 1_MiB, .clock = &clock});
  const auto kept = std::make_shared<KeyedLimiter>(quota, *store);
  return {{[=](Cost cost) { return one->check(cost); }, [=](Quota to) { one->set_quota(to); },
           [=] { return one->quota(); }},
          {[=](Cost cost) { return check_all({{*one, cost}}).decision; },
           [=](Quota to) { one->set_quota(to); }, [=] { return one->quota(); }},
          {[=](Cost cost) { return keyed->check("a", cost); }, [=](Quota to) { keyed->set_quota(to); },
           [=] { return keyed->quota(); }},
          {[=](Cost cost) { return store->check_all({{*kept, "a", cost}}).decision; },
           [=](Quota to) { kept->set_quota(to); }, [=] { return kept->quota(); }}};
}

TEST(SetQuota, keeps_what_was_spent_in_units) {
  constexpr Quota kFree = Quota::per_minute(10);
  constexpr Quota kPaid = Quota::per_minute(100);
  for (std::size_t form = 0; form < 4; ++form) {
    SCOPED_TRACE(form);
    ManualClock clock{1h};
    // The second has its own limiter, which the first form has not used.
    const Changing one = changing(kFree, clock)[form];
    EXPECT_EQ(one.check(Cost{8}).remaining, 2);
    one.set_quota(kPaid);
    EXPECT_EQ(one.quota(), kPaid);
    const Decision now = one.check(Cost{0});
    EXPECT_EQ(now.limit, 100);
    EXPECT_EQ(now.remaining, 92);
    EXPECT_EQ(one.check(Cost{2}).remaining, 90);
    one.set_quota(kFree);
    EXPECT_EQ(one.check(Cost{1}).verdict, Verdict::denied) << "10 units are spent";
    EXPECT_EQ(one.check(Cost{1}).retry_after, 600ms) << "they drain as they were charged";
    clock.advance(6s);
    EXPECT_EQ(one.check(Cost{10}).remaining, 0) << "all have drained at 100 a minute";
    EXPECT_EQ(one.check(Cost{1}).retry_after, 6s) << "and these drain at 10";
  }
}

TEST(SetQuota, while_other_threads_check_never_hands_out_more_than_either) {
  constexpr Quota kOne = Quota::per_hour(500);
  constexpr Quota kOther = Quota::per_hour(400).with_burst(300);
  for (int round = 0; round < 20; ++round) {
    ManualClock clock{1h};
    Limiter limiter{kOne, clock};
    KeyedLimiter keyed{kOne, {.memory = 1_MiB, .clock = &clock}};
    std::atomic<int> of_one{0}, of_key{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 400; ++j) {
          of_one += limiter.check().allowed() ? 1 : 0;
          of_key += keyed.check("a").allowed() ? 1 : 0;
        }
      });
    }
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        limiter.set_quota(j % 2 == 0 ? kOther : kOne);
        keyed.set_quota(j % 2 == 0 ? kOther : kOne);
      }
      EXPECT_EQ(limiter.quota(), kOne);
      EXPECT_EQ(keyed.quota(), kOne);
    });
    for (std::thread& thread : threads) thread.join();
    // Together, as the last of the quotas admits them.
    while (limiter.check().allowed()) ++of_one;
    while (keyed.check("a").allowed()) ++of_key;
    ASSERT_EQ(of_one, 500);
    ASSERT_EQ(of_key, 500);
  }
}

TEST(SetQuota, keeps_what_was_reserved) {
  for (const bool one_word : {true, false}) {
    ManualClock clock{1h};
    Limiter limiter{Quota::per_second(1), clock};
    KeyedLimiter keyed{Quota::per_second(1), {.memory = 1_MiB, .clock = &clock}};
    const auto reserve = [&](ReserveOptions options) {
      return one_word ? limiter.reserve(options) : keyed.reserve("a", options);
    };
    const auto set_quota = [&](Quota quota) { one_word ? limiter.set_quota(quota) : keyed.set_quota(quota); };
    EXPECT_TRUE(reserve({}).granted());
    weir::Reservation waits = reserve({.max_wait = 9s});
    weir::Reservation last = reserve({.max_wait = 9s});
    EXPECT_EQ(last.wait(), 2s);
    set_quota(Quota::per_second(10));
    EXPECT_EQ(waits.left(), 1s) << "a moment that was promised stays";
    EXPECT_EQ(last.cancel(), 1U) << "nothing was charged under the new quota yet";
    EXPECT_EQ(reserve({.max_wait = 9s}).wait(), 0s) << "of the ten, two are spent";
    EXPECT_EQ(waits.cancel(), 1U);
  }
}

TEST(SetQuota, that_cannot_be_counted_changes_nothing_and_says_why) {
  KeyedLimiter window{Quota::per_hour(3), {.memory = 1_MiB, .algorithm = Algorithm::fixed_window}};
  EXPECT_EQ(
      refusal([&] { return window.set_quota(Quota::per_hour(3).with_burst(9)), Decision{}; }),
      "weir::KeyedLimiter::set_quota: burst: 9 does not apply to fixed_window, which admits the count (3); "
      "only gcra has a burst");
  EXPECT_EQ(window.check("a").limit, 3);
  window.set_quota(Quota::per_hour(5));
  EXPECT_EQ(window.check("a", Cost{0}).remaining, 4);
  KeyedLimiter log{Quota::per_hour(3), {.memory = 1_MiB, .algorithm = Algorithm::sliding_window_log}};
  EXPECT_EQ(refusal([&] { return log.set_quota(Quota::per_hour(5)), Decision{}; }),
            "weir::KeyedLimiter::set_quota: sliding_window_log counts by one quota only");
}

static_assert(sizeof(Limiter) == 64);
static_assert(std::is_nothrow_move_constructible_v<KeyedLimiter>);
static_assert(std::is_nothrow_move_assignable_v<KeyedLimiter>);
static_assert(!std::is_copy_constructible_v<KeyedLimiter>);
static_assert(noexcept(std::declval<Limiter&>().check()));
static_assert(noexcept(std::declval<KeyedLimiter&>().check("")));

TEST(KeyedLimiter, reset_forgets) {
  KeyedLimiter limiter{Quota::per_hour(1), {.memory = 1_MiB}};
  EXPECT_FALSE(limiter.reset("a"));
  EXPECT_TRUE(limiter.check("a").allowed());
  EXPECT_TRUE(limiter.reset("a"));
  EXPECT_FALSE(limiter.reset("a"));
  EXPECT_TRUE(limiter.check("a").allowed());
}

TEST(KeyedLimiter, too_little_memory_is_an_error) {
  try {
    KeyedLimiter limiter(Quota::per_second(1), {.memory = 1000});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "memory: 1000 bytes is below the minimum (1048576)");
  }
}

constexpr std::array kWindows = {Algorithm::fixed_window, Algorithm::fixed_window_clock,
                                 Algorithm::sliding_window_log, Algorithm::sliding_window_counter};

TEST(KeyedLimiter, counts_by_any_algorithm) {
  for (const Algorithm algorithm : kWindows) {
    KeyedLimiter limiter{Quota::per_hour(3), {.memory = 1_MiB, .algorithm = algorithm}};
    const std::array<std::string_view, 5> keys = {"a", "a", "b", "a", "a"};
    std::array<Decision, 5> decisions;
    limiter.check(keys, decisions);
    // A window by the clock may have ended within the test, once in an hour.
    if (!decisions[4].allowed()) {
      EXPECT_EQ(decisions[0].remaining, 2);
      EXPECT_EQ(decisions[2].remaining, 2);
      EXPECT_EQ(decisions[3].remaining, 0);
      EXPECT_EQ(limiter.check("a").verdict, Verdict::denied);
    }
    EXPECT_EQ(limiter.check("a", Cost{4}).verdict, Verdict::never);
    EXPECT_EQ(limiter.live(), 2U);
    EXPECT_TRUE(limiter.reset("b"));
    EXPECT_FALSE(limiter.reset("b"));
    EXPECT_FALSE(limiter.reset("c"));
    EXPECT_EQ(limiter.live(), 1U);
    EXPECT_EQ(limiter.check("b").remaining, 2);
    EXPECT_GT(limiter.capacity(), 1000U);
    EXPECT_EQ(limiter.refused(), 0U);
  }
}

// The window of a day ends at midnight in UTC, and not a day after the first request.
TEST(KeyedLimiter, windows_by_the_clock_go_by_the_wall_clock) {
  for (const Algorithm algorithm : {Algorithm::fixed_window_clock, Algorithm::sliding_window_counter}) {
    KeyedLimiter limiter{Quota::per_day(1), {.memory = 1_MiB, .algorithm = algorithm}};
    const auto wall_now = [] { return std::chrono::system_clock::now().time_since_epoch(); };
    const auto before = wall_now();
    const auto end = limiter.check("key").reset_after + before;
    const auto slack = wall_now() - before;
    const auto past_midnight = end % 24h;
    EXPECT_TRUE(past_midnight <= slack + 1s || past_midnight >= 24h - slack - 1s) << past_midnight.count();
  }
}

TEST(KeyedLimiter, what_options_are_refused_and_what_they_say) {
  struct Row {
    Quota quota;
    KeyedLimiter::Options options;
    std::string error;
  };
  const Quota far_apart = Quota::make({1, 60'000 * 24h}).value();
  for (const Row& row : std::vector<Row>{
           {Quota::per_second(10).with_burst(20),
            {.algorithm = Algorithm::fixed_window},
            "burst: 20 does not apply to fixed_window, which admits the count (10); only gcra has a burst"},
           {Quota::per_day(4'294'967'296),
            {.algorithm = Algorithm::sliding_window_counter},
            "count: 4294967296 is above the maximum for sliding_window_counter (4294967295)"},
           {far_apart,
            {.algorithm = Algorithm::sliding_window_counter},
            "period: 60000d is above the maximum for sliding_window_counter "
            "(53375d23h53m38.427387903s)"},
           {Quota::per_day(10'000),
            {.memory = 1_MiB, .algorithm = Algorithm::sliding_window_log},
            "memory: 1048576 bytes is below the minimum for logs of 10000 admissions (2560640)"},
           {Quota::per_day(10'000),
            {.memory = 1000, .algorithm = Algorithm::fixed_window},
            "memory: 1000 bytes is below the minimum (1048576)"},
       }) {
    try {
      KeyedLimiter limiter(row.quota, row.options);
      FAIL() << row.error;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), row.error);
    }
  }
  KeyedLimiter just_enough(Quota::per_day(10'000),
                           {.memory = 2'560'640, .algorithm = Algorithm::sliding_window_log});
  EXPECT_EQ(just_enough.capacity(), 16U);
}

}  // namespace
}  // namespace weir::store
