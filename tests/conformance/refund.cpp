// Refunds: the last units charged were not used. They give back no more than was charged, and nothing that
// somebody who waits or holds depends on.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agreement/spans.hpp"
#include "conformance/booking.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

struct Refunded {
  std::uint64_t units = 0;
  int by = 0;
};

Refunded refund(Trial& trial, std::vector<Part> parts) {
  TestRequest question(std::move(parts), Verb::charge);
  question.charging.outside = Outside{Outside::Form::refund, 0, 0s};
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could refund: " + question.why);
  return {question.charging.told.charged, int{question.by}};
}
std::uint64_t refund(Trial& trial, const Limit& limit, const std::string& key, std::uint64_t units) {
  return refund(trial, {{limit, key, units}}).units;
}

void charge(Trial& trial, const Limit& limit, const std::string& key, std::uint64_t units) {
  TestRequest question({{limit, key, units}}, Verb::charge);
  question.charging.outside = Outside{Outside::Form::cost, 0, 24h};
  trial.ask(question);
}

void the_last_units_go_back(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  trial.ask(limit, "k", 4);
  trial.equal(refund(trial, limit, "k", 3), 3U, "given back");
  trial.equal(trial.left(limit, "k"), 4, "left");
  trial.equal(refund(trial, limit, "other", 3), 0U, "of a key that owes nothing");
  trial.equal(trial.left(limit, "other"), 5, "left of that");
}

void a_refund_gives_back_no_more_than_was_charged(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  trial.ask(limit, "k", 4);
  trial.world.advance(1500ms);
  trial.equal(refund(trial, limit, "k", 10), 3U, "given back, of 2.5 that have not drained");
  trial.equal(trial.left(limit, "k"), 5, "left");
  trial.equal(refund(trial, limit, "k", 10), 0U, "and again");
  trial.ask(limit, "k", 5);
  trial.expect(!trial.ask(limit, "k").allowed(), "no more than the burst passes then");
}

void a_refund_leaves_those_who_wait(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked first = reserve(trial, limit, "k", 1, 60s);
  trial.equal(refund(trial, limit, "k", 10), 0U, "given back of what lies before one who waits");
  charge(trial, limit, "k", 3);
  trial.equal(refund(trial, limit, "k", 10), 3U, "given back of what lies after it");
  trial.equal(reserve(trial, limit, "k", 1, 60s).wait.count(), nanoseconds{2s}.count(),
              "the next one's wait");
  trial.equal(first.wait.count(), nanoseconds{1s}.count(), "the first one's");
}

void a_refund_leaves_what_is_held(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked held = reserve(trial, limit, "k", 6, 0s, 60s);
  trial.ask(limit, "k", 2);
  trial.equal(refund(trial, limit, "k", 8), 2U, "given back");
  settle(trial, held.id, 1);
  trial.equal(trial.left(limit, "k"), 9, "left, when the hold cost 1");
  trial.equal(refund(trial, limit, "k", 8), 1U, "given back when nothing is held");
}

void a_refund_leaves_a_moment_that_was_given_up(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked first = reserve(trial, limit, "k", 1, 60s);
  reserve(trial, limit, "k", 1, 60s);
  cancel(trial, first.id);
  trial.equal(refund(trial, limit, "k", 10), 0U, "given back");
  trial.equal(reserve(trial, limit, "k", 1, 60s).wait.count(), nanoseconds{1s}.count(), "who takes it over");
  trial.equal(reserve(trial, limit, "k", 1, 60s).wait.count(), nanoseconds{3s}.count(), "and the next");
}

void a_refund_shortens_no_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  TestRequest pause({{limit, "k"}}, Verb::charge);
  pause.charging.outside = Pause{20s};
  trial.ask(pause);
  charge(trial, limit, "k", 3);
  trial.equal(refund(trial, limit, "k", 100), 3U, "given back");
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{20s}.count(),
              "retry_after");
  trial.world.advance(20s);
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
  trial.expect(!trial.ask(limit, "k").allowed(), "and not two");
}

