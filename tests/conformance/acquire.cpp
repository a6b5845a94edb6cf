// Acquires: reservations that are answered when their moment has come.
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

void a_store_in_which_nobody_waits_says_so(Trial& trial) {
  if (trial.world.lets_wait()) {
    trial.skipped = "requests wait in this store";
    return;
  }
  TestRequest question(trial.limit("1/s", 1), "k");
  question.verb = Verb::acquire;
  question.reservation = &question.booking;
  trial.ask(question);
  trial.expect(question.fault == Fault::unsuitable, "it is unsuitable");
}

void an_acquire_is_answered_when_its_moment_has_come(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 2", 1);
  std::deque<Waiting> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(trial, limit, "k", 10s);
  for (int second = 0; second < 4; ++second) {
    for (int i = 0; i < 5; ++i)
      trial.equal(all[static_cast<std::size_t>(i)].waits(), i >= second + 2,
                  "waits: " + std::to_string(i) + " after " + std::to_string(second) + " s");
    trial.expect(!trial.ask(limit, "k").allowed(), "no check comes between them");
    trial.world.advance(1s - 1us);
    if (second < 3) trial.expect(all[static_cast<std::size_t>(second) + 2].waits(), "and not before");
    trial.world.advance(1us);
  }
  for (const Waiting& each : all) trial.expect(each.allowed() && each.charged, "each is granted");
}

void an_acquire_that_cannot_be_in_time_is_denied_at_once(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s", 1);
  trial.ask(limit, "k");
  Waiting late(trial, limit, "k", 999ms);
  trial.expect(!late.waits() && !late.allowed(), "it is denied");
  trial.equal(late.booking.wait.count(), nanoseconds{1ms}.count(), "and told when it could wait");
  Waiting never(trial, limit, "k", 999s, 2);
  trial.expect(!never.waits() && !never.allowed(), "above the burst nobody waits");
  trial.world.advance(1s);
  trial.expect(trial.ask(limit, "k").allowed(), "neither was charged");
}

void who_goes_away_leaves_the_moment_to_the_next(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s", 1);
  trial.ask(limit, "k");
  Waiting first(trial, limit, "k", 10s), second(trial, limit, "k", 10s);
  trial.cancel(first);
  trial.world.settle();
  Waiting third(trial, limit, "k", 10s);
  trial.world.advance(1s);
  trial.expect(!second.waits() && second.allowed() && third.waits(), "the next in line has its moment");
  trial.world.advance(1s);
  trial.expect(!third.waits() && third.allowed(), "and who came last the next");
}

void who_waits_is_charged_when_it_acts(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 4", 1);
  trial.ask(limit, "k", 4);
  Waiting first(trial, limit, "k", 60s, 2), second(trial, limit, "k", 60s, 2);
  trial.cancel(second);
  trial.cancel(first);
  trial.world.settle();
  trial.equal(shown(trial.ask(limit, "k", 0)), "allowed, 0 of 4 left, reset after 4000000000 ns",
              "as if neither had come");
  Waiting third(trial, limit, "k", 60s, 2);
  trial.world.advance(2s);
  trial.expect(!third.waits() && third.charged, "it acts");
  trial.equal(shown(trial.ask(limit, "k", 0)), "allowed, 0 of 4 left, reset after 4000000000 ns",
              "and is charged then");
}

// A cheap one that would fit at once, by a check, a reservation or in line, makes it no later.
void nobody_younger_makes_the_first_in_line_later(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 4", 1);
  trial.ask(limit, "k", 3);
  Waiting first(trial, limit, "k", 60s, 4);  // at 3 s
  Waiting second(trial, limit, "k", 60s, 1);
  trial.expect(first.waits() && second.waits(), "one unit is left, and stays for it");
  trial.expect(!trial.ask(limit, "k").allowed(), "nor for a check");
  trial.expect(!reserve(trial, limit, "k", 1, 0s).granted, "nor for a reservation");
  trial.world.advance(3s - 1us);
  trial.expect(first.waits(), "before its moment");
  trial.world.advance(1us);
  trial.expect(!first.waits() && first.allowed() && second.waits(), "at its moment");
  trial.world.advance(1s);
  trial.expect(!second.waits() && second.allowed(), "and the next when one more has drained");
}

