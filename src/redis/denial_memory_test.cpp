// What is answered without asking the store has to be what the store would have answered, or less; and of
// what this process has asked itself nothing may be missing from it.
#include "redis/denial_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>

#include "core/overdraft.hpp"
#include "redis/one_key_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr std::uint64_t kKey = 7;

Quota quota_of(std::int64_t interval, std::int64_t burst) {
  return Quota::make({1, nanoseconds{interval}}, burst).value();
}

// Asks the store, whose answer takes some time, and tells the memory.
Decision ask(DenialMemory& memory, Store& store, const Quota& quota, Cost cost, nanoseconds asked,
             nanoseconds decided, nanoseconds answered) {
  const DenialMemory::Stamp stamp = memory.ask(kKey, core::Rule{quota}, cost, nullptr);
  const Decision decision = store.ask(quota, decided, cost.units);
  if (decision.verdict == Verdict::denied) {
    memory.denied(kKey, core::Rule{quota}, cost, decision, asked, answered, stamp);
  } else {
    memory.charged(kKey);
  }
  return decision;
}

TEST(DenialMemory, never_denies_what_the_store_would_allow_and_asks_for_little_else) {
  std::mt19937_64 random(seed());
  int remembered = 0;
  for (int trace = 0; trace < 500; ++trace) {
    const Quota quota =
        quota_of(static_cast<std::int64_t>(1 + random() % 1000), static_cast<std::int64_t>(1 + random() % 6));
    const nanoseconds offset{static_cast<std::int64_t>(random() % 1'000'000)};
    Store store;
    DenialMemory memory;
    nanoseconds now{1000};
    for (int step = 0; step < 300; ++step) {
      now += nanoseconds{static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 3000 : 100))};
      const Cost cost{random() % 4};
      if (random() % 3 == 0) {
        store.ask(quota, now + offset, 1 + random() % 3);  // another process
        continue;
      }
      if (const auto denial = memory.recall(kKey, core::Rule{quota}, cost, now)) {
        ++remembered;
        ASSERT_EQ(denial->verdict, Verdict::denied);
        const core::gcra::Step truth = core::gcra::decide(quota, store.state, now + offset, cost);
        ASSERT_EQ(truth.verdict, Verdict::denied);
        continue;
      }
      if (cost.units == 0) continue;
      // On its way there and back.
      const nanoseconds there{static_cast<std::int64_t>(random() % 200)};
      const nanoseconds back{static_cast<std::int64_t>(random() % 200)};
      ask(memory, store, quota, cost, now, now + there + offset, now + there + back);
      now += there + back;
    }
  }
  EXPECT_GT(remembered, 5'000);
}

// By windows, which any process may fill and none empties: checks, and charges that count what they deny.
TEST(DenialMemory, by_windows_it_never_denies_what_the_store_would_allow) {
  std::mt19937_64 random(seed());
  int remembered = 0;
  for (int trace = 0; trace < 500; ++trace) {
    const nanoseconds period{static_cast<std::int64_t>(60 * (8 + random() % 40))};
    const core::Rule rule{Quota::make({static_cast<std::int64_t>(1 + random() % 6), period}).value(),
                          trace % 2 == 0 ? Algorithm::fixed_window : Algorithm::fixed_window_clock};
    const nanoseconds offset{static_cast<std::int64_t>(random() % 1'000'000)};
    const bool counts_denied = random() % 2 == 0;
    const bool lasts = random() % 2 == 0;
    core::TwoWords state;
    const auto decide = [&](nanoseconds at, Cost cost) {
      const core::Step step = core::decide(rule, state, at + offset, cost);
      if (step.changes) state = step.next;
      if (step.verdict != Verdict::allowed && counts_denied)
        state = core::overdraw(rule, state, at + offset, cost).next;
      return core::look(core::decide(rule, state, at + offset, Cost{0}).decision(), step.decision());
    };
    DenialMemory memory;
    nanoseconds now{1000};
    for (int step = 0; step < 300; ++step) {
      now += nanoseconds{static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 3000 : 100))};
      const Cost cost{random() %
                      std::min<std::uint64_t>(4, 1 + static_cast<std::uint64_t>(rule.quota.burst()))};
      if (random() % 3 == 0) {
        decide(now, Cost{1 + random() % 3});  // another process
        continue;
      }
      if (const auto denial = memory.recall(kKey, rule, cost, now)) {
        ++remembered;
        const Decision truth = core::decide(rule, state, now + offset, cost).decision();
        ASSERT_EQ(truth.verdict, Verdict::denied);
        ASSERT_GE(denial->retry_after, truth.retry_after);
        ASSERT_LE(truth.remaining, denial->remaining);
        continue;
      }
      if (cost.units == 0) continue;
      const nanoseconds there{static_cast<std::int64_t>(random() % 200)};
      const nanoseconds back{static_cast<std::int64_t>(random() % 200)};
      const DenialMemory::Stamp stamp = memory.ask(kKey, rule, cost, nullptr);
      const Decision decision = decide(now + there, cost);
      if (decision.verdict == Verdict::denied)
        memory.denied(kKey, rule, cost, decision, now, now + there + back, stamp,
                      lasts ? DenialMemory::Holds::to_the_end : DenialMemory::Holds::by_what_is_owed);
      else
        memory.charged(kKey);
      now += there + back;
    }
  }
  EXPECT_GT(remembered, 5'000);
}

