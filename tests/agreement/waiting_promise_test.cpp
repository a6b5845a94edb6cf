// What waiting promises (docs/algorithm.md, "Waiting"), by brute force over all spans, through the embedded
// store: several limits, plain checks beside reservations, cancels, settlements, resets, classes that leave a
// part free, and numbers that change. WEIR_LONG=1 takes a million traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agreement/reserving.hpp"
#include "agreement/spans.hpp"
#include "agreement/subject.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::waiting_promise_test {
namespace {

using std::chrono::nanoseconds;

// What acts, as granted by one limit under the same numbers; costs in nanoseconds of T.
struct Account {
  std::int64_t burst;
  std::int64_t interval;
  std::int64_t kept_free;  // by the lower class, in nanoseconds of T
  struct Act {
    std::int64_t at;
    std::int64_t charged;
    int reservation;  // -1: none
    bool lower;       // of the lower class
  };
  std::vector<Act> acts;

  // All that acts, and what acts of the lower class alone, which has less of a burst.
  bool is_kept() const { return is_kept(false) && (kept_free == 0 || is_kept(true)); }
  bool is_kept(bool lower) const {
    std::vector<Admitted> admitted;
    for (const Act& each : acts)
      if (each.lower || !lower) admitted.push_back({each.at, each.charged});
    std::sort(admitted.begin(), admitted.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    return kept(admitted, burst * interval - (lower ? kept_free : 0), 1);
  }
};

// Some limits, and all that happens to them in one trace.
class World {
 public:
  World(Reserving& store, core::Chance& chance, int trace, std::int64_t now)
      : store_(store), chance_(chance), key_(std::to_string(trace)), now_(now) {
    limits_.assign(static_cast<std::size_t>(1 + chance.up_to(2)), numbers(1, 1, 0));
    lower_ = limits_;
    accounts_.resize(limits_.size());
    for (std::size_t i = 0; i < limits_.size(); ++i) change(i);
    most_wait_ = chance.up_to(200);
    most_ticks_ = 1 + chance.up_to(20);
  }

  void step() {
    const std::int64_t what = chance_.up_to(19);
    if (what < 5) {
      now_ += chance_.up_to(most_ticks_);
    } else if (what < 11) {
      reserve();
    } else if (what < 13) {
      check();
    } else if (what < 16) {
      cancel();
    } else if (what < 18) {
      settle();
    } else if (what == 18) {
      if (chance_.up_to(3) == 0) reset();
    } else if (chance_.up_to(3) == 0) {
      change(any());
    }
  }
  bool is_kept() const {
    for (const auto& of_limit : accounts_)
      for (const Account& each : of_limit)
        if (!each.is_kept()) return false;
    return true;
  }
  std::int64_t now() const { return now_; }
  std::string said;
  int waited = 0;  // for several limits at once

 private:
  struct Reserved {
    std::string id;
    std::int64_t moment;
    bool held;
    std::vector<std::size_t> limits;
    std::vector<std::uint64_t> costs;
  };

  std::size_t any() {
    return static_cast<std::size_t>(chance_.up_to(static_cast<std::int64_t>(limits_.size()) - 1));
  }
  void say(const std::string& what) { said += std::to_string(now_) + ": " + what + "\n"; }

  static store::Limit numbers(std::int64_t burst, std::int64_t interval, std::size_t i) {
    return {.rule = {Quota::make({1, nanoseconds{interval}}, burst).value()}, .id = 1 + i};
  }
  // New numbers, and with them a new account: those of the old keep the old promise.
  void change(std::size_t i) {
    const std::int64_t burst = 1 + chance_.up_to(5), interval = 1 + chance_.up_to(20);
    const std::int64_t kept_free = chance_.up_to(2) == 0 ? 0 : chance_.up_to(burst * interval);
    lower_[i] = limits_[i] = numbers(burst, interval, i);
    lower_[i].rule.kept = nanoseconds{kept_free};
    accounts_[i].push_back({burst, interval, kept_free, {}});
    say("limit " + std::to_string(i) + ": burst " + std::to_string(burst) + ", T " +
        std::to_string(interval) + ", the lower class leaves " + std::to_string(kept_free));
  }

  std::vector<std::size_t> some() {
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < limits_.size(); ++i)
      if (chance_.up_to(2) != 0) which.push_back(i);
    if (which.empty()) which.push_back(any());
    return which;
  }
  std::vector<Ask> asks(const std::vector<std::size_t>& which) {
    std::vector<Ask> asks;
    const auto& limits = chance_.up_to(2) == 0 ? lower_ : limits_;
    for (const std::size_t i : which) {
      const auto burst = limits_[i].rule.quota.burst();
      asks.push_back({&limits[i], key_, 1 + chance_() % static_cast<std::uint64_t>(burst)});
      said += " " + std::to_string(asks.back().cost) + " of " + std::to_string(i);
    }
    return asks;
  }
  void act(const std::vector<std::size_t>& which, const std::vector<Ask>& asks, std::int64_t at,
           int reservation) {
    for (std::size_t i = 0; i < which.size(); ++i) {
      Account& account = accounts_[which[i]].back();
      account.acts.push_back(
          {at, static_cast<std::int64_t>(asks[i].cost) * account.interval, reservation, is_lower(asks[i])});
    }
  }

