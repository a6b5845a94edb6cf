// Pauses after which a key is afresh: nobody acts before the end, and at it all that acted before is
// forgotten, and nothing that acts then or later.
#include <string>
#include <utility>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

Charged pause_afresh(Trial& trial, const Limit& limit, nanoseconds length) {
  return pause(trial, limit, "k", length, true);
}

// All of the burst, once, and then the pace.
void is_as_if_never_used(Trial& trial, const Limit& limit, std::uint64_t burst) {
  trial.equal(trial.left(limit, "k"), static_cast<std::int64_t>(burst), "left as if never used");
  trial.expect(trial.ask(limit, "k", burst).allowed(), "the burst");
  trial.expect(!trial.ask(limit, "k").allowed(), "and no more");
}

void nobody_acts_in_it_and_then_the_key_is_as_if_never_used(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  for (int i = 0; i < 20; ++i) charge(trial, limit, "k", 5);
  const Charged told = pause_afresh(trial, limit, 30s);
  trial.equal(told.charged, 0U, "charged, as counted at its end");
  trial.equal(told.overdraft, 0U, "over");
  trial.equal(told.wait.count(), nanoseconds{30s}.count(), "wait");
  trial.equal(told.reset_after.count(), nanoseconds{30s}.count(), "reset_after");
  trial.equal(trial.left(limit, "k"), 0, "left in it");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{30s}.count(), "retry_after");
  trial.equal(retry_of(trial, limit, "k", 5).count(), nanoseconds{30s}.count(), "of all five");
  trial.world.advance(30s - 1us);
  trial.expect(!trial.ask(limit, "k").allowed(), "nobody before its end");
  trial.world.advance(1us);
  is_as_if_never_used(trial, limit, 5);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{1s}.count(), "and then the pace");
}

void one_of_no_length_forgets_nothing(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  trial.ask(limit, "k", 3);
  pause_afresh(trial, limit, 0s);
  trial.equal(trial.left(limit, "k"), 2, "left");
}

void who_acts_at_the_end_or_later_counts(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  trial.ask(limit, "k", 3);
  const Booked early = reserve(trial, limit, "k", 2, 60s);
  const Booked late = reserve(trial, limit, "k", 3, 60s);
  trial.equal(late.wait.count(), nanoseconds{5s}.count(), "its moment");
  pause_afresh(trial, limit, 4s);
  trial.equal(moment(trial, early.id).count(), -1, "the moment of one in it");
  const Booked at_end = reserve(trial, limit, "k", 1, 60s);
  trial.equal(at_end.wait.count(), nanoseconds{4s}.count(), "who comes in it");
  trial.equal(moment(trial, late.id).count(), nanoseconds{5s}.count(), "the later one keeps its moment");
  trial.world.advance(4s);
  trial.equal(moment(trial, at_end.id).count(), 0, "the first at the end");
  trial.equal(trial.left(limit, "k"), 0, "left beside the one that is told");
  trial.world.advance(1s);
  trial.equal(moment(trial, late.id).count(), 0, "the told one's moment has come");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{1s}.count(), "one more after it");
}

void the_later_end_stands_with_what_it_leaves(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  trial.ask(limit, "k", 3);
  pause_afresh(trial, limit, 30s);
  trial.equal(pause(trial, limit, "k", 10s).charged, 0U, "charged by a shorter one");
  pause_afresh(trial, limit, 20s);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{30s}.count(), "nothing shortens it");
  trial.world.advance(30s);
  is_as_if_never_used(trial, limit, 3);
  pause_afresh(trial, limit, 10s);
  pause(trial, limit, "k", 20s);
  trial.world.advance(20s);
  trial.equal(trial.left(limit, "k"), 1, "left after one that forgets nothing");
  pause(trial, limit, "k", 10s);
  pause_afresh(trial, limit, 20s);
  trial.world.advance(20s);
  is_as_if_never_used(trial, limit, 3);
}

