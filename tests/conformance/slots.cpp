// Slots: how many holds may be open at once, and when one of them is over.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

Decision look(Trial& trial, const Limit& limit, const std::string& key) {
  TestRequest question({{limit, key}}, Verb::look);
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could look: " + question.why);
  return question.decision();
}

// One slot of a key; its id, empty when it is busy.
std::string take(Trial& trial, const Limit& limit, const std::string& key, nanoseconds hold) {
  return reserve(trial, limit, key, 1, 0s, hold).id;
}

void no_more_holds_are_open_than_there_are_slots(Trial& trial) {
  const Limit limit = trial.limit("in_flight=2", 1);
  const std::string first = take(trial, limit, "k", 10s);
  trial.world.advance(1s);
  const std::string second = take(trial, limit, "k", 10s);
  trial.expect(!first.empty() && !second.empty(), "two are granted, with an id each");
  TestRequest third({{limit, "k"}}, Verb::reserve);
  third.booking.hold = 10s;
  third.booking.max_wait = 60s;
  trial.ask(third);
  trial.expect(!third.charged && third.decision().verdict == Verdict::busy, "the third is busy");
  trial.equal(third.decision().limit, 2, "limit");
  trial.equal(third.decision().remaining, 0, "remaining");
  trial.equal(third.decision().retry_after.value_or(0s).count(), nanoseconds{9s}.count(), "retry_after");
  trial.equal(third.decision().reset_after.count(), nanoseconds{10s}.count(), "reset_after");
  trial.equal(third.booking.wait.count(), nanoseconds{9s}.count(), "wait");
  trial.expect(!take(trial, limit, "other", 10s).empty(), "another key has slots of its own");
}

void a_slot_is_free_when_its_hold_ends_and_once(Trial& trial) {
  const Limit limit = trial.limit("in_flight=2", 1);
  const std::string first = take(trial, limit, "k", 10s);
  take(trial, limit, "k", 20s);
  trial.equal(settle(trial, first, 0).count(), 0, "what a settlement tells");
  trial.equal(settle(trial, first, 0).count(), -1, "and a second one");
  const std::string third = take(trial, limit, "k", 30s);
  trial.expect(!third.empty(), "its slot is free");
  trial.world.advance(10s);
  trial.expect(take(trial, limit, "k", 10s).empty(), "and not once more when its time is over");
  trial.world.advance(10s - 1us);
  trial.expect(take(trial, limit, "k", 10s).empty(), "before the other's time is over");
  trial.world.advance(1us);
  trial.expect(!take(trial, limit, "k", 10s).empty(), "and then");
  trial.expect(take(trial, limit, "k", 10s).empty(), "one, and not two");
  trial.equal(cancel(trial, third), 0U, "what acts is not cancelled");
  trial.expect(take(trial, limit, "k", 10s).empty(), "and keeps its slot");
}

void a_slot_needs_a_hold_and_is_met_by_no_check(Trial& trial) {
  const Limit limit = trial.limit("in_flight=2", 1);
  TestRequest unheld({{limit, "k"}}, Verb::reserve);
  trial.ask(unheld);
  trial.expect(unheld.fault == Fault::unsuitable, "a reservation without a hold");
  TestRequest check({{limit, "k"}});
  trial.ask(check);
  trial.expect(check.fault == Fault::unsuitable, "a check");
  trial.expect(check.why.find("WEIR.RESERVE") != std::string::npos, "names the verb: " + check.why);
  TestRequest several({{trial.limit("5/s", 2), "k"}, {limit, "k"}});
  trial.ask(several);
  trial.expect(several.fault == Fault::unsuitable, "one of several checks");
  trial.equal(trial.left(trial.limit("5/s", 2), "k"), 5, "what the others were charged");
}

