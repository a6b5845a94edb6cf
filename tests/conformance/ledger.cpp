// The ledger of a key: who fits is who makes nobody late that was told a later moment, and nothing moves.
#include <string>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds kHeldFor = 60s;

void who_fits_makes_nobody_late(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  trial.ask(limit, "k", 3);
  const Booked first = reserve(trial, limit, "k", 2, 60s);
  const Booked second = reserve(trial, limit, "k", 3, 60s);
  trial.equal(first.wait.count(), nanoseconds{2s}.count(), "the first's moment");
  trial.equal(second.wait.count(), nanoseconds{5s}.count(), "the second's");
  trial.world.advance(1s);
  trial.equal(trial.left(limit, "k"), 0, "left, though one unit has drained");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{5s}.count(), "who would make both late");
  trial.equal(reserve(trial, limit, "k", 1, 60s).wait.count(), nanoseconds{5s}.count(), "one that may wait");
  trial.equal(cancel(trial, second.id), 3U, "given back");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{2s}.count(), "who would make the first late");
  trial.world.advance(2s);
  trial.expect(trial.ask(limit, "k", 1).allowed(), "between the two there is room then");
  trial.equal(moment(trial, first.id).count(), 0, "the first's moment has come");
}

// One that waits for another limit acts a minute later: until then all but that is others'.
void those_who_act_before_a_later_one_use_what_it_leaves(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  const Limit slow = trial.limit("1/min burst 1", 2);
  trial.ask(slow, "k");
  const Booked told = reserve(trial, {{limit, "k", 3}, {slow, "k", 1}}, 60s);
  trial.equal(told.wait.count(), nanoseconds{60s}.count(), "it waits for the other");
  trial.expect(trial.ask(limit, "k", 3).allowed(), "all of it is there now");
  trial.world.advance(57s);
  trial.expect(trial.ask(limit, "k", 3).allowed(), "and so long before it that it drains");
  trial.world.advance(2s);
  trial.equal(trial.left(limit, "k"), 0, "left a second before it");
  trial.world.advance(1s);
  trial.equal(moment(trial, told.id).count(), 0, "its moment");
  trial.equal(trial.left(limit, "k"), 0, "left when it acts");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{1s}.count(), "and then the pace");
}

void a_settlement_for_less_changes_the_cost_in_its_place(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked held = reserve(trial, limit, "k", 6, 0s, kHeldFor);
  trial.ask(limit, "k", 4);
  const Booked told = reserve(trial, limit, "k", 3, 60s);
  trial.equal(told.wait.count(), nanoseconds{3s}.count(), "one waits");
  trial.world.advance(2s);
  settle(trial, held.id, 1);
  trial.equal(moment(trial, told.id).count(), nanoseconds{1s}.count(), "its moment stays");
  trial.equal(trial.left(limit, "k"), 5, "left beside it: 5 are owed, 2 have drained, and it takes 3");
  trial.expect(trial.ask(limit, "k", 5).allowed(), "which a check may use");
  trial.world.advance(1s);
  trial.equal(trial.left(limit, "k"), 0, "left when it acts");
}

// Had it cost nothing, what came after it would have drained by now.
void a_settlement_for_less_counts_what_has_drained(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked first = reserve(trial, limit, "k", 5, 0s, kHeldFor);
  const Booked second = reserve(trial, limit, "k", 5, 0s, kHeldFor);
  trial.world.advance(5s);
  settle(trial, first.id, 0);
  trial.equal(trial.left(limit, "k"), 10, "left");
  trial.expect(trial.ask(limit, "k", 10).allowed(), "a burst acts");
  settle(trial, second.id, 0);
  trial.equal(trial.left(limit, "k"), 0, "left when what has drained since is settled");
}

