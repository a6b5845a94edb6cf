// Windows of the calendar, by the clock that the store goes by.
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"
#include "core/time_zones_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

nanoseconds utc_now(const Trial& trial) { return trial.world.now() + trial.world.wall_ahead(); }

Limit dated(const Trial& trial, const std::string& rule, std::uint64_t id = 1) {
  core::use_time_zones(core::test_zones());
  return trial.limit(rule, id);
}

// What is left of the window that runs, as the calendar alone says it.
nanoseconds left_of(const Trial& trial, const Limit& limit) {
  return limit.rule.calendar->at(utc_now(trial)).end - utc_now(trial);
}

void a_window_of_the_calendar_ends_when_the_calendar_says(Trial& trial) {
  std::uint64_t id = 1;
  for (const char* const unit : {"hour", "day", "week", "month", "year"}) {
    for (const char* const zone : {"UTC", "Half/Hour", "West/Most"}) {
      const std::string text = std::string("3/") + unit + " align=calendar tz=" + zone;
      const Limit limit = dated(trial, text, id++);
      if (trial.world.refuses(limit.rule)) {
        trial.skipped = "it counts no windows of the calendar";
        return;
      }
      trial.equal(trial.ask(limit, "k", 2).reset_after.count(), left_of(trial, limit).count(), text);
      trial.world.advance(1s);
      const Decision denied = trial.ask(limit, "k", 2);
      trial.equal(denied.retry_after.value_or(0ns).count(), left_of(trial, limit).count(), text + ", denied");
      trial.equal(denied.remaining, 1, text + ", left");
      trial.expect(trial.ask(limit, "k", 4).verdict == Verdict::never, text + ": above the limit");
    }
  }
}

void a_window_begins_with_all_of_its_units(Trial& trial) {
  const Limit limit = dated(trial, "3/hour align=calendar tz=Half/Hour");
  if (trial.world.refuses(limit.rule)) return;
  trial.ask(limit, "k", 3);
  trial.world.advance(left_of(trial, limit) - 1us);
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{1us}.count(),
              "at its end");
  trial.world.advance(1us);
  trial.expect(trial.ask(limit, "k", 3).allowed(), "the next one has begun");
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{1h}.count(), "and lasts");
}

