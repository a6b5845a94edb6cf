#include "store/key_ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "core/rule.hpp"

namespace weir::inline v0_1::store {
namespace {

using core::Chance;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using Time = std::int64_t;

core::Rule rule(Time interval, Time burst) {
  return core::Rule{Quota::of({1, nanoseconds{interval}}, burst)};
}

// A key that is asked at random, and a referee that knows what acted, when, and what it cost in the end.
class AskedKey {
 public:
  AskedKey(std::uint64_t seed, bool numbers_change)
      : chance_(seed),
        numbers_change_(numbers_change),
        interval_(1 + chance_.up_to(2)),
        burst_(1 + chance_.up_to(4)) {
    slowest_ = fastest_ = interval_;
    most_ = burst_;
    ledger_ = KeyLedger({0, static_cast<std::uint64_t>(interval_)});
  }

  void step() {
    now_ += std::vector<Time>{0, 0, 0, 1, 1, 2, 3, 5}[static_cast<std::size_t>(chance_.up_to(7))];
    act();
    // A reading of the clock that lags now and then, and a key that is at rest.
    const nanoseconds now{now_};
    const nanoseconds read = now - nanoseconds{chance_.up_to(9) == 0 ? std::min<Time>(now_, 2) : 0};
    const core::Rule with = rule(interval_, burst_);
    const auto units = static_cast<std::uint64_t>(1 + chance_.up_to(burst_ - 1));
    switch (chance_.up_to(numbers_change_ ? 9 : 8)) {
      case 0:
      case 1:
        if (const core::Step step = ledger_.decide(with, read, Cost{units}); step.changes) {
          ledger_.charge(with, read, Cost{units});
          acts_.push_back({charged(read), units, now_});
        } else {
          tries_again(with, step, units, read);
        }
        break;
      case 2:
      case 3:
      case 4:
        reserve(with, read, units);
        break;
      case 5:
        if (!told_.empty()) {
          const std::size_t which = any(told_);
          ledger_.cancel(told_[which].own);
          told_.erase(told_.begin() + static_cast<std::ptrdiff_t>(which));
        }
        break;
      case 6:
        if (!held_.empty()) {
          const std::size_t which = any(held_);
          const Held held = held_[which];
          held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
          if (held.own.until <= now) break;
          const auto cost = static_cast<std::uint64_t>(chance_.up_to(static_cast<Time>(held.own.units)));
          charged(std::max(read, nanoseconds{held.own.place.at}));
          EXPECT_EQ(ledger_.settle(with, held.own, cost, read, 0s), 0U);
          acts_[held.act].units = cost;
        }
        break;
      case 7:
        if (chance_.up_to(2) == 0) {
          const nanoseconds length{1 + chance_.up_to(5)};
          charged(now);
          ledger_.charge(with, now, Pause{length});
          if (pauses_.empty() || now_ >= pauses_.back().end) {
            pauses_.push_back({now_, now_ + length.count()});
          } else {
            pauses_.back().end = std::max(pauses_.back().end, now_ + length.count());
          }
          pauses_.back().latest = now_;
        }
        break;
      case 8:
        EXPECT_EQ(ledger_.decide(with, now, Cost{0}).verdict, Verdict::allowed);
        break;
      default:
        if (chance_.up_to(2) != 0) break;
        interval_ = 1 + chance_.up_to(2);
        burst_ = 1 + chance_.up_to(4);
        slowest_ = std::max(slowest_, interval_);
        fastest_ = std::min(fastest_, interval_);
        most_ = std::max(most_, burst_);
        break;
    }
  }

