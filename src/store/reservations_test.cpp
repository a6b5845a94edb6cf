#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "store/embedded_store.hpp"

namespace weir::inline v0_1::store::reservations_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

Limit limit(const char* rule, std::uint64_t id = 0) {
  return {.rule = core::Rule::parse(rule).value(), .id = id};
}

struct Answer {
  bool granted = false;
  nanoseconds wait{0};
  std::string id{};
  std::uint8_t by = 0;
  std::vector<Decision> decisions{};
};

// A store and a clock that is turned by hand.
struct World {
  EmbeddedStore store{1_MiB, WhenFull::deny, {1, 2}};
  nanoseconds now = 1000s;

  Request ask(Verb verb, std::span<Check> checks, ReservationTerms* reservation) {
    Request request{.checks = checks, .verb = verb, .reservation = reservation};
    Request* const one = &request;
    store.submit({&one, 1}, {now, now});
    EXPECT_EQ(request.state, Request::State::answered);
    return request;
  }
  Answer reserve(std::vector<Check> checks, nanoseconds max_wait, nanoseconds hold = 0s) {
    ReservationTerms reservation{.max_wait = max_wait, .hold = hold};
    const Request request = ask(Verb::reserve, checks, &reservation);
    EXPECT_EQ(request.fault, Fault::none) << request.why;
    EXPECT_EQ(request.allowed(), request.decision().allowed());
    Answer answer{request.allowed(), reservation.wait, reservation.id, request.by};
    for (const Check& check : checks) answer.decisions.push_back(check.decision);
    return answer;
  }
  Answer reserve(const Limit& limit, std::uint64_t cost, nanoseconds max_wait, nanoseconds hold = 0s) {
    return reserve({{.limit = &limit, .key = "k", .cost = Cost{cost}}}, max_wait, hold);
  }
  Decision check(const Limit& limit, std::uint64_t cost = 1, Verb verb = Verb::check) {
    Check one{.limit = &limit, .key = "k", .cost = Cost{cost}};
    return ask(verb, {&one, 1}, nullptr).checks[0].decision;
  }
  std::uint64_t cancel(const std::string& id) {
    ReservationTerms reservation{.id = id};
    ask(Verb::cancel, {}, &reservation);
    return reservation.given_back;
  }
  nanoseconds settle(const std::string& id, std::uint64_t actual) {
    ReservationTerms reservation{.id = id, .actual = actual};
    EXPECT_EQ(ask(Verb::settle, {}, &reservation).fault, Fault::none);
    return reservation.wait;
  }
};

TEST(Reservations, have_a_moment_each_in_the_order_in_which_they_came) {
  World world;
  const Limit one = limit("1/s burst 2");
  for (const nanoseconds wait : {0s, 0s, 1s, 2s, 3s}) {
    const Answer answer = world.reserve(one, 1, 10s);
    EXPECT_TRUE(answer.granted);
    EXPECT_EQ(answer.wait, wait);
    // There is nothing to cancel of one that acts now.
    EXPECT_EQ(answer.id.empty(), wait == 0s);
  }
}

TEST(Reservations, wait_no_longer_than_they_said_and_are_told_when_to_come_back) {
  World world;
  const Limit one = limit("1/s burst 1");
  EXPECT_TRUE(world.reserve(one, 1, 0s).granted);
  EXPECT_TRUE(world.reserve(one, 1, 1s).granted);
  const Answer denied = world.reserve(one, 1, 500ms);
  EXPECT_FALSE(denied.granted);
  EXPECT_EQ(denied.wait, 1500ms);
  world.now += 1500ms - 1ns;
  EXPECT_EQ(world.reserve(one, 1, 500ms).wait, 1ns);
  world.now += 1ns;
  const Answer granted = world.reserve(one, 1, 500ms);
  EXPECT_TRUE(granted.granted);
  EXPECT_EQ(granted.wait, 500ms);
}

TEST(Reservations, are_never_granted_above_the_burst_and_look_at_no_cost) {
  World world;
  const Limit one = limit("1/s burst 2");
  EXPECT_EQ(world.reserve(one, 3, 10s).wait, -1ns);
  EXPECT_TRUE(world.reserve(one, 0, 10s).granted);
  EXPECT_EQ(world.check(one, 0).remaining, 2);
  EXPECT_TRUE(world.reserve(one, 0, 10s, 10s).id.empty());
}

