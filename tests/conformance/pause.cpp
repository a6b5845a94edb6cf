// Pauses: nobody acts before their end, and at it one unit and then the pace. What is owed drains meanwhile,
// who was told a moment in one is told to begin again, and nothing shortens them.
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

void a_pause_leaves_one_unit_at_its_end_and_then_the_pace(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  const Charged told = pause(trial, limit, "k", 30s);
  trial.equal(told.charged, 4U, "charged, as counted at its end");
  trial.equal(told.overdraft, 0U, "over");
  trial.equal(told.wait.count(), nanoseconds{30s}.count(), "wait");
  trial.equal(told.reset_after.count(), nanoseconds{34s}.count(), "reset_after");
  trial.equal(trial.left(limit, "k"), 0, "left in it");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{30s}.count(), "retry_after");
  trial.equal(retry_of(trial, limit, "k", 3).count(), nanoseconds{32s}.count(), "of three units");
  trial.world.advance(30s - 1us);
  trial.expect(!trial.ask(limit, "k").allowed(), "nobody before its end");
  trial.world.advance(1us);
  trial.equal(trial.left(limit, "k"), 1, "left at its end");
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{1s}.count(), "and then");
}

void the_latest_end_of_a_pause_stands(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  pause(trial, limit, "k", 30s);
  trial.equal(pause(trial, limit, "k", 10s).charged, 0U, "charged by a shorter one");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{30s}.count(), "retry_after");
  pause(trial, limit, "k", 40s);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{40s}.count(), "retry_after of a longer one");
  trial.world.advance(35s);
  pause(trial, limit, "k", 1s);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{5s}.count(), "retry_after then");
}

// Twice in a row: the second begins when what the first has left at its end is owed still.
void a_pause_after_a_pause_leaves_one_unit(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  pause(trial, limit, "k", 10s);
  trial.world.advance(10s);
  trial.expect(trial.ask(limit, "k").allowed(), "one at the end of the first");
  pause(trial, limit, "k", 500ms);
  trial.world.advance(500ms);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{500ms}.count(),
              "the pace is that of the first");
  trial.world.advance(500ms);
  trial.expect(trial.ask(limit, "k").allowed(), "and then");
}

// 20 of a burst of 5 are owed: the pause forgives none of them, and they drain in it.
void what_is_owed_drains_in_a_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  charge(trial, limit, "long", 20);
  pause(trial, limit, "long", 5s);
  trial.equal(retry_of(trial, limit, "long").count(), nanoseconds{16s}.count(),
              "of more than the pause lasts");
  charge(trial, limit, "short", 20);
  pause(trial, limit, "short", 30s);
  trial.equal(retry_of(trial, limit, "short").count(), nanoseconds{30s}.count(), "of less");
  trial.world.advance(30s);
  trial.expect(trial.ask(limit, "short").allowed(), "one at its end");
  trial.expect(!trial.ask(limit, "short").allowed(), "and not two");
}

void who_was_told_a_moment_in_a_pause_begins_again(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  trial.ask(limit, "k", 2);
  const Booked first = reserve(trial, limit, "k", 1, 60s);
  const Booked second = reserve(trial, limit, "k", 2, 60s, 60s);
  trial.equal(moment(trial, second.id).count(), nanoseconds{3s}.count(), "the second's before");
  pause(trial, limit, "k", 30s);
  trial.equal(moment(trial, first.id).count(), -1, "the first's moment");
  trial.equal(moment(trial, second.id).count(), -1, "the second's");
  trial.equal(cancel(trial, first.id), 0U, "which is cancelled already");
  trial.equal(settle(trial, second.id, 0).count(), -1, "and not to be settled");
  trial.equal(reserve(trial, limit, "k", 1, 60s).wait.count(), nanoseconds{30s}.count(), "who comes now");
  trial.equal(reserve(trial, limit, "k", 2, 60s).wait.count(), nanoseconds{32s}.count(), "and next");
  trial.equal(moment(trial, "nobody").count(), -1, "of an unknown id");
}

