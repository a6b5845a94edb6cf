// After a step back of the clock of a store that has one of its own: a key that has a ledger goes on; of
// others what lies far ahead for its sake is forgotten, and nothing else.
#include <string>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

constexpr const char* kWindow = "2/s algorithm=fixed_window";

// The next who asks hears of it.
bool steps_back(Trial& trial, nanoseconds by) {
  const Limit other = trial.limit("100/s", 9);
  trial.ask(other, "other");
  if (!trial.world.step_back(by)) {
    trial.skipped = "it has no clock of its own";
    return false;
  }
  trial.ask(other, "other");
  return true;
}

void a_pause_of_a_window_is_told_to_its_end(Trial& trial) {
  const Limit limit = trial.limit(kWindow, 1);
  if (!steps_back(trial, 1h)) return;
  pause(trial, limit, "k", 10s, true);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{10s}.count(), "all of it");
  trial.world.advance(4s);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{6s}.count(), "what is left");
  trial.world.advance(6s);
  trial.equal(trial.left(limit, "k"), 2, "left at its end");
}

// A step of two seconds puts no window ten minutes ahead.
void a_window_that_was_longer_under_other_numbers_stays(Trial& trial) {
  const Limit longer = trial.limit("2/10min algorithm=fixed_window", 1), limit = trial.limit(kWindow, 1);
  for (int i = 0; i < 2; ++i) trial.expect(trial.ask(longer, "k").allowed(), "both of its units");
  if (!steps_back(trial, 2s)) return;
  for (int i = 0; i < 3; ++i) {
    trial.expect(!trial.ask(limit, "k").allowed(), "another until it ends");
    trial.world.advance(250ms);
  }
}

void a_window_of_before_is_forgotten(Trial& trial) {
  const Limit limit = trial.limit(kWindow, 1);
  for (int i = 0; i < 2; ++i) trial.ask(limit, "k");
  if (!steps_back(trial, 1h)) return;
  trial.expect(!trial.ask(limit, "k").allowed(), "it denies as it is found");
  trial.world.advance(1s);
  trial.expect(trial.ask(limit, "k").allowed(), "and then no more");
}

// Of a key that has a ledger time goes on from where it was when something was last granted there, as of the
// next one who asks.
void what_was_reserved_before_stays_as_it_was_told(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  const std::string held = reserve(trial, limit, "k", 2, 0s, 30s).id;
  const std::string first = reserve(trial, limit, "k", 1, 10s).id;
  if (!steps_back(trial, 1h)) return;
  trial.equal(moment(trial, first).count(), nanoseconds{1s}.count(), "until the first's moment");
  const Booked second = reserve(trial, limit, "k", 1, 10s);
  trial.equal(second.wait.count(), nanoseconds{2s}.count(), "the next one's wait");
  if (!steps_back(trial, 10min)) return;
  trial.equal(moment(trial, first).count(), nanoseconds{1s}.count(), "until the first's moment, once more");
  trial.equal(moment(trial, second.id).count(), nanoseconds{2s}.count(), "until the second's");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{3s}.count(), "a check's wait");
  trial.world.advance(1s);
  trial.equal(moment(trial, first).count(), 0, "at the first's moment");
  trial.equal(cancel(trial, second.id), 1U, "given back by one that waits");
  settle(trial, held, 0);
  trial.expect(trial.ask(limit, "k").allowed(), "what was held is given back");
  trial.expect(!trial.ask(limit, "k").allowed(), "and no more");
}

void a_hold_of_before_lasts_as_long_as_it_was_granted(Trial& trial) {
  const Limit limit = trial.limit("1/min burst 2", 1);
  const std::string first = reserve(trial, limit, "k", 1, 0s, 10s).id;
  const std::string second = reserve(trial, limit, "k", 1, 0s, 10s).id;
  if (!steps_back(trial, 1h)) return;
  trial.ask(limit, "k");
  trial.world.advance(6s);
  trial.equal(extend(trial, first, 10s).count(), nanoseconds{10s}.count(), "what the first has then");
  trial.world.advance(6s);
  trial.expect(settle(trial, second, 0) < 0s, "the second is over");
  trial.expect(settle(trial, first, 0) >= 0s, "the first is not");
  trial.expect(trial.ask(limit, "k").allowed(), "it has given one back");
}