void a_look_tells_the_free_slots(Trial& trial) {
  const Limit limit = trial.limit("in_flight=2", 1);
  const Limit rate = trial.limit("1/s burst 5", 2);
  trial.equal(shown(look(trial, limit, "k")), "allowed, 2 of 2 left, reset after 0 ns", "before");
  take(trial, limit, "k", 10s);
  trial.equal(shown(look(trial, limit, "k")), "allowed, 1 of 2 left, reset after 10000000000 ns", "with one");
  take(trial, limit, "k", 20s);
  trial.equal(shown(look(trial, limit, "k")),
              "busy, 0 of 2 left, retry after 10000000000 ns, reset after 20000000000 ns", "with two");
  TestRequest both({{rate, "k"}, {limit, "k"}}, Verb::look);
  trial.ask(both);
  trial.equal(int{both.by}, 1, "by");
  trial.equal(both.checks[0].decision.remaining, 5, "of the rate");
  const Booked nothing = reserve(trial, limit, "k", 0, 0s, 10s);
  trial.expect(!nothing.granted || nothing.id.empty(), "a reservation of nothing takes none");
  trial.world.advance(20s);
  trial.equal(look(trial, limit, "k").remaining, 2, "when all are over");
}

void slots_and_rates_are_taken_all_or_none(Trial& trial) {
  const Limit slots = trial.limit("in_flight=2", 1);
  const Limit rate = trial.limit("1/s burst 3", 2);
  const auto both = [&](nanoseconds max_wait) {
    return reserve(trial, {{rate, "k", 2}, {slots, "k"}}, max_wait, 60s);
  };
  trial.expect(both(0s).granted, "both have room");
  trial.expect(!both(0s).granted, "the rate has none");
  trial.equal(look(trial, slots, "k").remaining, 1, "and the slot is not taken");
  const Booked waiting = both(1s);
  trial.equal(waiting.wait.count(), nanoseconds{1s}.count(), "one that waits for the rate");
  trial.equal(look(trial, slots, "k").remaining, 0, "has its slot");
  const Booked busy = both(10s);
  trial.expect(!busy.granted, "no slot is left");
  trial.equal(int{busy.by}, 1, "by");
  trial.equal(busy.wait.count(), nanoseconds{60s}.count(), "wait");
  trial.equal(both(0s).wait.count(), nanoseconds{60s}.count(), "the longest of both");
  trial.equal(cancel(trial, waiting.id), 2U, "given back");
  trial.equal(look(trial, slots, "k").remaining, 1, "a cancelled one's slot is free");
  trial.equal(trial.left(rate, "k"), 1, "and its units are back");
}

// A window has no moment: nobody waits for its end in line.
void one_that_finds_no_slot_and_a_full_window_is_told_the_window_s_end(Trial& trial) {
  const Limit slots = trial.limit("in_flight=1", 1);
  const Limit day = trial.limit("1/d algorithm=fixed_window", 2);
  const auto both = [&] { return reserve(trial, {{slots, "k"}, {day, "k"}}, 30s, 60s); };
  trial.expect(both().granted, "the first");
  const Booked busy = both();
  trial.expect(!busy.granted, "no slot is left");
  trial.equal(int{busy.by}, 1, "by");
  trial.equal(busy.wait.count(), nanoseconds{24h}.count(), "wait");
}

void other_numbers_of_slots_throw_nobody_out(Trial& trial) {
  const Limit three = trial.limit("in_flight=3", 1);
  const Limit one = trial.limit("in_flight=1", 1);
  std::vector<std::string> ids;
  for (const nanoseconds hold : {10s, 20s, 30s}) ids.push_back(take(trial, three, "k", hold));
  const Booked busy = reserve(trial, one, "k", 1, 0s, 10s);
  trial.expect(!busy.granted, "with fewer slots it is busy");
  trial.equal(busy.wait.count(), nanoseconds{30s}.count(), "until all that lack have ended");
  trial.equal(look(trial, one, "k").remaining, 0, "remaining");
  settle(trial, ids[1], 0);
  settle(trial, ids[2], 0);
  trial.expect(take(trial, one, "k", 10s).empty(), "one of them is open still");
  trial.expect(!take(trial, three, "k", 10s).empty(), "with more slots there is room at once");
}