void of_equal_ends_the_one_that_forgets_nothing_stands(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  for (const bool first : {true, false}) {
    pause(trial, limit, "k", 10s, first);
    pause(trial, limit, "k", 10s, !first);
    trial.world.advance(10s);
    trial.equal(trial.left(limit, "k"), 1, "left");
    trial.world.advance(60s);
  }
}

void a_pause_after_one_that_forgot_is_as_the_first(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  for (int i = 0; i < 3; ++i) {
    pause_afresh(trial, limit, 10s);
    trial.world.advance(10s);
    is_as_if_never_used(trial, limit, 3);
  }
  pause(trial, limit, "k", 500ms);
  trial.world.advance(500ms);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{500ms}.count(),
              "what was charged since is owed");
}

void what_is_charged_in_it_is_forgotten(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  pause_afresh(trial, limit, 10s);
  for (int i = 0; i < 20; ++i) charge(trial, limit, "k", 3);
  charge_outside(trial, limit, "k", Remaining{0});
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{10s}.count(), "and does not lengthen it");
  trial.world.advance(10s);
  is_as_if_never_used(trial, limit, 3);
}

// What the other side said before counts no more either.
void a_refund_after_it_takes_what_was_charged_since(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  charge_outside(trial, limit, "k", Remaining{0});
  pause_afresh(trial, limit, 1s);
  refund(trial, limit, "k", 5);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{1s}.count(), "no refund shortens it");
  trial.world.advance(1s);
  trial.equal(refund(trial, limit, "k", 3), 0U, "of what is forgotten");
  trial.ask(limit, "k", 2);
  trial.equal(refund(trial, limit, "k", 4), 2U, "of what was charged since");
  is_as_if_never_used(trial, limit, 5);
}

void what_was_held_before_gives_nothing_back_and_can_cost_more(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked less = reserve(trial, limit, "k", 4, 0s, 60s);
  const Booked more = reserve(trial, limit, "k", 4, 0s, 60s);
  const Booked in_it = reserve(trial, limit, "k", 2, 0s, 60s);
  pause_afresh(trial, limit, 5s);
  trial.equal(settle(trial, in_it.id, 0).count(), nanoseconds{5s}.count(), "one that is settled in it");
  trial.world.advance(5s);
  trial.equal(trial.left(limit, "k"), 10, "left at its end");
  trial.ask(limit, "k", 3);
  settle(trial, less.id, 0);
  trial.equal(trial.left(limit, "k"), 7, "left when one has cost nothing");
  settle(trial, more.id, 6);
  trial.equal(trial.left(limit, "k"), 5, "left when another has cost two more");
}

void what_is_held_at_its_end_or_later_is_settled_as_ever(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  pause_afresh(trial, limit, 5s);
  const Booked held = reserve(trial, limit, "k", 8, 60s, 60s);
  trial.equal(held.wait.count(), nanoseconds{5s}.count(), "it acts at the end");
  trial.world.advance(5s);
  trial.equal(trial.left(limit, "k"), 2, "left at its end");
  settle(trial, held.id, 3);
  trial.equal(trial.left(limit, "k"), 7, "left when it has cost less");
}

void what_was_held_before_fills_what_may_be_held(Trial& trial) {
  Limit limit = trial.limit("1/s burst 10", 1);
  limit.holding.at_most = 4;
  const Booked held = reserve(trial, limit, "k", 4, 0s, 60s);
  pause_afresh(trial, limit, 5s);
  trial.world.advance(5s);
  trial.expect(!reserve(trial, limit, "k", 1, 0s, 60s).granted, "no more may be held");
  settle(trial, held.id, 4);
  trial.expect(reserve(trial, limit, "k", 4, 0s, 60s).granted, "once it is settled");
}