// Those that nobody settles count among the held until then, and no longer; beside them others come and go.
void what_may_be_held_is_free_when_holds_of_before_are_over(Trial& trial) {
  Limit limit = trial.limit("1/s burst 9", 1);
  limit.holding.at_most = 6;
  const auto hold = [&](std::uint64_t units, nanoseconds time) {
    return reserve(trial, limit, "k", units, 0s, time);
  };
  hold(1, 25s);
  hold(3, 30s);
  if (!steps_back(trial, 1h)) return;
  trial.ask(limit, "k");
  trial.world.advance(20s);
  const Booked third = hold(2, 30s);
  const Booked none = hold(1, 30s);
  trial.expect(!none.granted, "six are held");
  trial.equal(none.wait.count(), nanoseconds{5s}.count(), "until one of them is over");
  TestRequest listed({{limit, "k"}}, Verb::holds);
  listed.booking.most = 9;
  trial.ask(listed);
  trial.equal(listed.booking.open.size(), std::size_t{3}, "open");
  for (const OpenHold& each : listed.booking.open)
    trial.expect(each.ends <= (each.id == third.id ? 30s : 10s), "each ends when it was to end");
  trial.world.advance(5s);
  trial.expect(hold(1, 5s).granted, "the first is over");
  trial.world.advance(5s);
  const Booked last = hold(4, 30s);
  trial.expect(last.granted, "and the second");
  settle(trial, third.id, 2);
  settle(trial, last.id, 4);
  trial.expect(reserve(trial, limit, "k", 6, 30s, 30s).granted, "and all of it is free in the end");
}

void a_slot_beside_a_rate_is_free_when_its_hold_is_settled_too_late(Trial& trial) {
  if (!trial.world.has_slots()) {
    trial.skipped = "it has no slots";
    return;
  }
  const Limit rate = trial.limit("1/s burst 9", 1), slot = trial.limit("in_flight=1", 2);
  const auto take = [&] { return reserve(trial, {{rate, "k", 1}, {slot, "k"}}, 0s, 30s); };
  const Booked held = take();
  if (!steps_back(trial, 1h)) return;
  trial.ask(rate, "k");
  trial.world.advance(31s);
  trial.expect(!take().granted, "it is taken");
  trial.expect(settle(trial, held.id, 1) < 0s, "the hold is over");
  trial.expect(take().granted, "and the slot is free");
}

void a_told_moment_has_come_for_a_minute_though_others_act(Trial& trial) {
  const Limit limit = trial.limit("2/s burst 1", 1);
  trial.ask(limit, "k");
  const std::string told = reserve(trial, limit, "k", 1, 1s).id;
  if (!steps_back(trial, 1h)) return;
  trial.ask(limit, "k");
  for (int i = 0; i < 4; ++i) {
    trial.world.advance(1s);
    trial.expect(trial.ask(limit, "k").allowed(), "another acts");
    trial.equal(moment(trial, told).count(), 0, "its moment has come");
  }
}

// A ledger that is made of it knows of no step.
void what_was_owed_before_by_a_key_without_one_is_cut_in_it_too(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  if (!steps_back(trial, 1h)) return;
  pause(trial, limit, "k", 1s);
  trial.ask(limit, "k");
  trial.world.advance(4s);
  trial.expect(trial.ask(limit, "k").allowed(), "it admits again");
}

void a_key_that_is_paused_afresh_is_so_at_its_end(Trial& trial) {
  const Limit limit = trial.limit("1/10s burst 3", 1);
  trial.ask(limit, "k", 3);
  pause(trial, limit, "k", 10s, true);
  if (!steps_back(trial, 1h)) return;
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{10s}.count(), "all of it");
  trial.equal(reserve(trial, limit, "k", 3, 60s).wait.count(), nanoseconds{10s}.count(), "all at its end");
}

