// Fixed windows that a reservation meets, those of the calendar too: they count at its grant, and what goes
// back goes to the window that has counted it.
#include <string>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"
#include "core/time_zones_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

// A pace, and a budget beside it.
struct Paced {
  explicit Paced(const Trial& trial, std::string_view window)
      : pace(trial.limit("1/s burst 1", 1)), budget(trial.limit(window, 2)) {}

  Booked reserve(Trial& trial, std::uint64_t units, nanoseconds max_wait) const {
    return conformance::reserve(trial,
                                {{pace, "p", 1, false, Check::kNoGuarantee, "t"},
                                 {budget, "b", units, false, Check::kNoGuarantee, "t"}},
                                max_wait, 30min);
  }
  std::int64_t left(Trial& trial) const {
    TestRequest question({{budget, "b", 0, false, Check::kNoGuarantee, "t"}});
    trial.ask(question);
    return question.decision().remaining;
  }

  Limit pace;
  Limit budget;
};

constexpr std::string_view kHour = "10/h algorithm=fixed_window";

void a_window_counts_at_the_grant_and_has_no_moment(Trial& trial) {
  const Paced paced(trial, kHour);
  trial.equal(paced.reserve(trial, 4, 10s).wait.count(), 0, "acts now");
  const Booked second = paced.reserve(trial, 4, 10s);
  trial.equal(second.wait.count(), nanoseconds{1s}.count(), "the pace says when");
  trial.equal(paced.left(trial), 2, "and the window has counted it");
  const Booked third = paced.reserve(trial, 4, 10s);
  trial.expect(!third.granted, "no room there");
  trial.equal(int{third.by}, 1, "by the window");
  trial.equal(third.wait.count(), nanoseconds{1h}.count(), "until its end");
  trial.equal(paced.reserve(trial, 2, 10s).wait.count(), nanoseconds{2s}.count(), "it was charged nowhere");
  trial.equal(paced.reserve(trial, 11, 10s).wait.count(), -1, "more than it ever admits");
}

// After the window's end its pace may have to be waited for still, or never come.
void a_full_window_and_a_rate_are_waited_for_together(Trial& trial) {
  const Paced paced(trial, kHour);
  trial.expect(paced.reserve(trial, 10, 0s).granted, "all of the window");
  TestRequest pausing({{paced.pace, "p", 1, false, Check::kNoGuarantee, "t"}}, Verb::charge);
  pausing.charging.outside = Pause{2h};
  trial.ask(pausing);
  const Booked both = paced.reserve(trial, 1, 0s);
  trial.equal(both.wait.count(), nanoseconds{2h}.count(), "as long as the pace asks for");
  trial.equal(int{both.by}, 0, "by that");
  const Booked patient = paced.reserve(trial, 1, 90min);
  trial.equal(patient.wait.count(), nanoseconds{1h}.count(), "of one that may wait until the window ends");
  trial.equal(int{patient.by}, 1, "by that");
  const Booked never = conformance::reserve(trial,
                                            {{paced.pace, "p", 2, false, Check::kNoGuarantee, "t"},
                                             {paced.budget, "b", 1, false, Check::kNoGuarantee, "t"}},
                                            0s, 30min);
  trial.equal(never.wait.count(), -1, "what the pace never admits");
  trial.equal(int{never.by}, 0, "by that");
}

void an_id_dies_with_the_window_that_it_was_counted_in(Trial& trial) {
  const Paced paced(trial, kHour);
  paced.reserve(trial, 1, 0s);
  const Booked told = paced.reserve(trial, 4, 10s);
  trial.equal(moment(trial, told.id).count(), nanoseconds{1s}.count(), "its moment");
  TestRequest reset({{paced.pace, "p", 1, false, Check::kNoGuarantee, "t"},
                     {paced.budget, "b", 1, false, Check::kNoGuarantee, "t"}},
                    Verb::reset);
  trial.ask(reset);
  trial.equal(moment(trial, told.id).count(), -1, "when both are forgotten");
  trial.equal(cancel(trial, told.id), 0U, "given back");
}

void what_is_cancelled_or_settled_goes_back_to_its_window(Trial& trial) {
  const Paced paced(trial, kHour);
  const Booked first = paced.reserve(trial, 4, 0s);
  const Booked second = paced.reserve(trial, 4, 10s);
  trial.equal(cancel(trial, second.id), 4U, "given back");
  trial.equal(paced.left(trial), 6, "left after the cancellation");
  trial.expect(settle(trial, first.id, 1) >= 0ns, "it is settled");
  trial.equal(paced.left(trial), 9, "left after the settlement");
  const Booked third = paced.reserve(trial, 2, 10s);
  trial.world.advance(third.wait);
  trial.equal(settle(trial, third.id, 12).count() > 0, true, "more than there is is charged all the same");
  trial.equal(paced.left(trial), 0, "left after that");
}