TEST(DenialMemory, only_a_denial_that_lasts_is_recalled_to_its_windows_end) {
  for (const bool lasts : {false, true}) {
    const core::Rule rule{Quota::make({5, 1h}).value(), Algorithm::fixed_window};
    DenialMemory memory(1);  // one slot
    const DenialMemory::Stamp stamp = memory.ask(kKey, rule, Cost{3}, nullptr);
    const Decision denial{Verdict::denied, 5, 2, 20min, 20min};
    memory.denied(kKey, rule, Cost{3}, denial, 10s, 11s, stamp,
                  lasts ? DenialMemory::Holds::to_the_end : DenialMemory::Holds::by_what_is_owed);
    const auto recalled = [&](nanoseconds now, std::uint64_t cost) {
      return memory.recall(kKey, rule, Cost{cost}, now).has_value();
    };
    EXPECT_TRUE(recalled(11s - 1ns, 3));
    EXPECT_FALSE(recalled(11s - 1ns, 2)) << "there is room for it";
    EXPECT_EQ(recalled(11s, 3), lasts);
    EXPECT_EQ(recalled(20min + 10s - 1ns, 5), lasts);
    EXPECT_FALSE(recalled(20min + 10s, 5));
    EXPECT_EQ(memory.recall(kKey, rule, Cost{3}, 10min + 11s).has_value(), lasts);
    if (lasts) {
      EXPECT_EQ(memory.recall(kKey, rule, Cost{3}, 10min + 11s)->reset_after, 10min);
    }
    memory.ask(kKey + 2, rule, Cost{3}, nullptr);
    EXPECT_EQ(recalled(11s, 3), lasts) << "another key of its slot, and nothing of it to be remembered";
  }
}