// The epoch of a ledger follows the days.
void a_moment_that_is_told_beyond_a_day_stays(Trial& trial) {
  const Limit limit = trial.limit("1/15h burst 1", 1);
  trial.ask(limit, "k");
  reserve(trial, limit, "k", 1, 20h);
  if (!steps_back(trial, 1h)) return;
  trial.ask(limit, "k");
  trial.world.advance(14h);
  const Booked second = reserve(trial, limit, "k", 1, 20h);
  trial.equal(second.wait.count(), nanoseconds{16h}.count(), "the second's wait");
  trial.world.advance(12h);
  trial.ask(limit, "k");
  trial.equal(moment(trial, second.id).count(), nanoseconds{4h}.count(), "until its moment");
  cancel(trial, second.id);
  trial.equal(reserve(trial, limit, "k", 1, 20h).wait.count(), nanoseconds{4h}.count(), "in its place");
}

void a_told_moment_stays_when_the_key_is_counted_by_other_numbers(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1), other = trial.limit("2/s burst 9", 1);
  trial.ask(limit, "k", 2);
  const std::string told = reserve(trial, limit, "k", 1, 5s).id;
  if (!steps_back(trial, 1h)) return;
  trial.expect(trial.ask(other, "k").allowed(), "there is room by other numbers");
  trial.equal(moment(trial, told).count(), nanoseconds{1s}.count(), "until its moment");
}

void who_stands_in_line_goes_on(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  Waiting first(trial, limit, "k", 1h, 2), second(trial, limit, "k", 5s);
  if (!steps_back(trial, 1h)) return;
  trial.ask(limit, "k");
  trial.world.advance(1s);
  trial.expect(first.waits() && second.waits(), "neither has been denied");
  trial.world.advance(1s);
  trial.expect(first.allowed(), "the first acts at its moment");
  trial.world.advance(1s);
  trial.expect(second.allowed(), "and so does the second");
}

void a_pause_of_a_rate_is_as_long_as_it_was(Trial& trial) {
  const Limit limit = trial.limit("100/s", 1);
  pause(trial, limit, "k", 10s);
  if (!steps_back(trial, 1h)) return;
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{10s}.count(), "all of it");
  trial.world.advance(4s);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{6s}.count(), "what is left");
}

}  // namespace

std::vector<Property> stepped_properties() {
  return {
      {"a_pause_of_a_window_is_told_to_its_end", a_pause_of_a_window_is_told_to_its_end},
      {"a_window_that_was_longer_under_other_numbers_stays",
       a_window_that_was_longer_under_other_numbers_stays},
      {"a_window_of_before_is_forgotten", a_window_of_before_is_forgotten},
      {"what_was_reserved_before_stays_as_it_was_told", what_was_reserved_before_stays_as_it_was_told},
      {"a_hold_of_before_lasts_as_long_as_it_was_granted", a_hold_of_before_lasts_as_long_as_it_was_granted},
      {"what_may_be_held_is_free_when_holds_of_before_are_over",
       what_may_be_held_is_free_when_holds_of_before_are_over},
      {"a_slot_beside_a_rate_is_free_when_its_hold_is_settled_too_late",
       a_slot_beside_a_rate_is_free_when_its_hold_is_settled_too_late},
      {"a_told_moment_has_come_for_a_minute_though_others_act",
       a_told_moment_has_come_for_a_minute_though_others_act},
      {"what_was_owed_before_by_a_key_without_one_is_cut_in_it_too",
       what_was_owed_before_by_a_key_without_one_is_cut_in_it_too},
      {"a_key_that_is_paused_afresh_is_so_at_its_end", a_key_that_is_paused_afresh_is_so_at_its_end},
      {"a_moment_that_is_told_beyond_a_day_stays", a_moment_that_is_told_beyond_a_day_stays},
      {"a_told_moment_stays_when_the_key_is_counted_by_other_numbers",
       a_told_moment_stays_when_the_key_is_counted_by_other_numbers},
      {"who_stands_in_line_goes_on", who_stands_in_line_goes_on},
      {"a_pause_of_a_rate_is_as_long_as_it_was", a_pause_of_a_rate_is_as_long_as_it_was}};
}

}  // namespace weir::store::conformance