void nothing_goes_back_to_the_next_window(Trial& trial) {
  for (const std::string_view window : {kHour, std::string_view("10/h algorithm=fixed_window align=clock")}) {
    const Paced paced(trial, window);
    const Booked held = paced.reserve(trial, 4, 0s);
    trial.world.advance(20min);
    TestRequest reset({{paced.budget, "b", 1, false, Check::kNoGuarantee, "t"}}, Verb::reset);
    trial.ask(reset);
    TestRequest other({{paced.budget, "b", 5, false, Check::kNoGuarantee, "t"}});
    trial.ask(other);
    settle(trial, held.id, 0);
    trial.equal(paced.left(trial), 5, "left of what is counted since a reset");
    const Booked late = paced.reserve(trial, 1, 0s);
    trial.equal(paced.left(trial), 4, "left with another");
    trial.world.advance(1h);
    TestRequest next({{paced.budget, "b", 5, false, Check::kNoGuarantee, "t"}});
    trial.ask(next);
    settle(trial, late.id, 0);
    trial.equal(paced.left(trial), 5, "left in the next window");
    trial.reset({{paced.budget, "b", 1, false, Check::kNoGuarantee, "t"}});
  }
}

void a_window_alone_can_be_held(Trial& trial) {
  const Limit limit = trial.limit("3/h algorithm=fixed_window", 1);
  const Booked held = reserve(trial, limit, "k", 3, 10s, 60s);
  trial.expect(held.granted && !held.id.empty(), "it is held");
  trial.expect(!reserve(trial, limit, "k", 1, 10s, 60s).granted, "there is no more");
  trial.equal(settle(trial, held.id, 2).count(), 0, "until one more");
  trial.expect(reserve(trial, limit, "k", 1, 0s).granted, "what went back is there");
}

void a_shadow_of_a_window_stops_nobody(Trial& trial) {
  const Limit pace = trial.limit("1/s burst 1", 1);
  const Limit budget = trial.limit("1/h algorithm=fixed_window", 2);
  for (int i = 0; i < 3; ++i)
    trial.equal(reserve(trial, {{pace, "t"}, {budget, "t", 1, true}}, 10s, 60s).wait.count(),
                nanoseconds{i * 1s}.count(), "its moment");
}

nanoseconds utc_of(const Trial& trial) { return trial.world.now() + trial.world.wall_ahead(); }

// A window of the calendar is refused by no store that reserves.
Paced paced_by_date(const Trial& trial, std::string_view window) {
  core::use_time_zones(core::test_zones());
  return Paced(trial, window);
}

// Time passes until the window that runs has that much left.
void go_before_its_end(Trial& trial, const Limit& limit, nanoseconds left) {
  const nanoseconds end = limit.rule.calendar->at(utc_of(trial)).end;
  trial.world.advance(end - left - utc_of(trial));
}

Booked reserve_of_budget(Trial& trial, const Paced& paced, std::uint64_t units) {
  return reserve(trial, {{paced.budget, "b", units, false, Check::kNoGuarantee, "t"}}, 0s, 30min);
}

void a_calendar_counts_at_the_grant_and_ends_with_its_window(Trial& trial) {
  const Paced paced = paced_by_date(trial, "10/hour align=calendar tz=Half/Hour");
  go_before_its_end(trial, paced.budget, 10s);
  const Booked first = paced.reserve(trial, 4, 10s);
  trial.equal(first.wait.count(), 0, "acts now");
  const Booked second = paced.reserve(trial, 4, 10s);
  trial.equal(second.wait.count(), nanoseconds{1s}.count(), "the pace says when");
  trial.equal(paced.left(trial), 2, "and the hour has counted it");
  const Booked third = paced.reserve(trial, 4, 10s);
  trial.expect(!third.granted, "no room there");
  trial.equal(int{third.by}, 1, "by the hour");
  trial.equal(third.wait.count(), nanoseconds{10s}.count(), "until its end");
  trial.equal(paced.reserve(trial, 11, 10s).wait.count(), -1, "more than it ever admits");
  trial.equal(cancel(trial, second.id), 4U, "given back");
  trial.equal(paced.left(trial), 6, "left after the cancellation");
  trial.expect(settle(trial, first.id, 1) >= 0ns, "it is settled");
  trial.equal(paced.left(trial), 9, "left after the settlement");
  const Booked more = reserve_of_budget(trial, paced, 1);
  trial.equal(settle(trial, more.id, 12).count(), nanoseconds{10s}.count(), "until one more unit");
  trial.equal(paced.left(trial), 0, "more than there is is charged all the same");
  trial.world.advance(10s);
  trial.equal(paced.left(trial), 10, "the next hour");
}

