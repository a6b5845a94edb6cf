// The rest after a breach: a denial makes the key wait, once, and nothing but a breach does.
#include <string>
#include <utility>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

Limit with_penalty(Limit limit, nanoseconds penalty) {
  limit.penalty = {.time = penalty};
  return limit;
}

nanoseconds retry(Trial& trial, const Limit& limit, std::uint64_t cost = 1) {
  return trial.ask(limit, "k", cost).retry_after.value_or(-1ns);
}
// As nobody would be told who takes a penalty.
nanoseconds look(Trial& trial, const Limit& limit, std::uint64_t cost = 1) {
  TestRequest question({{limit, "k", cost}}, Verb::look);
  trial.ask(question);
  return question.decision().retry_after.value_or(0ns);
}

void a_denial_makes_its_key_rest(Trial& trial) {
  const Limit limit = with_penalty(trial.limit("1/s burst 3", 1), 60s);
  for (int i = 0; i < 3; ++i) trial.expect(trial.ask(limit, "k").allowed(), "the burst is there");
  trial.equal(retry(trial, limit).count(), nanoseconds{60s}.count(), "retry_after of the breach");
  trial.expect(trial.ask(limit, "other").allowed(), "another key does not rest");
  trial.world.advance(60s - 1us);
  trial.equal(look(trial, limit).count(), nanoseconds{1us}.count(), "just before its end");
  trial.world.advance(1us);
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
  trial.equal(look(trial, limit).count(), nanoseconds{1s}.count(), "and then the pace");
}

void a_denial_while_a_key_rests_changes_nothing(Trial& trial) {
  const Limit limit = with_penalty(trial.limit("1/s burst 1", 1), 60s);
  trial.ask(limit, "k");
  trial.ask(limit, "k");
  for (int i = 1; i <= 5; ++i) {
    trial.world.advance(10s);
    trial.equal(retry(trial, limit).count(), (60s - i * nanoseconds{10s}).count(), "retry_after");
  }
  trial.world.advance(10s);
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
  trial.equal(retry(trial, limit).count(), nanoseconds{60s}.count(), "and a new breach is one");
}

void a_greater_cost_waits_longer_than_the_rest(Trial& trial) {
  const Limit limit = with_penalty(trial.limit("1/s burst 10", 1), 30s);
  trial.ask(limit, "k", 8);
  trial.equal(retry(trial, limit, 4).count(), nanoseconds{33s}.count(), "four units");
  trial.equal(retry(trial, limit, 1).count(), nanoseconds{30s}.count(), "one");
}

void a_penalty_shorter_than_what_is_owed_adds_nothing(Trial& trial) {
  const Limit limit = with_penalty(trial.limit("1/min burst 2", 1), 10s);
  trial.ask(limit, "k", 2);
  trial.equal(retry(trial, limit).count(), nanoseconds{60s}.count(), "what is owed");
}

void a_pause_from_outside_is_a_rest_too(Trial& trial) {
  const Limit limit = with_penalty(trial.limit("1/s burst 1", 1), 60s);
  TestRequest pause({{limit, "k"}}, Verb::charge);
  pause.charging.outside = Pause{20s};
  trial.ask(pause);
  trial.equal(retry(trial, limit).count(), nanoseconds{20s}.count(), "what is left of the pause");
  trial.world.advance(20s);
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
}

void only_a_breach_takes_a_penalty(Trial& trial) {
  const Limit plain = trial.limit("1/s burst 4", 1);
  const Limit limit = with_penalty(plain, 60s);
  trial.ask(limit, "k", 4);
  const auto same = [&](const char* what) {
    trial.equal(look(trial, plain).count(), nanoseconds{1s}.count(), what);
  };
  trial.expect(!trial.ask(limit, "k", 5).allowed(), "more than the burst is never there");
  same("after what is never there");
  look(trial, limit);
  trial.ask(limit, "k", 0);
  same("after a look");
  const Limit other = trial.limit("1/s burst 1", 2);
  TestRequest shadow({{other, "free"}, {limit, "k", 1, true}});
  trial.ask(shadow);
  trial.expect(shadow.allowed(), "a shadow stops nobody");
  same("after a shadow's denial");
  Limit bulk = limit;
  bulk.rule.kept = 2s;
  trial.world.advance(2s);  // two units are there, which it leaves to others
  trial.expect(!trial.ask(bulk, "k").allowed(), "a class leaves them");
  trial.equal(trial.left(plain, "k"), 2, "left after a denial of a class");
}