// Which was told nothing yet, so that it acts as late as if it came now.
void what_is_charged_from_outside_makes_the_first_in_line_later(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 5", 1);
  const Booked call = reserve(trial, limit, "k", 1, 0s, 60s);
  const Booked free = reserve(trial, {{limit, "k", 0}, {limit, "m"}}, 0s, 60s);
  trial.ask(limit, "k", 4);
  Waiting first(trial, limit, "k", 60s), second(trial, limit, "k", 60s), third(trial, limit, "k", 60s);
  trial.world.advance(900ms);
  charge(trial, limit, "k", 3);
  trial.world.advance(3'100ms - 1us);
  trial.expect(first.waits(), "when it would have acted, and after");
  trial.world.advance(1us);
  trial.expect(!first.waits() && first.allowed() && second.waits(), "three seconds later");
  settle(trial, call.id, 3);
  trial.world.advance(3s - 1us);
  trial.expect(second.waits(), "a call costs two more than it was charged");
  trial.world.advance(1us);
  trial.expect(!second.waits() && second.allowed(), "two seconds later");
  settle(trial, free.id, 1);
  trial.world.advance(2s - 1us);
  trial.expect(third.waits(), "one that was charged nothing costs a unit");
  trial.world.advance(1us);
  trial.expect(!third.waits() && third.allowed(), "a second later");
}

void a_hold_that_has_ended_is_over_beside_a_plan(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 5", 1);
  const Booked call = reserve(trial, limit, "k", 5, 0s, 1s);
  Waiting first(trial, limit, "k", 60s, 5);  // at 5 s
  trial.world.advance(2s);
  trial.equal(refund(trial, limit, "k", 4), 3U, "given back, of what nobody can settle any more");
  trial.world.advance(100ms);
  trial.expect(!first.waits() && first.allowed(), "it acts three seconds earlier");
  trial.equal(settle(trial, call.id, 0).count(), -1, "the hold is over");
}

// Each of the two is asked for all of the time, by others.
void who_waits_for_two_busy_limits_acts(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit one = trial.limit("1/s burst 1", 1);
  const Limit other = trial.limit("1/1500ms burst 1", 2);
  trial.ask(one, "k");
  trial.ask(other, "k");
  Waiting both(trial, {{one, "k"}, {other, "k"}}, 60s);
  for (int step = 0; step < 15 && both.waits(); ++step) {
    trial.world.advance(100ms);
    if (!both.waits()) break;
    trial.expect(step < 9 || !trial.ask(one, "k").allowed(), "what it needs of the one is kept for it");
    trial.expect(!trial.ask(other, "k").allowed(), "and of the other");
  }
  trial.expect(!both.waits() && both.allowed(), "it acts when both have had room at once, at 1.5 s");
}

// What is owed by the former numbers counts by the new ones, and is waited for.
void who_waits_under_a_limit_that_was_lowered_acts(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit before = trial.limit("1/s burst 2", 1);
  const Limit after = trial.limit("1/2s burst 2", 1);
  trial.ask(before, "k", 2);
  Waiting waits(trial, after, "k", 60s);
  trial.world.advance(1s - 1us);
  trial.expect(waits.waits(), "as long as 2 are owed");
  trial.world.advance(1s + 1us);
  trial.expect(!waits.waits() && waits.allowed(),
               "and at 2 s, when 2 of 2 s have drained to one, it has acted");
}

// Bulk leaves half of the burst, and waits for it; critical neither waits for bulk nor minds its plan.
void a_higher_class_does_not_wait_for_a_lower_one(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit critical = trial.limit("1/s burst 4", 1);
  Limit bulk = critical;
  bulk.rule.kept = 2s;
  trial.ask(critical, "k", 3);
  Waiting low(trial, bulk, "k", 60s, 2);  // at 3 s, when all has drained
  trial.expect(low.waits(), "it waits");
  Waiting high(trial, critical, "k", 60s, 1);
  trial.expect(!high.waits() && high.allowed(), "the other acts at once");
  Waiting higher(trial, critical, "k", 60s, 2);
  trial.world.advance(2s);
  trial.expect(!higher.waits() && higher.allowed() && low.waits(), "and so does one that has to wait");
  trial.world.advance(4s);
  trial.expect(!low.waits() && low.allowed(), "and then the first, when all but half has drained");
}

void who_waits_is_denied_uncharged_when_its_time_is_over(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 2", 1);
  const Booked held = reserve(trial, limit, "k", 2, 0s, 60s);
  Waiting first(trial, limit, "k", 60s, 2);
  Waiting hasty(trial, limit, "k", 2500ms, 1, 10s);  // it may act in time, if the hold gives back
  trial.expect(hasty.waits(), "as long as somebody holds it waits");
  trial.world.advance(2500ms);
  trial.expect(!hasty.waits() && !hasty.allowed(), "when its time is over it is denied");
  trial.expect(hasty.booking.wait > 0ns, "and told how long it would have waited");
  trial.expect(!first.waits() && first.allowed(), "the first has acted, at 2 s");
  trial.equal(trial.left(limit, "k"), 0, "left, half a unit less than was charged");
  trial.expect(settle(trial, held.id, 2) >= 0ns, "the hold is settled");
}

// A loop that stood still reads what was asked meanwhile before its timers have their turn. Who was first has
// a plan, as late as an emission interval; the others are asked as they come.
void what_is_overdue_and_what_is_new_share_a_burst(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 4", 1);
  const auto act = [&] {
    int acted = 0;
    for (int i = 0; i < 5; ++i) acted += trial.ask(limit, "k").allowed() ? 1 : 0;
    return acted;
  };
  trial.equal(act(), 4, "a burst");
  std::deque<Waiting> old;
  for (int i = 0; i < 6; ++i) old.emplace_back(trial, limit, "k", 60s);
  trial.world.stand_still(8500ms);
  int acted = act();
  std::deque<Waiting> fresh;
  for (int i = 0; i < 4; ++i) fresh.emplace_back(trial, limit, "k", 60s);
  trial.world.advance(0s);
  for (const Waiting& each : old) acted += each.waits() ? 0 : 1;
  for (const Waiting& each : fresh) trial.expect(each.waits(), "each waits after those");
  trial.expect(acted == 4 || acted == 5,
               "a burst acts, and a unit more as one acts late by its T: " + std::to_string(acted));
  trial.world.advance(500ms);
  for (int second = 0; second < 20; ++second) trial.world.advance(1s);
  for (const Waiting& each : old) trial.expect(each.allowed(), "each that was overdue is granted");
  for (const Waiting& each : fresh) trial.expect(each.allowed(), "each is granted");
}

void a_hold_ends_as_long_after_the_moment_at_which_it_acts(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked call = reserve(trial, limit, "k", 10, 0s, 60s);
  Waiting waits(trial, limit, "k", 60s, 5, 3s);  // at 5 s
  trial.world.advance(1s);
  settle(trial, call.id, 0);
  trial.world.advance(100ms);
  trial.expect(!waits.waits() && waits.allowed(), "it acts four seconds earlier");
  TestRequest holds({{limit, "k"}}, Verb::holds);
  trial.ask(holds);
  trial.expect(holds.booking.open.size() == 1 && holds.booking.open[0].ends <= 3s, "its hold ends in three");
  trial.world.advance(3s);
  trial.equal(settle(trial, waits.booking.id, 0).count(), -1, "and has ended then");
}

}  // namespace

