// Charges of which those that are over leave the others free (store::OthersFree).
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suite.hpp"
#include "core/chance_test.hpp"
#include "core/overdraft.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds kDay = 24h;

// "over, 0 left; 2 left": what each of them is told.
std::string said_of(const std::vector<Decision>& decisions) {
  std::string text;
  for (const Decision& each : decisions)
    text += (text.empty() ? "" : "; ") + std::string(each.allowed() ? "" : "over, ") +
            std::to_string(each.remaining) + " left";
  return text;
}

std::vector<Decision> charge_some(Trial& trial, std::vector<Part> parts, OthersFree how = {}) {
  TestRequest question(std::move(parts), Verb::charge);
  question.charging.outside = {Outside::Form::cost, 1, kDay};
  question.charging.others_free = how;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could charge: " + question.why);
  trial.equal(question.allowed(),
              std::all_of(question.checks.begin(), question.checks.end(),
                          [](const Check& each) { return each.decision.allowed(); }),
              "it passes when none is over");
  std::vector<Decision> decisions;
  for (const Check& each : question.checks) decisions.push_back(each.decision);
  return decisions;
}

void where_one_is_over_it_is_charged_and_no_other(Trial& trial) {
  const Limit small = trial.limit("2/h algorithm=fixed_window", 1);
  const Limit large = trial.limit("10/h algorithm=fixed_window", 2);
  trial.equal(said_of(charge_some(trial, {{small, "a"}, {large, "a"}})), "1 left; 9 left", "the first");
  trial.equal(said_of(charge_some(trial, {{small, "a"}, {large, "a"}})), "0 left; 8 left", "the second");
  for (int i = 0; i < 3; ++i)
    trial.equal(said_of(charge_some(trial, {{large, "a"}, {small, "a"}})), "8 left; over, 0 left",
                "one that is over");
  // It has counted what it denied: 5 of 7.
  const Limit more = trial.limit("7/h algorithm=fixed_window", 1);
  trial.equal(said_of(charge_some(trial, {{more, "a", 2}, {large, "a"}})), "0 left; 7 left", "then");
}

void a_look_that_is_over_leaves_the_others_free(Trial& trial) {
  const Limit looked = trial.limit("1/h algorithm=fixed_window", 1);
  const Limit other = trial.limit("10/h algorithm=fixed_window", 2);
  const auto look = [&] { return said_of(charge_some(trial, {{looked, "a", 0}, {other, "a"}})); };
  trial.equal(look(), "1 left; 9 left", "where nothing is used");
  charge_some(trial, {{looked, "a"}});
  trial.equal(look(), "0 left; 8 left", "where all is used");
  charge_some(trial, {{looked, "a"}});
  trial.equal(look(), "over, 0 left; 8 left", "where more is used");
}

void one_key_twice_is_charged_twice_unless_one_is_over(Trial& trial) {
  const Limit limit = trial.limit("4/h algorithm=fixed_window", 1);
  trial.equal(said_of(charge_some(trial, {{limit, "a"}, {limit, "a", 2}})), "3 left; 1 left", "both fit");
  trial.equal(said_of(charge_some(trial, {{limit, "a"}, {limit, "a", 2}})), "1 left; over, 0 left",
              "the second does not");
  trial.equal(said_of(charge_some(trial, {{limit, "b", 3}, {limit, "b", 3}})), "1 left; over, 0 left",
              "both fit, each without the other");
  trial.equal(said_of(charge_some(trial, {{limit, "c", 9}, {limit, "c"}})), "over, 0 left; over, 0 left",
              "the second sees what the first was charged");
}

void what_is_charged_if_it_fits_takes_nothing_where_it_does_not(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  const Limit other = trial.limit("1/s burst 9", 2);
  const OthersFree how{.if_it_fits = 1};
  trial.equal(said_of(charge_some(trial, {{limit, "a", 2}, {other, "a"}}, how)), "0 left; 8 left", "it fits");
  const auto denied = charge_some(trial, {{limit, "a", 2}, {other, "a"}}, how);
  trial.equal(said_of(denied), "over, 0 left; 8 left", "it does not");
  trial.equal(denied[0].retry_after.value_or(0ns).count(), nanoseconds{2s}.count(), "retry_after of 2");
  trial.expect(charge_some(trial, {{limit, "a", 3}}, how)[0].verdict == Verdict::never,
               "more than it ever has");
  trial.world.advance(2s);
  trial.equal(said_of(charge_some(trial, {{limit, "a", 2}, {other, "a"}}, how)), "0 left; 8 left",
              "it fits again");
  trial.equal(said_of(charge_some(trial, {{limit, "a"}, {other, "a"}})), "over, 0 left; 8 left",
              "without that");
  trial.equal(charge_some(trial, {{limit, "a"}}, how)[0].retry_after.value_or(0ns).count(),
              nanoseconds{2s}.count(), "what was charged then drains first");
}

