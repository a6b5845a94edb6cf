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

Refunded refund_all(Trial& trial, std::vector<Part> parts) {
  TestRequest question(std::move(parts), Verb::charge);
  question.charging.outside = Outside{Outside::Form::refund, 0, 0s};
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could refund: " + question.why);
  return {question.charging.told.charged, int{question.by}};
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

// Those who wait act later, and keep their moments.
void a_refund_takes_what_is_over_and_leaves_those_who_wait(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked first = reserve(trial, limit, "k", 1, 60s);
  trial.equal(first.wait.count(), nanoseconds{1s}.count(), "one waits");
  trial.equal(refund(trial, limit, "k", 10), 2U, "given back");
  trial.equal(trial.left(limit, "k"), 2, "left before it");
  charge(trial, limit, "k", 3);
  trial.equal(refund(trial, limit, "k", 10), 3U, "given back of what was charged since");
  trial.equal(moment(trial, first.id).count(), nanoseconds{1s}.count(), "the moment of who waits");
  trial.world.advance(1s);
  trial.equal(trial.left(limit, "k"), 1, "left when that acts");
}

// What a hold is charged may yet be settled, and what has acted after it is not at the front.
void a_refund_leaves_what_is_held_and_all_after_it(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  trial.ask(limit, "k", 1);
  const Booked held = reserve(trial, limit, "k", 6, 0s, 60s);
  trial.ask(limit, "k", 2);
  trial.equal(refund(trial, limit, "k", 8), 1U, "given back of what lies before it");
  trial.equal(refund(trial, limit, "k", 8), 0U, "and no more");
  settle(trial, held.id, 1);
  trial.equal(trial.left(limit, "k"), 7, "left, when the hold cost 1");
  trial.equal(refund(trial, limit, "k", 8), 3U, "given back when nothing is held");
}

void a_refund_leaves_the_moments_after_one_that_was_given_up(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked first = reserve(trial, limit, "k", 1, 60s);
  const Booked second = reserve(trial, limit, "k", 1, 60s);
  cancel(trial, first.id);
  trial.equal(refund(trial, limit, "k", 1), 1U, "given back");
  trial.equal(moment(trial, second.id).count(), nanoseconds{2s}.count(), "the second's");
  trial.expect(trial.ask(limit, "k").allowed(), "what was given back is there");
  trial.equal(reserve(trial, limit, "k", 1, 60s).wait.count(), nanoseconds{1s}.count(), "and then the next");
}

void a_refund_shortens_no_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  pause(trial, limit, "k", 20s);
  charge(trial, limit, "k", 3);
  trial.equal(refund(trial, limit, "k", 100), 0U, "given back of less than the pause asked for");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{20s}.count(), "retry_after");
  trial.world.advance(20s);
  trial.equal(refund(trial, limit, "k", 100), 0U, "at its end");
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
  trial.expect(!trial.ask(limit, "k").allowed(), "and not two");
  trial.equal(refund(trial, limit, "k", 100), 1U, "given back of what came after it");
  trial.expect(trial.ask(limit, "k").allowed(), "that one acts again");
  trial.world.advance(5s);
  trial.equal(refund(trial, limit, "k", 100), 0U, "when all has drained");
}