// Of one that stands in line: its moment and the time for which it may be cancelled.
TEST(Reservations, that_are_plans_can_be_cancelled_until_they_act) {
  const Limit one = limit("1/10s burst 1");
  enum class How { in_time, late, acted, forgotten };
  for (const How how : {How::in_time, How::late, How::acted, How::forgotten}) {
    for (const nanoseconds hold : {nanoseconds{0s}, nanoseconds{100s}}) {
      World world;
      EXPECT_TRUE(world.check(one).allowed());
      Check check{.limit = &one, .key = "k", .cost = Cost{1}};
      ReservationTerms plan{.max_wait = 60s, .hold = hold, .stands_in_line = true};
      world.ask(Verb::reserve, {&check, 1}, &plan);
      ASSERT_EQ(plan.wait, 10s);
      ReservationTerms asked{.id = plan.id};
      world.now += how == How::in_time ? 9s : how == How::late ? 15s : how == How::acted ? 10s : 71s;
      if (how == How::acted) world.ask(Verb::moment, {}, &asked);
      EXPECT_EQ(asked.wait, 0s);
      const bool is_over = how == How::acted || (how == How::forgotten && hold == 0s);
      EXPECT_EQ(world.cancel(plan.id), is_over ? 0U : 1U);
      EXPECT_EQ(world.check(one).allowed(), how == How::late || how == How::forgotten) << hold.count();
      // That it has acted is told for a while.
      world.ask(Verb::moment, {}, &asked);
      if (how == How::acted) {
        EXPECT_EQ(asked.wait, 0s);
      }
      EXPECT_EQ(world.store.reservations().counts().open, how == How::acted && hold != 0s ? 1U : 0U);
    }
  }
}

// Another thread has found that all of it has drained, by a later reading of the clock.
TEST(Reservations, settled_by_an_older_reading_give_back_nothing_that_others_were_charged) {
  World world;
  const Limit one = limit("1/s burst 5");
  const Answer held = world.reserve(one, 5, 0s, 60s);
  world.now += 5s;
  EXPECT_TRUE(world.check(one, 5).allowed());
  world.now -= 1s;
  EXPECT_EQ(world.settle(held.id, 0), 2s);
  world.now += 1s;
  EXPECT_EQ(world.check(one).retry_after, 1s);
}

TEST(Reservations, are_not_overtaken_by_checks) {
  World world;
  const Limit one = limit("1/s burst 1");
  world.reserve(one, 1, 0s);
  world.reserve(one, 1, 10s);  // in 1 s
  world.now += 1s;
  const Decision denied = world.check(one);
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.retry_after, 1s);
}

TEST(Reservations, that_are_the_last_go_back_whole) {
  World world;
  const Limit one = limit("1/s burst 2");
  world.check(one, 2);
  const Answer first = world.reserve(one, 1, 10s);
  const Answer second = world.reserve(one, 2, 10s);
  EXPECT_EQ(second.wait, 3s);
  EXPECT_EQ(world.cancel(second.id), 2U);
  EXPECT_EQ(world.cancel(second.id), 0U);
  EXPECT_EQ(world.reserve(one, 1, 10s).wait, 2s);
  EXPECT_EQ(world.cancel(first.id), 1U);
  EXPECT_EQ(world.reserve(one, 1, 10s).wait, 1s);
}

TEST(Reservations, that_are_given_up_leave_room_for_one_that_makes_nobody_late) {
  World world;
  const Limit one = limit("1/s burst 2");
  world.check(one, 2);
  const Answer first = world.reserve(one, 2, 10s);   // in 2 s
  const Answer second = world.reserve(one, 1, 10s);  // in 3 s
  EXPECT_EQ(world.cancel(first.id), 2U);
  EXPECT_FALSE(world.check(one).allowed());
  const Answer part = world.reserve(one, 1, 10s);
  EXPECT_EQ(part.wait, 1s);
  EXPECT_EQ(world.reserve(one, 1, 10s).wait, 2s);
  EXPECT_EQ(world.reserve(one, 1, 10s).wait, 4s);
  EXPECT_EQ(world.cancel(part.id), 1U);
  EXPECT_EQ(world.reserve(one, 1, 10s).wait, 1s);
  EXPECT_EQ(world.cancel(second.id), 1U);
}