  // Empty: nothing.
  std::string broken() {
    for (; !told_.empty(); ++now_) act();
    std::sort(acts_.begin(), acts_.end(), [](const Act& a, const Act& b) { return a.at < b.at; });
    for (std::size_t first = 0; first < acts_.size(); ++first) {
      std::uint64_t units = 0;
      for (std::size_t last = first; last < acts_.size(); ++last) {
        units += acts_[last].units;
        const Time span = acts_[last].at - acts_[first].at;
        if (static_cast<Time>(units) > most_ + span / fastest_)
          return std::to_string(units) + " units in " + std::to_string(span) + " from " +
                 std::to_string(acts_[first].at);
      }
    }
    for (const Span& pause : pauses_) {
      for (const Act& act : acts_) {
        if (act.units != 0 && act.at > pause.from && act.at < pause.end && act.at > pause.latest)
          return "acts in a pause at " + std::to_string(act.at);
      }
    }
    if (numbers_change_ || pauses_.empty()) return {};
    std::uint64_t units = 0;
    for (const Act& act : acts_) {
      if (act.made <= pauses_.back().latest || act.at < pauses_.back().end) continue;
      units += act.units;
      if (static_cast<Time>(units) > 1 + (act.at - pauses_.back().end) / interval_)
        return "passes the pace after a pause at " + std::to_string(act.at);
    }
    return {};
  }

 private:
  struct Act {
    Time at;
    std::uint64_t units;
    Time made;
  };
  struct Told {
    KeyLedger::Own own;
    Time made;
    bool holds;
  };
  struct Held {
    KeyLedger::Own own;
    std::size_t act;
  };
  struct Span {
    Time from, end, latest = 0;
  };

  template <class All>
  std::size_t any(const All& all) {
    return static_cast<std::size_t>(chance_.up_to(static_cast<Time>(all.size()) - 1));
  }
  // By such a reading of the clock, or by a later one that came before.
  Time charged(nanoseconds read) { return latest_ = std::max(latest_, read.count()); }
  // Those whose moment has come ask whether they may.
  void act() {
    std::sort(told_.begin(), told_.end(),
              [](const Told& a, const Told& b) { return a.own.place < b.own.place; });
    while (!told_.empty() && told_.front().own.place.at <= now_) {
      const Told first = told_.front();
      told_.erase(told_.begin());
      if (!ledger_.may_act(first.own)) {
        ledger_.cancel(first.own);
        continue;
      }
      acts_.push_back({first.own.place.at, first.own.units, first.made});
      if (first.holds) held_.push_back({first.own, acts_.size() - 1});
    }
  }
  void reserve(const core::Rule& with, nanoseconds now, std::uint64_t units) {
    const core::Moment moment = ledger_.moment(with, now, Cost{units}, nanoseconds{chance_.up_to(30)});
    if (!moment.granted) return;
    const nanoseconds at = now + moment.wait;
    EXPECT_GE(moment.wait, 0s);
    charged(now);
    const bool holds = chance_.up_to(1) == 0;
    told_.push_back(
        {ledger_.reserve(with, now, at, units, at + nanoseconds{holds ? 1 + chance_.up_to(20) : 0}), now_,
         holds});
    act();
  }
  // What is denied passes after the time that it is told, if nobody else comes, and not before.
  void tries_again(const core::Rule& with, const core::Step& step, std::uint64_t units, nanoseconds now) {
    if (step.verdict != Verdict::denied) return;
    const nanoseconds then = now + nanoseconds{static_cast<Time>(step.retry_after)};
    EXPECT_TRUE(ledger_.decide(with, then, Cost{units}).changes);
    if (then - nanoseconds{1} > now && !numbers_change_) {
      EXPECT_FALSE(ledger_.decide(with, then - nanoseconds{1}, Cost{units}).changes);
    }
  }

  Chance chance_;
  bool numbers_change_;
  Time interval_, burst_;
  Time slowest_ = 0, fastest_ = 0, most_ = 0;
  Time now_ = 0;
  Time latest_ = 0;
  KeyLedger ledger_{{0, 1}};
  std::vector<Act> acts_;
  std::vector<Told> told_;
  std::vector<Held> held_;
  std::vector<Span> pauses_;
};

TEST(KeyLedger, lets_at_most_burst_and_span_over_t_act) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    AskedKey world(seed, seed % 4 == 3);
    for (int step = 0; step < 30; ++step) world.step();
    ASSERT_EQ(world.broken(), "") << "world " << seed;
  }
}