// Of several keys, one of which is paused: it is taken back at all.
void a_pause_of_one_key_ends_what_was_told_of_two(Trial& trial) {
  const Limit paused = trial.limit("1/s burst 1", 1);
  const Limit other = trial.limit("1/s burst 3", 2);
  trial.ask(paused, "k");
  const Booked both = reserve(trial, {{paused, "k"}, {other, "k", 3}}, 60s);
  trial.equal(both.wait.count(), nanoseconds{1s}.count(), "its moment");
  trial.expect(!trial.ask(other, "k", 3).allowed(), "nobody makes it late");
  pause(trial, paused, "k", 10s);
  trial.equal(reserve(trial, {{paused, "k"}, {other, "k", 1}}, 60s).wait.count(), nanoseconds{10s}.count(),
              "who comes now acts at neither before its end");
  trial.equal(moment(trial, both.id).count(), -1, "it is to begin again");
  trial.expect(trial.ask(other, "k", 3).allowed(), "what it had at the other is there");
}

void one_whose_moment_a_pause_leaves_keeps_it_and_nothing_fits_before(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  trial.ask(limit, "k", 3);
  const Booked told = reserve(trial, limit, "k", 3, 60s);
  trial.equal(told.wait.count(), nanoseconds{3s}.count(), "its moment");
  pause(trial, limit, "k", 2s);
  trial.equal(moment(trial, told.id).count(), nanoseconds{3s}.count(), "its moment, after the pause's end");
  trial.world.advance(2s);
  trial.equal(trial.left(limit, "k"), 0, "left at the end, as it is late already");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{3s}.count(), "one more after it");
  trial.world.advance(1s);
  trial.equal(moment(trial, told.id).count(), 0, "its moment, when it has come");
}

void one_told_in_a_pause_is_cancelled_as_ever_and_the_pause_lasts(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 1", 1);
  trial.ask(limit, "k");
  const Booked first = reserve(trial, limit, "k", 1, 60s);
  pause(trial, limit, "k", 10s);
  trial.equal(cancel(trial, first.id), 1U, "given back");
  trial.equal(moment(trial, first.id).count(), -1, "the moment of a cancelled one");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{10s}.count(), "the pause lasts all the same");
}

// It asks as late as its timer is.
void one_that_asks_late_acts_in_no_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 1", 1);
  trial.ask(limit, "k");
  const Booked told = reserve(trial, limit, "k", 1, 60s);
  const Booked held = reserve(trial, limit, "k", 1, 60s, 60s);
  pause(trial, limit, "k", 10s);
  trial.world.advance(2001ms);
  trial.equal(moment(trial, told.id).count(), -1, "a second after its moment");
  trial.equal(moment(trial, held.id).count(), -1, "a millisecond after its moment");
}

// In no whole microseconds, which a Redis counts by, though the pauses are.
void who_has_acted_is_ended_by_no_later_pause(Trial& trial) {
  const Limit limit = trial.limit("3/s burst 1", 1);
  pause(trial, limit, "k", 1s);
  const Booked first = reserve(trial, limit, "k", 1, 60s, 60s);
  const Booked second = reserve(trial, limit, "k", 1, 60s);
  trial.equal(first.wait.count(), nanoseconds{1s}.count(), "the first acts at its end");
  trial.world.advance(1s);
  trial.equal(moment(trial, first.id).count(), 0, "the first's moment, when it has come");
  pause(trial, limit, "k", 10s);
  trial.equal(moment(trial, first.id).count(), 0, "the first's then");
  trial.equal(moment(trial, second.id).count(), -1, "and the second's");
  trial.equal(cancel(trial, first.id), 0U, "what the first gives back");
  trial.expect(settle(trial, first.id, 1) >= 0ns, "it is settled");
}

void a_hold_ends_when_it_would_have_without_a_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 2", 1);
  const Booked one = reserve(trial, limit, "k", 1, 0s, 5s);
  const Booked other = reserve(trial, limit, "k", 1, 0s, 5s);
  pause(trial, limit, "k", 20s);
  trial.world.advance(4s);
  trial.equal(settle(trial, one.id, 0).count(), nanoseconds{16s}.count(), "the end of the pause");
  trial.world.advance(1s);
  trial.equal(settle(trial, other.id, 0).count(), -1, "its time is up");
}

void no_settlement_shortens_a_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked held = reserve(trial, limit, "k", 8, 0s, 60s);
  const Booked other = reserve(trial, limit, "k", 2, 0s, 60s);
  pause(trial, limit, "k", 20s);
  settle(trial, held.id, 0);
  settle(trial, other.id, 0);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{20s}.count(), "retry_after");
  trial.world.advance(20s);
  trial.expect(trial.ask(limit, "k").allowed(), "one at its end");
  trial.expect(!trial.ask(limit, "k").allowed(), "and not two");
}