void a_class_leaves_its_slots_free(Trial& trial) {
  const Limit all = trial.limit("in_flight=5", 1);
  Limit bulk = all;
  bulk.rule.kept = nanoseconds{bulk.rule.quota.emission_interval().count() * 5 / 2};  // 2.5, rounded up: 3
  trial.expect(!take(trial, bulk, "k", 10s).empty(), "the first");
  trial.expect(!take(trial, bulk, "k", 10s).empty(), "the second");
  trial.expect(take(trial, bulk, "k", 10s).empty(), "the third is for others");
  for (int i = 0; i < 3; ++i) trial.expect(!take(trial, all, "k", 10s).empty(), "who take it");
  trial.expect(take(trial, all, "k", 10s).empty(), "until there is none");
}

void a_shadow_of_slots_stops_nobody(Trial& trial) {
  const Limit slots = trial.limit("in_flight=1", 1);
  const Limit rate = trial.limit("1/s burst 9", 2);
  for (const std::int64_t left : {0, 0}) {
    TestRequest question({{rate, "k"}, {slots, "k", 1, true}}, Verb::reserve);
    question.booking.hold = 10s;
    trial.ask(question);
    trial.expect(question.charged, "it is granted");
    trial.equal(question.checks[1].decision.remaining, left, "left of the shadow");
  }
  trial.equal(look(trial, slots, "k").remaining, 0, "one is counted");
}

void a_reset_forgets_the_holds_that_were_open(Trial& trial) {
  const Limit limit = trial.limit("in_flight=1", 1);
  const std::string before = take(trial, limit, "k", 10s);
  trial.equal(trial.reset({{limit, "k"}}), 1U, "forgotten");
  trial.equal(trial.reset({{limit, "k"}}), 0U, "and nothing the second time");
  const std::string after = take(trial, limit, "k", 10s);
  trial.expect(!after.empty(), "there is room");
  trial.equal(settle(trial, before, 0).count(), -1, "what was forgotten is not there");
  trial.expect(take(trial, limit, "k", 10s).empty(), "and frees nothing");
}

// A shadow that denies is not charged.
void a_hold_that_charged_nothing_is_held_all_the_same(Trial& trial) {
  Limit limit = trial.limit("1/s burst 1", 1);
  limit.holding.longest = 30s;
  trial.ask(limit, "k");
  const auto ask = [&](const std::string& key) {
    Part part{.limit = limit, .key = key};
    part.shadow = true;
    return reserve(trial, {part}, 0s, 10s).id;
  };
  const std::string id = ask("k");
  trial.equal(extend(trial, id, 20s).count(), nanoseconds{20s}.count(), "what it has now");
  trial.world.advance(20s);
  trial.equal(extend(trial, id, 20s).count(), 0, "over");
  trial.ask(limit, "k");
  const std::string other = ask("k");
  trial.equal(settle(trial, other, 0).count(), -1, "nothing was charged");
  trial.equal(extend(trial, other, 20s).count(), 0, "it has been settled");
}

void an_extended_hold_ends_later_or_earlier(Trial& trial) {
  Limit limit = trial.limit("in_flight=1", 1);
  limit.holding.longest = 30s;
  const std::string id = take(trial, limit, "k", 10s);
  trial.world.advance(9s);
  trial.equal(extend(trial, id, 20s).count(), nanoseconds{20s}.count(), "what it has now");
  trial.world.advance(20s - 1us);
  trial.expect(take(trial, limit, "k", 10s).empty(), "before its end");
  trial.equal(extend(trial, id, 60s).count(), nanoseconds{30s}.count(), "as long as its limit says");
  trial.world.advance(1s);
  trial.expect(take(trial, limit, "k", 10s).empty(), "it has that");
  trial.equal(extend(trial, id, 1s).count(), nanoseconds{1s}.count(), "shorter");
  trial.world.advance(1s);
  trial.equal(extend(trial, id, 30s).count(), 0, "what is over stays over");
  trial.expect(!take(trial, limit, "k", 10s).empty(), "and its slot is free");
  trial.equal(extend(trial, "nobody", 30s).count(), 0, "of an unknown id");
}

