// Pauses: nobody acts before their end, the line of those who wait moves, and nothing shortens them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

Charged pause(Trial& trial, const Limit& limit, const std::string& key, nanoseconds length) {
  TestRequest question({{limit, key}}, Verb::charge);
  question.charging.outside = Pause{length};
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could pause: " + question.why);
  return question.charging.told;
}

// Below 0: there is no such reservation.
nanoseconds moment(Trial& trial, const std::string& id) {
  TestRequest question({}, Verb::moment);
  question.booking.id = id;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could say the moment: " + question.why);
  return question.booking.wait;
}

void a_pause_leaves_one_unit_at_its_end_and_then_the_pace(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  const Charged told = pause(trial, limit, "k", 30s);
  trial.equal(told.charged, 34U, "charged");
  trial.equal(told.overdraft, 29U, "over");
  trial.equal(told.wait.count(), nanoseconds{30s}.count(), "wait");
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{30s}.count(),
              "retry_after");
  trial.world.advance(30s - 1us);
  trial.expect(!trial.ask(limit, "k").allowed(), "nobody before its end");
  trial.world.advance(1us);
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{1s}.count(), "and then");
}

void the_latest_end_of_a_pause_stands(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 1", 1);
  pause(trial, limit, "k", 30s);
  trial.equal(pause(trial, limit, "k", 10s).charged, 0U, "charged by a shorter one");
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{30s}.count(),
              "retry_after");
  trial.equal(pause(trial, limit, "k", 40s).charged, 10U, "charged by a longer one");
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{40s}.count(),
              "retry_after");
}

void a_pause_moves_those_who_wait_by_one_time(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked first = reserve(trial, limit, "k", 1, 60s);
  const Booked second = reserve(trial, limit, "k", 2, 60s);
  trial.equal(moment(trial, second.id).count(), nanoseconds{3s}.count(), "the second's before");
  pause(trial, limit, "k", 30s);
  trial.equal(moment(trial, first.id).count(), nanoseconds{30s}.count(), "the first's moment");
  trial.equal(moment(trial, second.id).count(), nanoseconds{32s}.count(), "the second's");
  trial.equal(reserve(trial, limit, "k", 1, 60s).wait.count(), nanoseconds{33s}.count(), "who comes now");
  trial.world.advance(30s);
  trial.equal(moment(trial, first.id).count(), 0, "the first's, when it has come");
  trial.equal(moment(trial, second.id).count(), nanoseconds{2s}.count(), "the second's then");
  trial.world.advance(2s);
  trial.equal(moment(trial, second.id).count(), 0, "and when that has come");
  trial.equal(moment(trial, "nobody").count(), -1, "of an unknown id");
}

void one_that_a_pause_moved_is_cancelled_at_its_new_moment(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 1", 1);
  trial.ask(limit, "k");
  const Booked first = reserve(trial, limit, "k", 1, 60s);
  const Booked second = reserve(trial, limit, "k", 1, 60s);
  pause(trial, limit, "k", 10s);
  trial.world.advance(5s);  // after both of the former moments
  trial.equal(cancel(trial, first.id), 1U, "given back");
  trial.equal(moment(trial, first.id).count(), -1, "the moment of a cancelled one");
  const Booked third = reserve(trial, limit, "k", 1, 60s);
  trial.equal(third.wait.count(), nanoseconds{5s}.count(), "who takes its moment over");
  trial.equal(cancel(trial, third.id), 1U, "given back again");
  trial.equal(cancel(trial, second.id), 1U, "and the last");
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{5s}.count(),
              "the pause lasts all the same");
}