TEST(Reservations, leave_a_moment_that_a_check_may_take) {
  World world;
  const Limit one = limit("1/s burst 1");
  world.check(one);
  const Answer first = world.reserve(one, 1, 10s);  // in 1 s
  world.reserve(one, 1, 10s);                       // in 2 s
  EXPECT_EQ(world.cancel(first.id), 1U);
  world.now += 1s;
  EXPECT_TRUE(world.check(one).allowed());
  EXPECT_EQ(world.check(one).retry_after, 2s) << "that moment is told";
  EXPECT_EQ(world.cancel(first.id), 0U);
}

// Minutes ahead, it does not stand in the way of those who act before it.
TEST(Reservations, that_wait_for_another_limit_take_nothing_of_this_one_until_then) {
  World world;
  const Limit slow = limit("1/min burst 1", 1);
  const Limit tenant = limit("1000/s burst 2000", 2);
  const std::vector<Check> both{{.limit = &slow, .key = "k"}, {.limit = &tenant, .key = "k"}};
  EXPECT_TRUE(world.reserve(both, 60s).granted);
  const Answer second = world.reserve(both, 60s);
  EXPECT_TRUE(second.granted);
  EXPECT_EQ(second.wait, 60s);
  EXPECT_EQ(second.by, 0);
  EXPECT_EQ(world.check(tenant, 0).remaining, 1999);
  EXPECT_TRUE(world.check(tenant, 1999).allowed());
  const Answer denied = world.reserve(both, 60s);
  EXPECT_FALSE(denied.granted);
  EXPECT_EQ(denied.wait, 60s);
}

TEST(Reservations, meet_no_burst_that_takes_longer_to_drain_than_can_be_counted) {
  World world;
  const Limit ages = limit("1/100000d burst 1");
  EXPECT_TRUE(world.reserve(ages, 1, 0s).granted);
  EXPECT_FALSE(world.reserve(ages, 1, 0s).granted);
  Check check{.limit = &ages, .key = "k"};
  ReservationTerms waits{.max_wait = 1s};
  const Request refused = world.ask(Verb::reserve, {&check, 1}, &waits);
  EXPECT_EQ(refused.fault, Fault::unsuitable);
  EXPECT_EQ(refused.why, "a burst that takes more than 73 years to drain cannot be reserved");
}

TEST(Reservations, after_the_limit_has_changed_count_what_is_owed_in_units) {
  World world;
  const Limit slow = limit("1/s burst 5");
  const Limit fast = limit("10/s burst 5");
  world.check(slow, 5);
  const Answer told = world.reserve(slow, 1, 10s);
  EXPECT_EQ(told.wait, 1s);
  EXPECT_EQ(world.reserve(fast, 1, 10s).wait, 100ms);
  EXPECT_EQ(world.reserve(fast, 1, 10s).wait, 200ms);
  ReservationTerms asked{.id = told.id};
  world.ask(Verb::moment, {}, &asked);
  EXPECT_EQ(asked.wait, 1s) << "its moment stays";
}

TEST(Reservations, in_a_longer_T_than_that_of_the_debt_come_after_it) {
  World world;
  const Limit wide = limit("1/s burst 100");
  const Limit narrow = limit("1/10s burst 10");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(world.check(wide).allowed());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(world.reserve(narrow, 1, 1000s).wait, 910s + round * 10s);
    EXPECT_FALSE(world.check(wide).allowed());
    EXPECT_FALSE(world.check(narrow).allowed());
  }
}