// What is told a later moment is not owed before it: less may fit, whatever is remembered of the denial.
void what_fits_before_a_told_one_acts_though_a_large_one_was_denied(Trial& trial) {
  const Limit limit = trial.limit("10/s burst 5", 1), other = trial.limit("5/s burst 3", 2);
  trial.ask(limit, "k", 5);
  trial.ask(other, "k", 3);
  const Booked told = reserve(trial, {{limit, "k", 2}, {other, "k", 3}}, 60s);
  trial.equal(told.wait.count(), nanoseconds{600ms}.count(), "its moment");
  trial.equal(retry_of(trial, limit, "k", 5).count(), nanoseconds{800ms}.count(), "a whole burst fits");
  trial.world.advance(200ms);
  trial.expect(trial.ask(limit, "k", 1).allowed(), "a unit fits before the told one");
}

void a_settlement_for_more_makes_a_told_one_late_and_nothing_fits_before_it(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked held = reserve(trial, limit, "k", 2, 0s, kHeldFor);
  trial.ask(limit, "k", 6);
  const Booked told = reserve(trial, limit, "k", 4, 60s);
  trial.equal(told.wait.count(), nanoseconds{2s}.count(), "one waits");
  trial.world.advance(1s);
  trial.equal(settle(trial, held.id, 5).count(), nanoseconds{5s}.count(), "until one more unit");
  trial.equal(moment(trial, told.id).count(), nanoseconds{1s}.count(), "its moment stays");
  trial.equal(trial.left(limit, "k"), 0, "left before it");
  trial.equal(reserve(trial, limit, "k", 1, 60s).wait.count(), nanoseconds{5s}.count(), "the next one's");
  trial.world.advance(2s);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{4s}.count(), "and who comes later");
}

void before_its_moment_nothing_is_settled(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked told = reserve(trial, limit, "k", 2, 60s, kHeldFor);
  trial.equal(settle(trial, told.id, 0).count(), -1, "settled");
  trial.equal(moment(trial, told.id).count(), nanoseconds{2s}.count(), "its moment");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{3s}.count(), "nothing has changed");
  trial.world.advance(2s);
  trial.equal(settle(trial, told.id, 0).count(), 0, "and then it is");
  trial.equal(trial.left(limit, "k"), 2, "left");
}

void a_told_moment_stays_whatever_is_given_back(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  std::vector<Booked> told;
  for (int i = 0; i < 3; ++i) told.push_back(reserve(trial, limit, "k", 2, 60s));
  trial.equal(cancel(trial, told[0].id), 2U, "given back");
  trial.equal(moment(trial, told[1].id).count(), nanoseconds{4s}.count(), "the second's");
  trial.equal(moment(trial, told[2].id).count(), nanoseconds{6s}.count(), "the third's");
  trial.equal(refund(trial, limit, "k", 2), 2U, "given back of what has acted");
  trial.equal(moment(trial, told[1].id).count(), nanoseconds{4s}.count(), "the second's");
  trial.equal(trial.left(limit, "k"), 2, "left");
}

// Each of those who wait for the slow one takes a burst of the other every 3.5 s, and in the second and a
// half between two of them two units fit nowhere. A time that one has given up is found, unless it lies
// beyond far more than 64 such stretches.
void a_search_goes_past_64_stretches_and_then_takes_the_last(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  const Limit slow = trial.limit("2/7s burst 1", 2);
  std::vector<Booked> told;
  for (int i = 0; i < 260; ++i) {
    told.push_back(reserve(trial, {{limit, "k", 2}, {slow, "k", 1}}, 1h));
    trial.equal(told.back().wait.count(), nanoseconds{i * 3500ms}.count(), "the moment of one that waits");
  }
  trial.equal(cancel(trial, told[10].id), 2U, "given back");
  trial.equal(reserve(trial, limit, "k", 2, 1h).wait.count(), nanoseconds{33500ms}.count(),
              "the first to fit");
  trial.equal(reserve(trial, limit, "k", 2, 1h).wait.count(), nanoseconds{35500ms}.count(), "the second");
  trial.equal(cancel(trial, told[230].id), 2U, "given back");
  trial.equal(reserve(trial, limit, "k", 2, 1h).wait.count(), nanoseconds{908500ms}.count(),
              "those after all that are known");
  trial.equal(reserve(trial, limit, "k", 2, 900s).granted, false, "which may be too late");
}