// In no whole microseconds, which a Redis counts by, though the pauses are.
void who_acts_at_the_end_of_a_pause_is_moved_by_no_other(Trial& trial) {
  const Limit limit = trial.limit("3/s burst 1", 1);
  trial.ask(limit, "k");
  const Booked first = reserve(trial, limit, "k", 1, 60s, 60s);
  const Booked second = reserve(trial, limit, "k", 1, 60s);
  pause(trial, limit, "k", 1s);
  trial.world.advance(1s);
  trial.equal(moment(trial, first.id).count(), 0, "the first's moment, when it has come");
  trial.equal(pause(trial, limit, "k", 10s).charged, 29U, "charged by the next");
  trial.equal(moment(trial, first.id).count(), 0, "the first's then");
  trial.equal(moment(trial, second.id).count(), nanoseconds{10s}.count(), "and the second's");
  trial.equal(cancel(trial, first.id), 0U, "what the first gives back");
  trial.equal(pause(trial, limit, "k", 10s).charged, 0U, "charged by a third of the same end");
}

void a_hold_that_a_pause_moved_lasts_as_long(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 1", 1);
  trial.ask(limit, "k");
  const Booked held = reserve(trial, limit, "k", 1, 60s, 5s);
  pause(trial, limit, "k", 20s);
  trial.world.advance(24s);
  trial.equal(moment(trial, held.id).count(), 0, "its moment");
  trial.expect(settle(trial, held.id, 1) >= 0ns, "it is settled 4 s after its new moment");
}

void no_settlement_shortens_a_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked held = reserve(trial, limit, "k", 8, 0s, 60s);
  const Booked other = reserve(trial, limit, "k", 2, 0s, 60s);
  pause(trial, limit, "k", 20s);
  settle(trial, held.id, 0);
  settle(trial, other.id, 0);
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{20s}.count(),
              "retry_after");
  trial.world.advance(20s);
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
  trial.expect(!trial.ask(limit, "k").allowed(), "and not two");
}

void the_last_of_a_line_shortens_no_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked held = reserve(trial, limit, "k", 10, 0s, 60s);
  pause(trial, limit, "k", 500ms);
  settle(trial, held.id, 0);
  trial.equal(trial.ask(limit, "k").retry_after.value_or(0ns).count(), nanoseconds{500ms}.count(),
              "retry_after");
}

// One unit at its end and then the pace, by the asker's numbers, and as long as they ask later.
void other_numbers_do_not_move_the_end_of_a_pause(Trial& trial) {
  const Limit before = trial.limit("1/s burst 3", 1);
  for (const char* const rule :
       {"10/s burst 3", "1/s burst 5", "1/s burst 2", "1/10s burst 3", "10/s burst 1"}) {
    const Limit after = trial.limit(rule, 1);
    const nanoseconds interval = after.rule.quota.emission_interval();
    for (const bool asks_before : {false, true}) {
      for (const bool charges : {false, true}) {
        const std::string key =
            std::string(rule) + (asks_before ? " asks" : "") + (charges ? " charges" : "");
        pause(trial, before, key, 30s);
        if (asks_before)
          trial.equal(trial.ask(after, key).retry_after.value_or(0ns).count(), nanoseconds{30s}.count(),
                      key + ": the end by its numbers");
        if (charges) {
          TestRequest charge({{after, key}}, Verb::charge);
          trial.ask(charge);
          trial.equal(charge.charging.told.wait.count(), (30s + interval).count(), key + ": charged beyond");
        }
        trial.equal(trial.ask(before, key, charges ? 2 : 1).retry_after.value_or(0ns).count(),
                    (charges ? nanoseconds{32s} : nanoseconds{30s}).count(), key + ": the end by the former");
        const nanoseconds end = 30s + (charges ? interval : 0ns);
        const Booked late = reserve(trial, after, key, 1, end - 1us);
        trial.expect(!late.granted, key + ": nobody waits for less");
        trial.equal(pause(trial, after, key, 10s).charged, 0U, key + ": a shorter one adds nothing");
        trial.world.advance(end - 1us);
        trial.expect(!trial.ask(after, key).allowed(), key + ": nobody before its end");
        trial.world.advance(1us);
        trial.expect(trial.ask(after, key).allowed(), key + ": one at its end");
        trial.equal(trial.ask(after, key).retry_after.value_or(0ns).count(), interval.count(),
                    key + ": and then");
      }
    }
  }
}

