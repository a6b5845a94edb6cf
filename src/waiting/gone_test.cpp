// Those in line whose askers go before anybody has told cancel() so.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/embedded_store.hpp"
#include "waiting/acquiring_store.hpp"
#include "waiting/slow_store_test.hpp"

namespace weir::inline v0_1::waiting::gone_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using store::Request;
using store::Verb;

struct Asker : Request {
  Asker(const store::Limit& limit, std::uint64_t units, nanoseconds max_wait, nanoseconds hold,
        std::vector<Asker*>& into)
      : told(into) {
    check = {.limit = &limit, .key = "k", .cost = Cost{units}};
    checks = {&check, 1};
    verb = Verb::acquire;
    reservation = &which;
    which.max_wait = max_wait;
    which.hold = hold;
    on_answer = [](Request& request) {
      auto& self = static_cast<Asker&>(request);
      self.told.push_back(&self);
    };
  }
  static bool has_gone(const Request& request) {
    const auto& self = static_cast<const Asker&>(request);
    ++self.looks;
    return self.gone;
  }

  std::vector<Asker*>& told;
  store::Check check;
  store::ReservationTerms which;
  bool gone = false;
  mutable int looks = 0;  // at it
};

struct World {
  explicit World(const char* rule = "1/s") : limit{.rule = core::Rule::parse(rule).value()} {
    house.queues.hear(embedded.reservations());
    store.look_for_askers(&Asker::has_gone);
  }
  std::unique_ptr<Asker> ask(nanoseconds max_wait, nanoseconds hold = 0s, std::uint64_t units = 1) {
    auto asker = std::make_unique<Asker>(limit, units, max_wait, hold, told);
    Request* const one = asker.get();
    store.submit({&one, 1}, {now, now});
    return asker;
  }
  void advance(nanoseconds by) {
    now += by;
    store.advance(now);
  }
  // What the key owes, as the time until it owes nothing.
  nanoseconds owed() {
    store::Check look{.limit = &limit, .key = "k", .cost = Cost{0}};
    Request request{.checks = {&look, 1}, .verb = Verb::look};
    Request* const one = &request;
    embedded.submit({&one, 1}, {now, now});
    return look.decision.reset_after;
  }
  void settle(const Asker& asker) {
    store::ReservationTerms which{.id = asker.which.id, .actual = 0};
    Request request{.verb = Verb::settle, .reservation = &which};
    Request* const one = &request;
    embedded.submit({&one, 1}, {now, now});
    EXPECT_EQ(request.fault, Fault::none) << request.why;
  }