  static bool is_lower(const Ask& ask) { return ask.limit->rule.kept.count() != 0; }

  void check() {
    say("check");
    const auto which = some();
    const auto asked = asks(which);
    const Reserving::Told told = store_.check(asked, now_);
    if (told.granted) act(which, asked, now_, -1);
  }
  void reserve() {
    say("reserve");
    const auto which = some();
    const auto asked = asks(which);
    const std::int64_t max_wait = chance_.up_to(most_wait_),
                       hold = chance_.up_to(2) == 0 ? chance_.up_to(100) : 0;
    const Reserving::Told told = store_.reserve(asked, now_, max_wait, hold);
    if (!told.granted) return;
    ASSERT_LE(told.wait, std::any_of(asked.begin(), asked.end(), is_lower) ? 0 : max_wait);
    waited += told.wait > 0 && which.size() > 1 ? 1 : 0;
    said += ": wait " + std::to_string(told.wait) + "\n";
    const int number = told.id.empty() ? -1 : static_cast<int>(reserved_.size());
    act(which, asked, now_ + told.wait, number);
    if (told.id.empty()) return;
    reserved_.push_back({told.id, now_ + told.wait, hold > 0, which, {}});
    for (const Ask& each : asked) reserved_.back().costs.push_back(each.cost);
  }
  void cancel() {
    if (reserved_.empty()) return;
    const auto number =
        static_cast<std::size_t>(chance_.up_to(static_cast<std::int64_t>(reserved_.size()) - 1));
    const std::uint64_t back = store_.cancel(reserved_[number].id, now_);
    say("cancel " + std::to_string(number) + ": " + std::to_string(back));
    if (reserved_[number].moment <= now_) {
      ASSERT_EQ(back, 0U);
    } else if (back != 0) {
      for (auto& of_limit : accounts_)
        for (Account& each : of_limit)
          std::erase_if(each.acts,
                        [&](const auto& act) { return act.reservation == static_cast<int>(number); });
    }
  }
  void settle() {
    if (reserved_.empty()) return;
    const auto number =
        static_cast<std::size_t>(chance_.up_to(static_cast<std::int64_t>(reserved_.size()) - 1));
    const auto actual = static_cast<std::uint64_t>(chance_.up_to(3));
    const std::int64_t wait = store_.settle(reserved_[number].id, actual, now_);
    say("settle " + std::to_string(number) + " " + std::to_string(actual) + ": " + std::to_string(wait));
    if (wait < 0 || !reserved_[number].held) return;
    // It has acted, or will, with what it turned out to cost; what it cost more nobody was asked for.
    for (auto& of_limit : accounts_)
      for (Account& each : of_limit)
        for (auto& act : each.acts)
          if (act.reservation == static_cast<int>(number))
            act.charged = std::min(act.charged, static_cast<std::int64_t>(actual) * each.interval);
  }
  // What was granted before it is forgotten, and with it what it promised.
  void reset() {
    const std::size_t i = any();
    say("reset " + std::to_string(i));
    store_.reset({&limits_[i], key_}, now_);
    for (Account& each : accounts_[i]) each.acts.clear();
  }

  Reserving& store_;
  core::Chance& chance_;
  std::string key_;
  std::int64_t now_;
  std::int64_t most_wait_, most_ticks_;
  std::vector<store::Limit> limits_;
  std::vector<store::Limit> lower_;             // the same for a class that leaves a part free
  std::vector<std::vector<Account>> accounts_;  // for each limit, one for each change of its numbers
  std::vector<Reserved> reserved_;
};

TEST(WaitingPromise, at_the_moments_of_acting_no_span_holds_more_whatever_happens) {
  core::Chance chance;
  Reserving store;
  std::int64_t now = 1'000;
  int waited = 0;
  const int traces = core::Chance::is_long() ? 1'000'000 : 10'000;
  for (int trace = 0; trace < traces; ++trace) {
    World world(store, chance, trace, now);
    for (int step = 0; step < 60; ++step) {
      world.step();
      ASSERT_FALSE(testing::Test::HasFailure()) << world.said;
    }
    waited += world.waited;
    ASSERT_TRUE(world.is_kept()) << "trace " << trace << "\n" << world.said;
    now = world.now() + 1'000;
  }
  EXPECT_GT(waited, traces / 10);
}

}  // namespace
}  // namespace weir::waiting_promise_test