void of_several_limits_those_that_deny_rest(Trial& trial) {
  const Limit tight = with_penalty(trial.limit("1/s burst 1", 1), 30s);
  const Limit wide = with_penalty(trial.limit("1/s burst 5", 2), 90s);
  const Limit third = with_penalty(trial.limit("1/s burst 1", 3), 45s);
  const auto ask = [&] {
    TestRequest question({{wide, "w", 1, false, Check::kNoGuarantee, "t"},
                          {tight, "a", 1, false, Check::kNoGuarantee, "t"},
                          {third, "b", 1, false, Check::kNoGuarantee, "t"}});
    trial.ask(question);
    return std::pair(question.by, question.decision().retry_after.value_or(0ns));
  };
  ask();
  const auto [by, wait] = ask();
  trial.equal(int{by}, 2, "who decides: the one that rests for longest");
  trial.equal(wait.count(), nanoseconds{45s}.count(), "its rest");
  const auto left = [&](const Limit& limit, const char* key) {
    TestRequest question({{limit, key, 1, false, Check::kNoGuarantee, "t"}}, Verb::look);
    trial.ask(question);
    return question.decision().retry_after.value_or(0ns).count();
  };
  trial.equal(left(wide, "w"), 0, "the one that allowed it does not rest");
  trial.equal(left(tight, "a"), nanoseconds{30s}.count(), "the other that denied it does");
}

void one_who_would_have_waited_takes_no_penalty(Trial& trial) {
  const Limit plain = trial.limit("1/s burst 1", 1);
  const Limit limit = with_penalty(plain, 60s);
  trial.ask(limit, "k");
  trial.expect(!reserve(trial, limit, "k", 1, 100ms).granted, "its moment is too late");
  trial.equal(look(trial, plain).count(), nanoseconds{1s}.count(), "after one with a max_wait");
  const Booked denied = reserve(trial, limit, "k", 1, 0s);
  trial.expect(!denied.granted, "one that asks for now is denied");
  trial.equal(denied.wait.count(), nanoseconds{60s}.count(), "and its key rests");
}

// A log-in: only failures count, and as many at once as there is burst.
void guesses_that_are_held_get_the_burst_and_then_a_rest(Trial& trial) {
  const Limit limit = with_penalty(trial.limit("5/h burst 5", 1), 900s);
  std::vector<Booked> granted;
  for (int i = 0; i < 40; ++i) {
    Booked one = reserve(trial, limit, "k", 1, 0s, 30s);
    if (one.granted) granted.push_back(std::move(one));
  }
  trial.equal(granted.size(), std::size_t{5}, "granted at once");
  for (const Booked& each : granted) settle(trial, each.id, 0);
  trial.equal(look(trial, limit).count(), nanoseconds{900s}.count(), "a success does not end the rest");
  trial.world.advance(900s);
  trial.expect(reserve(trial, limit, "k", 1, 0s, 30s).granted, "then one");
}

void too_many_open_holds_take_no_penalty(Trial& trial) {
  Limit limit = with_penalty(trial.limit("1/s burst 10", 1), 60s);
  limit.holding.at_most = 2;
  trial.expect(reserve(trial, limit, "k", 2, 0s, 30s).granted, "as much as may be held");
  trial.expect(!reserve(trial, limit, "k", 1, 0s, 30s).granted, "more is not");
  trial.equal(trial.left(limit, "k"), 8, "left");
}