void hours_and_days_count_as_the_rule_says(Trial& trial) {
  core::Chance random;
  const std::vector<std::string> rules = {"5/hour align=calendar", "7/day align=calendar tz=Middle/Nowhere",
                                          "3/hour align=calendar tz=Half/Hour"};
  for (std::size_t which = 0; which < rules.size(); ++which) {
    const Limit limit = dated(trial, rules[which], which + 1);
    if (trial.world.refuses(limit.rule)) return;
    core::TwoWords state;
    for (int step = 0; step < 150; ++step) {
      const Cost cost{random() % 4};
      const core::Step should = core::decide(limit.rule, state, trial.world.now(), cost);
      state = should.next;
      const Decision is = trial.ask(limit, "k", cost.units);
      trial.equal(shown(is), shown(should.decision()), rules[which] + ", step " + std::to_string(step));
      if (is != should.decision()) break;
      trial.world.advance(random() % 3 == 0 ? nanoseconds{std::chrono::minutes{random() % 100}}
                                            : nanoseconds{std::chrono::milliseconds{random() % 5'000}});
    }
  }
}

void another_zone_moves_no_debt(Trial& trial) {
  for (const char* const unit : {"day", "month", "year"}) {
    const std::string text = std::string("9/") + unit + " align=calendar tz=";
    const Limit before = dated(trial, text + "West/Most");
    if (trial.world.refuses(before.rule)) return;
    trial.ask(before, unit, 4);
    // The date may be the next one there already; it is never one that was before.
    const Limit after = dated(trial, text + "East/Most");
    const bool same =
        before.rule.calendar->at(utc_now(trial)).id == after.rule.calendar->at(utc_now(trial)).id;
    trial.equal(trial.left(after, unit), same ? 5 : 9, text);
    trial.ask(after, unit, 2);
    // And back again: a window that has begun is not left.
    trial.equal(trial.left(before, unit), same ? 3 : 7, text + ", back");
  }
}

void numbers_of_a_calendar_change_and_keep_what_was_used(Trial& trial) {
  const Limit limit = dated(trial, "9/month align=calendar");
  if (trial.world.refuses(limit.rule)) return;
  trial.ask(limit, "k", 8);
  trial.equal(trial.left(dated(trial, "20/month align=calendar"), "k"), 12, "raised");
  trial.equal(trial.left(dated(trial, "5/month align=calendar"), "k"), 0, "lowered");
  trial.equal(trial.reset({{limit, "k"}}), std::uint64_t{1}, "forgotten");
  trial.equal(trial.left(limit, "k"), 9, "after a reset");
}

void a_calendar_and_a_rate_are_charged_all_or_none(Trial& trial) {
  const Limit month = dated(trial, "4/month align=calendar", 1);
  const Limit day = dated(trial, "9/day align=calendar tz=Middle/Nowhere", 2);
  const Limit rate = trial.limit("1/s burst 3", 3);
  if (trial.world.refuses(month.rule)) return;
  const auto ask = [&](std::uint64_t cost) {
    TestRequest question({{month, "k", cost, false, Check::kNoGuarantee, "k"},
                          {day, "k", cost, false, Check::kNoGuarantee, "k"},
                          {rate, "k", cost, false, Check::kNoGuarantee, "k"}});
    trial.ask(question);
    return std::pair(question.allowed(), int{question.by});
  };
  trial.expect(ask(3).first, "all have room");
  trial.expect(ask(2) == std::pair(false, 0), "the month has none");
  trial.expect(ask(1) == std::pair(false, 2), "the rate has none");
  trial.equal(trial.left(month, "k"), 1, "left of the month");
  trial.equal(trial.left(day, "k"), 6, "left of the day");
}

void what_happened_outside_is_charged_to_the_window_that_runs(Trial& trial) {
  const Limit limit = dated(trial, "10/month align=calendar tz=Middle/Nowhere");
  if (trial.world.refuses(limit.rule)) return;
  const auto charge = [&](Outside outside) {
    TestRequest question({{limit, "k", outside.units, false, Check::kNoGuarantee, "k"}}, Verb::charge);
    question.charging.outside = outside;
    trial.ask(question);
    trial.expect(question.fault == Fault::none, "it can be charged: " + question.why);
    return question.charging.told;
  };
  trial.ask(limit, "k", 2);
  trial.equal(charge(Outside{Remaining{3}}).charged, std::uint64_t{5}, "what is left");
  trial.equal(trial.left(limit, "k"), 3, "left of it");
  const Charged told = charge(Outside{Cost{5}});
  trial.equal(told.charged, std::uint64_t{5}, "charged");
  trial.equal(told.overdraft, std::uint64_t{2}, "beyond it");
  trial.equal(told.wait.count(), left_of(trial, limit).count(), "wait");
  trial.equal(told.reset_after.count(), left_of(trial, limit).count(), "reset after");
  trial.equal(charge(Outside{Cost{std::uint64_t{1} << 62}}).charged, std::uint64_t{4'294'967'295 - 12},
              "the most");
}

}  // namespace

std::vector<Property> calendar_properties() {
  return {{"a_window_of_the_calendar_ends_when_the_calendar_says",
           a_window_of_the_calendar_ends_when_the_calendar_says},
          {"a_window_begins_with_all_of_its_units", a_window_begins_with_all_of_its_units},
          {"hours_and_days_count_as_the_rule_says", hours_and_days_count_as_the_rule_says},
          {"another_zone_moves_no_debt", another_zone_moves_no_debt},
          {"numbers_of_a_calendar_change_and_keep_what_was_used",
           numbers_of_a_calendar_change_and_keep_what_was_used},
          {"a_calendar_and_a_rate_are_charged_all_or_none", a_calendar_and_a_rate_are_charged_all_or_none},
          {"what_happened_outside_is_charged_to_the_window_that_runs",
           what_happened_outside_is_charged_to_the_window_that_runs}};
}

}  // namespace weir::store::conformance