void an_extension_counts_from_the_moment_and_holds_what_is_settled(Trial& trial) {
  const Limit slots = trial.limit("in_flight=1", 1);
  const Limit rate = trial.limit("1/s burst 4", 2);
  trial.ask(rate, "k", 4);
  const Booked held = reserve(trial, {{rate, "k", 4}, {slots, "k"}}, 10s, 5s);
  trial.equal(held.wait.count(), nanoseconds{4s}.count(), "its moment");
  trial.equal(extend(trial, held.id, 0s).count(), nanoseconds{4s}.count(), "from its moment");
  trial.equal(extend(trial, held.id, 7s).count(), nanoseconds{11s}.count(), "from its moment, again");
  trial.world.advance(10s);
  trial.expect(take(trial, slots, "k", 10s).empty(), "it is open after its first end");
  trial.expect(settle(trial, held.id, 1) >= 0s, "and settled");
  trial.expect(!take(trial, slots, "k", 10s).empty(), "which frees the slot");
  const Booked unheld = reserve(trial, {{rate, "k", 4}}, 10s);
  trial.equal(extend(trial, unheld.id, 5s).count(), 0, "without a hold");
}

// One that waits in line.
class InLine : public TestRequest {
 public:
  InLine(Trial& its_trial, std::vector<Part> wanted, nanoseconds max_wait, nanoseconds hold)
      : TestRequest(std::move(wanted), Verb::acquire) {
    booking.max_wait = max_wait;
    booking.hold = hold;
    its_trial.submit({this});
    its_trial.world.settle();
  }
  bool has() const { return !pending && fault == Fault::none && allowed(); }
};

void who_waits_for_a_slot_comes_first_that_came_first(Trial& trial) {
  if (!trial.world.lets_wait()) {
    trial.skipped = "nobody waits in this store";
    return;
  }
  const Limit limit = trial.limit("in_flight=1", 1);
  const std::string held = take(trial, limit, "k", 60s);
  const std::vector<Part> one{{limit, "k"}};
  InLine first(trial, one, 30s, 60s), second(trial, one, 30s, 60s), third(trial, one, 30s, 60s);
  InLine hasty(trial, one, 3s, 60s);
  InLine at_once(trial, one, 0s, 60s);
  trial.expect(!at_once.pending && !at_once.allowed(), "who may not wait is denied");
  trial.expect(first.pending && second.pending && third.pending, "whatever the hold's time says, they wait");
  trial.world.advance(2s);
  trial.expect(first.pending && hasty.pending, "as long as it is open");
  settle(trial, held, 0);
  trial.world.advance(1s);
  trial.expect(first.has() && !first.booking.id.empty(), "the first has its slot");
  trial.expect(second.pending && third.pending, "and nobody else");
  trial.expect(!hasty.pending && !hasty.allowed(), "who waited for as long as it may is denied");
  trial.expect(hasty.pending || hasty.decision().verdict == Verdict::busy, "as busy");
  trial.cancel(second);
  settle(trial, first.booking.id, 0);
  trial.world.advance(1s);
  trial.expect(third.has(), "one that has gone holds nobody up");
  trial.world.advance(60s);
  InLine fourth(trial, one, 30s, 1s);
  trial.expect(fourth.has(), "a hold that its time has ended makes room");
  InLine fifth(trial, one, 30s, 1s);
  trial.world.advance(1s);
  trial.expect(fifth.has(), "to one that waits, too");
}

void who_waits_for_a_slot_is_charged_when_it_has_it(Trial& trial) {
  if (!trial.world.lets_wait()) {
    trial.skipped = "nobody waits in this store";
    return;
  }
  const Limit slots = trial.limit("in_flight=1", 1);
  const Limit rate = trial.limit("1/s burst 2", 2);
  const std::string held = take(trial, slots, "k", 60s);
  InLine waiting(trial, {{rate, "k"}, {slots, "k"}}, 30s, 60s);
  trial.expect(waiting.pending, "it waits");
  trial.equal(trial.left(rate, "k"), 2, "and is charged nothing");
  trial.ask(rate, "k", 2);
  InLine too_much(trial, {{rate, "k", 3}, {slots, "other"}}, 30s, 60s);
  trial.expect(!too_much.pending && !too_much.allowed(), "what no time admits does not wait");
  settle(trial, held, 0);
  trial.world.advance(1s);
  trial.expect(waiting.has(), "its slot, and then its moment");
  trial.equal(trial.left(rate, "k"), 0, "for which it is charged");
}