void what_has_to_leave_one_is_over_where_nothing_is_left(Trial& trial) {
  const Limit one = trial.limit("1/h algorithm=fixed_window", 1);
  const Limit other = trial.limit("10/h algorithm=fixed_window", 2);
  const OthersFree how{.leaves_one = 1};
  trial.equal(said_of(charge_some(trial, {{one, "a", 0}, {other, "a"}}, how)), "1 left; 9 left",
              "a look at nothing");
  trial.equal(said_of(charge_some(trial, {{one, "a"}, {other, "a"}}, how)), "0 left; 9 left",
              "the first unit");
  trial.equal(said_of(charge_some(trial, {{one, "a", 0}, {other, "a"}}, how)), "0 left; 9 left",
              "a look at it");
}

void shadows_and_what_is_left_cannot_leave_others_free(Trial& trial) {
  const Limit limit = trial.limit("4/h algorithm=fixed_window", 1);
  TestRequest shadow({{limit, "a", 1, true}, {limit, "b"}}, Verb::charge);
  TestRequest remaining({{limit, "a"}}, Verb::charge);
  remaining.charging.outside = Outside{Remaining{1}};
  for (TestRequest* const each : {&shadow, &remaining}) {
    each->charging.others_free.emplace();
    trial.ask(*each);
    trial.expect(each->fault == Fault::unsuitable, "it is unsuitable");
  }
}

void a_foreign_value_charges_none_of_them(Trial& trial) {
  const Limit limit = trial.limit("5/h algorithm=fixed_window", 1);
  if (!trial.world.put_foreign_value(limit, "foreign")) {
    trial.skipped = "nothing but weir writes into it";
    return;
  }
  TestRequest question({{limit, "a"}, {limit, "foreign"}}, Verb::charge);
  question.charging.others_free.emplace();
  trial.ask(question);
  trial.expect(question.fault == Fault::foreign_value, "a foreign value is a fault");
  trial.equal(said_of(charge_some(trial, {{limit, "a", 0}})), "5 left", "the other");
}

void without_its_store_the_fallback_leaves_others_free(Trial& trial) {
  if (!trial.world.fall_silent()) {
    trial.skipped = "its states are in this process and cannot fall silent";
    return;
  }
  const Limit one = trial.limit("1/h algorithm=fixed_window", 1);
  const Limit many = trial.limit("9/h", 2);
  std::string said;
  for (int i = 0; i < 3; ++i) {
    TestRequest question({{one, "a"}, {many, "a"}}, Verb::charge);
    question.charging.others_free.emplace();
    question.patience = 5ms;
    trial.submit({&question});
    trial.world.advance(5ms);
    trial.settle();
    trial.expect(question.source == Source::fallback, "the fallback decided");
    said += said_of({question.checks[0].decision, question.checks[1].decision}) + ". ";
  }
  trial.equal(said, "0 left; 8 left. over, 0 left; 8 left. over, 0 left; 8 left. ", "told");
}

// The rule in other words: of all keys by themselves, what they owe, and who is over by that.
class Ledger {
 public:
  std::vector<Decision> charge(const std::vector<Part>& parts, OthersFree how, nanoseconds now) {
    std::vector<bool> over;
    for (std::size_t i = 0; i < parts.size(); ++i) over.push_back(is_over(parts[i], i, how, now));
    const bool none = std::find(over.begin(), over.end(), true) == over.end();
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < parts.size(); ++i)
      decisions.push_back(decide(parts[i], none || over[i], (how.if_it_fits >> i & 1) != 0, now));
    return decisions;
  }
  Decision check(const Part& part, nanoseconds now) { return decide(part, true, true, now); }

 private:
  bool is_over(const Part& part, std::size_t i, OthersFree how, nanoseconds now) {
    const auto state = state_of(part);
    const core::Rule& rule = part.limit.rule;
    // What one more could take; below 0 for what is owed beyond it.
    core::Overdrawn there = core::overdraw(rule, state, now, {Outside::Form::cost, 0, kDay});
    const std::int64_t left =
        static_cast<std::int64_t>(there.remaining) - static_cast<std::int64_t>(there.overdraft);
    return left - static_cast<std::int64_t>(part.cost) < ((how.leaves_one >> i & 1) != 0 ? 1 : 0);
  }
  Decision decide(const Part& part, bool charged, bool if_it_fits, nanoseconds now) {
    core::TwoWords& state = state_of(part);
    const core::Rule& rule = part.limit.rule;
    if (charged && if_it_fits && part.cost != 0) {
      const core::Step step = core::decide(rule, state, now, Cost{part.cost});
      state = step.next;
      return step.decision();
    }
    const core::Overdrawn step =
        core::overdraw(rule, state, now, {Outside::Form::cost, charged ? part.cost : 0, kDay});
    state = step.next;
    Decision told;
    // What is more than a limit ever admits is never.
    const bool too_much = charged && part.cost > static_cast<std::uint64_t>(rule.quota.burst());
    told.verdict = step.overdraft == 0 ? Verdict::allowed : too_much ? Verdict::never : Verdict::denied;
    told.limit = rule.quota.burst();
    told.remaining = static_cast<std::int64_t>(step.remaining);
    if (told.verdict == Verdict::denied) told.retry_after = step.wait;
    told.reset_after = step.reset_after;
    return told;
  }
  core::TwoWords& state_of(const Part& part) { return states_[{part.limit.id, part.key}]; }

  std::map<std::pair<std::uint64_t, std::string>, core::TwoWords> states_;
};

