#include "store/taking.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::taking_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr core::HashKey kTakingSeed{3, 4};

// A request as it was asked, so that it can be asked again of another store.
struct Asked {
  std::vector<Check> checks;  // their costs are one unit's
  std::uint64_t most = 1;
  std::uint64_t least = 1;
  nanoseconds now{0};
  bool takes = false;  // else a check of `most` units

  std::vector<Check> for_units(std::uint64_t units) const {
    std::vector<Check> made = checks;
    for (Check& each : made) each.cost.units *= units;
    return made;
  }
  // What it came to, the checks with their decisions.
  struct Came {
    std::vector<Check> checks;
    std::uint64_t granted = 0;
    bool charged = false;
    std::uint8_t by = 0;
    bool allowed = false;
  };
  Came check(Store& store, std::uint64_t units, Verb verb = Verb::check) const {
    Came came{for_units(units)};
    Request request{.checks = came.checks, .verb = verb};
    Request* const one = &request;
    store.submit({&one, 1}, {now, now});
    EXPECT_EQ(request.fault, Fault::none) << request.why;
    came.charged = request.charged;
    came.by = request.by;
    came.allowed = request.allowed();
    return came;
  }
  Came take(Store& store, bool looks = false) const {
    Came came{checks};
    TakeTerms terms{.most = most, .least = least, .looks = looks};
    for (std::size_t i = 0; i < checks.size(); ++i) terms.unit[i] = checks[i].cost.units;
    Request request{.checks = came.checks, .verb = Verb::take, .take = &terms};
    Request* const one = &request;
    store.submit({&one, 1}, {now, now});
    EXPECT_EQ(request.fault, Fault::none) << request.why;
    came.granted = terms.granted;
    came.charged = request.charged;
    came.by = request.by;
    came.allowed = request.allowed();
    return came;
  }
};

// Limits of every kind, some of which keep something free, and a parent with a guarantee.
std::vector<Limit> some_limits() {
  std::vector<Limit> made;
  const auto add = [&made](const char* text, nanoseconds kept = 0ns) {
    Limit& limit = made.emplace_back(Limit{.rule = core::Rule::parse(text).value()});
    limit.id = made.size();
    limit.rule.kept = kept;
  };
  add("3/s burst 4");
  add("1/s burst 7");
  add("5/2s algorithm=fixed_window");
  add("6/s algorithm=fixed_window align=clock");
  add("6/2s algorithm=sliding_window_counter");
  add("1/s burst 6", 2s);
  add("2/s burst 12");
  return made;
}

class Worlds {
 public:
  // One to three checks of different limits; and sometimes one that is inside a guarantee.
  Asked ask(nanoseconds now) {
    Asked asked;
    asked.now = now;
    std::vector<std::size_t> order(limits_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), chance_);
    const auto count = static_cast<std::size_t>(chance_.up_to(2)) + 1;
    for (std::size_t i = 0; i < count; ++i) {
      const Cost unit{static_cast<std::uint64_t>(chance_.up_to(8) == 0 ? 0 : 1 + chance_.up_to(2))};
      asked.checks.push_back({.limit = &limits_[order[i]],
                              .key = chance_.up_to(3) == 0 ? "b" : "a",
                              .cost = unit,
                              .shadow = chance_.up_to(4) == 0});
    }
    if (chance_.up_to(2) == 0 && count > 1) {
      asked.checks[0].shadow = true;
      asked.checks[1].inside = 0;
    }
    asked.least = static_cast<std::uint64_t>(chance_.from_one_to(5));
    asked.most = asked.least + static_cast<std::uint64_t>(chance_.up_to(9));
    asked.takes = chance_.up_to(2) == 0;
    return asked;
  }
  std::int64_t up_to(std::int64_t most) { return chance_.up_to(most); }

 private:
  core::Chance chance_;
  std::vector<Limit> limits_ = some_limits();
};

void replay(Store& store, const std::vector<Asked>& past) {
  for (const Asked& each : past) each.takes ? each.take(store) : each.check(store, each.most);
}