void it_forgets_whatever_numbers_ask(Trial& trial) {
  const Limit before = trial.limit("1/s burst 3", 1);
  for (const char* const rule : {"10/s burst 4", "1/s burst 5", "1/10s burst 3", "10/s burst 1"}) {
    const Limit after = trial.limit(rule, 1);
    trial.ask(before, "k", 3);
    charge(trial, before, "k", 3);
    pause_afresh(trial, before, 30s);
    trial.world.advance(10s);
    trial.equal(retry_of(trial, after, "k").count(), nanoseconds{20s}.count(), "retry_after by others");
    trial.world.advance(20s);
    is_as_if_never_used(trial, after, static_cast<std::uint64_t>(after.rule.quota.burst()));
    trial.reset({{after, "k"}});
  }
}

void a_reset_forgets_it(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  trial.ask(limit, "k", 2);
  pause_afresh(trial, limit, 30s);
  trial.reset({{limit, "k"}});
  is_as_if_never_used(trial, limit, 3);
  trial.world.advance(30s);
  trial.ask(limit, "k", 3);
  trial.expect(!trial.ask(limit, "k").allowed(), "nothing is forgotten at what would have been its end");
}

// Whether its window has ended or not.
void a_fixed_window_is_as_if_never_used_at_its_end(Trial& trial) {
  for (const char* const rule : {"5/h algorithm=fixed_window", "5/h algorithm=fixed_window align=clock"}) {
    const Limit limit = trial.limit(rule, rule[26] == ' ' ? 2 : 1);
    for (const nanoseconds length : {nanoseconds{1min}, nanoseconds{3h}}) {
      charge(trial, limit, "k", 5);
      charge(trial, limit, "k", 4);
      const Charged told = pause_afresh(trial, limit, length);
      trial.equal(told.charged, 0U, "charged, as counted at its end");
      trial.equal(told.overdraft, 0U, "over");
      trial.equal(told.wait.count(), length.count(), "wait");
      trial.equal(told.reset_after.count(), length.count(), "reset_after");
      trial.equal(trial.left(limit, "k"), 0, "left in it");
      trial.equal(retry_of(trial, limit, "k", 5).count(), length.count(), "retry_after");
      trial.world.advance(length - 1us);
      trial.expect(!trial.ask(limit, "k").allowed(), "nobody before its end");
      trial.world.advance(1us);
      is_as_if_never_used(trial, limit, 5);
    }
  }
}

void nothing_shortens_that_of_a_fixed_window(Trial& trial) {
  const Limit limit = trial.limit("5/h algorithm=fixed_window", 1);
  trial.ask(limit, "k", 4);
  pause_afresh(trial, limit, 30s);
  pause_afresh(trial, limit, 10s);
  trial.equal(refund(trial, limit, "k", 5), 0U, "nothing is taken back in it");
  charge(trial, limit, "k", 3);
  charge_outside(trial, limit, "k", Remaining{1});
  const Limit higher = trial.limit("1000000/h algorithm=fixed_window", 1);
  for (const Limit& asks : {limit, higher})
    trial.equal(retry_of(trial, asks, "k").count(), nanoseconds{30s}.count(), "retry_after");
  pause_afresh(trial, limit, 40s);
  trial.world.advance(40s - 1us);
  trial.expect(!trial.ask(limit, "k").allowed(), "the later end stands");
  trial.world.advance(1us);
  trial.equal(refund(trial, limit, "k", 5), 0U, "of what is forgotten");
  trial.ask(limit, "k", 3);
  trial.equal(refund(trial, limit, "k", 5), 3U, "of what was charged since");
  is_as_if_never_used(trial, limit, 5);
  pause_afresh(trial, limit, 40s);
  trial.reset({{limit, "k"}});
  is_as_if_never_used(trial, limit, 5);
}