void no_settlement_after_a_pause_gives_back_what_the_pause_asked_for(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked held = reserve(trial, limit, "k", 10, 0s, 60s);
  pause(trial, limit, "k", 500ms);
  trial.world.advance(500ms);
  settle(trial, held.id, 0);
  trial.equal(trial.left(limit, "k"), 1, "left at its end");
  trial.expect(trial.ask(limit, "k").allowed(), "one");
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{1s}.count(), "and then the pace");
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
          trial.equal(retry_of(trial, after, key).count(), nanoseconds{30s}.count(),
                      key + ": the end by its numbers");
        if (charges)
          trial.equal(charge_outside(trial, after, key, Cost{1}).wait.count(), nanoseconds{30s}.count(),
                      key + ": charged in it");
        trial.equal(retry_of(trial, before, key, 2).count(), nanoseconds{31s}.count(),
                    key + ": two by the former, at the pace");
        trial.expect(!reserve(trial, after, key, 1, 30s - 1us).granted, key + ": nobody waits for less");
        trial.equal(pause(trial, after, key, 10s).charged, 0U, key + ": a shorter one adds nothing");
        trial.world.advance(30s - 1us);
        trial.expect(!trial.ask(after, key).allowed(), key + ": nobody before its end");
        trial.world.advance(1us);
        trial.expect(trial.ask(after, key).allowed(), key + ": one at its end");
        trial.equal(retry_of(trial, after, key).count(), interval.count(), key + ": and then");
      }
    }
  }
}

void a_reset_forgets_a_pause(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 3", 1);
  pause(trial, limit, "k", 30s);
  trial.equal(trial.reset({{limit, "k"}}), 1U, "forgotten");
  trial.expect(trial.ask(limit, "k", 3).allowed(), "all of it is there");
}

void a_pause_of_no_length_pauses_nothing(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 5", 1);
  trial.ask(limit, "k", 2);
  trial.equal(pause(trial, limit, "k", 0s).charged, 0U, "charged");
  trial.equal(trial.left(limit, "k"), 3, "left");
  const Booked told = reserve(trial, limit, "k", 5, 60s);
  trial.equal(pause(trial, limit, "k", 0s).charged, 0U, "charged where one waits");
  trial.equal(moment(trial, told.id).count(), nanoseconds{2s}.count(), "whose moment stays");
}

void the_slot_of_one_that_a_pause_ends_is_free_when_it_asks(Trial& trial) {
  const Limit rate = trial.limit("1/s burst 1", 1);
  const Limit slots = trial.limit("in_flight=1", 2);
  trial.ask(rate, "k");
  const Booked told = reserve(trial, {{rate, "k"}, {slots, "k"}}, 60s, 5s);
  trial.equal(told.wait.count(), nanoseconds{1s}.count(), "it waits");
  pause(trial, rate, "k", 20s);
  TestRequest look({{slots, "k"}}, Verb::look);
  trial.ask(look);
  trial.equal(look.decision().reset_after.count(), nanoseconds{6s}.count(), "until the last ends");
  trial.equal(reserve(trial, slots, "k", 1, 0s, 1s).wait.count(), nanoseconds{6s}.count(),
              "until one is free, if it does not ask");
  trial.equal(moment(trial, told.id).count(), -1, "it asks");
  trial.expect(reserve(trial, slots, "k", 1, 0s, 1s).granted, "its slot is free");
}

// It was charged to another limit by one who waits, and has no hold to be settled there.
void a_pause_leaves_a_hold_that_settles_nothing(Trial& trial) {
  Limit rate = trial.limit("1/s burst 5", 1);
  rate.holding.settles = false;
  const Limit other = trial.limit("1/s burst 1", 2);
  const Limit slots = trial.limit("in_flight=1", 3);
  trial.ask(other, "k");
  trial.expect(reserve(trial, {{rate, "k"}, {other, "k"}}, 60s).wait == 1s, "one waits for the other limit");
  const Booked held = reserve(trial, {{rate, "k"}, {slots, "k"}}, 60s, 5s);
  trial.expect(held.granted && held.wait == 0s, "one acts now");
  pause(trial, rate, "k", 20s);
  trial.equal(reserve(trial, slots, "k", 1, 0s, 1s).wait.count(), nanoseconds{5s}.count(), "its end");
  trial.world.advance(5s - 1us);
  trial.equal(moment(trial, held.id).count(), 0, "it is there right before that");
  trial.expect(!reserve(trial, slots, "k", 1, 0s, 1s).granted, "so is its slot");
  trial.world.advance(1us);
  trial.equal(moment(trial, held.id).count(), -1, "it is over then");
  trial.expect(reserve(trial, slots, "k", 1, 0s, 1s).granted, "and its slot free");
}