// Each number is tried by itself on a store that has lived through the same.
TEST(Taking, grants_the_greatest_number_that_a_check_is_allowed) {
  Worlds worlds;
  int partly = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Asked> past;
    nanoseconds now = 100s;
    for (int step = 0; step < 5; ++step) {
      const Asked asked = worlds.ask(now);
      std::uint64_t greatest = 0;
      for (std::uint64_t units = asked.most; units >= asked.least && greatest == 0; --units) {
        EmbeddedStore copy(1_MiB, WhenFull::deny, kTakingSeed);
        replay(copy, past);
        if (asked.check(copy, units, Verb::look).allowed) greatest = units;
      }
      EmbeddedStore store(1_MiB, WhenFull::deny, kTakingSeed);
      EmbeddedStore other(1_MiB, WhenFull::deny, kTakingSeed);
      replay(store, past);
      replay(other, past);
      const Asked::Came looked = asked.take(store, true);
      ASSERT_EQ(looked.granted, greatest);
      ASSERT_FALSE(looked.charged);
      const Asked::Came took = asked.take(store);
      const Asked::Came checked = asked.check(other, greatest != 0 ? greatest : asked.least);
      ASSERT_EQ(took.granted, greatest);
      ASSERT_EQ(took.charged, greatest != 0);
      ASSERT_EQ(took.charged, checked.charged);
      ASSERT_EQ(took.by, checked.by);
      for (std::size_t i = 0; i < asked.checks.size(); ++i) {
        ASSERT_EQ(took.checks[i].decision, checked.checks[i].decision) << i;
        ASSERT_EQ(took.checks[i].cost.units, checked.checks[i].cost.units) << i;
      }
      partly += greatest != 0 && greatest < asked.most ? 1 : 0;
      past.push_back(asked);
      now += worlds.up_to(3) * 250ms;
    }
  }
  EXPECT_GT(partly, 50);
}

TEST(Taking, asks_for_no_more_than_can_ever_be_there) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kTakingSeed);
  const Limit four{.rule = core::Rule::parse("1/s burst 4").value()};
  constexpr std::uint64_t kLots = std::numeric_limits<std::int64_t>::max();
  const Asked all{{{.limit = &four, .key = "k"}}, kLots, 1, 1s};
  EXPECT_EQ(all.take(store).granted, 4U);
  const Asked::Came denied = all.take(store);
  EXPECT_EQ(denied.granted, 0U);
  EXPECT_EQ(denied.checks[0].decision.retry_after, 1s) << "it is the least that comes again";
  const Asked five{{{.limit = &four, .key = "k"}}, kLots, 5, 1s};
  EXPECT_EQ(five.take(store).checks[0].decision.verdict, Verdict::never);
  // A shadow limits nothing, whatever it would cost there.
  const Asked shadow{
      {{.limit = &four, .key = "k", .cost = Cost{kLots / 2}, .shadow = true}}, kLots, kLots, 1s};
  EXPECT_EQ(shadow.take(store).granted, kLots);
}

TEST(Taking, those_who_wait_are_not_passed_and_see_what_was_taken) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kTakingSeed);
  const Limit ten{.rule = core::Rule::parse("1/s burst 10").value()};
  Check six{.limit = &ten, .key = "k", .cost = Cost{6}};
  ReservationTerms terms{.max_wait = 1h, .hold = 1min};
  Request reserves{.checks = {&six, 1}, .verb = Verb::reserve, .reservation = &terms};
  Request* const one = &reserves;
  store.submit({&one, 1}, {1s, 1s});
  ASSERT_FALSE(terms.id.empty());
  const Asked rest{{{.limit = &ten, .key = "k"}}, 10, 1, 1s};
  EXPECT_EQ(rest.take(store).granted, 4U);
  terms.actual = 0;
  Request settles{.verb = Verb::settle, .reservation = &terms};
  Request* const other = &settles;
  store.submit({&other, 1}, {1s, 1s});
  EXPECT_EQ(rest.take(store).granted, 6U);
}

TEST(Taking, without_room_for_a_key_it_is_denied_whole) {
  EmbeddedStore store(1_MiB, WhenFull::deny, kTakingSeed);
  const Limit ten{.rule = core::Rule::parse("1/s burst 10").value()};
  std::optional<Asked::Came> denied;
  for (int i = 0; !denied && i < 1000000; ++i) {
    const std::string key = "k" + std::to_string(i);
    const Asked some{{{.limit = &ten, .key = key}}, 5, 2, 1s};
    const Asked::Came came = some.take(store);
    if (!came.allowed) denied = came;
  }
  ASSERT_TRUE(denied);
  EXPECT_EQ(denied->granted, 0U);
  EXPECT_FALSE(denied->charged);
  EXPECT_EQ(denied->checks[0].cost.units, 2U);
}

}  // namespace
}  // namespace weir::store::taking_test