void a_slot_that_a_pause_has_kept_is_free_at_its_holds_new_end(Trial& trial) {
  const Limit rate = trial.limit("1/s burst 1", 1);
  const Limit slots = trial.limit("in_flight=1", 2);
  trial.ask(rate, "k");
  trial.expect(reserve(trial, {{rate, "k"}, {slots, "k"}}, 60s, 5s).granted, "it waits");
  pause(trial, rate, "k", 20s);
  trial.world.advance(25s);
  trial.expect(reserve(trial, slots, "k", 1, 0s, 1s).granted, "the slot is free 5 s after the new moment");
}

// Before the old end, and after a pause that was found to have moved it another time.
void what_is_told_of_a_slot_that_a_pause_has_kept_is_its_holds_new_end(Trial& trial) {
  const Limit rate = trial.limit("1/s burst 1", 1);
  const Limit slots = trial.limit("in_flight=1", 2);
  trial.ask(rate, "k");
  trial.expect(reserve(trial, {{rate, "k"}, {slots, "k"}}, 60s, 5s).granted, "it waits");
  const auto expect_end = [&](nanoseconds end, const std::string& when) {
    TestRequest look({{slots, "k"}}, Verb::look);
    trial.ask(look);
    trial.equal(look.decision().reset_after.count(), end.count(), when + ": until the last ends");
    trial.equal(reserve(trial, slots, "k", 1, 0s, 1s).wait.count(), end.count(),
                when + ": until one is free");
  };
  expect_end(6s, "before");
  pause(trial, rate, "k", 20s);
  expect_end(25s, "in the pause");
  trial.world.advance(7s);
  expect_end(18s, "after its old end");
  pause(trial, rate, "k", 20s);
  expect_end(25s, "in another");
}

// Its units follow those of one who waits, for another limit, and has no hold to be settled there.
void a_hold_that_settles_nothing_is_moved_as_any_other(Trial& trial) {
  Limit rate = trial.limit("1/s burst 5", 1);
  rate.holding.settles = false;
  const Limit other = trial.limit("1/s burst 1", 2);
  const Limit slots = trial.limit("in_flight=1", 3);
  trial.ask(other, "k");
  trial.expect(reserve(trial, {{rate, "k"}, {other, "k"}}, 60s).wait == 1s, "one waits for the other limit");
  const Booked held = reserve(trial, {{rate, "k"}, {slots, "k"}}, 60s, 5s);
  trial.expect(held.granted && held.wait == 0s, "one acts now");
  pause(trial, rate, "k", 20s);
  trial.equal(reserve(trial, slots, "k", 1, 0s, 1s).wait.count(), nanoseconds{24s}.count(), "its new end");
  trial.world.advance(24s - 1us);
  trial.equal(moment(trial, held.id).count(), 0, "it is there right before that");
  trial.expect(!reserve(trial, slots, "k", 1, 0s, 1s).granted, "so is its slot");
  trial.world.advance(1us);
  trial.equal(moment(trial, held.id).count(), -1, "it is over then");
  trial.expect(reserve(trial, slots, "k", 1, 0s, 1s).granted, "and its slot free");
}

// As one of its limits is paused. What the other is charged is told even where nobody has used that since, or
// where others have.
void what_a_hold_that_a_pause_moved_cost_more_is_charged_to_all_its_limits(Trial& trial) {
  const Limit paused = trial.limit("1/s burst 1", 1);
  const Limit other = trial.limit("1/s burst 5", 2);
  for (const bool others : {false, true}) {
    const std::string key = others ? "others" : "nobody";
    trial.ask(paused, key);
    const Booked held = reserve(trial, {{paused, key}, {other, key}}, 60s, 5s);
    pause(trial, paused, key, 20s);
    trial.world.advance(18s);
    if (others) trial.expect(reserve(trial, other, key, 1, 0s, 1s).granted, "another holds");
    trial.equal(settle(trial, held.id, 9).count(), nanoseconds{11s}.count(),
                key + ": the wait at the paused one");
    const nanoseconds wait = others ? 5s : 4s;
    trial.equal(trial.ask(other, key).retry_after.value_or(0ns).count(), wait.count(),
                key + ": at the other");
  }
}