// As one of its limits is paused. What the other is charged is told even where nobody has used that since, or
// where others have.
void what_a_hold_cost_more_in_a_pause_is_charged_to_all_its_limits(Trial& trial) {
  const Limit paused = trial.limit("1/s burst 1", 1);
  const Limit other = trial.limit("1/s burst 5", 2);
  for (const bool others : {false, true}) {
    const std::string key = others ? "others" : "nobody";
    const Booked held = reserve(trial, {{paused, key}, {other, key}}, 0s, 30s);
    pause(trial, paused, key, 20s);
    trial.world.advance(2s);
    if (others) trial.expect(reserve(trial, other, key, 1, 0s, 60s).granted, "another holds");
    trial.equal(settle(trial, held.id, 9).count(), nanoseconds{18s}.count(),
                key + ": the wait at the paused one");
    const nanoseconds wait = others ? 4s : 3s;
    trial.equal(retry_of(trial, other, key).count(), wait.count(), key + ": at the other");
  }
}

void windows_are_not_paused(Trial& trial) {
  const Limit limit = trial.limit("5/min algorithm=fixed_window", 1);
  for (const nanoseconds length : {nanoseconds{1s}, nanoseconds{0}}) {
    TestRequest question({{limit, "k"}}, Verb::charge);
    question.charging.outside = Pause{length};
    trial.ask(question);
    trial.expect(question.fault == Fault::unsuitable, "it is unsuitable");
    trial.equal(trial.left(limit, "k"), 5, "left");
  }
}

// Who acts when, by what they are told; and whether that keeps the promise.
class Acts {
 public:
  struct Act {
    int after;  // how many pauses it was granted
    nanoseconds at;
    std::uint64_t units;
  };

  void add(int after, nanoseconds at, std::uint64_t units) { acts_.push_back({after, at, units}); }
  std::size_t size() const { return acts_.size(); }
  // What it cost beyond what it was charged is nobody's to promise.
  void cost(std::size_t which, std::uint64_t units) {
    acts_[which].units = std::min(acts_[which].units, units);
  }

  // In any span W at most burst + W / T; and of what was granted since the last pause began, from its end on
  // at most 1 + W / T.
  void expect_promise(Trial& trial, nanoseconds interval, std::uint64_t burst, int pauses, nanoseconds end,
                      const std::string& where) {
    std::vector<Act> sorted = acts_;
    std::sort(sorted.begin(), sorted.end(), [](const Act& a, const Act& b) { return a.at < b.at; });
    const auto expect_from = [&](nanoseconds from, std::uint64_t at_once, int after) {
      std::uint64_t sum = 0;
      for (const Act& each : sorted) {
        if (each.at < from || each.after < after) continue;
        sum += each.units;
        const auto most = at_once + static_cast<std::uint64_t>((each.at - from) / interval);
        trial.expect(sum <= most, where + ": " + std::to_string(sum) + " units in " +
                                      std::to_string((each.at - from) / 1ms) + " ms from " +
                                      std::to_string(from / 1ms) + " ms on, more than " +
                                      std::to_string(most));
      }
    };
    for (const Act& each : sorted) expect_from(each.at, burst, 0);
    if (end > 0ns) expect_from(end, 1, pauses);
  }