std::vector<Property> acquire_properties() {
#define WEIR_PROPERTY(name) \
  Property { #name, &(name) }
  return {WEIR_PROPERTY(a_store_in_which_nobody_waits_says_so),
          WEIR_PROPERTY(an_acquire_is_answered_when_its_moment_has_come),
          WEIR_PROPERTY(an_acquire_that_cannot_be_in_time_is_denied_at_once),
          WEIR_PROPERTY(who_goes_away_leaves_the_moment_to_the_next),
          WEIR_PROPERTY(who_waits_is_charged_when_it_acts),
          WEIR_PROPERTY(nobody_younger_makes_the_first_in_line_later),
          WEIR_PROPERTY(what_is_charged_from_outside_makes_the_first_in_line_later),
          WEIR_PROPERTY(a_hold_that_has_ended_is_over_beside_a_plan),
          WEIR_PROPERTY(who_waits_for_two_busy_limits_acts),
          WEIR_PROPERTY(who_waits_under_a_limit_that_was_lowered_acts),
          WEIR_PROPERTY(a_higher_class_does_not_wait_for_a_lower_one),
          WEIR_PROPERTY(who_waits_is_denied_uncharged_when_its_time_is_over),
          WEIR_PROPERTY(what_is_overdue_and_what_is_new_share_a_burst),
          WEIR_PROPERTY(a_hold_ends_as_long_after_the_moment_at_which_it_acts)};
#undef WEIR_PROPERTY
}

}  // namespace weir::store::conformance