// However long another limit's key rests, and whether it has come to that now or before.
void a_rest_hides_no_hold_that_never_fits(Trial& trial) {
  const Limit rests = with_penalty(trial.limit("1/s burst 1", 1), 30s);
  const Limit small = trial.limit("1/s burst 1", 2);
  Limit full = trial.limit("1/s burst 5", 3);
  full.holding.at_most = 1;
  trial.ask(rests, "k");
  for (const bool before : {false, true}) {
    TestRequest question({{small, "k", 2}, {full, "k", 2}, {rests, "k"}}, Verb::reserve);
    question.booking.hold = 1s;
    trial.ask(question);
    const std::string when = before ? "it rests: " : "it comes to rest: ";
    trial.equal(int{question.by}, 0, when + "who denies: of two that no time helps the first");
    trial.expect(question.checks[0].decision.verdict == Verdict::never, when + "what never fits the burst");
    trial.expect(question.checks[1].decision.verdict == Verdict::never, when + "what is never held");
    trial.equal(question.checks[2].decision.retry_after.value_or(0ns).count(), nanoseconds{30s}.count(),
                when + "the rest");
  }
}

void a_rest_is_waited_for_as_long_as_a_hold_that_is_longer(Trial& trial) {
  Limit limit = with_penalty(trial.limit("1/s burst 2", 1), 60s);
  limit.holding.at_most = 2;
  trial.expect(reserve(trial, limit, "k", 2, 0s, 90s).granted, "as much as may be held");
  const Booked denied = reserve(trial, limit, "k", 1, 0s, 90s);
  trial.equal(look(trial, limit).count(), nanoseconds{60s}.count(),
              "what is owed denies too, so the key rests");
  trial.equal(denied.wait.count(), nanoseconds{90s}.count(), "and the hold is longer");
  trial.world.advance(40s);
  trial.equal(reserve(trial, limit, "k", 1, 0s, 90s).wait.count(), nanoseconds{50s}.count(),
              "as it still is");
}

void a_key_rests_while_the_store_is_away(Trial& trial) {
  if (!trial.world.fall_silent()) {
    trial.skipped = "its states are in this process and cannot fall silent";
    return;
  }
  const Limit limit = with_penalty(trial.limit("1/h burst 1", 1), 3h);
  const auto ask = [&] {
    TestRequest question(limit, "k");
    question.patience = 5ms;
    trial.submit({&question});
    trial.world.advance(5ms);
    trial.settle();
    if (question.pending) trial.cancel(question);
    return question.decision().retry_after.value_or(0ns);
  };
  trial.equal(ask().count(), 0, "the burst is there");
  trial.equal(ask().count(), nanoseconds{3h}.count(), "the rest");
  trial.world.advance(1h);
  const nanoseconds left = ask();
  trial.expect(left > 0ns && left <= 2h, "which no denial makes longer");
}

Limit growing(Trial& trial, nanoseconds most) {
  Limit limit = trial.limit("1/s burst 1", 1);
  limit.penalty = {.time = 10s, .growing = 2000, .most = most};
  return limit;
}
// A breach as soon as the key has rested, and how long it then rests.
nanoseconds breach(Trial& trial, const Limit& limit) {
  trial.expect(trial.ask(limit, "k").allowed(), "one after the rest");
  return retry(trial, limit);
}

void a_growing_penalty_is_longer_each_time_up_to_its_most(Trial& trial) {
  const Limit limit = growing(trial, 60s);
  for (const nanoseconds expected : {10s, 20s, 40s, 60s, 60s, 60s}) {
    const nanoseconds rest = breach(trial, limit);
    trial.equal(rest.count(), expected.count(), "the rest");
    trial.world.advance(rest / 2);
    trial.equal(retry(trial, limit).count(), (rest / 2).count(), "no denial makes it longer");
    trial.world.advance(rest / 2);
  }
}

void each_most_without_a_breach_takes_one_back(Trial& trial) {
  const Limit limit = growing(trial, 60s);
  for (const nanoseconds rest : {10s, 20s}) {
    trial.equal(breach(trial, limit).count(), rest.count(), "the rest");
    trial.world.advance(rest);
  }
  trial.equal(breach(trial, limit).count(), nanoseconds{40s}.count(), "the third");
  trial.world.advance(60s);  // it counts two by now
  trial.equal(breach(trial, limit).count(), nanoseconds{40s}.count(), "one fewer, and one more");
  trial.world.advance(180s - 1ms);
  trial.equal(breach(trial, limit).count(), nanoseconds{20s}.count(), "one is left just before the end");
  trial.world.advance(120s);
  trial.equal(breach(trial, limit).count(), nanoseconds{10s}.count(), "as if it had never been");
}