TEST(Reservations, a_check_gives_nothing_back_while_somebody_waits_or_holds) {
  World world;
  const Limit one = limit("1/s burst 10");
  const auto checked = [&](std::uint64_t cost) {
    Check check{.limit = &one, .key = "k", .cost = Cost{cost}};
    Request request = world.ask(Verb::check, {&check, 1}, nullptr);
    EXPECT_TRUE(request.allowed());
    return std::pair(check, request);
  };
  const auto give_back = [&](std::pair<Check, Request> charged) {
    charged.second.checks = {&charged.first, 1};
    world.store.give_back(charged.second, world.now);
  };
  give_back(checked(4));
  EXPECT_EQ(world.check(one, 0).remaining, 10);

  const auto before = checked(4);
  const Answer held = world.reserve(one, 2, 0s, 60s);
  give_back(before);
  EXPECT_EQ(world.check(one, 0).remaining, 4);
  EXPECT_EQ(world.settle(held.id, 2), 0s);
  give_back(before);
  EXPECT_EQ(world.check(one, 0).remaining, 8);

  const auto again = checked(8);
  const Answer waits = world.reserve(one, 3, 10s);
  EXPECT_EQ(waits.wait, 3s);
  EXPECT_EQ(world.reserve(one, 2, 10s).wait, 5s);
  give_back(again);
  EXPECT_EQ(world.reserve(one, 1, 10s).wait, 6s);
  EXPECT_EQ(world.cancel(waits.id), 3U);
  give_back(again);
  EXPECT_EQ(world.reserve(one, 4, 20s).wait, 7s);
}

TEST(Reservations, that_cost_less_give_back_what_those_who_wait_do_not_need) {
  World world;
  const Limit one = limit("1/s burst 10");
  const Answer held = world.reserve(one, 10, 0s, 60s);
  const Answer waits = world.reserve(one, 10, 10s);
  EXPECT_EQ(waits.wait, 10s);
  EXPECT_EQ(world.settle(held.id, 0), 0s);
  EXPECT_EQ(world.check(one, 0).remaining, 10);
  EXPECT_TRUE(world.check(one, 10).allowed());
  world.now += 1s;
  EXPECT_EQ(world.check(one).retry_after, 10s) << "before the told moment it would be late";
}

TEST(Reservations, are_settled_after_their_moment_alone) {
  World world;
  const Limit one = limit("1/s burst 1");
  world.check(one);
  const Answer waits = world.reserve(one, 1, 10s, 60s);
  EXPECT_EQ(world.settle(waits.id, 0), -1ns);
  EXPECT_EQ(world.check(one).retry_after, 2s) << "nothing has changed";
  world.now += 1s;
  EXPECT_EQ(world.settle(waits.id, 0), 0s);
  EXPECT_TRUE(world.check(one).allowed());
}

// A pause moves nobody.
TEST(Reservations, over_whose_moment_a_pause_lies_are_cancelled_when_they_ask) {
  World world;
  const Limit one = limit("1/s burst 2", 1);
  const Limit slots{.rule = *core::Rule::slots("1"), .id = 2};
  world.check(one, 2);
  const Answer waits = world.reserve(
      {{.limit = &one, .key = "k", .cost = Cost{1}}, {.limit = &slots, .key = "k", .cost = Cost{1}}}, 10s,
      60s);
  EXPECT_EQ(waits.wait, 1s);
  const Answer later = world.reserve(one, 1, 20s);
  EXPECT_EQ(later.wait, 2s);
  Check check{.limit = &one, .key = "k"};
  ChargeTerms pause{.outside = Pause{1500ms}};
  Request request{.checks = {&check, 1}, .verb = Verb::charge, .charge = &pause};
  Request* const charge = &request;
  world.store.submit({&charge, 1}, {world.now, world.now});
  const auto moment = [&](const std::string& id) {
    ReservationTerms asked{.id = id};
    world.ask(Verb::moment, {}, &asked);
    return asked.wait;
  };
  EXPECT_EQ(moment(later.id), 2s) << "it acts after the pause";
  EXPECT_FALSE(world.check(slots, 1, Verb::look).allowed());
  EXPECT_EQ(moment(waits.id), -1ns);
  EXPECT_TRUE(world.check(slots, 1, Verb::look).allowed()) << "its slot is free";
  EXPECT_EQ(world.cancel(waits.id), 0U);
  EXPECT_EQ(world.store.reservations().counts().open, 1U);
}

TEST(Reservations, take_one_slot_whatever_they_cost_at_a_rate_that_they_wait_for) {
  World world;
  const Limit one = limit("1/s burst 3", 1);
  const Limit slots{.rule = *core::Rule::slots("1"), .id = 2};
  world.check(one, 3);
  const Answer waits = world.reserve(
      {{.limit = &one, .key = "k", .cost = Cost{3}}, {.limit = &slots, .key = "k", .cost = Cost{3}}}, 10s,
      60s);
  EXPECT_TRUE(waits.granted);
  EXPECT_EQ(waits.wait, 3s);
}

