#include "waiting/acquiring_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "store/embedded_store.hpp"

namespace weir::inline v0_1::waiting::acquiring_store_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using store::Request;
using store::Verb;

// A request of one check, and what it was told when.
struct Asker : Request {
  Asker(const store::Limit& limit, std::string its_key, nanoseconds max_wait, std::vector<Asker*>& into)
      : key(std::move(its_key)), told(into) {
    check.limit = &limit;
    check.key = key;
    checks = {&check, 1};
    verb = Verb::acquire;
    reservation = &which;
    which.max_wait = max_wait;
    on_answer = [](Request& request) {
      auto& self = static_cast<Asker&>(request);
      self.told.push_back(&self);
    };
  }
  static void tell_the_end(Request& request) { static_cast<Asker&>(request).ends = true; }

  std::string key;
  std::vector<Asker*>& told;
  store::Check check;
  store::ReservationTerms which;
  bool ends = false;  // it was told that the server does
};

// One unit a second, one at once.
struct World {
  store::Limit limit{.rule = core::Rule::parse("1/s").value()};
  store::EmbeddedStore embedded{std::size_t{8} << 20};
  House house{1'000};
  nanoseconds now = 100s;
  int changed = 0;
  AcquiringStore store{embedded, house, [this] { return now; }, [this] { ++changed; }, [] {}};
  std::vector<Asker*> told;

  World() { house.queues.hear(embedded.reservations()); }
  void charge(const store::Limit& of, std::string key, Outside outside) {
    store::Check check{.limit = &of, .key = key};
    store::ChargeTerms terms{.outside = outside};
    Request request{.checks = {&check, 1}, .verb = Verb::charge, .charge = &terms};
    Request* const one = &request;
    store.submit({&one, 1}, {now, now});
  }

  std::unique_ptr<Asker> ask(nanoseconds max_wait, nanoseconds hold = 0s) {
    auto asker = std::make_unique<Asker>(limit, "k", max_wait, told);
    asker->which.hold = hold;
    Request* const one = asker.get();
    store.submit({&one, 1}, {now, now});
    return asker;
  }
  // At nothing.
  void settle(const std::string& id) {
    store::ReservationTerms which{.id = id, .actuals = {{"", {limit.id}}}};
    Request request{.verb = Verb::settle, .reservation = &which};
    Request* const one = &request;
    store.submit({&one, 1}, {now, now});
  }
  void advance(nanoseconds by) {
    now += by;
    store.advance(now);
  }
};

TEST(AcquiringStore, answers_when_the_moment_has_come) {
  World world;
  const auto first = world.ask(0s), second = world.ask(10s), third = world.ask(10s);
  EXPECT_EQ(first->state, Request::State::answered);
  EXPECT_TRUE(first->allowed());
  EXPECT_EQ(second->state, Request::State::submitted);
  EXPECT_EQ(world.changed, 1);  // the third's moment is not the earliest
  EXPECT_EQ(world.store.next_deadline(), 101s);
  world.advance(999ms);
  EXPECT_TRUE(world.told.empty());
  world.advance(1ms);
  EXPECT_EQ(world.told, (std::vector{second.get()}));
  EXPECT_TRUE(second->allowed());
  EXPECT_TRUE(second->charged);
  EXPECT_EQ(second->which.wait, 0s);
  EXPECT_EQ(second->which.id, "");
  EXPECT_EQ(second->decision().reset_after, 1s);
  EXPECT_EQ(world.house.waiting(), 1U);
  world.advance(1s);
  EXPECT_EQ(world.told.size(), 2U);
  EXPECT_EQ(world.house.waiting(), 0U);
}

// A program that stood still for a while, with plain checks before, meanwhile pending, and after it: in any
// span W at most burst + W/T act.
TEST(AcquiringStore, what_is_overdue_keeps_the_promise) {
  for (const std::string rule : {"100/s burst 5", "100/s", "100/s burst 50"}) {
    for (const nanoseconds still :
         {nanoseconds{3s}, nanoseconds{1500ms}, nanoseconds{100ms}, nanoseconds{10s}}) {
      World world;
      world.limit.rule = core::Rule::parse(rule).value();
      const auto burst = static_cast<std::int64_t>(world.limit.rule.quota.burst());
      std::vector<nanoseconds> acted;
      std::vector<std::unique_ptr<Asker>> askers;
      const auto check = [&] {
        Asker plain(world.limit, "k", 0s, world.told);
        plain.verb = Verb::check;
        Request* const one = &plain;
        world.store.submit({&one, 1}, {world.now, world.now});
        if (plain.allowed()) acted.push_back(world.now);
      };
      std::size_t told = 0;
      const auto note = [&] {
        for (; told < world.told.size(); ++told)
          if (world.told[told]->allowed()) acted.push_back(world.now);
      };
      for (int i = 0; i < burst; ++i) check();
      for (int i = 0; i < 300; ++i) askers.push_back(world.ask(4s));
      world.advance(100ms);
      note();
      world.now += still;
      const std::size_t before = acted.size();
      world.store.advance(world.now);
      note();
      EXPECT_LE(acted.size() - before, static_cast<std::size_t>(burst) + 1) << rule;
      while (world.store.next_deadline()) {
        for (int i = 0; i < 3; ++i) check();
        world.now = std::max(world.now, *world.store.next_deadline());
        world.store.advance(world.now);
        note();
      }
      for (int i = 0; i < 2 * burst; ++i) check();
      ASSERT_EQ(told, 300U);
      for (std::size_t i = 0; i < acted.size(); ++i)
        for (std::size_t j = i; j < acted.size(); ++j)
          ASSERT_LE(static_cast<std::int64_t>(j - i) + 1, burst + (acted[j] - acted[i]) / 10ms + 1)
              << rule << ", stood still for " << still.count() << " ns, " << i << " to " << j;
      if (still <= 1500ms) {
        EXPECT_GE(acted.size(), static_cast<std::size_t>(burst) + 200) << rule << ": most are in time";
      }
    }
  }
}

// Those whose moments have passed while the program stood still, and how many act when it goes on.
struct Overdue {
  explicit Overdue(const std::string& rule) { world.limit.rule = core::Rule::parse(rule).value(); }

