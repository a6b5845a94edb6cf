// What open holds may give back, by brute force over all spans: in each form of limiter, with settlements and
// cancels by clocks that lag, and with quotas that change while something is held. The forms answer alike.
// WEIR_LONG=1 takes 10^7 steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agreement/spans.hpp"
#include "core/chance_test.hpp"
#include "core/set_clock_test.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1::holds_promise_test {
namespace {

using std::chrono::nanoseconds;
using namespace weir::literals;

constexpr int kSteps = 80;

int traces() { return core::Chance::is_long() ? 125'000 : 1'500; }

Quota quota(std::int64_t burst, std::int64_t interval) {
  return Quota::make({1, nanoseconds{interval}}, burst).value();
}

std::string told(const Decision& each) {
  return std::to_string(static_cast<int>(each.verdict)) + "/" + std::to_string(each.remaining) + "/" +
         (each.retry_after ? std::to_string(each.retry_after->count()) : "-") + "/" +
         std::to_string(each.reset_after.count());
}

struct Asked {
  std::uint64_t cost;
  nanoseconds max_wait{0};
  nanoseconds hold{0};
};

// One key of a limiter in one of its forms.
class Form {
 public:
  virtual ~Form() = default;
  virtual Decision check(nanoseconds now, const Quota& by, std::uint64_t cost) = 0;
  virtual Reservation reserve(nanoseconds now, const Quota& by, Asked asked) = 0;
  virtual void reset(nanoseconds now) = 0;

  std::vector<Reservation> reserved;
};

class Word final : public Form {
 public:
  explicit Word(const Quota& quota) : limiter_(quota, kSetClock) {}
  ~Word() override { reserved.clear(); }
  Decision check(nanoseconds now, const Quota&, std::uint64_t cost) override {
    return at_time(now, limiter_).check(Cost{cost});
  }
  Reservation reserve(nanoseconds now, const Quota&, Asked asked) override {
    return at_time(now, limiter_).reserve({.max_wait = asked.max_wait, .hold = asked.hold}, Cost{asked.cost});
  }
  void reset(nanoseconds) override { limiter_.reset(); }

 private:
  Limiter limiter_;
};

class Keyed final : public Form {
 public:
  explicit Keyed(const Quota& quota) : limiter_(quota, {.memory = 1_MiB, .clock = &kSetClock}) {}
  Decision check(nanoseconds now, const Quota& by, std::uint64_t cost) override {
    return at_time(now, limiter_).check("k", by, Cost{cost});
  }
  Reservation reserve(nanoseconds now, const Quota& by, Asked asked) override {
    return at_time(now, limiter_)
        .reserve("k", by, {.max_wait = asked.max_wait, .hold = asked.hold}, Cost{asked.cost});
  }
  void reset(nanoseconds now) override { at_time(now, limiter_).reset("k"); }

 private:
  KeyedLimiter limiter_;
};

// The same key, asked about alone and, for checks, beside another limit that never decides.
class Mixed final : public Form {
 public:
  explicit Mixed(const Quota& quota)
      : limiter_(quota, store_), wide_(Quota::per_second(1'000'000).with_burst(1'000'000), store_) {}
  Decision check(nanoseconds now, const Quota& by, std::uint64_t cost) override {
    if (++asked_ % 2 == 0) return at_time(now, limiter_).check("k", by, Cost{cost});
    const std::vector<KeyedCheck> both = {{limiter_, "k", Cost{cost}, by}, {wide_, "k", Cost{0}}};
    return at_time(now, store_).check_all(both).decision;
  }
  Reservation reserve(nanoseconds now, const Quota& by, Asked asked) override {
    return at_time(now, limiter_)
        .reserve("k", by, {.max_wait = asked.max_wait, .hold = asked.hold}, Cost{asked.cost});
  }
  void reset(nanoseconds now) override { at_time(now, limiter_).reset("k"); }

 private:
  LocalStore store_{LocalStore::Options{.memory = 1_MiB, .clock = &kSetClock}};
  KeyedLimiter limiter_;
  KeyedLimiter wide_;
  int asked_ = 0;
};

// What acts; with what it turned out to cost, once that is known.
struct Act {
  std::int64_t at;
  std::uint64_t cost;
  std::optional<std::size_t> reserved{};
};

class Trace {
 public:
  Trace(core::Chance& chance, Form& form, std::vector<Quota> quotas, bool waits, bool lags)
      : chance_(chance), form_(form), quotas_(std::move(quotas)), waits_(waits), lags_(lags) {}

