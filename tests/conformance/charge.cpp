// Charging what happened outside, whether there was room or not.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"
#include "core/overdraft.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

constexpr Outside kCost{Outside::Form::cost, 1, 24h};

Charged charge(Trial& trial, std::vector<Part> parts, Outside outside = kCost) {
  TestRequest question(std::move(parts), Verb::charge);
  question.charging.outside = outside;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could charge: " + question.why);
  return question.charging.told;
}

std::string text_of(const Charged& told) {
  return std::to_string(told.charged) + " charged, " + std::to_string(told.overdraft) + " over, wait " +
         std::to_string(told.wait.count()) + " ns, reset after " + std::to_string(told.reset_after.count()) +
         " ns, " + std::to_string(told.dropped) + " dropped";
}

void what_happened_outside_is_charged_without_room(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 4", 1);
  trial.ask(limit, "k", 3);
  trial.equal(text_of(charge(trial, {{limit, "k", 3}})),
              "3 charged, 2 over, wait 3000000000 ns, reset after 6000000000 ns, 0 dropped", "told");
  trial.expect(!trial.ask(limit, "k").allowed(), "nothing passes now");
  trial.world.advance(3s - 1us);
  trial.expect(!trial.ask(limit, "k").allowed(), "nor just before the wait is over");
  trial.world.advance(1us);
  trial.expect(trial.ask(limit, "k").allowed(), "and one does then");
}

void what_is_left_outside_is_no_more_here(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 4", 1);
  const Outside one_left{Outside::Form::remaining, 1, 24h};
  trial.equal(charge(trial, {{limit, "k"}}, one_left).charged, 3U, "charged");
  trial.equal(trial.left(limit, "k"), 1, "left");
  const Outside all_left{Outside::Form::remaining, 100, 24h};
  trial.equal(charge(trial, {{limit, "k"}}, all_left).charged, 0U, "charged, where more is said to be left");
  trial.equal(trial.left(limit, "k"), 1, "left");
}

void what_lies_beyond_the_overdraft_is_dropped(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 4", 1);
  const Outside short_one{Outside::Form::cost, 1, 10s};
  const Charged told = charge(trial, {{limit, "k", std::uint64_t{1} << 62}}, short_one);
  trial.equal(told.charged, 14U, "charged");
  trial.equal(told.dropped, (std::uint64_t{1} << 62) - 14, "dropped");
  trial.equal(told.wait.count(), nanoseconds{11s}.count(), "wait");
  trial.equal(text_of(charge(trial, {{limit, "k", 1}}, short_one)),
              "0 charged, 10 over, wait 11000000000 ns, reset after 14000000000 ns, 1 dropped", "one more");
}

// What remains in force after the settlement keeps the key in its ledger, which owes one number.
void a_part_of_a_unit_within_the_overdraft_is_owed_after_a_hold_too(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  const Outside no_overdraft{Outside::Form::cost, 1, 0s};
  const std::string id = reserve(trial, limit, "k", 4, 0s, 60s).id;
  trial.world.advance(250ms);
  charge(trial, {{limit, "k"}}, {Outside::Form::remaining, 2, 0s});
  settle(trial, id, 4);
  trial.equal(charge(trial, {{limit, "k", 1}}, no_overdraft).charged, 1U, "charged of one unit");
  const Charged told = charge(trial, {{limit, "k", 1}}, no_overdraft);
  trial.equal(told.charged, 0U, "charged where a quarter of a unit has room");
  trial.equal(told.reset_after.count(), nanoseconds{5s}.count(), "until nothing is owed");
  trial.world.advance(5s - 100ms);
  trial.equal(trial.left(limit, "k"), 4, "left, as a part of a unit is owed");
}

void a_charge_is_told_of_the_limit_with_the_longest_wait(Trial& trial) {
  const Limit fast = trial.limit("10/s burst 10", 1);
  const Limit slow = trial.limit("1/s burst 10", 2);
  TestRequest question(
      {{fast, "k", 15, false, Check::kNoGuarantee, "k"}, {slow, "k", 12, false, Check::kNoGuarantee, "k"}},
      Verb::charge);
  question.charging.outside = kCost;
  trial.ask(question);
  trial.equal(int{question.by}, 1, "by");
  trial.equal(text_of(question.charging.told),
              "12 charged, 2 over, wait 3000000000 ns, reset after 12000000000 ns, 0 dropped", "told");
  trial.expect(!trial.ask(fast, "k").allowed(), "the other is charged too");
}

void a_charge_forgets_a_remembered_denial(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 1", 1);
  trial.ask(limit, "k");
  trial.expect(!trial.ask(limit, "k").allowed(), "it is denied");
  charge(trial, {{limit, "k", 5}});
  const Decision denied = trial.ask(limit, "k");
  trial.equal(denied.retry_after.value_or(0ns).count(), nanoseconds{6s}.count(), "retry_after");
}

void a_charge_does_not_end_what_is_held(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked booked = reserve(trial, limit, "k", 6, 0s, 60s);
  charge(trial, {{limit, "k", 7}});
  settle(trial, booked.id, 1);
  // 13 were owed; of the 6 of the hold 5 come back.
  const Decision denied = trial.ask(limit, "k", 3);
  trial.equal(denied.retry_after.value_or(0ns).count(), nanoseconds{1s}.count(), "retry_after of 3");
}

