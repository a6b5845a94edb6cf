// Those in line before a store that takes a while to answer: as many ask at once as fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/embedded_store.hpp"
#include "waiting/acquiring_store.hpp"
#include "waiting/slow_store_test.hpp"

namespace weir::inline v0_1::waiting::round_trip_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using store::Request;

struct Asker : Request {
  using Told = std::vector<Asker*>;
  Asker(const std::vector<const store::Limit*>& limits, std::uint64_t units, nanoseconds max_wait,
        nanoseconds hold, Told& into)
      : told(into) {
    for (const store::Limit* const each : limits)
      its.push_back({.limit = each, .key = each->name, .cost = Cost{units}});
    checks = its;
    verb = store::Verb::acquire;
    reservation = &which;
    which.max_wait = max_wait;
    which.hold = hold;
    on_answer = [](Request& request) {
      auto& self = static_cast<Asker&>(request);
      self.told.push_back(&self);
    };
  }
  Told& told;
  std::vector<store::Check> its;
  store::ReservationTerms which;
};

struct World {
  explicit World(std::string_view rule)
      : limit{.rule = core::Rule::parse(rule).value(), .id = 1, .name = "k"} {}

  std::unique_ptr<Asker> ask(std::uint64_t units = 1, nanoseconds hold = 0s) {
    return ask({&limit}, units, hold, line);
  }
  std::unique_ptr<Asker> ask(const std::vector<const store::Limit*>& limits, std::uint64_t units,
                             nanoseconds hold, AcquiringStore& of) {
    auto asker = std::make_unique<Asker>(limits, units, 1'000s, hold, told);
    Request* const one = asker.get();
    of.submit({&one, 1}, {now, now});
    return asker;
  }
  // Its limit is 1/s burst 2 when it is renewed.
  std::unique_ptr<Asker> ask_renewed(std::uint64_t units) {
    static const store::Limit kLower{.rule = core::Rule::parse("1/s burst 2").value(), .id = 1, .name = "k"};
    const std::vector<const store::Limit*> limits = {&limit};
    auto asker = std::make_unique<Asker>(limits, units, 1'000s, 0s, told);
    const auto renew = [](Request& request) {
      return std::exchange(static_cast<Asker&>(request).its[0].limit, &kLower) != &kLower;
    };
    line.acquire(*asker, {now, now}, {.renew = renew});
    return asker;
  }
  std::vector<std::unique_ptr<Asker>> crowd(std::size_t count, std::uint64_t units = 1) {
    std::vector<std::unique_ptr<Asker>> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(ask(units));
    return all;
  }
  // Its burst is taken, by a check.
  void take(std::uint64_t units) {
    store::Check check{.limit = &limit, .key = limit.name, .cost = Cost{units}};
    Request charge;
    charge.checks = {&check, 1};
    Request* const one = &charge;
    embedded.submit({&one, 1}, {now, now});
    ASSERT_TRUE(charge.allowed());
  }
  // Until nobody is asked about: for those who stand in line.
  void settle() {
    for (int round = 0; round < 200 && !slow.asked.empty(); ++round) slow.answer(now);
  }
  void trip(nanoseconds takes) {
    line.advance(now);
    other.advance(now);
    now += takes;
    slow.answer(now);
  }

  store::Limit limit;
  store::EmbeddedStore embedded{std::size_t{8} << 20};
  SlowStore slow{embedded};
  House house{1'000};
  nanoseconds now = 100s;
  Asker::Told told;
  AcquiringStore line{slow, house, [this] { return now; }, [] {}, [] {}, false};
  AcquiringStore other{slow, house, [this] { return now; }, [] {}, [] {}, false};  // of another loop
};

std::vector<Asker*> all_of(const std::vector<std::unique_ptr<Asker>>& crowd) {
  std::vector<Asker*> all;
  for (const auto& each : crowd) all.push_back(each.get());
  return all;
}

// The first learns how many more fit, and twice as many ask in each.
TEST(RoundTrip, what_fits_at_once_acts_within_four) {
  World world("1/s burst 20");
  world.take(20);
  const auto crowd = world.crowd(20);
  world.settle();
  EXPECT_TRUE(world.told.empty());
  world.now += 20s;
  for (int i = 0; i < 4; ++i) world.trip(0s);
  EXPECT_EQ(world.told, all_of(crowd));
  EXPECT_TRUE(std::all_of(crowd.begin(), crowd.end(), [](const auto& each) { return each->allowed(); }));
  EXPECT_EQ(world.house.waiting(), 0U);
}

// With a trip as long as it takes two units and a half to drain all of the limit is used, by a call for each,
// and in order.
TEST(RoundTrip, a_line_uses_all_of_a_limit_whose_burst_holds_one) {
  World world("2/s burst 3");
  world.take(3);
  const auto crowd = world.crowd(300);
  world.settle();
  const std::size_t calls = world.slow.calls;
  for (int i = 0; i < 80; ++i) world.trip(1250ms);
  EXPECT_GE(world.told.size(), 195U);
  EXPECT_LE(world.told.size(), 203U);
  EXPECT_LE((world.slow.calls - calls) * 100, world.told.size() * 125);
  const std::vector<Asker*> all = all_of(crowd);
  EXPECT_TRUE(std::equal(world.told.begin(), world.told.end(), all.begin()));
}

// Nobody asks for nothing: those that came at once and did not fit stand in a line that one of them is first
// of.
TEST(RoundTrip, of_a_crowd_that_does_not_fit_one_asks) {
  World world("1/s burst 3");
  world.take(3);
  const auto crowd = world.crowd(40);
  world.settle();
  const std::size_t calls = world.slow.calls;
  EXPECT_LE(calls, 42U);
  for (int i = 0; i < 20; ++i) world.trip(50ms);
  EXPECT_LE(world.slow.calls - calls, 20U);  // for an earlier moment, each 100 ms, and at its own
}

TEST(RoundTrip, one_that_does_not_fit_stays_where_it_was) {
  World world("1/s burst 3");
  world.take(3);
  const auto crowd = world.crowd(3);
  world.settle();
  world.now += 3s;
  world.line.advance(world.now);
  ASSERT_EQ(world.slow.asked.size(), 2U);
  world.take(2);  // meanwhile
  world.slow.answer(world.now);
  EXPECT_EQ(world.told, (std::vector{crowd[0].get()}));
  for (int i = 0; i < 8; ++i) world.trip(250ms);
  world.trip(0s);
  EXPECT_EQ(world.told, all_of(crowd));
  EXPECT_TRUE(crowd[2]->allowed());
  EXPECT_EQ(world.house.waiting(), 0U);
}

TEST(RoundTrip, one_that_leaves_while_it_is_asked_about_gives_back_what_it_took) {
  for (const nanoseconds hold : {nanoseconds{0}, nanoseconds{60s}}) {
    World world("1/s burst 3");
    world.take(3);
    const auto first = world.ask(1, hold);
    auto second = world.ask(1, hold);
    const auto third = world.ask(1, hold);
    world.settle();
    world.now += 3s;
    world.line.advance(world.now);
    ASSERT_GE(world.slow.asked.size(), 2U);
    world.line.cancel(*second);
    second.reset();
    for (int i = 0; i < 3; ++i) world.trip(0s);
    EXPECT_EQ(world.told, (std::vector{first.get(), third.get()}));
    EXPECT_EQ(world.house.waiting(), 0U);
    world.take(1);  // what it gave back
  }
}

// It is told so only when its time is over, though the store would have had room for it at the end of the
// line.
TEST(RoundTrip, one_near_the_front_is_not_too_late_for_those_after_it) {
  World world("1/s burst 3");
  world.take(3);
  const auto first = world.ask();
  auto second =
      std::make_unique<Asker>(std::vector<const store::Limit*>{&world.limit}, 1, 9s, 0s, world.told);
  Request* const one = second.get();
  world.line.submit({&one, 1}, {world.now, world.now});
  const auto crowd = world.crowd(60);
  world.settle();
  world.now += 3s;
  world.line.advance(world.now);
  ASSERT_EQ(world.slow.asked.size(), 2U);
  world.take(2);
  std::swap(world.slow.asked[0], world.slow.asked[1]);  // as on two connections
  world.slow.answer(world.now);
  for (int i = 0; i < 12; ++i) world.trip(250ms);
  EXPECT_TRUE(first->allowed());
  EXPECT_TRUE(second->allowed());
}

// What needs other keys too may find room where the first finds none, and what needs more than is left does
// not fit: neither asks beside the first, nor does who stands after it.
TEST(RoundTrip, only_who_asks_for_the_same_keys_asks_beside_the_first) {
  World world("1/s burst 9");
  store::Limit slow{.rule = core::Rule::parse("1/h burst 9").value(), .id = 2, .name = "slow"};
  world.take(9);
  const auto first = world.ask(), second = world.ask({&world.limit, &slow}, 1, 0s, world.line),
             third = world.ask();
  world.settle();
  world.now += 9s;
  world.trip(0s);
  world.line.advance(world.now);
  EXPECT_EQ(world.told, (std::vector{first.get()}));
  EXPECT_EQ(world.slow.asked.size(), 1U);
  for (int i = 0; i < 3; ++i) world.trip(0s);
  EXPECT_EQ(world.told, (std::vector{first.get(), second.get(), third.get()}));
}

TEST(RoundTrip, a_large_one_is_not_passed) {
  World world("1/s burst 9");
  world.take(9);
  const auto first = world.ask(), large = world.ask(9), third = world.ask();
  world.settle();
  world.now += 8s;
  for (int i = 0; i < 4; ++i) world.trip(0s);
  EXPECT_EQ(world.told, (std::vector{first.get()}));
  for (int i = 0; i < 8; ++i) world.trip(250ms);
  EXPECT_EQ(world.told, (std::vector{first.get(), large.get()}));
}

// By other limits than those by which they are asked about they can never act.
TEST(RoundTrip, who_is_judged_while_it_is_asked_about_asks_again) {
  World world("1/s burst 3");
  world.take(3);
  std::vector<std::unique_ptr<Asker>> both;
  for (int i = 0; i < 2; ++i) both.push_back(world.ask_renewed(3));
  EXPECT_EQ(world.slow.asked.size(), 2U);
  world.line.judge_waiting([](Request&) { return AcquiringStore::Judged::asks_again; });
  for (int i = 0; i < 4; ++i) world.trip(0s);
  EXPECT_EQ(world.told.size(), 2U);
}

// A store that is asked for more than it can answer within its deadline would answer none. By other limits
// each asks again when it is the first, and those that can never act at once.
TEST(RoundTrip, of_all_that_go_by_other_limits_no_more_ask_at_once_than_of_those_that_come) {
  for (const std::uint64_t units : {1U, 3U}) {
    World world("1/s burst 3");
    world.take(3);
    std::vector<std::unique_ptr<Asker>> all;
    for (int i = 0; i < 300; ++i) {
      all.push_back(world.ask_renewed(units));
      world.settle();
    }
    world.line.judge_waiting([](Request& request) {
      const bool is_never = request.checks[0].cost.units > 2;
      return is_never ? AcquiringStore::Judged::asks_again : AcquiringStore::Judged::stays;
    });
    for (const nanoseconds until = world.now + 3500ms; world.now < until;) {
      world.line.advance(world.now);
      EXPECT_LE(world.slow.asked.size(), 66U) << units;  // beside them the first, and what it gives up
      world.trip(11ms);
    }
    EXPECT_EQ(world.told.size(), units == 3 ? all.size() : 2U);
  }
}

TEST(RoundTrip, those_of_another_loop_ask_too) {
  World world("1/s burst 8");
  world.take(8);
  std::vector<std::unique_ptr<Asker>> crowd;
  for (int i = 0; i < 8; ++i)
    crowd.push_back(world.ask({&world.limit}, 1, 0s, i % 2 == 0 ? world.line : world.other));
  world.settle();
  world.now += 8s;
  for (int i = 0; i < 4; ++i) world.trip(0s);
  EXPECT_EQ(world.told.size(), 8U);
  EXPECT_EQ(world.house.waiting(), 0U);
}

}  // namespace
}  // namespace weir::inline v0_1::waiting::round_trip_test
