// Quotas that are changed while a limiter is in use, by brute force over all spans: among checks,
// reservations, cancels and settlements, by clocks that lag. What acts at once is together at most the
// greatest burst + W / the smallest T; where some wait for their moments, what was admitted by one quota
// keeps the promise of that one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "agreement/spans.hpp"
#include "core/chance_test.hpp"
#include "core/gcra.hpp"
#include "core/set_clock_test.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::set_quota_promise_test {
namespace {

using std::chrono::nanoseconds;

constexpr int kTraces = 2'000;
constexpr int kSteps = 100;

// What the forms of limiter have in common here.
class Changed {
 public:
  virtual ~Changed() = default;
  virtual Decision check(Cost cost) = 0;
  virtual Reservation reserve(ReserveOptions options, Cost cost) = 0;
  virtual void set_quota(const Quota& quota) = 0;
};

class Word final : public Changed {
 public:
  explicit Word(const Quota& quota) : limiter_(quota, kSetClock) {}
  Decision check(Cost cost) override {
    // Alone, and as one of several.
    return ++asked_ % 2 == 0 ? limiter_.check(cost) : check_all({{limiter_, cost}}).decision;
  }
  Reservation reserve(ReserveOptions options, Cost cost) override { return limiter_.reserve(options, cost); }
  void set_quota(const Quota& quota) override { limiter_.set_quota(quota); }

 private:
  Limiter limiter_;
  int asked_ = 0;
};

class Keyed final : public Changed {
 public:
  explicit Keyed(const Quota& quota) : limiter_(quota, store_) {}
  Decision check(Cost cost) override {
    return ++asked_ % 2 == 0 ? limiter_.check("k", cost) : store_.check_all({{limiter_, "k", cost}}).decision;
  }
  Reservation reserve(ReserveOptions options, Cost cost) override {
    return limiter_.reserve("k", options, cost);
  }
  void set_quota(const Quota& quota) override { limiter_.set_quota(quota); }

 private:
  LocalStore store_{LocalStore::Options{.memory = 1_MiB, .clock = &kSetClock}};
  KeyedLimiter limiter_;
  int asked_ = 0;
};

// The canary: it counts what was charged as if it had been charged by the quota of now.
class Forgetful final : public Changed {
 public:
  explicit Forgetful(const Quota& quota) : quota_(quota) {}
  Decision check(Cost cost) override {
    state_.interval = static_cast<std::uint64_t>(quota_.emission_interval().count());
    const core::gcra::Step step = core::gcra::decide(quota_, state_, kSetClock.now(), cost);
    if (step.changes) state_ = step.next;
    return step.decision();
  }
  Reservation reserve(ReserveOptions, Cost) override { return {}; }
  void set_quota(const Quota& quota) override { quota_ = quota; }

 private:
  Quota quota_;
  core::gcra::State state_;
};

// One trace, and what acted in it.
class Trace {
 public:
  // `waits`: reservations may wait, and then nobody's clock lags and what acts does so at a moment of its
  // own.
  Trace(core::Chance& chance, Changed& limiter, const std::vector<Quota>& quotas, bool waits, bool lags)
      : chance_(chance), limiter_(limiter), quotas_(quotas), waits_(waits), lags_(lags) {}
  ~Trace() { SetClock::time = nanoseconds::max(); }  // nothing is left to cancel

  void step() {
    SetClock::time = nanoseconds{now_};
    const std::int64_t what = chance_.up_to(15);
    const std::uint64_t cost = 1 + chance_() % 3;
    if (what < 5) {
      now_ += chance_.up_to(3 * quotas_[0].emission_interval().count());
    } else if (what < 6) {
      in_force_.push_back(quotas_[chance_() % quotas_.size()]);
      limiter_.set_quota(in_force_.back());
      say("set_quota " + std::to_string(in_force_.back().burst()) + " T " +
          std::to_string(in_force_.back().emission_interval().count()));
    } else if (what < 9) {
      check(cost);
    } else if (what < 12) {
      reserve(cost);
    } else if (!reserved_.empty()) {
      what == 12 ? cancel(chance_() % reserved_.size()) : settle(chance_() % reserved_.size());
    }
  }
  // What acts at once, by all quotas together.
  bool keeps_the_greatest() const {
    std::int64_t burst = 0, interval = 1'000;
    for (const Quota& each : quotas_) {
      burst = std::max(burst, each.burst());
      interval = std::min(interval, each.emission_interval().count());
    }
    return kept(acts([](const Act&) { return true; }), burst, interval);
  }
  // What each quota has admitted, from one change to the next.
  bool keeps_each() const {
    for (std::size_t i = 0; i < in_force_.size(); ++i) {
      const auto of_it = acts([i](const Act& act) { return act.quota == i; });
      if (!kept(of_it, in_force_[i].burst(), in_force_[i].emission_interval().count())) return false;
    }
    return true;
  }
  const std::string& said() const { return said_; }