void a_reset_forgets_the_breaches(Trial& trial) {
  const Limit limit = growing(trial, 60s);
  trial.equal(breach(trial, limit).count(), nanoseconds{10s}.count(), "the first");
  trial.world.advance(10s);
  TestRequest reset({{limit, "k"}}, Verb::reset);
  trial.ask(reset);
  trial.equal(breach(trial, limit).count(), nanoseconds{10s}.count(), "the first again");
  trial.world.advance(10s);
  trial.equal(breach(trial, limit).count(), nanoseconds{20s}.count(), "the second");
}

void other_numbers_keep_until_when_breaches_count(Trial& trial) {
  Limit limit = growing(trial, 100s);
  for (const nanoseconds rest : {10s, 20s, 40s}) {
    trial.equal(breach(trial, limit).count(), rest.count(), "the rest");
    trial.world.advance(rest);
  }
  limit.penalty = {.time = 1s, .growing = 3000, .most = 200s};  // 260 s are left
  trial.equal(breach(trial, limit).count(), nanoseconds{9s}.count(), "twice 200 s, rounded up");
}

void of_two_keys_each_has_its_own_breaches(Trial& trial) {
  const Limit limit = growing(trial, 60s);
  trial.equal(breach(trial, limit).count(), nanoseconds{10s}.count(), "the first");
  trial.world.advance(10s);
  trial.ask(limit, "other");
  trial.equal(trial.ask(limit, "other").retry_after.value_or(0ns).count(), nanoseconds{10s}.count(),
              "of another");
  trial.equal(breach(trial, limit).count(), nanoseconds{20s}.count(), "the second");
}

}  // namespace

std::vector<Property> penalty_properties() {
  return {
      {"a_denial_makes_its_key_rest", a_denial_makes_its_key_rest},
      {"a_denial_while_a_key_rests_changes_nothing", a_denial_while_a_key_rests_changes_nothing},
      {"a_greater_cost_waits_longer_than_the_rest", a_greater_cost_waits_longer_than_the_rest},
      {"a_penalty_shorter_than_what_is_owed_adds_nothing", a_penalty_shorter_than_what_is_owed_adds_nothing},
      {"a_pause_from_outside_is_a_rest_too", a_pause_from_outside_is_a_rest_too},
      {"only_a_breach_takes_a_penalty", only_a_breach_takes_a_penalty},
      {"of_several_limits_those_that_deny_rest", of_several_limits_those_that_deny_rest},
      {"one_who_would_have_waited_takes_no_penalty", one_who_would_have_waited_takes_no_penalty},
      {"guesses_that_are_held_get_the_burst_and_then_a_rest",
       guesses_that_are_held_get_the_burst_and_then_a_rest},
      {"too_many_open_holds_take_no_penalty", too_many_open_holds_take_no_penalty},
      {"a_rest_is_waited_for_as_long_as_a_hold_that_is_longer",
       a_rest_is_waited_for_as_long_as_a_hold_that_is_longer},
      {"a_growing_penalty_is_longer_each_time_up_to_its_most",
       a_growing_penalty_is_longer_each_time_up_to_its_most},
      {"each_most_without_a_breach_takes_one_back", each_most_without_a_breach_takes_one_back},
      {"a_reset_forgets_the_breaches", a_reset_forgets_the_breaches},
      {"other_numbers_keep_until_when_breaches_count", other_numbers_keep_until_when_breaches_count},
      {"of_two_keys_each_has_its_own_breaches", of_two_keys_each_has_its_own_breaches},
      {"a_rest_hides_no_hold_that_never_fits", a_rest_hides_no_hold_that_never_fits},
      {"a_key_rests_while_the_store_is_away", a_key_rests_while_the_store_is_away}};
}

}  // namespace weir::store::conformance