TEST(KeyLedger, decides_as_one_number_where_nothing_is_open) {
  Chance chance;
  for (int world = 0; world < 2'000; ++world) {
    const core::Rule with = rule(1 + chance.up_to(3), 1 + chance.up_to(4));
    core::TwoWords state{0, static_cast<std::uint64_t>(with.quota.emission_interval().count())};
    KeyLedger ledger(state);
    nanoseconds now{0};
    for (int step = 0; step < 20; ++step) {
      now += nanoseconds{chance.up_to(4)};
      const Cost cost{static_cast<std::uint64_t>(chance.up_to(5))};
      const core::Step expected = core::decide(with, state, now, cost);
      const core::Step step_of = ledger.decide(with, now, cost);
      ASSERT_EQ(step_of.decision(), expected.decision());
      if (!expected.changes) continue;
      state = expected.next;
      ledger.charge(with, now, cost);
    }
    ASSERT_TRUE(ledger.is_idle(with, now));
    ASSERT_EQ(core::ahead_of(ledger.state().until, now), core::ahead_of(state.until, now));
  }
}

class OneKey : public testing::Test {
 protected:
  std::int64_t left(nanoseconds now) {
    return static_cast<std::int64_t>(ledger_.decide(rule_, now, Cost{0}).remaining);
  }
  KeyLedger::Own hold(nanoseconds now, std::uint64_t units, nanoseconds hold = 1h) {
    const core::Moment moment = ledger_.moment(rule_, now, Cost{units}, 1h);
    EXPECT_TRUE(moment.granted);
    const nanoseconds at = now + moment.wait;
    return ledger_.reserve(rule_, now, at, units, at + hold);
  }
  void check(nanoseconds now, std::uint64_t units) {
    EXPECT_TRUE(ledger_.decide(rule_, now, Cost{units}).changes);
    ledger_.charge(rule_, now, Cost{units});
  }
  core::Rule rule_{Quota::per_second(1).with_burst(10)};
  KeyLedger ledger_{{0, 1'000'000'000}};
};

TEST_F(OneKey, a_settlement_changes_what_is_owed_in_its_place) {
  const auto first = hold(0s, 10);
  check(5s, 5);
  EXPECT_EQ(left(5s), 0);
  // Had it cost nothing, the check alone would be owed.
  EXPECT_EQ(ledger_.settle(rule_, first, 0, 5s, 24h), 0U);
  EXPECT_EQ(left(5s), 5);
}

TEST_F(OneKey, a_settlement_at_more_is_owed_up_to_the_overdraft) {
  const auto first = hold(0s, 5);
  EXPECT_EQ(ledger_.settle(rule_, first, 100, 2s, 20s), 100U - 32U);
  EXPECT_EQ(ledger_.decide(rule_, 2s, Cost{1}).retry_after, 21'000'000'000U);
  const auto second = hold(100s, 1);
  EXPECT_EQ(ledger_.settle(rule_, second, ~std::uint64_t{0}, 100s, 0s), ~std::uint64_t{0} - 10);
}

TEST_F(OneKey, a_check_passes_before_one_that_acts_much_later) {
  check(0s, 10);
  const auto far = hold(0s, 1);
  EXPECT_EQ(far.place.at, 1'000'000'000);
  const auto farther = hold(0s, 10);
  EXPECT_EQ(farther.place.at, 11'000'000'000);
  // Nobody fits before it, as it takes all; once it has gone all that has drained is there.
  EXPECT_EQ(left(4s), 0);
  ledger_.cancel(farther);
  EXPECT_EQ(left(4s), 3);
}

TEST_F(OneKey, a_pause_is_a_time_and_no_debt) {
  check(0s, 4);
  const core::Overdrawn told = ledger_.charge(rule_, 0s, Pause{30s});
  EXPECT_EQ(told.wait, 30s);
  EXPECT_EQ(told.reset_after, 39s);
  EXPECT_EQ(told.overdraft, 0U);
  EXPECT_EQ(left(29s), 0);
  EXPECT_EQ(left(30s), 1);
  EXPECT_EQ(left(32s), 3);
  EXPECT_TRUE(ledger_.is_idle(rule_, 39s));
  EXPECT_EQ(left(39s), 10);
}

TEST_F(OneKey, a_pause_after_another_asks_for_itself_alone_whatever_is_open_before_both) {
  const auto held = hold(0s, 1);
  for (int second = 1; second < 100; ++second) check(1s * second, 1);
  ledger_.charge(rule_, 100s, Pause{1s});
  check(120s, 1);
  EXPECT_EQ(ledger_.charge(rule_, 130s, Pause{2s}).wait, 2s);
  EXPECT_EQ(left(132s), 1);
  EXPECT_TRUE(ledger_.is_open(held));
}

TEST_F(OneKey, a_pause_that_is_moved_over_a_told_moment_charges_no_less_than_nothing) {
  ledger_.charge(rule_, 0s, Pause{30s});
  EXPECT_EQ(hold(0s, 3).place.at, nanoseconds{32s}.count());
  EXPECT_EQ(ledger_.charge(rule_, 1s, Pause{31500ms}).charged, 0U);
}

TEST_F(OneKey, a_pause_stays_whatever_is_given_back) {
  const auto held = hold(0s, 10);
  const auto told = hold(0s, 2);
  ledger_.charge(rule_, 1s, Pause{30s});
  EXPECT_FALSE(ledger_.may_act(told));
  EXPECT_TRUE(ledger_.may_act(held));
  ledger_.cancel(told);
  ledger_.settle(rule_, held, 0, 1s, 24h);
  ledger_.charge(rule_, 2s, Outside{Outside::Form::refund, 10, 0s});
  const core::Rule other{Quota::per_second(100).with_burst(50)};
  EXPECT_EQ(ledger_.decide(other, 30s, Cost{0}).remaining, 0U);
  EXPECT_EQ(ledger_.decide(other, 31s, Cost{0}).remaining, 1U);
}

TEST_F(OneKey, a_refund_leaves_what_holds_depend_on_and_what_is_asked_for) {
  check(0s, 3);
  const auto held = hold(0s, 2);
  check(0s, 1);
  const Outside two{Outside::Form::refund, 5, 0s};
  EXPECT_EQ(ledger_.charge(rule_, 0s, two).charged, 3U) << "what lies before the hold";
  ledger_.settle(rule_, held, 2, 0s, 24h);
  EXPECT_EQ(ledger_.charge(rule_, 0s, two).charged, 3U);
  EXPECT_EQ(ledger_.charge(rule_, 0s, Remaining{6}).charged, 4U);
  EXPECT_EQ(ledger_.charge(rule_, 1s, two).charged, 0U);
  EXPECT_FALSE(ledger_.is_idle(rule_, 3s));
  EXPECT_TRUE(ledger_.is_idle(rule_, 4s));
}

TEST_F(OneKey, holds_open_under_other_numbers_give_nothing_back_and_may_cost_more) {
  const auto held = hold(0s, 6);
  const auto told = hold(0s, 9);
  EXPECT_EQ(told.place.at, 5'000'000'000);
  const core::Rule fast{Quota::per_second(10).with_burst(20)};
  EXPECT_EQ(ledger_.decide(fast, 1s, Cost{0}).remaining, 15U) << "five are owed, and nine are promised later";
  ledger_.charge(fast, 1s, Cost{1});
  EXPECT_EQ(ledger_.decide(fast, 1s, Cost{0}).remaining, 14U);
  EXPECT_EQ(ledger_.settle(fast, held, 0, 1s, 24h), 0U);
  EXPECT_EQ(ledger_.decide(fast, 1s, Cost{0}).remaining, 14U);
  EXPECT_TRUE(ledger_.may_act(told));
}

}  // namespace
}  // namespace weir::store