void windows_are_not_paused(Trial& trial) {
  const Limit limit = trial.limit("5/min algorithm=fixed_window", 1);
  TestRequest question({{limit, "k"}}, Verb::charge);
  question.charging.outside = Pause{1s};
  trial.ask(question);
  trial.expect(question.fault == Fault::unsuitable, "it is unsuitable");
}

// Who acts when, by what they are told; and whether that keeps the promise.
class Acts {
 public:
  void add(nanoseconds at, std::uint64_t units) { acts_.push_back({at, units}); }
  std::size_t size() const { return acts_.size(); }
  // What it cost beyond what it was charged is nobody's to promise.
  void cost(std::size_t which, std::uint64_t units) {
    acts_[which].units = std::min(acts_[which].units, units);
  }

  // In any span W at most burst + W / T, and from each of the pauses' ends on at most 1 + W / T.
  void expect_promise(Trial& trial, nanoseconds interval, std::uint64_t burst,
                      const std::vector<nanoseconds>& ends, const std::string& where) {
    std::vector<Act> sorted = acts_;
    std::sort(sorted.begin(), sorted.end(), [](const Act& a, const Act& b) { return a.at < b.at; });
    const auto expect_from = [&](nanoseconds from, std::uint64_t at_once) {
      std::uint64_t sum = 0;
      for (const Act& each : sorted) {
        if (each.at < from) continue;
        sum += each.units;
        const auto most = at_once + static_cast<std::uint64_t>((each.at - from) / interval);
        trial.expect(sum <= most, where + ": " + std::to_string(sum) + " units in " +
                                      std::to_string((each.at - from) / 1ms) + " ms from " +
                                      std::to_string(from / 1ms) + " ms on, more than " +
                                      std::to_string(most));
      }
    };
    for (const Act& each : sorted) expect_from(each.at, burst);
    for (const nanoseconds end : ends) expect_from(end, 1);
  }

 private:
  struct Act {
    nanoseconds at;
    std::uint64_t units;
  };
  std::vector<Act> acts_;
};

// Checks, reservations, holds that are settled for less or more, cancellations and pauses, in any order.
class PausedTrace {
 public:
  PausedTrace(Trial& trial, core::Chance& random, int number)
      : trial_(trial), random_(random), key_(std::to_string(number)), limit_(trial.limit("1/s burst 4", 1)) {}

  void run() {
    for (int step = 0; step < 60; ++step) {
      one();
      if (random_() % 2 == 0) advance(250ms * (random_() % 8));
    }
    advance(200s);
    acts_.expect_promise(trial_, 1s, 4, ends_, "trace " + key_);
  }

 private:
  struct Waiting {
    std::string id;
    std::uint64_t units;
    bool held;
  };