// Of a key that somebody waits for, as one that owes one number does not know why.
void a_refund_leaves_what_the_other_side_said(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  const Limit slow = trial.limit("1/min burst 1", 2);
  trial.ask(slow, "k");
  reserve(trial, {{limit, "k", 1}, {slow, "k", 1}}, 60s);
  charge_outside(trial, limit, "k", Remaining{1});
  trial.equal(refund(trial, limit, "k", 100), 0U, "given back");
  trial.equal(trial.left(limit, "k"), 1, "left, as it said");
  trial.ask(limit, "k");
  trial.equal(refund(trial, limit, "k", 100), 1U, "given back of what came after it");
  trial.world.advance(2s);
  trial.equal(refund(trial, limit, "k", 100), 0U, "of what has not drained");
  trial.equal(trial.left(limit, "k"), 3, "left then");
  trial.world.advance(2s);
  trial.ask(limit, "k", 2);
  trial.equal(refund(trial, limit, "k", 100), 2U, "given back once it has drained");
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
  const Refunded told = refund_all(trial, {{shadow, "k", 5, true, Check::kNoGuarantee, "k"},
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
  trial.equal(refund_all(trial, parts).units, 2U, "given back");
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

// What is given back are the last units of what is over and lies before every open hold; and of what was not
// given back no more acts than burst + W / T in any span.
class RefundedTrace {
 public:
  RefundedTrace(Trial& trial, core::Chance& random, int number)
      : trial_(trial),
        random_(random),
        burst_(1 + random.up_to(7)),
        limit_(trial.limit(core::Rule{Quota::make({1, kInterval}, burst_).value()}, 1)),
        key_(std::to_string(number)) {}

  std::uint64_t run() {
    for (int step = 0; step < 60; ++step) {
      const std::int64_t what = random_.up_to(9);
      const std::uint64_t units =
          1 + random_() % static_cast<std::uint64_t>(std::min<std::int64_t>(burst_, 3));
      const nanoseconds now = trial_.world.now();
      if (what < 3) {
        trial_.world.advance(microseconds{random_.up_to(3'000)});
      } else if (what < 5) {
        const nanoseconds hold = random_.up_to(2) == 0 ? 10ms : 0ms;
        const Booked booked = reserve(trial_, limit_, key_, units, 20ms, hold);
        if (booked.granted) add({now + booked.wait, units, now + booked.wait + hold});
      } else if (what < 8) {
        if (trial_.ask(limit_, key_, units).allowed()) add({now, units, now});
      } else {
        take_back(1 + random_() % 12);
      }
    }
    std::vector<Admitted> admitted;
    for (const Act& act : acts_) admitted.push_back({act.at.count(), static_cast<std::int64_t>(act.units)});
    trial_.expect(kept(admitted, burst_, kInterval.count()), "the promise, in trace " + key_);
    return given_back_;
  }

 private:
  static constexpr nanoseconds kInterval = 1ms;
  struct Act {
    nanoseconds at;
    std::uint64_t units;
    nanoseconds held_until;
  };

  // In the order of the moments, equal ones in the order in which they came.
  void add(const Act& act) {
    const auto after = std::upper_bound(acts_.begin(), acts_.end(), act,
                                        [](const Act& a, const Act& b) { return a.at < b.at; });
    acts_.insert(after, act);
  }
  void take_back(std::uint64_t units) {
    const nanoseconds now = trial_.world.now();
    std::uint64_t back = refund(trial_, limit_, key_, units);
    given_back_ += back;
    auto last = std::find_if(acts_.begin(), acts_.end(),
                             [now](const Act& each) { return each.at > now || each.held_until > now; });
    while (back > 0 && last != acts_.begin()) {
      --last;
      const std::uint64_t some = std::min(back, last->units);
      last->units -= some;
      back -= some;
    }
    trial_.expect(back == 0, "more than lies before what waits or is held, in trace " + key_);
  }

  Trial& trial_;
  core::Chance& random_;
  std::int64_t burst_;
  Limit limit_;
  std::string key_;
  std::vector<Act> acts_;
  std::uint64_t given_back_ = 0;
};

void refunds_keep_the_promise_for_what_was_not_refunded(Trial& trial) {
  core::Chance random;
  std::uint64_t given_back = 0;
  for (int trace = 0; trace < trial.runs(60); ++trace) {
    given_back += RefundedTrace(trial, random, trace).run();
    trial.world.advance(1s);
  }
  trial.expect_seen(given_back, 50);
}

}  // namespace

std::vector<Property> refund_properties() {
  return {{"the_last_units_go_back", the_last_units_go_back},
          {"a_refund_gives_back_no_more_than_was_charged", a_refund_gives_back_no_more_than_was_charged},
          {"a_refund_takes_what_is_over_and_leaves_those_who_wait",
           a_refund_takes_what_is_over_and_leaves_those_who_wait},
          {"a_refund_leaves_what_is_held_and_all_after_it", a_refund_leaves_what_is_held_and_all_after_it},
          {"a_refund_leaves_the_moments_after_one_that_was_given_up",
           a_refund_leaves_the_moments_after_one_that_was_given_up},
          {"a_refund_shortens_no_pause", a_refund_shortens_no_pause},
          {"a_refund_leaves_what_the_other_side_said", a_refund_leaves_what_the_other_side_said},
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