TEST(Reservations, over_whose_moment_a_pause_lies_do_not_act_though_they_ask_after_it) {
  World world;
  const Limit one = limit("1/s");
  world.check(one);
  const Answer told = world.reserve(one, 1, 10s);
  EXPECT_EQ(told.wait, 1s);
  Check check{.limit = &one, .key = "k"};
  ChargeTerms pause{.outside = Pause{30s}};
  Request charge{.checks = {&check, 1}, .verb = Verb::charge, .charge = &pause};
  Request* const each = &charge;
  world.store.submit({&each, 1}, {world.now, world.now});
  world.now += 2s;
  ReservationTerms asked{.id = told.id};
  world.ask(Verb::moment, {}, &asked);
  EXPECT_EQ(asked.wait, -1ns);
}

TEST(Reservations, cannot_be_cancelled_once_their_moment_has_come) {
  World world;
  const Limit one = limit("1/s burst 1");
  world.check(one);
  const Answer first = world.reserve(one, 1, 10s);
  world.now += 1s;
  EXPECT_EQ(world.cancel(first.id), 0U);
  EXPECT_EQ(world.cancel("AAAAAAAAAAAAAAAAAAAAAA"), 0U);
  EXPECT_EQ(world.cancel("no id"), 0U);
}

TEST(Reservations, that_were_cancelled_in_any_order_leave_nothing) {
  const Limit one = limit("1/s burst 2");
  for (const auto& order : {std::array{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    World world;
    world.check(one, 2);
    std::vector<Answer> answers;
    for (int i = 0; i < 3; ++i) answers.push_back(world.reserve(one, 1, 10s));
    for (const int each : order) EXPECT_EQ(world.cancel(answers[static_cast<std::size_t>(each)].id), 1U);
    EXPECT_EQ(world.store.reservations().counts(), Reservations::Counts{});
    world.now += 1s;
    EXPECT_TRUE(world.check(one).allowed());
  }
}

TEST(Reservations, die_with_what_they_charged) {
  World world;
  const Limit one = limit("1/s burst 1");
  world.check(one);
  const Answer first = world.reserve(one, 1, 10s, 10s);
  world.check(one, 1, Verb::reset);
  EXPECT_TRUE(world.check(one).allowed());
  EXPECT_EQ(world.cancel(first.id), 0U);
  EXPECT_EQ(world.settle(first.id, 0), -1ns);
  EXPECT_FALSE(world.check(one).allowed());
}

TEST(Reservations, that_cost_less_give_back_what_has_not_drained) {
  World world;
  const Limit one = limit("1/s burst 10");
  const Answer held = world.reserve(one, 10, 0s, 60s);
  EXPECT_EQ(held.wait, 0s);
  world.now += 3s;
  EXPECT_EQ(world.settle(held.id, 5), 0s);
  EXPECT_EQ(world.check(one, 0).remaining, 8);
  EXPECT_EQ(world.settle(held.id, 5), -1ns);
  const Answer more = world.reserve(one, 8, 0s, 60s);
  world.now += 7s;
  EXPECT_EQ(world.settle(more.id, 0), 0s);
  EXPECT_EQ(world.check(one, 0).remaining, 10);
}

TEST(Reservations, that_cost_more_are_a_debt) {
  World world;
  const Limit one = limit("1/s burst 10");
  const Answer held = world.reserve(one, 10, 0s, 60s);
  EXPECT_EQ(world.settle(held.id, 40), 31s);
  world.now += 31s - 1ns;
  EXPECT_FALSE(world.check(one).allowed());
  world.now += 1ns;
  EXPECT_TRUE(world.check(one).allowed());
}

TEST(Reservations, that_cost_very_much_are_a_debt_up_to_the_overdraft) {
  World world;
  const Limit one = limit("1/s burst 10");
  const Answer held = world.reserve(one, 10, 0s, 60s);
  ReservationTerms settlement{.id = held.id, .actual = 1'000'000, .overdraft = 60s};
  world.ask(Verb::settle, {}, &settlement);
  EXPECT_EQ(settlement.wait, 61s);
  EXPECT_EQ(settlement.dropped, 1'000'000U - 70);
}

TEST(Reservations, are_settled_by_limit_and_an_error_that_is_found_late_changes_none) {
  World world;
  const Limit tokens = limit("1/s burst 10", 1);
  const Limit requests{.rule = tokens.rule, .id = 2, .holding = {.by_actual = false}};
  const Answer held = world.reserve(
      {{.limit = &tokens, .key = "k", .cost = Cost{8}}, {.limit = &requests, .key = "k", .cost = Cost{2}}},
      0s, 60s);
  const auto left = [&] {
    return std::to_string(world.check(tokens, 0).remaining) + " " +
           std::to_string(world.check(requests, 0).remaining);
  };
  const auto settle = [&](ReservationTerms asked) {
    asked.id = held.id;
    const Request request = world.ask(Verb::settle, {}, &asked);
    return request.fault == Fault::none ? std::to_string(asked.wait.count()) : request.why;
  };
  EXPECT_EQ(left(), "2 8");
  EXPECT_EQ(settle({.actuals = {{"tokens", {1}, 3}, {"other", {3}, 1}}}),
            "actual: the reservation has charged nothing to 'other' that can be settled");
  EXPECT_EQ(left(), "2 8");
  EXPECT_EQ(settle({.actuals = {{"tokens", {1}, 3}}}), "0");
  EXPECT_EQ(left(), "7 8");
  EXPECT_EQ(settle({}), "-1");
}

TEST(Reservations, that_are_settled_without_an_actual_cost_what_was_charged) {
  World world;
  const Limit one{.rule = core::Rule::parse("1/s burst 10").value(), .holding = {.at_most = 4}};
  const Answer held = world.reserve(one, 4, 0s, 60s);
  EXPECT_FALSE(world.reserve(one, 4, 0s, 60s).granted);
  ReservationTerms settlement{.id = held.id};
  EXPECT_EQ(world.ask(Verb::settle, {}, &settlement).fault, Fault::none);
  EXPECT_EQ(world.check(one, 0).remaining, 6);
  EXPECT_TRUE(world.reserve(one, 4, 0s, 60s).granted) << "its hold has ended";
}

TEST(Reservations, that_were_granted_without_a_hold_say_so) {
  World world;
  const Limit one = limit("1/s burst 1");
  world.reserve(one, 1, 0s);
  const Answer waits = world.reserve(one, 1, 10s);
  ReservationTerms settlement{.id = waits.id, .actual = 1};
  const Request refused = world.ask(Verb::settle, {}, &settlement);
  EXPECT_EQ(refused.fault, Fault::unsuitable);
  EXPECT_EQ(refused.why, "the reservation was granted without a hold, so there is nothing to settle");
  EXPECT_EQ(world.cancel(waits.id), 1U) << "nothing has changed";
  EXPECT_EQ(world.settle(waits.id, 1), -1ns);
}

TEST(Reservations, cost_their_estimate_when_nobody_settles_them) {
  World world;
  const Limit one = limit("1/s burst 10");
  const Answer held = world.reserve(one, 10, 0s, 5s);
  world.now += 5s;
  EXPECT_EQ(world.settle(held.id, 0), -1ns);
  EXPECT_EQ(world.check(one, 0).remaining, 5);
}

TEST(Reservations, hold_no_more_than_a_limit_allows) {
  World world;
  Limit one = limit("1/s burst 10");
  one.holding.at_most = 5;
  EXPECT_TRUE(world.reserve(one, 3, 0s, 20s).granted);
  world.now += 1s;
  EXPECT_TRUE(world.reserve(one, 2, 0s, 20s).granted);
  const Answer denied = world.reserve(one, 1, 0s, 20s);
  EXPECT_FALSE(denied.granted);
  EXPECT_EQ(denied.wait, 19s);
  EXPECT_EQ(world.reserve(one, 6, 0s, 20s).wait, -1ns);
  // Without a hold it may.
  EXPECT_TRUE(world.reserve(one, 1, 0s).granted);
}

TEST(Reservations, of_several_limits_are_charged_as_of_one_moment) {
  World world;
  const Limit slow = limit("1/s burst 1", 1);
  const Limit fast = limit("10/s burst 20", 2);
  const std::vector<Check> both{{.limit = &slow, .key = "k"}, {.limit = &fast, .key = "k"}};
  EXPECT_EQ(world.reserve(both, 10s).wait, 0s);
  const Answer second = world.reserve(both, 10s);
  EXPECT_TRUE(second.granted);
  EXPECT_EQ(second.wait, 1s);
  EXPECT_EQ(second.by, 0);
  EXPECT_EQ(world.check(fast, 0).remaining, 19);
  EXPECT_EQ(world.cancel(second.id), 1U);
  EXPECT_EQ(world.check(fast, 0).remaining, 19);
}

TEST(Reservations, of_a_lower_class_do_not_wait) {
  World world;
  Limit low = limit("1/s burst 10");
  low.rule.kept = 5s;
  EXPECT_TRUE(world.reserve(low, 5, 10s).granted);
  const Answer denied = world.reserve(low, 1, 10s);
  EXPECT_FALSE(denied.granted);
  EXPECT_EQ(denied.wait, 1s);
  EXPECT_TRUE(world.check(limit("1/s burst 10"), 5).allowed());
}

TEST(Reservations, that_wait_in_a_shorter_T_than_that_of_the_debt_let_nobody_have_more) {
  World world;
  const Limit fast = limit("1/s burst 10");
  const Limit slow = limit("1/10s burst 100");
  int admitted = 0;
  while (world.check(slow).allowed()) ++admitted;
  EXPECT_EQ(admitted, 100);
  for (int round = 0; round < 4; ++round) {
    EXPECT_TRUE(world.reserve(fast, 1, 1000s).granted);
    EXPECT_FALSE(world.check(slow).allowed());
    EXPECT_FALSE(world.check(fast).allowed());
  }
}

TEST(Reservations, meet_no_sliding_window) {
  World world;
  const Limit window = limit("1/s algorithm=sliding_window_counter");
  Check check{.limit = &window, .key = "k"};
  ReservationTerms reservation;
  const Request refused = world.ask(Verb::reserve, {&check, 1}, &reservation);
  EXPECT_EQ(refused.fault, Fault::unsuitable);
  EXPECT_EQ(refused.why, "sliding_window_counter cannot be reserved: gcra and fixed windows can");
}

struct Book {
  explicit Book(std::size_t memory) : reservations(table, memory) {}

  ReservationTerms reserve(std::uint64_t client, nanoseconds hold, nanoseconds now = 1s,
                           std::uint64_t cost = 1) {
    ReservationTerms asked{.max_wait = 100s, .hold = hold, .client = client};
    Check check{.limit = &one, .key = "k", .cost = Cost{cost}, .hash = table.hash("k", Algorithm::gcra, 0)};
    request = Request{.checks = {&check, 1}, .reservation = &asked};
    reservations.reserve(request, {now, now});
    return asked;
  }
  std::uint64_t cancel(ReservationTerms& made, nanoseconds now = 1s) {
    Request cancelled{.reservation = &made};
    reservations.cancel(cancelled, now);
    return made.given_back;
  }

  const Limit one = limit("1/s burst 1");
  Table table{1_MiB, WhenFull::deny, {1, 2}};
  Reservations reservations;
  Request request{};
};

constexpr std::size_t kOneWait =
    Reservations::kRecordBytes + Reservations::kPartBytes + Reservations::kGrantBytes;

TEST(Reservations, that_would_wait_and_find_no_memory_are_refused_and_counted) {
  // Of which those that wait may take three quarters.
  Book book((Reservations::kLedgerBytes + 5 * kOneWait - 8) * 4 / 3);
  std::vector<ReservationTerms> made;
  for (int i = 0; i < 6; ++i) made.push_back(book.reserve(0, 0s));
  // The first acts at once, and four wait.
  EXPECT_TRUE(made[0].id.empty());
  for (std::size_t i = 1; i < 5; ++i) EXPECT_FALSE(made[i].id.empty()) << i;
  EXPECT_TRUE(made[5].id.empty());
  EXPECT_FALSE(book.request.charged);
  EXPECT_EQ(book.request.fault, Fault::unsuitable);
  EXPECT_EQ(book.reservations.counts(), (Reservations::Counts{.open = 4, .refused = 1}));
  // A cancelled one makes room.
  EXPECT_EQ(book.cancel(made[1]), 1U);
  EXPECT_FALSE(book.reserve(0, 0s).id.empty());
  // What is over makes room.
  book.reserve(0, 0s, 200s);
  EXPECT_FALSE(book.reserve(0, 0s, 200s).id.empty());
}

TEST(Reservations, one_client_takes_half_of_their_memory_and_holds_three_quarters) {
  Book book(64 * kOneWait);
  std::size_t ids = 0;
  while (!book.reserve(7, 0s).id.empty()) ++ids;
  // The first acts at once and has none.
  EXPECT_EQ(ids, 0U);
  while (!book.reserve(7, 0s).id.empty()) ++ids;
  EXPECT_GT(ids, 20U);
  EXPECT_LE(book.reservations.memory().bytes(), book.reservations.memory().bound() / 2);
  EXPECT_FALSE(book.reserve(8, 0s).id.empty()) << "another client's share is its own";

  EXPECT_TRUE(book.reserve(7, 60s).id.empty());
  EXPECT_EQ(book.request.fault, Fault::unsuitable);
  EXPECT_EQ(book.request.why, "this client's share of the memory for reservations is full: " +
                                  std::to_string(32 * kOneWait) + " bytes");
  std::uint64_t client = 100;
  while (!book.reserve(client, 60s).id.empty()) ++client;
  EXPECT_EQ(book.request.why,
            "the memory for reservations is full: " + std::to_string(64 * kOneWait) + " bytes");
  EXPECT_FALSE(book.reserve(client, 0s).id.empty()) << "holds leave those that wait their part";
  EXPECT_LE(book.reservations.memory().bytes(), book.reservations.memory().bound());

  Book held(64 * kOneWait);
  while (!held.reserve(++client, 60s).id.empty()) {
  }
  EXPECT_EQ(held.request.why, "what holds may take of the memory for reservations is full: " +
                                  std::to_string(48 * kOneWait) + " bytes");
  EXPECT_FALSE(held.reserve(++client, 0s).id.empty()) << "those that only wait have an eighth at least";
}

// There was room for the reservation and not for the ledger of its key, and nobody looked for what was
// over.
TEST(Reservations, whatever_is_over_makes_room) {
  for (std::size_t more = 0; more < 2048; more += 64) {
    Book book(16'384 + more);
    std::size_t held = 0;
    nanoseconds now = 1s;
    const auto hold = [&](int key, nanoseconds time) {
      ReservationTerms asked{.hold = time};
      Check check{
          .limit = &book.one, .key = {}, .hash = book.table.hash(std::to_string(key), Algorithm::gcra, 0)};
      Request request{.checks = {&check, 1}, .reservation = &asked};
      book.reservations.reserve(request, {now, now});
      return !asked.id.empty();
    };
    while (hold(static_cast<int>(held), 1s)) ++held;
    EXPECT_GE(held, 5U);
    now += 3s;
    EXPECT_TRUE(hold(-1, 1s)) << more;
  }
}

TEST(Reservations, give_their_memory_back_when_they_are_over) {
  Book book(1_MiB);
  std::vector<ReservationTerms> made;
  for (int i = 0; i < 100; ++i) made.push_back(book.reserve(7, i % 2 ? 60s : 0s));
  for (std::size_t i = 1; i < made.size(); i += 3) book.cancel(made[i]);
  EXPECT_GT(book.reservations.memory().bytes(), 0U);
  // Nothing looks for what is over but those who come: other keys of the same stripes and shelves.
  for (int i = 0; i < 10'000; ++i) {
    ReservationTerms asked{.max_wait = 100s, .hold = 1ns};
    Check check{
        .limit = &book.one, .key = {}, .hash = book.table.hash(std::to_string(i), Algorithm::gcra, 0)};
    Request request{.checks = {&check, 1}, .reservation = &asked};
    book.reservations.reserve(request, {10'000s + 2s * i, 10'000s + 2s * i});
  }
  EXPECT_LT(book.reservations.memory().bytes(),
            200 * (kOneWait + Reservations::kLedgerBytes + KeyHolds::kBytes));
}

}  // namespace
}  // namespace weir::store::reservations_test