// Any holds on two keys, settled, cancelled, extended or left alone: counted by ids and ends.
void slots_are_those_of_a_list_of_holds(Trial& trial) {
  core::Chance random(24);
  const Limit limit = trial.limit("in_flight=3", 1);
  std::map<std::string, std::map<std::string, nanoseconds>> open;  // by key: ids and their ends
  std::vector<std::pair<std::string, std::string>> all;
  for (int step = 0; step < 300; ++step) {
    const nanoseconds now = trial.world.now();
    for (auto& [key, holds] : open)
      std::erase_if(holds, [&](const auto& each) { return each.second <= now; });
    const std::string key = random() % 2 == 0 ? "a" : "b";
    const nanoseconds time = 1s * (1 + random() % 8);
    const auto any = [&] { return all[random() % all.size()]; };
    switch (all.empty() ? 0 : random() % 4) {
      case 0:
      case 1: {
        const std::string id = take(trial, limit, key, time);
        trial.equal(!id.empty(), open[key].size() < 3, "granted, step " + std::to_string(step));
        if (id.empty()) break;
        open[key][id] = now + time;
        all.emplace_back(key, id);
        break;
      }
      case 2: {
        const auto [of, id] = any();
        trial.equal(settle(trial, id, 0).count() >= 0, open[of].erase(id) != 0,
                    "settled, step " + std::to_string(step));
        break;
      }
      default: {
        const auto [of, id] = any();
        const bool is_open = open[of].contains(id);
        trial.equal(extend(trial, id, time).count(), is_open ? time.count() : 0,
                    "extended, step " + std::to_string(step));
        if (is_open) open[of][id] = now + time;
      }
    }
    trial.equal(look(trial, limit, key).remaining, 3 - static_cast<std::int64_t>(open[key].size()),
                "free, step " + std::to_string(step));
    if (random() % 3 == 0) trial.world.advance(1s * (random() % 4));
  }
}

template <void (*kProperty)(Trial&)>
void with_slots(Trial& trial) {
  if (trial.world.has_slots()) return kProperty(trial);
  trial.skipped = "this store has no slots";
}

}  // namespace

std::vector<Property> slot_properties() {
#define WEIR_PROPERTY(name) \
  Property { #name, &with_slots<&name> }
  return {WEIR_PROPERTY(no_more_holds_are_open_than_there_are_slots),
          WEIR_PROPERTY(a_slot_is_free_when_its_hold_ends_and_once),
          WEIR_PROPERTY(a_slot_needs_a_hold_and_is_met_by_no_check),
          WEIR_PROPERTY(a_look_tells_the_free_slots),
          WEIR_PROPERTY(slots_and_rates_are_taken_all_or_none),
          WEIR_PROPERTY(one_that_finds_no_slot_and_a_full_window_is_told_the_window_s_end),
          WEIR_PROPERTY(other_numbers_of_slots_throw_nobody_out),
          WEIR_PROPERTY(a_class_leaves_its_slots_free),
          WEIR_PROPERTY(a_shadow_of_slots_stops_nobody),
          WEIR_PROPERTY(a_reset_forgets_the_holds_that_were_open),
          WEIR_PROPERTY(a_hold_that_charged_nothing_is_held_all_the_same),
          WEIR_PROPERTY(an_extended_hold_ends_later_or_earlier),
          WEIR_PROPERTY(an_extension_counts_from_the_moment_and_holds_what_is_settled),
          WEIR_PROPERTY(who_waits_for_a_slot_comes_first_that_came_first),
          WEIR_PROPERTY(who_waits_for_a_slot_is_charged_when_it_has_it),
          WEIR_PROPERTY(slots_are_those_of_a_list_of_holds)};
#undef WEIR_PROPERTY
}

}  // namespace weir::store::conformance