  store::Limit limit;
  store::EmbeddedStore embedded{std::size_t{8} << 20};
  SlowStore other{embedded, false};
  House house{1'000};
  nanoseconds now = 100s;
  std::vector<Asker*> told;
  AcquiringStore store{other, house, [this] { return now; }, [] {}, [] {}};
};

TEST(GoneAsker, leaves_its_moment_to_the_next_whole_with_a_hold_or_without) {
  for (const nanoseconds hold : {nanoseconds{0s}, nanoseconds{60s}}) {
    for (const nanoseconds late : {nanoseconds{0s}, nanoseconds{700ms}, nanoseconds{30s}}) {
      World world;
      const auto first = world.ask(0s), second = world.ask(60s, hold), third = world.ask(60s);
      second->gone = true;
      world.advance(1s + late);
      EXPECT_EQ(world.told, (std::vector{third.get()})) << late.count();
      ASSERT_EQ(second->state, Request::State::submitted);
      EXPECT_EQ(world.owed(), 1s) << "the third's unit alone";
      EXPECT_EQ(world.embedded.reservations().counts().open, 0U);
      world.store.cancel(*second);
      EXPECT_EQ(world.house.waiting(), 0U);
    }
  }
}

TEST(GoneAsker, a_whole_line_of_them_takes_nothing_from_the_last) {
  World world;
  const auto first = world.ask(0s);
  std::vector<std::unique_ptr<Asker>> gone;
  for (int i = 0; i < 20; ++i) gone.push_back(world.ask(60s, i % 2 == 0 ? 0s : 5s));
  const auto last = world.ask(60s);
  for (const auto& each : gone) each->gone = true;
  world.advance(1s);
  EXPECT_EQ(world.told, (std::vector{last.get()}));
  EXPECT_EQ(world.owed(), 1s);
}

TEST(GoneAsker, leaves_its_slot_to_the_next) {
  World world("in_flight=1");
  const auto first = world.ask(0s, 60s), second = world.ask(60s, 60s), third = world.ask(60s, 60s);
  ASSERT_TRUE(first->allowed());
  second->gone = true;
  world.settle(*first);
  world.advance(0s);
  EXPECT_EQ(world.told, (std::vector{third.get()}));
  EXPECT_TRUE(third->allowed());
  EXPECT_EQ(world.embedded.reservations().counts().open, 1U);
}

TEST(GoneAsker, is_looked_for_only_when_it_has_waited_and_is_to_be_granted) {
  World world;
  const auto first = world.ask(10s), second = world.ask(10s), third = world.ask(10s);
  EXPECT_TRUE(first->allowed());
  world.advance(900ms);
  EXPECT_EQ(first->looks + second->looks + third->looks, 0);
  world.advance(100ms);
  EXPECT_EQ(world.told, (std::vector{second.get()}));
  EXPECT_EQ(second->looks, 1);
}

// Nothing has told cancel() of it after all.
TEST(GoneAsker, is_denied_when_its_time_is_over) {
  World world;
  const auto first = world.ask(0s), second = world.ask(3s);
  second->gone = true;
  world.advance(1s);
  world.advance(1'999ms);
  EXPECT_TRUE(world.told.empty());
  world.advance(1ms);
  ASSERT_EQ(world.told, (std::vector{second.get()}));
  EXPECT_FALSE(second->allowed());
  EXPECT_FALSE(second->charged);
  EXPECT_EQ(world.owed(), 0s);
}

TEST(GoneAsker, is_told_at_the_end_of_the_server_and_of_a_ban) {
  World world;
  const auto first = world.ask(0s), second = world.ask(60s), third = world.ask(60s);
  second->gone = third->gone = true;
  world.advance(1s);
  world.store.judge_waiting([](Request& request) {
    request.checks = {};
    return AcquiringStore::Judged::refused;
  });
  world.advance(0s);
  EXPECT_EQ(world.told.size(), 2U);
  const auto fourth = world.ask(0s), fifth = world.ask(60s);
  fifth->gone = true;
  world.advance(1s);
  world.store.end_all_after(world.now + 10s);
  world.advance(0s);
  ASSERT_EQ(world.told.size(), 3U);
  EXPECT_FALSE(fifth->allowed());
}

// A store that takes its time: it goes while that is asked whether its moment has come.
TEST(GoneAsker, that_goes_while_the_store_is_asked_is_granted_nothing) {
  for (const nanoseconds hold : {nanoseconds{0s}, nanoseconds{60s}}) {
    World world;
    const auto first = world.ask(0s), second = world.ask(60s, hold), third = world.ask(60s);
    world.other.is_slow = true;
    world.advance(1s);
    second->gone = true;
    world.other.answer(world.now);
    EXPECT_TRUE(world.told.empty());
    for (int i = 0; i < 4; ++i) {
      world.other.answer(world.now);
      world.advance(0s);
    }
    EXPECT_EQ(world.told, (std::vector{third.get()})) << hold.count();
    EXPECT_EQ(world.owed(), 1s);
  }
}

// It cost more than one unit, and has come too late by more than one.
TEST(LatePlan, gives_back_all_that_it_had_before_it_asks_again) {
  World world("1/s burst 3");
  const auto first = world.ask(0s, 0s, 3), second = world.ask(60s, 0s, 3);
  world.advance(5s);
  EXPECT_EQ(world.told, (std::vector{second.get()}));
  EXPECT_EQ(world.owed(), 3s);
}

// Of a fast limit some milliseconds are more than one unit, so it asks again.
TEST(LatePlan, is_given_up_when_it_is_later_than_one_unit_takes) {
  World world("10000/s burst 100");
  const auto first = world.ask(0s, 0s, 100), second = world.ask(60s, 0s, 100);
  world.advance(15ms);
  EXPECT_EQ(world.told, (std::vector{second.get()}));
  EXPECT_EQ(world.owed(), 10ms);
}

}  // namespace
}  // namespace weir::waiting::gone_test