// Under numbers that change, of gcra and of both kinds of fixed windows, some twice in a request; and in
// every other trace with keys that a cluster has in several slots.
void charges_that_leave_others_free_are_what_the_rule_says(Trial& trial) {
  core::Chance random;
  const std::vector<std::string> rules = {"1/s burst 5",
                                          "2/s burst 5",
                                          "1/3s burst 1",
                                          "7/s burst 12",
                                          "5/10s algorithm=fixed_window",
                                          "1/10s algorithm=fixed_window",
                                          "5/7s algorithm=fixed_window align=clock"};
  const auto limit_of = [&](std::size_t which) {
    return trial.limit(rules[which], which < 2 ? 1 : which < 4 ? 2 : which < 6 ? 3 : 4);
  };
  for (int trace = 0; trace < trial.runs(25); ++trace) {
    Ledger ledger;
    const auto part_of = [&](std::size_t which, std::uint64_t cost) -> Part {
      const Limit limit = limit_of(which);
      if (trace % 2 == 0) return {limit, std::to_string(trace), cost, false, Check::kNoGuarantee, "k"};
      return {limit, std::to_string(trace) + "of" + std::to_string(limit.id), cost};
    };
    for (int step = 0; step < 30; ++step) {
      const std::string what = "trace " + std::to_string(trace) + ", step " + std::to_string(step);
      if (random() % 4 == 0) {
        const Part part = part_of(random() % rules.size(), random() % 3);
        TestRequest question({part});
        trial.ask(question);
        const Decision should = ledger.check(part, trial.world.now());
        if (part.cost != 0 && question.source != Source::remembered)
          trial.equal(shown(question.decision()), shown(should), what + ", a check");
      } else {
        std::vector<Part> parts;
        OthersFree how;
        for (std::size_t left = 1 + random() % 5; left > 0; --left) {
          const std::size_t which = random() % rules.size();
          const std::size_t i = parts.size();
          if (which < 4 && random() % 2 == 0) how.if_it_fits |= static_cast<std::uint16_t>(1 << i);
          if ((which == 2 || which == 5) && random() % 2 == 0)
            how.leaves_one |= static_cast<std::uint16_t>(1 << i);
          parts.push_back(part_of(which, random() % (random() % 4 == 0 ? 9 : 3)));
        }
        const auto should = ledger.charge(parts, how, trial.world.now());
        const auto is = charge_some(trial, parts, how);
        for (std::size_t i = 0; i < is.size(); ++i)
          trial.equal(shown(is[i]), shown(should[i]), what + ", check " + std::to_string(i));
      }
      if (random() % 2 == 0) trial.world.advance(1ms * (random() % 4'000));
    }
  }
}

}  // namespace

std::vector<Property> others_free_properties() {
  return {{"where_one_is_over_it_is_charged_and_no_other", where_one_is_over_it_is_charged_and_no_other},
          {"a_look_that_is_over_leaves_the_others_free", a_look_that_is_over_leaves_the_others_free},
          {"one_key_twice_is_charged_twice_unless_one_is_over",
           one_key_twice_is_charged_twice_unless_one_is_over},
          {"what_is_charged_if_it_fits_takes_nothing_where_it_does_not",
           what_is_charged_if_it_fits_takes_nothing_where_it_does_not},
          {"what_has_to_leave_one_is_over_where_nothing_is_left",
           what_has_to_leave_one_is_over_where_nothing_is_left},
          {"shadows_and_what_is_left_cannot_leave_others_free",
           shadows_and_what_is_left_cannot_leave_others_free},
          {"a_foreign_value_charges_none_of_them", a_foreign_value_charges_none_of_them},
          {"without_its_store_the_fallback_leaves_others_free",
           without_its_store_the_fallback_leaves_others_free},
          {"charges_that_leave_others_free_are_what_the_rule_says",
           charges_that_leave_others_free_are_what_the_rule_says}};
}

}  // namespace weir::store::conformance