void a_window_is_given_back_to_while_it_lasts(Trial& trial) {
  const Limit limit = trial.limit("5/10s algorithm=fixed_window", 1);
  trial.ask(limit, "k", 4);
  trial.equal(refund(trial, limit, "k", 3), 3U, "given back");
  trial.equal(trial.left(limit, "k"), 4, "left");
  trial.equal(refund(trial, limit, "k", 3), 1U, "no more than was used");
  trial.ask(limit, "k", 2);
  trial.world.advance(10s);
  trial.equal(refund(trial, limit, "k", 1), 0U, "given back to the next window");
  trial.equal(trial.left(limit, "k"), 5, "left of it");
}

void the_limit_that_gave_least_is_told(Trial& trial) {
  const Limit fast = trial.limit("10/s burst 10", 1);
  const Limit window = trial.limit("9/min algorithm=fixed_window", 2);
  const Limit shadow = trial.limit("1/s burst 10", 3);
  trial.ask(fast, "k", 2);
  trial.ask(window, "k", 7);
  const Refunded told = refund(trial, {{shadow, "k", 5, true, Check::kNoGuarantee, "k"},
                                       {window, "k", 5, false, Check::kNoGuarantee, "k"},
                                       {fast, "k", 5, false, Check::kNoGuarantee, "k"}});
  trial.equal(told.units, 2U, "given back");
  trial.equal(told.by, 2, "by");
  trial.equal(trial.left(window, "k"), 7, "left of the window");
}

void a_refund_leaves_a_guarantee(Trial& trial) {
  const Limit guarantee = trial.limit("1/s burst 3", 1);
  const Limit parent = trial.limit("1/s burst 10", 2);
  const std::vector<Part> parts = {{guarantee, "k", 2, true, Check::kNoGuarantee, "k"},
                                   {parent, "k", 2, false, 0, "k"}};
  TestRequest check(parts);
  trial.ask(check);
  trial.equal(refund(trial, parts).units, 2U, "given back");
  trial.equal(trial.left(parent, "k"), 10, "left of the parent");
  trial.equal(trial.left(guarantee, "k"), 1, "left of the guarantee");
}

void a_refund_forgets_a_remembered_denial(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 1", 1);
  trial.ask(limit, "k");
  trial.expect(!trial.ask(limit, "k").allowed(), "it is denied");
  refund(trial, limit, "k", 1);
  trial.expect(trial.ask(limit, "k").allowed(), "and then allowed");
}

void refunds_of_sliding_windows_are_refused(Trial& trial) {
  for (const char* const algorithm : {"sliding_window_log", "sliding_window_counter"}) {
    const Limit limit = trial.limit(std::string("5/min algorithm=") + algorithm, 1);
    TestRequest question({{limit, "k"}}, Verb::charge);
    question.charging.outside = Outside{Outside::Form::refund, 0, 0s};
    trial.ask(question);
    trial.expect(question.fault == Fault::unsuitable, "it is unsuitable");
  }
}

// A caller says later that it did not use what it was charged: by then others have been admitted for it.
void units_that_had_drained_are_those_of_others_but_not_by_an_id(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  trial.ask(limit, "k", 4);
  const Booked held = reserve(trial, limit, "by an id", 4, 0s, 60s);
  trial.world.advance(4s);
  for (const char* const key : {"k", "by an id"})
    trial.expect(trial.ask(limit, key, 10).allowed(), "the burst passes");
  trial.equal(refund(trial, limit, "k", 4), 4U, "given back");
  settle(trial, held.id, 0);
  trial.expect(trial.ask(limit, "k", 4).allowed(), "14 act at one moment");
  trial.equal(trial.left(limit, "by an id"), 0, "left, where it was settled by its id");
}