  void one() {
    switch (random_() % 10) {
      case 0:
      case 1:
        if (trial_.ask(limit_, key_).allowed()) act(now(), 1);
        break;
      case 2: {
        const nanoseconds length = 250ms * (random_() % 30);
        pause(trial_, limit_, key_, length);
        end_ = std::max(end_, now() + length);
        break;
      }
      case 3:
        if (!waiting_.empty()) cancel_one(random_() % waiting_.size());
        break;
      case 4:
      case 5:
        if (!open_.empty()) settle_one(random_() % open_.size());
        break;
      default:
        reserve_one(ones_ ? 1 : 1 + random_() % 4, ones_ || random_() % 2 == 0 ? 0s : 100s);
    }
  }
  void reserve_one(std::uint64_t units, nanoseconds hold) {
    const Booked booked = reserve(trial_, limit_, key_, units, 60s, hold);
    if (!booked.granted) return;
    if (booked.wait > 0ns) return waiting_.push_back({booked.id, units, hold > 0s});
    if (hold > 0s) open_.emplace_back(booked.id, acts_.size());
    act(now(), units);
  }
  void cancel_one(std::size_t which) {
    trial_.expect(cancel(trial_, waiting_[which].id) == waiting_[which].units,
                  "a moment that is ahead goes back");
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  void settle_one(std::size_t which) {
    const auto [id, act] = open_[which];
    const std::uint64_t actual = random_() % 6;
    const bool is_open = settle(trial_, id, actual) >= 0ns;
    if (is_open) acts_.cost(act, actual);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  // Everybody acts at the moment that is told just before.
  void advance(nanoseconds by) {
    std::vector<Waiting> left;
    for (Waiting& each : waiting_) {
      const nanoseconds wait = moment(trial_, each.id);
      trial_.expect(wait >= 0ns, "one that waits has a moment");
      if (wait > by) {
        left.push_back(std::move(each));
        continue;
      }
      if (each.held) open_.emplace_back(each.id, acts_.size());
      act(now() + wait, each.units);
    }
    waiting_ = std::move(left);
    // The first of those who wait acts at the end, however much it costs; and what a hold gives back after
    // the end is there for others.
    if (ones_ && end_ > now() && end_ <= now() + by) ends_.push_back(end_);
    trial_.world.advance(by);
  }
  void act(nanoseconds at, std::uint64_t units) {
    trial_.expect(at >= end_, "nobody acts before the end of a pause");
    acts_.add(at, units);
  }
  nanoseconds now() const { return trial_.world.now(); }

  Trial& trial_;
  core::Chance& random_;
  const bool ones_ = random_() % 2 == 0;
  std::string key_;
  Limit limit_;
  Acts acts_;
  std::vector<Waiting> waiting_;
  std::vector<std::pair<std::string, std::size_t>>
      open_;  // holds that have acted, each with its place in acts_
  nanoseconds end_{0};
  std::vector<nanoseconds> ends_;
};

void whatever_happens_in_a_pause_nobody_acts_in_it_and_the_promise_holds(Trial& trial) {
  core::Chance random;
  for (int trace = 0; trace < 15 && trial.violations.empty(); ++trace)
    PausedTrace(trial, random, trace).run();
}

}  // namespace

std::vector<Property> pause_properties() {
  return {{"a_pause_leaves_one_unit_at_its_end_and_then_the_pace",
           a_pause_leaves_one_unit_at_its_end_and_then_the_pace},
          {"the_latest_end_of_a_pause_stands", the_latest_end_of_a_pause_stands},
          {"a_pause_moves_those_who_wait_by_one_time", a_pause_moves_those_who_wait_by_one_time},
          {"one_that_a_pause_moved_is_cancelled_at_its_new_moment",
           one_that_a_pause_moved_is_cancelled_at_its_new_moment},
          {"who_acts_at_the_end_of_a_pause_is_moved_by_no_other",
           who_acts_at_the_end_of_a_pause_is_moved_by_no_other},
          {"a_hold_that_a_pause_moved_lasts_as_long", a_hold_that_a_pause_moved_lasts_as_long},
          {"no_settlement_shortens_a_pause", no_settlement_shortens_a_pause},
          {"the_last_of_a_line_shortens_no_pause", the_last_of_a_line_shortens_no_pause},
          {"other_numbers_do_not_move_the_end_of_a_pause", other_numbers_do_not_move_the_end_of_a_pause},
          {"a_slot_that_a_pause_has_kept_is_free_at_its_holds_new_end",
           a_slot_that_a_pause_has_kept_is_free_at_its_holds_new_end},
          {"what_is_told_of_a_slot_that_a_pause_has_kept_is_its_holds_new_end",
           what_is_told_of_a_slot_that_a_pause_has_kept_is_its_holds_new_end},
          {"a_hold_that_settles_nothing_is_moved_as_any_other",
           a_hold_that_settles_nothing_is_moved_as_any_other},
          {"what_a_hold_that_a_pause_moved_cost_more_is_charged_to_all_its_limits",
           what_a_hold_that_a_pause_moved_cost_more_is_charged_to_all_its_limits},
          {"windows_are_not_paused", windows_are_not_paused},
          {"whatever_happens_in_a_pause_nobody_acts_in_it_and_the_promise_holds",
           whatever_happens_in_a_pause_nobody_acts_in_it_and_the_promise_holds}};
}

}  // namespace weir::store::conformance