  std::int64_t check(std::int64_t times) {
    std::int64_t allowed = 0;
    for (std::int64_t i = 0; i < times; ++i) {
      Asker plain(world.limit, "k", 0s, world.told);
      plain.verb = Verb::check;
      Request* const one = &plain;
      world.store.submit({&one, 1}, {world.now, world.now});
      allowed += plain.allowed() ? 1 : 0;
    }
    return allowed;
  }
  void wait(int times) {
    for (int i = 0; i < times; ++i) askers.push_back(world.ask(60s));
  }
  std::int64_t told() const {
    return std::count_if(world.told.begin(), world.told.end(),
                         [](const Asker* each) { return each->allowed(); });
  }

  World world;
  std::vector<std::unique_ptr<Asker>> askers;
};

// What is read before the timers have their turn takes what has drained; those that are overdue have none of
// it, even where others wait after them.
TEST(AcquiringStore, what_is_read_before_the_timers_leaves_nothing_to_those_that_are_overdue) {
  Overdue here("1/s burst 3");
  EXPECT_EQ(here.check(4), 3);
  here.wait(6);
  here.world.now += 60s;
  EXPECT_EQ(here.check(4), 3);
  here.wait(3);
  here.world.advance(0s);
  EXPECT_EQ(here.told(), 0);
  EXPECT_EQ(here.world.told.size(), 6U) << "denied: their time is up";
  for (int i = 0; i < 3; ++i) here.world.advance(1s);
  EXPECT_EQ(here.told(), 3);
}

// Those in line have been charged nothing: they act as they fit, as checks do.
TEST(AcquiringStore, after_a_standstill_the_overdue_act_as_they_fit) {
  Overdue here("1/s burst 10");
  EXPECT_EQ(here.check(11), 10);
  here.wait(20);
  here.world.now += 23'500ms;
  EXPECT_EQ(here.check(4), 4);
  here.world.advance(0s);
  EXPECT_EQ(here.told(), 6);
  here.world.advance(1s);
  EXPECT_EQ(here.told(), 7);
}

// The loops of a server stand still together.
TEST(AcquiringStore, two_that_stood_still_share_what_fits) {
  Overdue here("1/s burst 10");
  AcquiringStore other{here.world.embedded, here.world.house, [&] { return here.world.now; }, [] {}, [] {}};
  EXPECT_EQ(here.check(11), 10);
  for (int i = 0; i < 20; ++i) {
    here.wait(1);
    here.askers.push_back(std::make_unique<Asker>(here.world.limit, "k", 60s, here.world.told));
    Request* const one = here.askers.back().get();
    other.submit({&one, 1}, {here.world.now, here.world.now});
  }
  here.world.now += 41'500ms;
  for (int i = 0; i < 20; ++i) {
    here.world.store.advance(here.world.now);
    other.advance(here.world.now);
  }
  EXPECT_EQ(here.told(), 10);
}

TEST(AcquiringStore, what_cannot_be_in_time_is_denied_at_once_and_not_charged) {
  World world;
  const auto first = world.ask(0s), late = world.ask(999ms), next = world.ask(1s);
  EXPECT_EQ(late->state, Request::State::answered);
  EXPECT_FALSE(late->allowed());
  EXPECT_EQ(late->which.wait, 1ms);  // the same call is granted then
  world.advance(1s);
  EXPECT_EQ(world.told, (std::vector{next.get()}));
}

TEST(AcquiringStore, one_that_is_cancelled_leaves_its_moment_to_the_next) {
  World world;
  const auto first = world.ask(0s), second = world.ask(10s), third = world.ask(10s);
  world.store.cancel(*second);
  EXPECT_EQ(second->state, Request::State::idle);
  EXPECT_EQ(world.house.waiting(), 1U);
  const auto fourth = world.ask(10s);
  world.advance(0s);
  world.advance(1s);
  EXPECT_EQ(world.told, (std::vector{third.get()}));
  world.store.cancel(*fourth);
  world.advance(1s);
  const auto fifth = world.ask(0s);
  EXPECT_TRUE(fifth->allowed());  // the last was charged nothing
}

TEST(AcquiringStore, a_hold_is_told_its_id_when_its_moment_has_come) {
  World world;
  const auto first = world.ask(0s), held = world.ask(10s, 5s);
  world.advance(1s);
  ASSERT_EQ(world.told.size(), 1U);
  EXPECT_EQ(held->which.id.size(), 22U);
  store::ReservationTerms which{.id = held->which.id, .actual = 3};
  Request settle{.verb = Verb::settle, .reservation = &which};
  Request* const one = &settle;
  world.store.submit({&one, 1}, {world.now, world.now});
  EXPECT_EQ(which.wait, 3s);
}

TEST(AcquiringStore, one_that_waits_may_put_its_reservation_away) {
  World world;
  const auto first = world.ask(0s), second = world.ask(10s);
  Asker third(world.limit, "k", 10s, world.told);
  third.which.hold = 5s;
  third.which.bound = true;
  const auto room = [](Request& request) -> store::ReservationTerms& {
    return *(request.reservation = &static_cast<Asker&>(request).which);
  };
  world.store.acquire(third, {world.now, world.now}, {.room = room});
  third.which = {};
  third.reservation = nullptr;
  world.advance(1s);
  EXPECT_EQ(third.reservation, nullptr);
  world.advance(1s);
  EXPECT_EQ(world.told, (std::vector{second.get(), &third}));
  EXPECT_TRUE(third.allowed());
  EXPECT_EQ(third.which.hold, 5s);
  EXPECT_TRUE(third.which.bound);
  EXPECT_EQ(third.which.id.size(), 22U);
  EXPECT_EQ(world.embedded.reservations().counts().open, 1U);
}

TEST(AcquiringStore, a_full_house_lets_nobody_wait) {
  World world;
  world.house.enter();
  for (int i = 1; i < 1'000; ++i) world.house.enter();
  const auto first = world.ask(10s), second = world.ask(10s);
  EXPECT_TRUE(first->allowed());
  EXPECT_EQ(second->state, Request::State::answered);
  EXPECT_FALSE(second->allowed());
  EXPECT_EQ(second->which.wait, 1s);
  EXPECT_EQ(world.house.turned_away(), 1U);  // the first need not wait
  world.house.leave();
  const auto third = world.ask(10s);
  EXPECT_EQ(third->state, Request::State::submitted);
}

TEST(AcquiringStore, a_wait_that_is_ended_is_a_denial_that_is_not_charged) {
  World world;
  const auto first = world.ask(0s), second = world.ask(10s), third = world.ask(10s);
  world.store.end(*third);
  EXPECT_TRUE(world.told.empty());
  world.advance(250ms);
  ASSERT_EQ(world.told, (std::vector{third.get()}));
  EXPECT_FALSE(third->allowed());
  EXPECT_FALSE(third->charged);
  EXPECT_EQ(third->which.wait, 1'750ms);
  EXPECT_EQ(third->decision().retry_after, 1'750ms);
  const auto fourth = world.ask(2s);
  world.advance(1'750ms);
  EXPECT_EQ(world.told, (std::vector{third.get(), second.get(), fourth.get()}));
}

TEST(AcquiringStore, at_the_end_those_whose_moment_is_near_are_granted_and_the_others_are_told) {
  World world;
  std::vector<std::unique_ptr<Asker>> all;
  for (int i = 0; i <= 10; ++i) all.push_back(world.ask(60s));
  world.store.end_all_after(world.now + 4s, &Asker::tell_the_end);
  world.advance(0s);
  EXPECT_EQ(world.told.size(), 6U);
  const auto late = world.ask(60s);
  EXPECT_EQ(late->state, Request::State::answered);
  for (int i = 0; i < 4; ++i) world.advance(1s);
  EXPECT_EQ(world.told.size(), 10U);
  for (std::size_t i = 1; i <= 10; ++i) {
    EXPECT_EQ(all[i]->allowed(), i <= 4) << i;
    EXPECT_EQ(all[i]->ends, i > 4) << i;
    EXPECT_EQ(all[i]->which.wait, i <= 4 ? 0s : std::chrono::seconds{i}) << i;
  }
  // It had not stood in line.
  EXPECT_FALSE(late->allowed());
  EXPECT_FALSE(late->ends);
}

TEST(AcquiringStore, one_may_be_destroyed_by_what_another_is_told) {
  World world;
  const auto first = world.ask(0s);
  auto second = world.ask(10s);
  static std::unique_ptr<Asker> third;
  static World* its;
  third = world.ask(10s);
  its = &world;
  second->on_answer = [](Request&) {
    its->store.cancel(*third);
    third.reset();
  };
  world.store.end_all_after(world.now);
  world.advance(0s);
  EXPECT_EQ(world.house.waiting(), 0U);
  world.advance(10s);
  EXPECT_TRUE(world.told.empty());
}

// --------------------------------------------------------------------------------- another store, that is
// slow

// Answers when it is told to.
class Slow final : public store::Store {
 public:
  explicit Slow(store::Store& other) : other_(other) {}
  void submit(std::span<Request* const> batch, store::Arrival) override {
    for (Request* each : batch) {
      each->state = Request::State::submitted;
      asked.push_back(each);
      // The bytes are there until submit() returns.
      for (store::Check& check : each->checks) check.key = keys_.emplace_back(check.key);
    }
  }
  void cancel(Request& pending) override {
    std::erase(asked, &pending);
    pending.state = Request::State::idle;
  }
  void give_back(const Request&, nanoseconds) override {}
  void answer(nanoseconds now) {
    for (Request* each : std::exchange(asked, {})) {
      other_.submit({&each, 1}, {now, now});
      each->on_answer(*each);
    }
  }
  std::vector<Request*> asked;

 private:
  store::Store& other_;
  std::deque<std::string> keys_;
};

struct SlowWorld {
  store::Limit limit{.rule = core::Rule::parse("1/s").value()};
  store::EmbeddedStore embedded{std::size_t{8} << 20};
  Slow slow{embedded};
  House house{1'000};
  nanoseconds now = 100s;
  std::vector<Asker*> told;
  AcquiringStore store{slow, house, [this] { return now; }, [] {}, [] {}};
  AcquiringStore other{slow, house, [this] { return now; }, [] {}, [] {}};  // of another loop

  SlowWorld() { house.queues.hear(embedded.reservations()); }
  std::unique_ptr<Asker> ask(nanoseconds max_wait) { return ask(max_wait, store); }
  std::unique_ptr<Asker> ask(nanoseconds max_wait, AcquiringStore& of, nanoseconds hold = 0s) {
    auto asker = std::make_unique<Asker>(limit, "k", max_wait, told);
    asker->which.hold = hold;
    Request* const one = asker.get();
    of.submit({&one, 1}, {now, now});
    return asker;
  }
};

// Both are asked for a plan before either is in line; who comes then waits for both.
TEST(AcquiringStore, two_that_came_at_once_on_two_loops_make_the_next_wait_for_two) {
  for (const bool in_order : {true, false}) {
    SlowWorld world;
    const auto taken = world.ask(0s);
    world.slow.answer(world.now);
    const auto first = world.ask(10s), second = world.ask(10s, world.other);
    if (!in_order) std::swap(world.slow.asked[0], world.slow.asked[1]);
    world.slow.answer(world.now);
    EXPECT_EQ(world.told.size(), 1U);
    const auto third = world.ask(2s), fourth = world.ask(3s);
    world.slow.answer(world.now);
    EXPECT_EQ(world.told, (std::vector{taken.get(), third.get()})) << in_order;
    EXPECT_EQ(third->which.wait, 1s) << in_order;
    world.store.cancel(*fourth);
    // And they act in the order in which they came, however they were answered.
    for (int second_of = 1; second_of <= 2; ++second_of) {
      world.now = 100s + second_of * 1s;
      for (int round = 0; round < 6; ++round) {
        world.store.advance(world.now);
        world.other.advance(world.now);
        world.slow.answer(world.now);
      }
    }
    EXPECT_EQ(world.told, (std::vector{taken.get(), third.get(), first.get(), second.get()})) << in_order;
    EXPECT_EQ(world.house.waiting(), 0U);
  }
}

// The next in line has no plan yet, and what has just acted may cost nothing.
TEST(AcquiringStore, one_that_comes_when_a_hold_has_begun_is_not_too_late_for_it) {
  SlowWorld world;
  const auto taken = world.ask(0s);
  world.slow.answer(world.now);
  const auto first = world.ask(60s, world.store, 60s);
  world.slow.answer(world.now);
  const auto second = world.ask(60s);
  world.now += 1s;
  world.store.advance(world.now);
  world.slow.answer(world.now);
  world.store.advance(world.now);
  ASSERT_EQ(world.told, (std::vector{taken.get(), first.get()}));
  const auto third = world.ask(1'500ms), late = world.ask(1'500ms);  // after two that hold nothing
  for (int round = 0; round < 3; ++round) world.slow.answer(world.now);
  EXPECT_EQ(third->state, Request::State::submitted);
  EXPECT_EQ(late->state, Request::State::answered);
}

// Of two loops one hears of the pause while the other waits for what was said before it; so may a reset come.
TEST(AcquiringStore, one_that_was_asked_about_before_a_pause_is_too_late_as_those_in_line) {
  for (const bool is_reset : {false, true}) {
    SlowWorld world;
    const auto taken = world.ask(0s);
    world.slow.answer(world.now);
    const auto first = world.ask(60s, world.other), late = world.ask(9s);
    Request* const under_way = world.slow.asked.back();
    world.slow.asked.pop_back();
    world.slow.answer(world.now);
    const std::uint64_t key = store::Reservations::place_of(taken->check.hash);
    world.house.queues.paused(key, world.now + 10s, false);
    if (is_reset) world.house.queues.owed_changed(key);
    world.slow.asked.push_back(under_way);
    for (int round = 0; round < 4; ++round) {
      world.slow.answer(world.now);
      world.store.advance(world.now);
    }
    EXPECT_EQ(world.told.size(), is_reset ? 1U : 2U);
    EXPECT_EQ(late->state == Request::State::submitted, is_reset);
  }
}

// One is asked for a plan, and the others whether they fit now; one that does not stands in line after it.
TEST(AcquiringStore, of_a_crowd_over_a_slow_store_one_has_a_plan) {
  SlowWorld world;
  std::vector<std::unique_ptr<Asker>> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(world.ask(100s));
  int plans = 0;
  for (const Request* const each : world.slow.asked) plans += each->reservation->max_wait > 0s ? 1 : 0;
  EXPECT_EQ(plans, 1);
  for (int i = 0; i < 4; ++i) world.slow.answer(world.now);
  EXPECT_EQ(world.told, (std::vector{crowd[0].get()}));
  EXPECT_EQ(world.embedded.reservations().counts().open, 1U);
  for (std::size_t i = 1; i < crowd.size(); ++i) {
    world.now += 1s;
    world.store.advance(world.now);
    for (int round = 0; round < 4; ++round) world.slow.answer(world.now);
    ASSERT_EQ(world.told.size(), i + 1);
    EXPECT_EQ(world.told.back(), crowd[i].get());
    EXPECT_LE(world.embedded.reservations().counts().open, 1U);
  }
}

// It was put off, as it asks for more than the one before it, and is asked about when its time is over.
TEST(AcquiringStore, one_whose_time_ends_while_it_is_asked_about_is_asked_about_once) {
  SlowWorld world;
  world.limit.rule = core::Rule::parse("in_flight=1").value();
  const auto ask = [&world](nanoseconds max_wait, Cost cost) {
    auto asker = std::make_unique<Asker>(world.limit, "k", max_wait, world.told);
    asker->which.hold = 60s;
    asker->check.cost = cost;
    Request* const one = asker.get();
    world.store.submit({&one, 1}, {world.now, world.now});
    return asker;
  };
  const auto taken = ask(0s, Cost{1});
  world.slow.answer(world.now);
  const auto first = ask(60s, Cost{1}), late = ask(9s, Cost{2});
  EXPECT_EQ(world.slow.asked.size(), 1U);
  world.slow.answer(world.now);
  std::vector<Request*>& asked = world.slow.asked;
  ASSERT_EQ(asked.size(), 1U);
  Request* const look = asked[0];
  world.now += 9s;
  world.store.advance(world.now);
  EXPECT_EQ(std::count(asked.begin(), asked.end(), look), 1);
  world.slow.answer(world.now);
  EXPECT_EQ(world.told, (std::vector{taken.get(), late.get()}));
  EXPECT_FALSE(late->allowed());
}

// Its time is over when it's told that it doesn't fit: nothing more is asked.
TEST(AcquiringStore, one_of_a_crowd_whose_time_is_over_is_denied_by_what_it_was_told) {
  SlowWorld world;
  const auto first = world.ask(10s), second = world.ask(20ms);
  world.now += 50ms;
  world.slow.answer(world.now);
  EXPECT_EQ(world.told, (std::vector{first.get(), second.get()}));
  EXPECT_FALSE(second->allowed());
  EXPECT_EQ(second->which.wait, 980ms);
  EXPECT_TRUE(world.slow.asked.empty());
  EXPECT_EQ(world.house.waiting(), 0U);
}

// Those before it may each take as long as the store lets them.
TEST(AcquiringStore, who_waits_for_others_answers_waits_no_longer_than_it_may) {
  SlowWorld world;
  world.limit.rule = core::Rule::parse("1/s burst 3").value();
  const auto first = world.ask(10s);
  Asker larger(world.limit, "k", 20ms, world.told);
  larger.check.cost = Cost{3};
  Request* const one = &larger;
  world.store.submit({&one, 1}, {world.now, world.now});
  EXPECT_EQ(world.slow.asked.size(), 1U);
  EXPECT_EQ(world.store.next_deadline(), world.now + 20ms);
  world.now += 20ms;
  world.store.advance(world.now);
  ASSERT_EQ(world.slow.asked.size(), 2U);
  world.slow.answer(world.now);
  EXPECT_EQ(world.told, (std::vector{first.get(), &larger}));
  EXPECT_FALSE(larger.allowed());
  EXPECT_EQ(larger.which.wait, 980ms);
  EXPECT_EQ(world.house.waiting(), 0U);
}

TEST(AcquiringStore, waits_for_a_slow_store_and_then_for_the_moment) {
  SlowWorld world;
  const auto first = world.ask(10s), second = world.ask(10s);
  EXPECT_EQ(world.house.waiting(), 2U);
  world.now += 3ms;
  world.slow.answer(world.now);
  world.slow.answer(world.now);  // it did not fit at once, and is asked for a plan
  EXPECT_EQ(world.told, (std::vector{first.get()}));
  EXPECT_EQ(world.store.next_deadline(), 101'003ms);
  world.now += 1s;
  world.store.advance(world.now);
  EXPECT_EQ(world.told, (std::vector{first.get()}));  // it asks whether a pause has moved that
  world.slow.answer(world.now);
  EXPECT_EQ(world.told, (std::vector{first.get(), second.get()}));
  EXPECT_EQ(world.house.waiting(), 0U);
}

TEST(AcquiringStore, one_that_goes_before_the_answer_gives_its_moment_up_when_that_comes) {
  SlowWorld world;
  const auto first = world.ask(10s);
  world.slow.answer(world.now);
  auto second = world.ask(10s);
  world.store.cancel(*second);
  second.reset();
  world.slow.answer(world.now);
  EXPECT_EQ(world.embedded.reservations().counts().open, 1U);
  world.slow.answer(world.now);  // the cancel
  EXPECT_EQ(world.embedded.reservations().counts().open, 0U);
  EXPECT_EQ(world.house.waiting(), 0U);
  EXPECT_EQ(world.told, (std::vector{first.get()}));
}

// Its place in line is nobody's afterwards: the next has it, and what is given back looks for nobody there.
TEST(AcquiringStore, one_that_goes_as_its_moment_is_asked_for_leaves_the_line) {
  SlowWorld world;
  const auto first = world.ask(10s);
  world.slow.answer(world.now);
  auto second = world.ask(10s);
  const auto third = world.ask(10s);
  world.slow.answer(world.now);
  world.now += 1s;
  world.store.advance(world.now);
  ASSERT_EQ(world.slow.asked.size(), 1U);
  EXPECT_EQ(world.slow.asked[0]->verb, Verb::moment);
  world.store.cancel(*second);
  second.reset();
  for (int i = 0; i < 6; ++i) {
    world.slow.answer(world.now);
    world.now += 1s;
    world.store.advance(world.now);
  }
  EXPECT_EQ(world.told, (std::vector{first.get(), third.get()}));
  EXPECT_TRUE(third->allowed());
  EXPECT_TRUE(world.house.queues.empty());
  EXPECT_EQ(world.house.waiting(), 0U);
}

// It is asked about: the answer is a plan, or a grant. Or it is one of those that are asked about later.
TEST(AcquiringStore, a_wait_may_be_ended_while_the_store_is_asked) {
  for (const bool fits : {false, true}) {
    SlowWorld world;
    const auto taken = fits ? nullptr : world.ask(0s);
    world.slow.answer(world.now);
    std::vector<std::unique_ptr<Asker>> askers;
    for (int i = 0; i < 70; ++i) askers.push_back(world.ask(1h));
    world.told.clear();
    for (const int which : {0, 69}) world.store.end(*askers[static_cast<std::size_t>(which)]);
    for (int round = 0; round < 4; ++round) {
      world.slow.answer(world.now);
      world.store.advance(world.now);
    }
    EXPECT_EQ(std::set(world.told.begin(), world.told.end()), (std::set{askers[0].get(), askers[69].get()}));
    EXPECT_EQ(askers[0]->allowed(), fits);
    EXPECT_FALSE(askers[69]->allowed());
    EXPECT_GE(askers[69]->which.wait, 1s);
    EXPECT_EQ(world.house.waiting(), 68U);
  }
}

// Asked about all at once, it might answer none within its deadline.
TEST(AcquiringStore, a_store_is_asked_about_some_at_a_time_first_come_first_served) {
  SlowWorld world;
  std::vector<std::unique_ptr<Asker>> askers;
  for (int i = 0; i < 200; ++i) askers.push_back(world.ask(1h));
  EXPECT_EQ(world.slow.asked.size(), 64U);
  for (const std::size_t gone : {5U, 100U}) {  // one that is asked about, and one that is not
    world.store.cancel(*askers[gone]);
    askers[gone].reset();
  }
  std::erase(askers, nullptr);
  for (int i = 0; i < 1'000 && world.house.waiting() > 0; ++i) {
    world.slow.answer(world.now);
    EXPECT_LE(world.slow.asked.size(), 64U);
    world.now += 500ms;
    world.store.advance(world.now);
  }
  std::vector<Asker*> expected;
  for (const auto& each : askers) {
    EXPECT_TRUE(each->allowed());
    expected.push_back(each.get());
  }
  EXPECT_EQ(world.told, expected);
  EXPECT_TRUE(world.house.queues.empty());
}

TEST(AcquiringStore, one_that_is_refused_before_the_store_was_asked_is_told_at_once) {
  SlowWorld world;
  std::vector<std::unique_ptr<Asker>> askers;
  for (int i = 0; i < 70; ++i) askers.push_back(world.ask(1h));
  world.store.judge_waiting([](Request& request) {
    request.checks = {};
    return AcquiringStore::Judged::refused;
  });
  world.store.advance(world.now);
  EXPECT_EQ(world.told.size(), 6U);
  EXPECT_EQ(world.told.front(), askers[64].get());
  while (!world.slow.asked.empty()) world.slow.answer(world.now);
  EXPECT_EQ(world.told.size(), 70U);
  EXPECT_EQ(world.embedded.reservations().counts().open, 0U);
  EXPECT_EQ(world.house.waiting(), 0U);
}

// The limit of all is a lower one now. Only who asks for more than its burst asks again before it is the
// first.
TEST(AcquiringStore, those_whom_other_limits_never_let_act_are_told_wherever_they_stand) {
  static const store::Limit kLower{.rule = core::Rule::parse("1/s burst 2").value()};
  World world;
  world.limit.rule = core::Rule::parse("1/s burst 3").value();
  std::deque<Asker> all;
  for (const std::uint64_t units : {3U, 1U, 3U, 1U}) {
    Asker& asker = all.emplace_back(world.limit, "k", 1h, world.told);
    asker.check.cost = Cost{units};
    const auto renew = [](Request& request) {
      return std::exchange(static_cast<Asker&>(request).check.limit, &kLower) != &kLower;
    };
    world.store.acquire(asker, {world.now, world.now}, {.renew = renew});
  }
  world.store.judge_waiting([](Request& request) {
    const bool is_never = request.checks[0].cost.units > 2;
    return is_never ? AcquiringStore::Judged::asks_again : AcquiringStore::Judged::stays;
  });
  world.advance(0s);
  EXPECT_EQ(world.told, (std::vector{&all[2]}));
  EXPECT_FALSE(all[2].allowed());
  EXPECT_FALSE(all[2].decision().retry_after);
  for (int second = 1; second <= 3; ++second) world.advance(1s);
  EXPECT_EQ(world.told, (std::vector{&all[2], &all[1], &all[3]}));
  EXPECT_TRUE(all[0].allowed() && all[1].allowed() && all[3].allowed());
}

TEST(AcquiringStore, its_end_takes_back_what_it_asked) {
  store::EmbeddedStore embedded{std::size_t{8} << 20};
  Slow slow{embedded};
  House house{10};
  const store::Limit limit{.rule = core::Rule::parse("1/s").value()};
  std::vector<Asker*> told;
  Asker asker(limit, "k", 1s, told);
  {
    AcquiringStore store{slow, house, [] { return 1s; }, [] {}, [] {}};
    Request* const one = &asker;
    store.submit({&one, 1}, {1s, 1s});
    store.cancel(asker);
  }
  EXPECT_TRUE(slow.asked.empty());
}

// One slot, taken, and one acquire in line for it.
struct Line : World {
  Line() {
    limit.rule = core::Rule::parse("in_flight=1").value();
    holder = ask(0s, 60s);
    first = ask(50s, 60s);
  }
  // A reservation of a slot, and of a rate too where it has one.
  std::unique_ptr<Asker> reserve(const store::Limit* of_rate, nanoseconds max_wait,
                                 Verb verb = Verb::reserve) {
    auto asker = std::make_unique<Asker>(limit, "k", max_wait, told);
    asker->which.hold = 60s;
    both[0] = asker->check;
    both[1] = {.limit = of_rate, .key = "r", .cost = Cost{1}};
    if (of_rate != nullptr) asker->checks = both;
    asker->verb = verb;
    if (verb == Verb::reserve) {
      store.reserve(*asker, {now, now});
    } else {
      Request* const one = asker.get();
      store.submit({&one, 1}, {now, now});
    }
    return asker;
  }
  void settle(const std::string& id) {
    store::ReservationTerms which{.id = id};
    Request asked{.verb = Verb::settle, .reservation = &which};
    Request* const one = &asked;
    embedded.submit({&one, 1}, {now, now});
  }
  store::Limit rate{.rule = core::Rule::parse("1/20s").value()};
  std::array<store::Check, 2> both;
  std::unique_ptr<Asker> holder, first;
};

TEST(AcquiringStore, at_the_end_one_whose_own_time_is_over_is_denied_as_ever) {
  Line line;
  const auto brief = line.ask(3s, 60s);
  line.store.end_all_after(line.now + 4s, &Asker::tell_the_end);
  line.advance(3s);
  EXPECT_EQ(line.told, (std::vector{brief.get()}));
  EXPECT_FALSE(brief->allowed());
  EXPECT_FALSE(brief->ends);
  line.advance(1s);
  EXPECT_EQ(line.told, (std::vector{brief.get(), line.first.get()}));
  EXPECT_FALSE(line.first->allowed());
  EXPECT_TRUE(line.first->ends);
}

using Told = std::vector<Asker*>;

TEST(AcquiringStore, one_that_a_pause_makes_too_late_is_denied_at_once) {
  World world;
  const auto taken = world.ask(0s), first = world.ask(9s), second = world.ask(60s),
             third = world.ask(11s, 60s), fourth = world.ask(12s, 60s);
  world.charge(world.limit, "k", Pause{10s});
  world.advance(0s);
  // The second acts at the end, and each other a second later, whatever holds give back.
  EXPECT_EQ(world.told, (Told{first.get()}));
  EXPECT_FALSE(first->allowed());
  EXPECT_EQ(first->which.wait, 1s);
  world.charge(world.limit, "k", Pause{10'500ms});
  world.advance(0s);
  EXPECT_EQ(world.told, (Told{first.get(), third.get()}));
  EXPECT_FALSE(third->allowed());
  world.advance(10'500ms);
  EXPECT_EQ(world.told, (Told{first.get(), third.get(), second.get()}));
  world.advance(1s);
  EXPECT_EQ(world.told, (Told{first.get(), third.get(), second.get(), fourth.get()}));
  EXPECT_TRUE(second->allowed());
  EXPECT_TRUE(fourth->allowed());
}

// Each of them may be settled at nothing as soon as it has acted.
TEST(AcquiringStore, one_after_holds_is_not_too_late_for_what_they_may_give_back) {
  for (const bool is_paused : {true, false}) {
    World world;
    const auto taken = world.ask(0s), first = world.ask(60s, 60s), second = world.ask(60s, 60s);
    std::unique_ptr<Asker> third;
    if (is_paused) third = world.ask(10'500ms);
    if (is_paused) world.charge(world.limit, "k", Pause{10s});
    world.advance(0s);
    if (!is_paused) third = world.ask(1'500ms);
    EXPECT_EQ(third->state, Request::State::submitted) << is_paused;
    world.advance(is_paused ? 10s : 1s);
    for (const auto& each : {first.get(), second.get()}) {
      ASSERT_FALSE(each->which.id.empty()) << is_paused;
      world.settle(each->which.id);
      world.advance(0s);
    }
    EXPECT_EQ(world.told.back(), third.get());
    EXPECT_TRUE(third->allowed()) << is_paused;
  }
}

// It would be too late beside what is held, and in time if that is settled; so is the next where it, too,
// holds.
TEST(AcquiringStore, what_a_hold_may_give_back_in_time_is_waited_for) {
  for (const bool is_settled : {true, false}) {
    World world;
    const auto holder = world.ask(0s, 60s);
    ASSERT_TRUE(holder->allowed());
    const auto first = world.ask(500ms, is_settled ? 60s : 0s), second = world.ask(600ms);
    world.advance(200ms);
    EXPECT_TRUE(world.told.empty()) << is_settled;
    EXPECT_EQ(second->state == Request::State::answered, !is_settled);
    if (is_settled) {
      world.settle(holder->which.id);
      world.advance(0s);
      ASSERT_EQ(world.told, (Told{first.get()}));
      ASSERT_TRUE(first->allowed());
      world.advance(300ms);
      world.settle(first->which.id);
      world.advance(0s);
      EXPECT_EQ(world.told, (Told{first.get(), second.get()}));
      EXPECT_TRUE(second->allowed());
    } else {
      world.advance(300ms);
      ASSERT_EQ(world.told, (Told{first.get()}));
      EXPECT_FALSE(first->allowed());
      EXPECT_LE(first->which.wait, 500ms);
      EXPECT_EQ(world.embedded.reservations().counts().open, 1U);
      world.advance(first->which.wait);
      EXPECT_TRUE(world.ask(0s)->allowed());
    }
  }
}

// Nothing is held, so nothing that is denied would have acted in time.
TEST(AcquiringStore, what_no_hold_gives_back_is_not_waited_for) {
  World world;
  const auto holder = world.ask(0s, 60s);
  world.settle(holder->which.id);
  const auto taken = world.ask(0s);
  EXPECT_TRUE(taken->allowed());
  const auto late = world.ask(500ms);
  EXPECT_EQ(late->state, Request::State::answered);
  EXPECT_EQ(late->which.wait, 500ms);
}

// All of the burst acts at the end, so nobody is too late for its pace.
TEST(AcquiringStore, one_that_a_pause_afresh_leaves_time_for_is_not_denied) {
  World world;
  world.limit.rule = core::Rule::parse("1/s burst 3").value();
  const auto one = world.ask(0s), two = world.ask(0s), three = world.ask(0s), first = world.ask(9s),
             second = world.ask(11s), third = world.ask(11s), fourth = world.ask(11s);
  world.charge(world.limit, "k", Pause{10s, true});
  world.advance(0s);
  EXPECT_EQ(world.told, (Told{first.get()}));
  EXPECT_FALSE(first->allowed());
  world.advance(10s);
  EXPECT_EQ(world.told, (Told{first.get(), second.get(), third.get(), fourth.get()}));
  EXPECT_TRUE(second->allowed());
  EXPECT_TRUE(fourth->allowed());
}

TEST(AcquiringStore, a_pause_denies_those_in_line_for_a_slot_too) {
  Line line;
  const auto brief = line.reserve(&line.rate, 20s, Verb::acquire);
  EXPECT_EQ(brief->state, Request::State::submitted);
  line.charge(line.rate, "r", Pause{20s});
  line.advance(0s);
  EXPECT_TRUE(line.told.empty());
  line.charge(line.rate, "r", Pause{21s});
  line.advance(0s);
  EXPECT_EQ(line.told, (Told{brief.get()}));
  EXPECT_FALSE(brief->allowed());
}

TEST(AcquiringStore, a_reset_or_a_refund_lets_the_first_act_earlier) {
  for (const bool resets : {true, false}) {
    World world;
    const auto taken = world.ask(0s), first = world.ask(9s);
    if (resets) {
      Asker reset(world.limit, "k", 0s, world.told);
      reset.verb = Verb::reset;
      Request* const one = &reset;
      world.store.submit({&one, 1}, {world.now, world.now});
    } else {
      world.charge(world.limit, "k", weir::detail::refund_of(Cost{1}));
    }
    world.advance(0s);
    EXPECT_EQ(world.told, (Told{first.get()})) << resets;
    EXPECT_TRUE(first->allowed()) << resets;
  }
}

TEST(AcquiringStore, a_reservation_acts_after_those_in_line) {
  World world;
  const auto first = world.ask(0s), second = world.ask(10s), third = world.ask(10s);
  EXPECT_TRUE(world.store.has_lines());
  Asker passer(world.limit, "k", 2s, world.told);
  passer.verb = Verb::reserve;
  world.store.reserve(passer, {world.now, world.now});
  EXPECT_FALSE(passer.allowed());
  EXPECT_EQ(passer.which.wait, 1s);
  passer.which.max_wait = 3s;
  world.store.reserve(passer, {world.now, world.now});
  EXPECT_TRUE(passer.allowed());
  EXPECT_EQ(passer.which.wait, 3s);
}

// Told a moment within the burst that the line has not used yet, each would come before some of it.
TEST(AcquiringStore, reservations_after_a_line_leave_its_room_to_it) {
  World world;
  world.limit.rule = core::Rule::parse("10/s burst 10").value();
  std::vector<std::unique_ptr<Asker>> all;
  for (int i = 0; i < 30; ++i) all.push_back(world.ask(10s));
  std::vector<std::unique_ptr<Asker>> passers;
  const auto reserve = [&](nanoseconds expected) {
    Asker& passer = *passers.emplace_back(std::make_unique<Asker>(world.limit, "k", 10s, world.told));
    passer.verb = Verb::reserve;
    world.store.reserve(passer, {world.now, world.now});
    EXPECT_EQ(passer.which.wait, expected);
  };
  for (int i = 1; i <= 50; ++i) reserve(2s + i * 100ms);
  // One that is cancelled leaves its moment to the next.
  store::ReservationTerms left{.id = passers[3]->which.id};
  Request cancel{.verb = Verb::cancel, .reservation = &left};
  Request* const one = &cancel;
  world.store.submit({&one, 1}, {world.now, world.now});
  reserve(2400ms);
  for (std::size_t i = 1; i <= 20; ++i) {
    world.advance(100ms);
    EXPECT_EQ(world.told.size(), i);
  }
}

// Of one in line the plan is there, and its units count once; those who are told a moment after the line make
// it later for those who join it, and pass nobody.
TEST(AcquiringStore, reservations_and_a_line_that_goes_on_come_in_their_order) {
  World world;
  std::vector<std::unique_ptr<Asker>> all;
  const auto join = [&](int count) {
    for (int i = 0; i < count; ++i) all.push_back(world.ask(1h));
  };
  const auto reserve = [&](nanoseconds expected) {
    Asker& last = *all.emplace_back(std::make_unique<Asker>(world.limit, "k", 1h, world.told));
    last.verb = Verb::reserve;
    world.store.reserve(last, {world.now, world.now});
    EXPECT_EQ(last.which.wait, expected);
  };
  join(2);
  reserve(2s);
  reserve(3s);
  join(2);  // at 4 and 5 s
  reserve(6s);
  join(1);
  reserve(8s);
  for (int i = 0; i < 60; ++i) reserve(9s + i * 1s);
  world.told.clear();
  std::vector<std::size_t> acted;
  for (int i = 1; i <= 10; ++i) {
    world.advance(1s);
    acted.push_back(world.told.size());
  }
  EXPECT_EQ(acted, (std::vector<std::size_t>{1, 1, 1, 2, 3, 3, 4, 4, 4, 4}));
}

// The line acts after a pause that nobody in it has heard of.
TEST(AcquiringStore, a_reservation_acts_after_a_line_that_a_pause_holds_up) {
  World world;
  const auto first = world.ask(1h), second = world.ask(1h), third = world.ask(1h);
  world.charge(world.limit, "k", Pause{10s});
  Asker last(world.limit, "k", 1h, world.told);
  last.verb = Verb::reserve;
  world.store.reserve(last, {world.now, world.now});
  EXPECT_EQ(last.which.wait, 12s);
}

TEST(AcquiringStore, a_reservation_does_not_pass_those_in_line_for_its_slot) {
  Line line;
  EXPECT_EQ(line.first->state, Request::State::submitted);
  line.settle(line.holder->which.id);  // nobody has told the line yet
  const auto passer = line.reserve(nullptr, 0s);
  EXPECT_EQ(passer->state, Request::State::answered);
  EXPECT_EQ(passer->decision().verdict, Verdict::busy);
  EXPECT_FALSE(passer->charged);
  EXPECT_EQ(passer->which.id, "");
  EXPECT_GT(passer->which.wait, 0s);
  line.advance(60s);
  EXPECT_EQ(line.told, (std::vector{line.first.get()}));
}

TEST(AcquiringStore, who_is_denied_in_line_leaves_what_its_asker_was_granted_before) {
  Line line;
  const store::Limit other{.rule = core::Rule::parse("1/s").value(), .id = 2};
  Asker before(other, "o", 0s, line.told);
  before.which.hold = 60s;
  Request* const one = &before;
  line.store.submit({&one, 1}, {line.now, line.now});
  ASSERT_NE(before.which.id, "");
  Asker passer(line.limit, "k", 0s, line.told);
  passer.verb = Verb::reserve;
  passer.which = before.which;
  line.store.reserve(passer, {line.now, line.now});
  EXPECT_FALSE(passer.allowed());
  store::ReservationTerms asked{.hold = 60s, .id = before.which.id};
  Request extend{.verb = Verb::extend, .reservation = &asked};
  Request* const again = &extend;
  line.store.submit({&again, 1}, {line.now, line.now});
  EXPECT_EQ(asked.wait, 60s);
}

TEST(AcquiringStore, a_reservation_of_a_slot_without_a_line_is_asked_for_as_it_is) {
  Line line;
  line.store.cancel(*line.first);
  const auto busy = line.reserve(nullptr, 0s);
  EXPECT_EQ(busy->verb, Verb::reserve);
  EXPECT_EQ(busy->decision().verdict, Verdict::busy);
  line.settle(line.holder->which.id);
  EXPECT_TRUE(line.reserve(nullptr, 0s)->allowed());
}

TEST(AcquiringStore, a_reservation_after_a_line_is_told_the_longest_of_its_slots_and_rates) {
  Line line;
  Asker used(line.rate, "r", 0s, line.told);
  used.verb = Verb::check;
  Request* const one = &used;
  for (int i = 0; i < 2; ++i) line.embedded.submit({&one, 1}, {line.now, line.now});
  line.now += 1s;
  const auto of_slot = line.reserve(&line.rate, 0s);
  EXPECT_EQ(std::pair(of_slot->by, of_slot->which.wait), std::pair(std::uint8_t{0}, nanoseconds{59s}));
  line.settle(line.holder->which.id);
  const auto of_rate = line.reserve(&line.rate, 0s);
  EXPECT_EQ(std::pair(of_rate->by, of_rate->which.wait), std::pair(std::uint8_t{1}, nanoseconds{19s}));
  EXPECT_FALSE(of_rate->allowed());
}

TEST(AcquiringStore, one_that_joins_a_line_is_denied_at_once_where_its_rates_cannot_be_in_time) {
  Line line;
  Asker used(line.rate, "r", 0s, line.told);
  used.verb = Verb::check;
  Request* const one = &used;
  line.embedded.submit({&one, 1}, {line.now, line.now});
  const auto late = line.reserve(&line.rate, 19s, Verb::acquire);
  EXPECT_EQ(late->state, Request::State::answered);
  EXPECT_FALSE(late->allowed());
  const auto in_time = line.reserve(&line.rate, 20s, Verb::acquire);
  EXPECT_EQ(in_time->state, Request::State::submitted);
  EXPECT_EQ(line.house.waiting(), 2U);
  EXPECT_EQ(line.house.queues.slot_waiters(), (std::unordered_map<std::uint64_t, std::uint64_t>{{0, 2}}));
  line.store.cancel(*in_time);
  EXPECT_EQ(line.house.queues.slot_waiters(), (std::unordered_map<std::uint64_t, std::uint64_t>{{0, 1}}));
}

TEST(AcquiringStore, one_whose_turn_comes_while_it_is_judged_has_it) {
  Line line;
  Slow slow{line.embedded};
  AcquiringStore late(slow, line.house, [&line] { return line.now; }, [] {}, [] {}, false);
  auto asker = std::make_unique<Asker>(line.limit, "k", 50s, line.told);
  asker->which.hold = 60s;
  late.acquire(*asker, {line.now, line.now}, {});
  EXPECT_EQ(slow.asked.size(), 1U);
  line.settle(line.holder->which.id);
  line.store.cancel(*line.first);
  slow.answer(line.now);
  late.advance(line.now);
  slow.answer(line.now);
  EXPECT_TRUE(asker->allowed());
}

}  // namespace
}  // namespace weir::waiting::acquiring_store_test