// What is given back are the last units that were charged: those of one who waits or holds are never among
// them, and of what was not given back no more acts than burst + W / T in any span.
void refunds_keep_the_promise_for_what_was_not_refunded(Trial& trial) {
  core::Chance random;
  constexpr nanoseconds kInterval = 1ms;
  struct Act {
    nanoseconds at;
    std::uint64_t units;
    nanoseconds held_until;
  };
  std::uint64_t given_back = 0;
  for (int trace = 0; trace < 60; ++trace) {
    const std::int64_t burst = 1 + random.up_to(7);
    const Limit limit = trial.limit(core::Rule{Quota::make({1, kInterval}, burst).value()}, 1);
    const std::string key = std::to_string(trace);
    std::vector<Act> acts;
    for (int step = 0; step < 60; ++step) {
      const std::int64_t what = random.up_to(9);
      const std::uint64_t units = 1 + random() % static_cast<std::uint64_t>(std::min<std::int64_t>(burst, 3));
      const nanoseconds now = trial.world.now();
      if (what < 3) {
        trial.world.advance(microseconds{random.up_to(3'000)});
      } else if (what < 5) {
        const nanoseconds hold = random.up_to(2) == 0 ? 10ms : 0ms;
        const Booked booked = reserve(trial, limit, key, units, 20ms, hold);
        if (booked.granted) acts.push_back({now + booked.wait, units, now + booked.wait + hold});
      } else if (what < 8) {
        if (trial.ask(limit, key, units).allowed()) acts.push_back({now, units, 0ns});
      } else {
        std::uint64_t back = refund(trial, limit, key, 1 + random() % 12);
        given_back += back;
        for (; back > 0 && !acts.empty(); acts.back().units == 0 ? acts.pop_back() : void()) {
          Act& last = acts.back();
          trial.expect(last.at <= now && last.held_until <= now,
                       "of one who waits or holds, in trace " + key);
          const std::uint64_t some = std::min(back, last.units);
          last.units -= some;
          back -= some;
        }
        trial.expect(back == 0, "more than was charged, in trace " + key);
      }
    }
    std::vector<Admitted> admitted;
    for (const Act& act : acts) admitted.push_back({act.at.count(), static_cast<std::int64_t>(act.units)});
    std::sort(admitted.begin(), admitted.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    trial.expect(kept(admitted, burst, kInterval.count()), "the promise, in trace " + key);
    trial.world.advance(1s);
  }
  trial.expect(given_back > 50, "there was something to see");
}

}  // namespace

std::vector<Property> refund_properties() {
  return {{"the_last_units_go_back", the_last_units_go_back},
          {"a_refund_gives_back_no_more_than_was_charged", a_refund_gives_back_no_more_than_was_charged},
          {"a_refund_leaves_those_who_wait", a_refund_leaves_those_who_wait},
          {"a_refund_leaves_what_is_held", a_refund_leaves_what_is_held},
          {"a_refund_leaves_a_moment_that_was_given_up", a_refund_leaves_a_moment_that_was_given_up},
          {"a_refund_shortens_no_pause", a_refund_shortens_no_pause},
          {"a_window_is_given_back_to_while_it_lasts", a_window_is_given_back_to_while_it_lasts},
          {"the_limit_that_gave_least_is_told", the_limit_that_gave_least_is_told},
          {"a_refund_leaves_a_guarantee", a_refund_leaves_a_guarantee},
          {"a_refund_forgets_a_remembered_denial", a_refund_forgets_a_remembered_denial},
          {"refunds_of_sliding_windows_are_refused", refunds_of_sliding_windows_are_refused},
          {"units_that_had_drained_are_those_of_others_but_not_by_an_id",
           units_that_had_drained_are_those_of_others_but_not_by_an_id},
          {"refunds_keep_the_promise_for_what_was_not_refunded",
           refunds_keep_the_promise_for_what_was_not_refunded}};
}

}  // namespace weir::store::conformance