void a_cost_of_nothing_fits_always_and_changes_nothing(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked told = reserve(trial, limit, "k", 2, 60s);
  pause(trial, limit, "k", 1s);
  trial.expect(trial.ask(limit, "k", 0).allowed(), "a check, in a pause");
  const Booked looks = reserve(trial, limit, "k", 0, 0s, kHeldFor);
  trial.expect(looks.granted && looks.id.empty() && looks.wait == 0s, "a reservation, without an id");
  trial.equal(moment(trial, told.id).count(), nanoseconds{2s}.count(), "the moment of who waits");
}

// What is owed counts in units by another T, rounded up: 5 of 1 s are 5 of 100 ms, and of 10 s.
void by_another_t_what_is_owed_counts_in_units(Trial& trial) {
  struct Row {
    const char* rule;
    std::int64_t left;
    nanoseconds wait;
  };
  const Limit before = trial.limit("1/s burst 10", 1);
  for (const auto& [rule, left, wait] : {Row{"10/s burst 10", 5, 100ms}, Row{"1/10s burst 10", 5, 10s}}) {
    const Limit after = trial.limit(rule, 1);
    trial.ask(before, rule, 6);
    trial.world.advance(1500ms);
    trial.equal(trial.left(after, rule), left, std::string("left, of ") + rule);
    trial.equal(trial.left(before, rule), 5, "a look by other numbers has changed nothing");
    trial.expect(!trial.ask(after, rule, 6).allowed(), "nor has a denial");
    trial.equal(trial.left(before, rule), 5, "left");
    trial.expect(trial.ask(after, rule, 5).allowed(), "what is left passes");
    trial.equal(retry_of(trial, after, rule).count(), wait.count(), "and then the pace of now");
  }
}