// 60 ms are owed after all, some of them by one that is told a later moment.
TEST(DenialMemory, before_a_told_moment_only_what_wants_as_much_is_denied) {
  const Quota quota = quota_of(1'000'000, 100);
  core::Rule rule{quota};
  for (const std::uint64_t beside : {50U, 49U, 0U}) {
    Store store{{60'010'000, 1'000'000}};
    DenialMemory memory;
    const DenialMemory::Stamp stamp = memory.ask(kKey, rule, Cost{50}, nullptr);
    if (beside != 0) memory.ask(kKey, rule, Cost{beside}, nullptr);
    memory.denied(kKey, rule, Cost{50}, store.ask(quota, 10'000ns, 50), 10'000ns, 10'000ns, stamp,
                  DenialMemory::Holds::for_as_much);
    const auto recalled = [&](std::uint64_t cost, std::int64_t kept) {
      rule.kept = nanoseconds{kept};
      return memory.recall(kKey, rule, Cost{cost}, 10'000ns).has_value();
    };
    EXPECT_EQ(recalled(50, 0), beside != 49) << "one that wants less is under way, and may be charged";
    EXPECT_EQ(recalled(51, 0), beside != 49);
    EXPECT_FALSE(recalled(49, 0));
    EXPECT_EQ(recalled(49, 1'000'000), beside != 49) << "a class that leaves that unit to others";
    rule.kept = nanoseconds{0};
  }
}

TEST(DenialMemory, its_retry_after_is_enough) {
  const Quota quota = quota_of(1000, 2);
  Store store;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(store.ask(quota, 10'050ns, 1).allowed());
  DenialMemory memory;
  ASSERT_EQ(ask(memory, store, quota, {}, 10'000ns, 10'100ns, 10'200ns).retry_after, 950ns);
  const auto recalled = memory.recall(kKey, core::Rule{quota}, {}, 10'500ns);
  ASSERT_TRUE(recalled);
  EXPECT_EQ(recalled->retry_after, 650ns);
  EXPECT_TRUE(store.ask(quota, 10'500ns + *recalled->retry_after, 1).allowed());
  // The first moment at which it may have ended: the store is asked.
  EXPECT_TRUE(memory.recall(kKey, core::Rule{quota}, {}, 10'949ns));
  EXPECT_FALSE(memory.recall(kKey, core::Rule{quota}, {}, 10'950ns));
  // A thread that has read the clock before the question went out waits from its reading.
  EXPECT_EQ(memory.recall(kKey, core::Rule{quota}, {}, 9'000ns)->retry_after, 2150ns);
}

// An event loop that has read the clock before the answer came is told how long to wait from its own reading.
TEST(DenialMemory, a_reading_of_the_clock_from_before_the_answer_waits_for_longer) {
  const Quota quota = quota_of(1000, 4);
  Store store;
  DenialMemory memory;
  EXPECT_EQ(ask(memory, store, quota, Cost{4}, 10'000ns, 10'000ns, 10'000ns).verdict, Verdict::allowed);
  EXPECT_EQ(ask(memory, store, quota, Cost{1}, 10'100ns, 10'100ns, 10'100ns).retry_after, 900ns);
  for (const nanoseconds now : {10'020ns, 10'100ns, 10'150ns}) {
    const auto denial = memory.recall(kKey, core::Rule{quota}, Cost{1}, now);
    ASSERT_TRUE(denial);
    EXPECT_EQ(now + denial->retry_after.value_or(0ns), 11'000ns);
    EXPECT_EQ(now + denial->reset_after, 14'000ns);
  }
}

TEST(DenialMemory, a_denial_is_for_its_key_and_quota_and_not_for_a_look) {
  const Quota quota = quota_of(1000, 1);
  Store store;
  DenialMemory memory;
  for (int i = 0; i < 2; ++i) ask(memory, store, quota, {}, 10'000ns, 10'000ns, 10'000ns);
  EXPECT_TRUE(memory.recall(kKey, core::Rule{quota}, {}, 10'001ns));
  EXPECT_FALSE(memory.recall(9, core::Rule{quota}, {}, 10'001ns));
  EXPECT_FALSE(memory.recall(kKey, core::Rule{quota}, Cost{0}, 10'001ns));
  EXPECT_FALSE(memory.recall(kKey, core::Rule{quota_of(999, 1)}, {}, 10'001ns));
  EXPECT_FALSE(memory.recall(kKey, core::Rule{quota_of(1000, 2)}, {}, 10'001ns));
}

// However far in the future the store's tat lies: the clock that it is on may have stepped.
TEST(DenialMemory, a_denial_lasts_a_second_and_no_longer_than_the_burst) {
  struct Row {
    const char* what;
    nanoseconds interval;
    std::int64_t burst;
    nanoseconds ahead;
    nanoseconds lasts;
  };
  for (const Row& row : {Row{"its retry_after", 100ms, 5, 440ms, 40ms},
                         {"a long wait", 1000s, 2, 1900s, 1s},
                         {"a step", 1s, 5, 3600s, 1s},
                         {"a step, of a short burst", 10ms, 5, 3600s, 50ms}}) {
    const Quota quota = quota_of(row.interval.count(), row.burst);
    Store store{{static_cast<std::uint64_t>((10s + row.ahead).count()),
                 static_cast<std::uint64_t>(row.interval.count())}};
    DenialMemory memory;
    ASSERT_EQ(ask(memory, store, quota, {}, 10s, 10s, 10s).verdict, Verdict::denied) << row.what;
    const auto recalled = memory.recall(kKey, core::Rule{quota}, {}, 10s + row.lasts - 1ns);
    ASSERT_TRUE(recalled) << row.what;
    EXPECT_EQ(recalled->reset_after, row.ahead - row.lasts + 1ns) << row.what;
    EXPECT_FALSE(memory.recall(kKey, core::Rule{quota}, {}, 10s + row.lasts)) << row.what;
  }
}

// In any order of what leaves and what is answered: a denial is recalled when nothing under way may change
// what it says.
TEST(DenialMemory, a_denial_is_not_recalled_when_something_may_have_changed_it) {
  const Quota quota = quota_of(1'000'000, 100);
  const Quota other = quota_of(1'000'000, 200);
  const auto denial = [&] {  // of 50, when 60 are owed
    return core::gcra::decide(quota, {60'000'000 + 10'000, 1'000'000}, 10'000ns, Cost{50}).decision();
  };
  struct Row {
    const char* what;
    std::function<void(DenialMemory&)> before, meanwhile, after;
    bool recalled;
  };
  const auto nothing = [](DenialMemory&) {};
  const auto asks = [&](std::uint64_t cost, const void* asker = nullptr) {
    return [&, cost, asker](DenialMemory& memory) { memory.ask(kKey, core::Rule{quota}, Cost{cost}, asker); };
  };
  const auto charged = [](DenialMemory& memory) { memory.charged(kKey); };
  const auto forgets = [](DenialMemory& memory) { memory.forget(kKey); };
  const auto asks_other = [&](DenialMemory& memory) {
    memory.ask(kKey, core::Rule{other}, Cost{50}, nullptr);
  };
  for (const Row& row : {Row{"nothing else", nothing, nothing, nothing, true},
                         {"the same before it", asks(50), nothing, nothing, true},
                         {"the same after it", nothing, asks(50), nothing, true},
                         {"more after it", nothing, asks(51), nothing, true},
                         {"less, which is allowed, before it", asks(40), nothing, nothing, false},
                         {"less, which is allowed, after it", nothing, asks(40), nothing, false},
                         {"less, which is denied too", nothing, asks(41), nothing, true},
                         {"less, when it was known", nothing, nothing, asks(40), false},
                         {"another quota before it", asks_other, nothing, nothing, false},
                         {"another quota after it", nothing, asks_other, nothing, false},
                         {"another quota, when it was known", nothing, nothing, asks_other, false},
                         {"an allowed answer before it", asks(50), charged, nothing, true},
                         {"an allowed answer of another loop", asks(50, &quota), charged, nothing, false},
                         {"an allowed answer, when it was known", asks(50), nothing, charged, false},
                         {"an answer before it went out",
                          [&](DenialMemory& memory) {
                            asks(40)(memory);
                            charged(memory);
                          },
                          nothing, nothing, true},
                         {"a reset that leaves before it", forgets, nothing, nothing, true},
                         {"a reset meanwhile", nothing, forgets, nothing, false},
                         {"a reset, when it was known", nothing, nothing, forgets, false}}) {
    DenialMemory memory;
    row.before(memory);
    const DenialMemory::Stamp stamp = memory.ask(kKey, core::Rule{quota}, Cost{50}, nullptr);
    row.meanwhile(memory);
    memory.denied(kKey, core::Rule{quota}, Cost{50}, denial(), 10'000ns, 10'000ns, stamp);
    row.after(memory);
    const auto recalled = memory.recall(kKey, core::Rule{quota}, Cost{50}, 10'000ns);
    EXPECT_EQ(recalled.has_value(), row.recalled) << row.what;
    EXPECT_EQ(recalled.value_or(denial()), denial()) << row.what;
  }
}

// Once nothing is under way, what was asked for before is of no importance.
TEST(DenialMemory, a_smaller_check_that_has_been_answered_keeps_nothing_from_being_remembered) {
  const Quota quota = quota_of(1'000'000, 100);
  Store store{{60'010'000, 1'000'000}};
  DenialMemory memory;
  const DenialMemory::Stamp stamp = memory.ask(kKey, core::Rule{quota}, Cost{40}, nullptr);
  memory.ask(kKey, core::Rule{quota}, Cost{50}, nullptr);
  memory.charged(kKey);
  memory.denied(kKey, core::Rule{quota}, Cost{40}, store.ask(quota, 10'000ns, 50), 10'000ns, 10'000ns, stamp);
  EXPECT_FALSE(memory.recall(kKey, core::Rule{quota}, Cost{50}, 10'000ns));
  ask(memory, store, quota, Cost{50}, 10'000ns, 10'000ns, 10'000ns);
  EXPECT_TRUE(memory.recall(kKey, core::Rule{quota}, Cost{50}, 10'000ns));
}

// Of two event loops' denials the one that was asked for later is kept.
TEST(DenialMemory, an_older_denial_does_not_replace_a_newer_one) {
  const Quota quota = quota_of(1'000'000, 2);
  Store store{{2'010'000, 1'000'000}};
  DenialMemory memory;
  const DenialMemory::Stamp first = memory.ask(kKey, core::Rule{quota}, {}, nullptr);
  const DenialMemory::Stamp second = memory.ask(kKey, core::Rule{quota}, {}, nullptr);
  const Decision denial = store.ask(quota, 10'000ns, 1);
  memory.denied(kKey, core::Rule{quota}, {}, denial, 10'000ns, 10'000ns, second);
  memory.denied(kKey, core::Rule{quota}, {}, denial, 9'000ns, 11'000ns, first);
  EXPECT_EQ(memory.recall(kKey, core::Rule{quota}, {}, 10'000ns), denial);
  EXPECT_EQ(memory.recall(kKey, core::Rule{quota}, {}, 10'500ns)->reset_after, denial.reset_after - 500ns);
}

}  // namespace
}  // namespace weir::redis