 private:
  struct Act {
    std::int64_t at;
    std::uint64_t cost;
    std::size_t quota;  // the place in in_force_
    std::optional<std::size_t> reserved{};
  };
  template <class Which>
  std::vector<Admitted> acts(const Which& which) const {
    std::vector<Admitted> all;
    for (const Act& each : acts_)
      if (which(each)) all.push_back({each.at, static_cast<std::int64_t>(each.cost)});
    std::sort(all.begin(), all.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    return all;
  }

  void say(const std::string& what) { said_ += std::to_string(now_) + ": " + what + "\n"; }
  void read_late() {
    if (lags_) SetClock::time = nanoseconds{std::max<std::int64_t>(0, now_ - chance_.up_to(60))};
  }

  void check(std::uint64_t cost) {
    const bool allowed = limiter_.check(Cost{cost}).allowed();
    say("check " + std::to_string(cost) + (allowed ? " allowed" : " denied"));
    if (allowed) acts_.push_back({now_, cost, in_force_.size() - 1});
  }
  void reserve(std::uint64_t cost) {
    const bool holds = !waits_ || chance_.up_to(1) == 0;
    Reservation made = limiter_.reserve({.max_wait = nanoseconds{waits_ ? chance_.up_to(100) : 0},
                                         .hold = nanoseconds{holds ? 1 + chance_.up_to(150) : 0}},
                                        Cost{cost});
    say("reserve " + std::to_string(cost) +
        (made.granted() ? " at " + std::to_string(made.at().count()) : " denied"));
    if (!made.granted()) return;
    acts_.push_back({made.at().count(), cost, in_force_.size() - 1, reserved_.size()});
    reserved_.push_back(std::move(made));
  }
  void cancel(std::size_t which) {
    // Its owner acts by the true time, so it cancels only what that time has not reached.
    if (reserved_[which].at().count() <= now_) return;
    read_late();
    const std::uint64_t back = reserved_[which].cancel();
    say("cancel " + std::to_string(which) + " gives back " + std::to_string(back));
    std::erase_if(acts_, [&](const Act& each) { return each.reserved == which; });
  }
  void settle(std::size_t which) {
    const std::uint64_t actual = chance_() % 5;
    read_late();
    try {
      if (!reserved_[which].settle(actual)) return;
    } catch (const std::invalid_argument&) {
      return;  // it was granted without a hold, or costs more than may be settled
    }
    say("settle " + std::to_string(which) + " at " + std::to_string(actual));
    for (Act& each : acts_)
      if (each.reserved == which) each.cost = std::min(each.cost, actual);
  }

  core::Chance& chance_;
  Changed& limiter_;
  const std::vector<Quota>& quotas_;
  const bool waits_;
  const bool lags_;
  std::vector<Quota> in_force_{quotas_[0]};
  std::int64_t now_ = 1'000;
  std::vector<Act> acts_;
  std::vector<Reservation> reserved_;
  std::string said_;
};

// How many of the traces break the bound; the first of them as text.
template <class Limiter>
int broken(bool waits, bool lags, std::string& first) {
  core::Chance chance;
  int sum = 0;
  for (int trace = 0; trace < kTraces; ++trace) {
    std::vector<Quota> quotas;
    for (std::int64_t i = 0; i <= 1 + chance.up_to(1); ++i)
      quotas.push_back(Quota::of({1, nanoseconds{1 + chance.up_to(20)}}, 1 + chance.up_to(9)));
    Limiter limiter(quotas[0]);
    Trace one(chance, limiter, quotas, waits, lags);
    for (int step = 0; step < kSteps; ++step) one.step();
    if (waits ? one.keeps_each() : one.keeps_the_greatest()) continue;
    if (++sum == 1) first = one.said();
  }
  return sum;
}

TEST(SetQuotaPromise, what_acts_is_at_most_the_greatest_burst_plus_w_over_the_smallest_t) {
  std::string first;
  EXPECT_EQ(broken<Word>(false, false, first), 0) << first;
  EXPECT_EQ(broken<Keyed>(false, false, first), 0) << first;
}

TEST(SetQuotaPromise, holds_with_settlements_by_clocks_that_lag) {
  std::string first;
  EXPECT_EQ(broken<Word>(false, true, first), 0) << first;
  EXPECT_EQ(broken<Keyed>(false, true, first), 0) << first;
}

TEST(SetQuotaPromise, holds_for_those_who_wait) {
  std::string first;
  EXPECT_EQ(broken<Word>(true, false, first), 0) << first;
  EXPECT_EQ(broken<Keyed>(true, false, first), 0) << first;
}

TEST(SetQuotaPromise, of_a_limiter_that_takes_old_debts_for_new_ones_is_broken) {
  std::string first;
  EXPECT_GT(broken<Forgetful>(false, false, first), 10);
}

}  // namespace
}  // namespace weir::set_quota_promise_test