// The same window of the clock runs at its end.
void what_a_fixed_window_held_before_gives_nothing_back(Trial& trial) {
  const Limit limit = trial.limit("10/h algorithm=fixed_window align=clock", 1);
  const Booked in_it = reserve(trial, limit, "k", 2, 0s, 60s);
  const Booked after = reserve(trial, limit, "k", 4, 0s, 60s);
  trial.expect(in_it.granted && after.granted, "they are held");
  pause_afresh(trial, limit, 5s);
  settle(trial, in_it.id, 0);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{5s}.count(), "in it");
  trial.world.advance(5s);
  trial.ask(limit, "k", 3);
  settle(trial, after.id, 0);
  trial.equal(trial.left(limit, "k"), 7, "left when one has cost nothing");
  const Booked since = reserve(trial, limit, "k", 7, 0s, 60s);
  settle(trial, since.id, 2);
  trial.equal(trial.left(limit, "k"), 5, "left when one that was held since has cost less");
}

// Of windows that open at the first request, in which nothing is forgotten by others' pauses.
void pauses_of_others_take_nothing_from_a_hold(Trial& trial) {
  const Limit limit = trial.limit("10/h algorithm=fixed_window", 1);
  const Limit others = trial.limit("5/h algorithm=fixed_window", 2);
  const Booked held = reserve(trial, limit, "k", 8, 0s, 60s);
  for (int i = 0; i < 200; ++i) pause(trial, others, "k" + std::to_string(i), 1s, true);
  settle(trial, held.id, 2);
  trial.equal(trial.left(limit, "k"), 8, "left when it has cost less");
}

// What was owed drains no more, so nobody waits for that, by whatever numbers.
void a_rest_that_forgets_is_as_long_by_other_numbers(Trial& trial) {
  const Limit limit = trial.limit("5/h burst 5", 1);
  for (int i = 0; i < 5; ++i) charge(trial, limit, "k", 5);
  pause_afresh(trial, limit, 15min);
  for (const char* const rule : {"2/h burst 2", "6/h burst 6"})
    trial.equal(retry_of(trial, trial.limit(rule, 1), "k").count(), nanoseconds{15min}.count(), rule);
}

void no_other_window_is_paused_so(Trial& trial) {
  for (const char* const rule : {"5/h algorithm=sliding_window_counter", "5/day align=calendar"}) {
    const Limit limit = trial.limit(rule, 1);
    TestRequest question({{limit, "k"}}, Verb::charge);
    question.charging.outside = Pause{30s, true};
    trial.ask(question);
    trial.expect(question.fault == Fault::unsuitable, "it cannot");
    trial.expect(
        question.why.find("cannot be paused afresh: gcra and fixed windows can") != std::string::npos,
        question.why);
  }
}

void a_rest_of_a_fixed_window_forgets(Trial& trial) {
  Limit limit = trial.limit("5/h algorithm=fixed_window", 1);
  limit.penalty = {.time = 15min, .growing = 2000, .most = 30min, .afresh = true};
  for (const nanoseconds rest : {15min, 30min, 30min}) {
    for (int i = 0; i < 5; ++i) trial.expect(trial.ask(limit, "k").allowed(), "five");
    trial.equal(retry_of(trial, limit, "k").count(), rest.count(), "retry_after of the breach");
    trial.world.advance(5min);
    trial.equal(retry_of(trial, limit, "k").count(), (rest - 5min).count(), "of a denial in the rest");
    trial.world.advance(rest - 5min);
  }
}

// Five wrong passwords, then a quarter of an hour, and then five more.
void a_rest_may_forget(Trial& trial) {
  Limit limit = trial.limit("5/h burst 5", 1);
  limit.penalty = {.time = 15min, .afresh = true};
  for (int rest = 0; rest < 3; ++rest) {
    for (int i = 0; i < 5; ++i) trial.expect(trial.ask(limit, "k").allowed(), "five");
    trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{15min}.count(), "retry_after of the breach");
    trial.equal(retry_of(trial, limit, "k", 5).count(), nanoseconds{15min}.count(), "of all five");
    trial.world.advance(5min);
    trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{10min}.count(), "of a denial in the rest");
    trial.world.advance(10min);
  }
}