 private:
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
    acts_.expect_promise(trial_, 1s, 4, pauses_, end_, "trace " + key_);
  }

 private:
  struct Waiting {
    std::string id;
    std::uint64_t units;
    bool held;
    int after;
    nanoseconds at;
  };

  void one() {
    switch (random_() % 10) {
      case 0:
      case 1:
        if (trial_.ask(limit_, key_).allowed()) act(pauses_, now(), 1);
        break;
      case 2:
        return pause_it(250ms * (random_() % 30));
      case 3:
        if (!waiting_.empty()) cancel_one(random_() % waiting_.size());
        break;
      case 4:
      case 5:
        if (!open_.empty()) settle_one(random_() % open_.size());
        break;
      default:
        reserve_one(1 + random_() % 4, random_() % 2 == 0 ? 0s : 100s);
    }
  }
  // Each asks for its moment before it acts; some ask at once.
  void pause_it(nanoseconds length) {
    if (length == 0ns) return;
    pause(trial_, limit_, key_, length);
    if (now() + length > end_) end_ = now() + length;
    ++pauses_;
    std::erase_if(waiting_, [&](const Waiting& each) { return random_() % 2 == 0 && is_ended(each); });
  }
  bool is_ended(const Waiting& each) {
    const nanoseconds wait = moment(trial_, each.id);
    trial_.equal(wait.count(), each.at < end_ ? -1 : (each.at - now()).count(),
                 "the moment of one that waits");
    return wait < 0ns;
  }
  void reserve_one(std::uint64_t units, nanoseconds hold) {
    const Booked booked = reserve(trial_, limit_, key_, units, 60s, hold);
    if (!booked.granted) return;
    if (booked.wait > 0ns)
      return waiting_.push_back({booked.id, units, hold > 0s, pauses_, now() + booked.wait});
    if (hold > 0s) open_.emplace_back(booked.id, acts_.size());
    act(pauses_, now(), units);
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
  // Everybody acts at the moment that is told just before, unless a pause has ended it.
  void advance(nanoseconds by) {
    std::vector<Waiting> left;
    for (Waiting& each : waiting_) {
      if (each.at > now() + by) {
        left.push_back(std::move(each));
      } else if (!is_ended(each)) {
        if (each.held) open_.emplace_back(each.id, acts_.size());
        act(each.after, each.at, each.units);
      }
    }
    waiting_ = std::move(left);
    trial_.world.advance(by);
  }
  void act(int after, nanoseconds at, std::uint64_t units) {
    trial_.expect(at >= end_, "nobody acts before the end of a pause");
    acts_.add(after, at, units);
  }
  nanoseconds now() const { return trial_.world.now(); }

  Trial& trial_;
  core::Chance& random_;
  std::string key_;
  Limit limit_;
  Acts acts_;
  std::vector<Waiting> waiting_;
  std::vector<std::pair<std::string, std::size_t>>
      open_;        // holds that have acted, each with its place in acts_
  int pauses_ = 0;  // a grant of the same moment may come before one
  nanoseconds end_{0};
};

void whatever_happens_in_a_pause_nobody_acts_in_it_and_the_promise_holds(Trial& trial) {
  core::Chance random;
  for (int trace = 0; trace < trial.runs(15) && trial.violations.empty(); ++trace)
    PausedTrace(trial, random, trace).run();
}

}  // namespace

std::vector<Property> pause_properties() {
#define WEIR_PROPERTY(name) \
  Property { #name, &(name) }
  return {WEIR_PROPERTY(a_pause_leaves_one_unit_at_its_end_and_then_the_pace),
          WEIR_PROPERTY(the_latest_end_of_a_pause_stands),
          WEIR_PROPERTY(a_pause_after_a_pause_leaves_one_unit),
          WEIR_PROPERTY(what_is_owed_drains_in_a_pause),
          WEIR_PROPERTY(who_was_told_a_moment_in_a_pause_begins_again),
          WEIR_PROPERTY(a_pause_of_one_key_ends_what_was_told_of_two),
          WEIR_PROPERTY(one_whose_moment_a_pause_leaves_keeps_it_and_nothing_fits_before),
          WEIR_PROPERTY(one_told_in_a_pause_is_cancelled_as_ever_and_the_pause_lasts),
          WEIR_PROPERTY(one_that_asks_late_acts_in_no_pause),
          WEIR_PROPERTY(who_has_acted_is_ended_by_no_later_pause),
          WEIR_PROPERTY(a_hold_ends_when_it_would_have_without_a_pause),
          WEIR_PROPERTY(no_settlement_shortens_a_pause),
          WEIR_PROPERTY(no_settlement_after_a_pause_gives_back_what_the_pause_asked_for),
          WEIR_PROPERTY(other_numbers_do_not_move_the_end_of_a_pause),
          WEIR_PROPERTY(a_reset_forgets_a_pause),
          WEIR_PROPERTY(a_pause_of_no_length_pauses_nothing),
          WEIR_PROPERTY(the_slot_of_one_that_a_pause_ends_is_free_when_it_asks),
          WEIR_PROPERTY(a_pause_leaves_a_hold_that_settles_nothing),
          WEIR_PROPERTY(what_a_hold_cost_more_in_a_pause_is_charged_to_all_its_limits),
          WEIR_PROPERTY(windows_are_not_paused),
          WEIR_PROPERTY(whatever_happens_in_a_pause_nobody_acts_in_it_and_the_promise_holds)};
#undef WEIR_PROPERTY
}

}  // namespace weir::store::conformance