void charges_of_sliding_windows_are_refused(Trial& trial) {
  for (const char* const algorithm : {"sliding_window_log", "sliding_window_counter"}) {
    const Limit limit = trial.limit(std::string("5/min algorithm=") + algorithm, 1);
    TestRequest question({{limit, "k"}}, Verb::charge);
    trial.ask(question);
    trial.expect(question.fault == Fault::unsuitable, "it is unsuitable");
  }
}

// What core::overdraw() and core::decide() say of the states, which are kept here as they leave them.
class ChargeModel {
 public:
  Charged charge(const std::vector<Part>& parts, Outside outside, nanoseconds now) {
    Charged told;
    const core::Overdrawn* longest = nullptr;
    std::vector<core::Overdrawn> all(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      core::TwoWords& state = state_of(part);
      const bool is_guarantee = i + 1 < parts.size() && parts[i + 1].inside == i;
      if (is_guarantee) {
        state = core::decide(part.limit.rule, state, now, Cost{part.cost}).next;
        continue;
      }
      if (outside.form == Outside::Form::cost) outside.units = part.cost;
      all[i] = core::overdraw(part.limit.rule, state, now, outside);
      state = all[i].next;
      told.dropped += all[i].dropped;
      if (part.shadow) continue;
      const bool is_longer = longest == nullptr || all[i].wait > longest->wait ||
                             (all[i].wait == longest->wait && all[i].overdraft > longest->overdraft);
      if (is_longer) longest = &all[i];
    }
    if (longest == nullptr) return told;
    told.charged = longest->charged;
    told.overdraft = longest->overdraft;
    told.wait = longest->wait;
    told.reset_after = longest->reset_after;
    return told;
  }
  Decision check(const Part& part, nanoseconds now) {
    const core::Step step = core::decide(part.limit.rule, state_of(part), now, Cost{part.cost});
    state_of(part) = step.next;
    return step.decision();
  }

 private:
  core::TwoWords& state_of(const Part& part) { return states_[{part.limit.id, part.key}]; }

  std::map<std::pair<std::uint64_t, std::string>, core::TwoWords> states_;
};

// Of gcra under numbers that change, of both kinds of fixed windows, of shadows and guarantees.
void charges_among_checks_are_what_core_says(Trial& trial) {
  core::Chance random;
  const std::vector<std::string> rules = {"1/s burst 5",
                                          "2/s burst 5",
                                          "1/3s burst 2",
                                          "7/s burst 30",
                                          "5/10s algorithm=fixed_window",
                                          "8/10s algorithm=fixed_window",
                                          "5/7s algorithm=fixed_window align=clock"};
  const auto limit_of = [&](std::size_t which) {
    return trial.limit(rules[which], which < 4 ? 1 : which < 6 ? 2 : 3);
  };
  for (int trace = 0; trace < trial.runs(25); ++trace) {
    ChargeModel model;
    const std::string key = std::to_string(trace);
    for (int step = 0; step < 60; ++step) {
      const Limit limit = limit_of(random() % rules.size());
      const std::string what = "trace " + key + ", step " + std::to_string(step);
      if (random() % 2 == 0) {
        const Part part{limit, key, random() % 4, false, Check::kNoGuarantee, "k"};
        TestRequest question({part});
        trial.ask(question);
        const Decision should = model.check(part, trial.world.now());
        if (question.source != Source::remembered)
          trial.equal(shown(question.decision()), shown(should), what + ", a check");
      } else {
        std::vector<Part> parts;
        if (random() % 3 == 0)
          parts.push_back({trial.limit("1/2s burst 3", 9), key, 1, true, Check::kNoGuarantee, "k"});
        const bool guaranteed = !parts.empty() && random() % 2 == 0;
        parts.push_back(
            {limit, key, random() % 9, false, guaranteed ? std::uint8_t{0} : Check::kNoGuarantee, "k"});
        if (random() % 3 == 0 && limit.id != 2)
          parts.push_back({limit_of(4), key, random() % 9, random() % 2 == 0, Check::kNoGuarantee, "k"});
        Outside outside{random() % 2 == 0 ? Outside::Form::cost : Outside::Form::remaining, random() % 7,
                        std::chrono::seconds{random() % 20}};
        const Charged told = charge(trial, parts, outside);
        trial.equal(text_of(told), text_of(model.charge(parts, outside, trial.world.now())), what);
      }
      if (random() % 2 == 0) trial.world.advance(1ms * (random() % 4'000));
    }
  }
}

}  // namespace

std::vector<Property> charge_properties() {
  return {{"what_happened_outside_is_charged_without_room", what_happened_outside_is_charged_without_room},
          {"what_is_left_outside_is_no_more_here", what_is_left_outside_is_no_more_here},
          {"what_lies_beyond_the_overdraft_is_dropped", what_lies_beyond_the_overdraft_is_dropped},
          {"a_part_of_a_unit_within_the_overdraft_is_owed_after_a_hold_too",
           a_part_of_a_unit_within_the_overdraft_is_owed_after_a_hold_too},
          {"a_charge_is_told_of_the_limit_with_the_longest_wait",
           a_charge_is_told_of_the_limit_with_the_longest_wait},
          {"a_charge_forgets_a_remembered_denial", a_charge_forgets_a_remembered_denial},
          {"a_charge_does_not_end_what_is_held", a_charge_does_not_end_what_is_held},
          {"charges_of_sliding_windows_are_refused", charges_of_sliding_windows_are_refused},
          {"charges_among_checks_are_what_core_says", charges_among_checks_are_what_core_says}};
}

}  // namespace weir::store::conformance