// What was owed before it is no more.
void a_rest_that_forgets_may_be_shorter_than_what_is_owed(Trial& trial) {
  Limit limit = trial.limit("1/min burst 2", 1);
  limit.penalty = {.time = 10s, .afresh = true};
  for (const bool reserves : {false, true}) {
    trial.ask(limit, "k", 2);
    const nanoseconds told =
        reserves ? reserve(trial, limit, "k", 2, 0s, 30s).wait : retry_of(trial, limit, "k", 2);
    trial.equal(told.count(), nanoseconds{10s}.count(), "retry_after of the breach");
    trial.world.advance(10s);
    is_as_if_never_used(trial, limit, 2);
    trial.reset({{limit, "k"}});
  }
}

void a_rest_that_forgets_may_grow(Trial& trial) {
  Limit limit = trial.limit("5/h burst 5", 1);
  limit.penalty = {.time = 15min, .growing = 2000, .most = 45min, .afresh = true};
  for (const nanoseconds rest : {15min, 30min, 45min}) {
    trial.expect(trial.ask(limit, "k", 5).allowed(), "five");
    trial.equal(retry_of(trial, limit, "k").count(), rest.count(), "retry_after of the breach");
    trial.world.advance(rest);
  }
  trial.expect(trial.ask(limit, "k", 5).allowed(), "and five");
}

}  // namespace

std::vector<Property> afresh_properties() {
  return {
      {"nobody_acts_in_it_and_then_the_key_is_as_if_never_used",
       nobody_acts_in_it_and_then_the_key_is_as_if_never_used},
      {"one_of_no_length_forgets_nothing", one_of_no_length_forgets_nothing},
      {"who_acts_at_the_end_or_later_counts", who_acts_at_the_end_or_later_counts},
      {"the_later_end_stands_with_what_it_leaves", the_later_end_stands_with_what_it_leaves},
      {"of_equal_ends_the_one_that_forgets_nothing_stands",
       of_equal_ends_the_one_that_forgets_nothing_stands},
      {"a_pause_after_one_that_forgot_is_as_the_first", a_pause_after_one_that_forgot_is_as_the_first},
      {"what_is_charged_in_it_is_forgotten", what_is_charged_in_it_is_forgotten},
      {"a_refund_after_it_takes_what_was_charged_since", a_refund_after_it_takes_what_was_charged_since},
      {"what_was_held_before_gives_nothing_back_and_can_cost_more",
       what_was_held_before_gives_nothing_back_and_can_cost_more},
      {"what_is_held_at_its_end_or_later_is_settled_as_ever",
       what_is_held_at_its_end_or_later_is_settled_as_ever},
      {"what_was_held_before_fills_what_may_be_held", what_was_held_before_fills_what_may_be_held},
      {"it_forgets_whatever_numbers_ask", it_forgets_whatever_numbers_ask},
      {"a_reset_forgets_it", a_reset_forgets_it},
      {"a_fixed_window_is_as_if_never_used_at_its_end", a_fixed_window_is_as_if_never_used_at_its_end},
      {"nothing_shortens_that_of_a_fixed_window", nothing_shortens_that_of_a_fixed_window},
      {"what_a_fixed_window_held_before_gives_nothing_back",
       what_a_fixed_window_held_before_gives_nothing_back},
      {"pauses_of_others_take_nothing_from_a_hold", pauses_of_others_take_nothing_from_a_hold},
      {"a_rest_that_forgets_is_as_long_by_other_numbers", a_rest_that_forgets_is_as_long_by_other_numbers},
      {"no_other_window_is_paused_so", no_other_window_is_paused_so},
      {"a_rest_of_a_fixed_window_forgets", a_rest_of_a_fixed_window_forgets},
      {"a_rest_may_forget", a_rest_may_forget},
      {"a_rest_that_forgets_may_be_shorter_than_what_is_owed",
       a_rest_that_forgets_may_be_shorter_than_what_is_owed},
      {"a_rest_that_forgets_may_grow", a_rest_that_forgets_may_grow}};
}

}  // namespace weir::store::conformance