// One that is granted in the last second of an hour counts there, whenever it acts.
void nothing_goes_to_the_next_window_of_a_calendar(Trial& trial) {
  const Paced paced = paced_by_date(trial, "10/hour align=calendar tz=Half/Hour");
  go_before_its_end(trial, paced.budget, 1s);
  const Booked less = paced.reserve(trial, 4, 10s);
  const Booked more = paced.reserve(trial, 3, 10s);
  const Booked cancelled = paced.reserve(trial, 2, 10s);
  trial.equal(cancelled.wait.count(), nanoseconds{2s}.count(), "it acts in the next hour");
  trial.equal(paced.left(trial), 1, "and counts in this one");
  trial.world.advance(1s);
  TestRequest other({{paced.budget, "b", 5, false, Check::kNoGuarantee, "t"}});
  trial.ask(other);
  trial.expect(settle(trial, less.id, 0) >= 0ns, "it is settled");
  settle(trial, more.id, 9);
  trial.equal(paced.left(trial), 5, "left of the next hour, of two settlements");
  cancel(trial, cancelled.id);
  trial.equal(paced.left(trial), 5, "left of the next hour, of a cancellation");
}

void nothing_goes_back_after_a_reset_of_the_month(Trial& trial) {
  const Paced paced = paced_by_date(trial, "10/month align=calendar");
  const Booked held = paced.reserve(trial, 4, 0s);
  trial.reset({{paced.budget, "b", 1, false, Check::kNoGuarantee, "t"}});
  TestRequest other({{paced.budget, "b", 5, false, Check::kNoGuarantee, "t"}});
  trial.ask(other);
  settle(trial, held.id, 0);
  trial.equal(paced.left(trial), 5, "left of what is counted since a reset");
}

// Of 23 and of 25 hours.
void a_day_lasts_as_long_as_its_clocks_say(Trial& trial) {
  const Paced paced = paced_by_date(trial, "10/day align=calendar tz=Soon/Shifts");
  for (const std::chrono::hours length : {23h, 25h}) {
    const auto today = [&] { return paced.budget.rule.calendar->at(utc_of(trial)); };
    for (int i = 0; i < 5 && today().end - today().begin != length; ++i)
      go_before_its_end(trial, paced.budget, 0s);
    const nanoseconds left = today().end - utc_of(trial);
    trial.equal((today().end - today().begin).count(), nanoseconds{length}.count(), "its clocks say");
    trial.expect(paced.reserve(trial, 10, 0s).granted, "it is granted");
    trial.equal(paced.reserve(trial, 1, 5s).wait.count(), left.count(), "until its end");
    go_before_its_end(trial, paced.budget, 1s);
    trial.equal(paced.reserve(trial, 1, 5s).wait.count(), nanoseconds{1s}.count(), "its last second");
    trial.world.advance(1s);
    trial.equal(paced.left(trial), 10, "the next day has all of it");
  }
}

}  // namespace

std::vector<Property> counted_at_grant_properties() {
  return {
      {"a_window_counts_at_the_grant_and_has_no_moment", a_window_counts_at_the_grant_and_has_no_moment},
      {"a_full_window_and_a_rate_are_waited_for_together", a_full_window_and_a_rate_are_waited_for_together},
      {"an_id_dies_with_the_window_that_it_was_counted_in",
       an_id_dies_with_the_window_that_it_was_counted_in},
      {"what_is_cancelled_or_settled_goes_back_to_its_window",
       what_is_cancelled_or_settled_goes_back_to_its_window},
      {"nothing_goes_back_to_the_next_window", nothing_goes_back_to_the_next_window},
      {"a_window_alone_can_be_held", a_window_alone_can_be_held},
      {"a_shadow_of_a_window_stops_nobody", a_shadow_of_a_window_stops_nobody},
      {"a_calendar_counts_at_the_grant_and_ends_with_its_window",
       a_calendar_counts_at_the_grant_and_ends_with_its_window},
      {"nothing_goes_to_the_next_window_of_a_calendar", nothing_goes_to_the_next_window_of_a_calendar},
      {"nothing_goes_back_after_a_reset_of_the_month", nothing_goes_back_after_a_reset_of_the_month},
      {"a_day_lasts_as_long_as_its_clocks_say", a_day_lasts_as_long_as_its_clocks_say}};
}

}  // namespace weir::store::conformance