// A denial that wrote its count would round up what is owed again and again: asked in turn, nobody passes.
void denials_by_two_numbers_in_turn_lock_nobody_out(Trial& trial) {
  const Limit slow = trial.limit("1/s burst 1", 1);
  const Limit fast = trial.limit("10/s burst 1", 1);
  trial.ask(slow, "k");
  for (int i = 0; i < 9; ++i) {
    trial.expect(!trial.ask(fast, "k").allowed() && !trial.ask(slow, "k").allowed(), "it is denied");
    trial.world.advance(111'111us);
  }
  trial.world.advance(1us);
  trial.expect(trial.ask(fast, "k").allowed(), "a second later it is not");
}

void by_another_t_open_holds_give_nothing_back_and_may_cost_more(Trial& trial) {
  const Limit before = trial.limit("1/s burst 10", 1);
  const Limit after = trial.limit("10/s burst 10", 1);
  for (const bool less : {true, false}) {
    const std::string key = less ? "less" : "more";
    const Booked held = reserve(trial, before, key, 6, 0s, kHeldFor);
    trial.expect(trial.ask(after, key, 1).allowed(), "one by other numbers");
    trial.expect(settle(trial, held.id, less ? 1 : 8) >= 0s, "it is settled");
    trial.equal(trial.left(after, key), less ? 3 : 1, "left, when it cost " + key);
  }
}

void by_another_t_told_moments_stay(Trial& trial) {
  const Limit before = trial.limit("1/s burst 2", 1);
  const Limit after = trial.limit("1/2s burst 2", 1);
  trial.ask(before, "k", 2);
  const Booked told = reserve(trial, before, "k", 1, 60s);
  trial.equal(told.wait.count(), nanoseconds{1s}.count(), "one waits");
  const Booked next = reserve(trial, after, "k", 1, 60s);
  trial.equal(next.wait.count(), nanoseconds{4s}.count(), "by a longer T after what is owed, 3 of 2 s");
  trial.equal(moment(trial, told.id).count(), nanoseconds{1s}.count(), "the moment of the first");
  trial.equal(moment(trial, next.id).count(), nanoseconds{4s}.count(), "and of the next");
}

// Asked for where others stand in line until then, and have used all by then.
void reservations_after_a_line_leave_its_room_to_it(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  const auto ask = [&](nanoseconds max_wait) {
    TestRequest question({{limit, "k", 2}}, Verb::reserve);
    question.booking.max_wait = max_wait;
    question.booking.lines = {{trial.world.now(), trial.world.now() + 5s}};
    trial.ask(question);
    return Booked{question.charged, question.booking.wait, question.booking.id};
  };
  const Booked late = ask(3s);
  trial.expect(!late.granted, "one that may not wait so long");
  trial.equal(late.wait.count(), nanoseconds{4s}.count(), "is told when it is soon enough");
  const Booked first = ask(10s);
  trial.equal(first.wait.count(), nanoseconds{7s}.count(), "another acts when there is room again");
  trial.equal(trial.left(limit, "k"), 3, "left before it");
  trial.equal(ask(10s).wait.count(), nanoseconds{9s}.count(), "the next after it");
  trial.equal(cancel(trial, first.id), std::uint64_t{2}, "of the first");
  trial.equal(ask(10s).wait.count(), nanoseconds{7s}.count(), "which another may have");
}

// Each of its lines is that of one key; another's burst is there.
void a_reservation_of_two_keys_waits_at_that_which_has_a_line(Trial& trial) {
  const Limit busy = trial.limit("1/s burst 3", 1), other = trial.limit("1/h burst 6", 2);
  for (const nanoseconds expected : {6s, 7s, 8s}) {
    TestRequest question({{busy, "k", 1}, {other, "k", 2}}, Verb::reserve);
    question.booking.max_wait = 20s;
    question.booking.lines = {{trial.world.now(), trial.world.now() + 5s}, {}};
    trial.ask(question);
    trial.expect(question.charged, "there is room at the other");
    trial.equal(question.booking.wait.count(), expected.count(), "one after the other at the busy one");
  }
}

}  // namespace

std::vector<Property> ledger_properties() {
#define WEIR_PROPERTY(name) \
  Property { #name, &(name) }
  return {WEIR_PROPERTY(who_fits_makes_nobody_late),
          WEIR_PROPERTY(those_who_act_before_a_later_one_use_what_it_leaves),
          WEIR_PROPERTY(a_settlement_for_less_changes_the_cost_in_its_place),
          WEIR_PROPERTY(a_settlement_for_less_counts_what_has_drained),
          WEIR_PROPERTY(what_fits_before_a_told_one_acts_though_a_large_one_was_denied),
          WEIR_PROPERTY(a_settlement_for_more_makes_a_told_one_late_and_nothing_fits_before_it),
          WEIR_PROPERTY(before_its_moment_nothing_is_settled),
          WEIR_PROPERTY(a_told_moment_stays_whatever_is_given_back),
          WEIR_PROPERTY(a_search_goes_past_64_stretches_and_then_takes_the_last),
          WEIR_PROPERTY(a_cost_of_nothing_fits_always_and_changes_nothing),
          WEIR_PROPERTY(by_another_t_what_is_owed_counts_in_units),
          WEIR_PROPERTY(denials_by_two_numbers_in_turn_lock_nobody_out),
          WEIR_PROPERTY(by_another_t_open_holds_give_nothing_back_and_may_cost_more),
          WEIR_PROPERTY(by_another_t_told_moments_stay),
          WEIR_PROPERTY(reservations_after_a_line_leave_its_room_to_it),
          WEIR_PROPERTY(a_reservation_of_two_keys_waits_at_that_which_has_a_line)};
#undef WEIR_PROPERTY
}

}  // namespace weir::store::conformance