  // What was answered, as text.
  std::string step() {
    const std::int64_t what = chance_.up_to(15);
    const Quota& by = quotas_[chance_() % quotas_.size()];
    const std::uint64_t cost = 1 + chance_() % static_cast<std::uint64_t>(by.burst());
    if (what < 5) {
      now_ += chance_.up_to(3 * by.emission_interval().count());
      return "now " + std::to_string(now_);
    }
    if (what < 8) return check(by, cost);
    if (what < 12) return reserve(by, cost);
    if (form_.reserved.empty()) return "";
    return what == 12 ? cancel() : settle();
  }
  std::vector<Admitted> acts() const {
    std::vector<Admitted> all;
    for (const Act& each : acts_) all.push_back({each.at, static_cast<std::int64_t>(each.cost)});
    std::sort(all.begin(), all.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    return all;
  }

 private:
  // A reading of the clock that lags.
  nanoseconds late() {
    return nanoseconds{lags_ ? std::max<std::int64_t>(0, now_ - chance_.up_to(60)) : now_};
  }
  std::size_t one() { return chance_() % form_.reserved.size(); }

  std::string check(const Quota& by, std::uint64_t cost) {
    const Decision decision = form_.check(nanoseconds{now_}, by, cost);
    if (decision.allowed()) acts_.push_back({now_, cost});
    return "check " + std::to_string(cost) + ": " + told(decision);
  }
  std::string reserve(const Quota& by, std::uint64_t cost) {
    const bool holds = !waits_ || chance_.up_to(1) == 0;
    const Asked asked{cost, nanoseconds{waits_ ? chance_.up_to(100) : 0},
                      nanoseconds{holds ? 1 + chance_.up_to(150) : 0}};
    Reservation made = form_.reserve(nanoseconds{now_}, by, asked);
    const std::string said = "reserve " + std::to_string(cost) + " wait " +
                             std::to_string(asked.max_wait.count()) + " hold " +
                             std::to_string(asked.hold.count()) + ": " + std::to_string(made.wait().count()) +
                             " " + told(made.decision());
    if (!made.granted()) return said;
    acts_.push_back({made.at().count(), cost, form_.reserved.size()});
    held_.push_back(holds);
    form_.reserved.push_back(std::move(made));
    return said;
  }
  std::string cancel() {
    const std::size_t which = one();
    // Its owner acts by the true time, so it cancels only what that time has not reached.
    const bool has_acted = form_.reserved[which].at().count() <= now_;
    const std::uint64_t back = has_acted ? 0 : at_time(late(), form_.reserved[which]).cancel();
    if (back != 0) std::erase_if(acts_, [&](const Act& each) { return each.reserved == which; });
    return "cancel " + std::to_string(which) + ": " + std::to_string(back);
  }
  std::string settle() {
    const std::size_t which = one();
    const std::uint64_t actual = chance_() % 4;
    std::optional<nanoseconds> wait;
    try {
      wait = at_time(late(), form_.reserved[which]).settle(actual);
    } catch (const std::invalid_argument&) {
      EXPECT_FALSE(held_[which]) << "only what was granted without a hold is refused";
    }
    for (Act& each : acts_) {
      if (wait && held_[which] && each.reserved == which) each.cost = std::min(each.cost, actual);
    }
    return "settle " + std::to_string(which) + " " + std::to_string(actual) + ": " +
           (wait ? std::to_string(wait->count()) : "-");
  }

  core::Chance& chance_;
  Form& form_;
  std::vector<Quota> quotas_;
  bool waits_;
  bool lags_;
  std::int64_t now_ = 1'000;
  std::vector<Act> acts_;
  std::vector<bool> held_;
};

// Where clocks lag, the forms differ in when they have cleared away what is over.
class OneQuota : public testing::TestWithParam<bool> {};

TEST_P(OneQuota, keeps_its_promise_with_waits_holds_and_clocks_that_lag) {
  const bool lags = GetParam();
  core::Chance chance;
  for (int trace = 0; trace < traces(); ++trace) {
    const Quota by = quota(1 + chance.up_to(9), 1 + chance.up_to(20));
    const std::uint64_t seed = chance();
    std::vector<std::string> first;
    const auto run = [&](Form&& form) {
      core::Chance same(seed);
      Trace one(same, form, {by}, true, lags);
      std::string said;
      for (int step = 0; step < kSteps; ++step) {
        const std::string now_said = one.step();
        said += now_said + "\n";
        if (first.size() <= static_cast<std::size_t>(step)) first.push_back(now_said);
        if (!lags) {
          ASSERT_EQ(now_said, first[static_cast<std::size_t>(step)]) << said;
        }
      }
      ASSERT_TRUE(kept(one.acts(), by.burst(), by.emission_interval().count()))
          << "burst " << by.burst() << " T " << by.emission_interval().count() << "\n"
          << said;
    };
    // One word keeps a ledger, in which told moments stay; the others a row of units.
    run(Word(by));
    first.clear();
    run(Keyed(by));
    run(Mixed(by));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(HoldsPromise, OneQuota, testing::Bool());

// What acts at once, under quotas that are used alternately: together at most the greatest burst + W / the
// smallest T.
TEST(HoldsPromise, quotas_that_change_while_something_is_held) {
  core::Chance chance;
  for (int trace = 0; trace < traces(); ++trace) {
    std::vector<Quota> quotas;
    for (std::int64_t i = 0; i <= chance.up_to(2); ++i)
      quotas.push_back(quota(1 + chance.up_to(9), 1 + chance.up_to(20)));
    std::int64_t burst = 0, interval = 1'000;
    for (const Quota& each : quotas) {
      burst = std::max(burst, each.burst());
      interval = std::min(interval, each.emission_interval().count());
    }
    Keyed keyed(quotas[0]);
    Mixed mixed(quotas[0]);
    for (Form* const form : std::initializer_list<Form*>{&keyed, &mixed}) {
      Trace one(chance, *form, quotas, false, true);
      std::string said;
      for (int step = 0; step < kSteps; ++step) said += one.step() + "\n";
      ASSERT_TRUE(kept(one.acts(), burst, interval)) << "burst " << burst << " T " << interval << "\n"
                                                     << said;
    }
  }
}

}  // namespace
}  // namespace weir::holds_promise_test
