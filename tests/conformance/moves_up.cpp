// What a call did not cost goes to those who wait: they act earlier.
#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "agreement/spans.hpp"
#include "conformance/booking.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

// A store that does not tell that something was given back is asked that often.
constexpr nanoseconds kAsked = 100ms;
constexpr nanoseconds kHold = 600s;

class Follower : public TestRequest {
 public:
  Follower(Trial& its_trial, std::vector<Part> wanted, nanoseconds max_wait)
      : TestRequest(std::move(wanted), Verb::acquire) {
    booking.max_wait = max_wait;
    booking.hold = kHold;
    its_trial.submit({this});
    its_trial.world.settle();
  }
  Follower(Trial& its_trial, const Limit& limit, const std::string& key, std::uint64_t units)
      : Follower(its_trial, {{limit, key, units}}, 3600s) {}
  bool waits() const { return pending; }
  bool acts() const { return !pending && allowed(); }
};

void those_who_wait_act_earlier_when_a_call_cost_less(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked call = reserve(trial, limit, "k", 10, 0s, kHold);
  Follower first(trial, limit, "k", 2), second(trial, limit, "k", 8);
  trial.world.advance(1s);
  trial.expect(first.waits() && second.waits(), "they would at 2 s and at 10 s");
  settle(trial, call.id, 7);
  trial.world.advance(kAsked);
  trial.expect(first.acts() && second.waits(), "by 3 s earlier the first acts now");
  trial.world.advance(5800ms);
  trial.expect(second.waits(), "and the second at 7 s, not before");
  trial.world.advance(kAsked);
  trial.expect(second.acts(), "and the second at 7 s");
  trial.equal(trial.left(limit, "k"), 0, "left");
  trial.world.advance(1s);
  trial.equal(trial.left(limit, "k"), 1, "left a second later");
}

// Beside what is held they would be too late; whether they are nobody knows before it is settled.
void who_would_be_in_time_if_a_call_cost_less_waits(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked call = reserve(trial, limit, "k", 10, 0s, kHold);
  Follower first(trial, {{limit, "k", 2}}, 1500ms), second(trial, {{limit, "k", 1}}, 1500ms);
  trial.world.advance(500ms);
  trial.expect(first.waits() && second.waits(), "they would act at 2 s and at 3 s");
  settle(trial, call.id, 5);
  trial.world.advance(kAsked);
  trial.expect(first.acts() && second.acts(), "what the call did not cost is theirs");

  const Booked costly = reserve(trial, limit, "other", 10, 0s, kHold);
  Follower late(trial, {{limit, "other", 2}}, 1500ms);
  trial.world.advance(1400ms);
  trial.expect(late.waits(), "it may yet cost less");
  trial.world.advance(kAsked);
  trial.expect(!late.waits() && !late.allowed() && late.booking.wait > 0ns, "until its time is over");
  trial.world.advance(500ms);
  trial.equal(trial.left(limit, "other"), 2, "left, as if it had not come");
  trial.expect(settle(trial, costly.id, 10) >= 0ns, "what was held is settled");
}

// What has drained has drained, and was others' already.
void those_who_wait_move_by_what_has_not_drained(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked call = reserve(trial, limit, "k", 10, 0s, kHold);
  Follower first(trial, limit, "k", 10);
  trial.world.advance(8s);
  settle(trial, call.id, 1);
  trial.world.advance(kAsked);
  trial.expect(first.acts(), "2 s of it have not, so it acts now");
  trial.equal(trial.left(limit, "k"), 0, "left");
}

// A waiting one acts as soon as it makes no told one late.
void a_moment_that_somebody_was_told_stays(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked call = reserve(trial, limit, "k", 10, 0s, kHold);
  const Booked told = reserve(trial, limit, "k", 2, 3600s, kHold);
  Follower waits(trial, limit, "k", 2);
  trial.expect(waits.waits(), "it would be late");
  settle(trial, call.id, 4);
  trial.world.advance(kAsked);
  trial.expect(waits.acts(), "with 6 units given back it is not");
  trial.equal(moment(trial, told.id).count(), (2s - kAsked).count(), "until its moment");
  trial.equal(trial.left(limit, "k"), 4, "left beside both");
}

void those_after_one_that_left_move_up(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked call = reserve(trial, limit, "k", 10, 0s, kHold);
  Follower first(trial, limit, "k", 2), second(trial, limit, "k", 2), third(trial, limit, "k", 2);
  settle(trial, call.id, 9);  // now at 1 s, 3 s and 5 s
  trial.cancel(third);
  trial.world.settle();
  Follower other(trial, limit, "k", 2);
  trial.cancel(second);
  trial.world.settle();
  Follower next(trial, limit, "k", 2);
  trial.world.advance(1s + kAsked);
  trial.expect(first.acts() && other.waits() && next.waits(), "the first at 1 s");
  trial.world.advance(1800ms);
  trial.expect(other.waits(), "the next of the line at 3 s");
  trial.world.advance(kAsked);
  trial.expect(other.acts() && next.waits(), "which it is");
  trial.world.advance(1900ms);
  trial.expect(next.waits(), "and who came last at 5 s");
  trial.world.advance(kAsked);
  trial.expect(next.acts(), "which it is");
}

void the_last_that_is_given_up_after_a_move_leaves_nothing(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked call = reserve(trial, limit, "k", 10, 0s, kHold);
  Follower first(trial, limit, "k", 2), last(trial, limit, "k", 2);
  settle(trial, call.id, 9);
  trial.cancel(last);
  trial.world.settle();
  Follower more(trial, limit, "k", 3);
  trial.world.advance(3900ms);
  trial.expect(more.waits(), "11 units are charged before it, and 3 drain");
  trial.world.advance(kAsked);
  trial.expect(more.acts(), "11 units are charged before it, and 4 drain");
}

// It waits for another limit: what it was charged at this one acts then, and not before.
void one_that_waits_for_two_rates_is_passed_by_nobody(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Limit slow = trial.limit("1/8s", 2);
  const Booked call = reserve(trial, limit, "k", 10, 0s, kHold);
  trial.ask(slow, "k");
  Follower both(trial, {{limit, "k", 2}, {slow, "k", 1}}, 3600s);
  settle(trial, call.id, 0);
  trial.world.advance(8s);
  trial.expect(both.acts(), "at 8 s");
  trial.expect(trial.left(limit, "k") <= 8, "at most a burst acts then");
}

// The first needs two units, and one passes at the end: it is not passed by the second, which needs one.
void a_pause_after_a_call_that_cost_less_makes_them_later(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 10", 1);
  const Booked call = reserve(trial, limit, "k", 10, 0s, kHold);
  const Booked other = reserve(trial, limit, "k", 4, 0s, kHold);
  trial.expect(!other.granted, "there is room for one call");
  Follower first(trial, limit, "k", 2), second(trial, limit, "k", 1);
  settle(trial, call.id, 9);  // 1 s and 2 s
  pause(trial, limit, "k", 5s);
  trial.world.advance(5900ms);
  trial.expect(first.waits() && second.waits(), "nobody acts in a pause, nor one that needs two at its end");
  trial.world.advance(kAsked);
  trial.expect(first.acts() && second.waits(), "the first acts a second after it");
  trial.world.advance(900ms);
  trial.expect(second.waits(), "and the second a second later");
  trial.world.advance(kAsked);
  trial.expect(second.acts(), "at the pace");
}

// At the moments at which they act, at most burst + W / T in any span.
void the_promise_holds_when_those_who_wait_move_up(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  if (trial.world.reservations() == nullptr) {
    trial.skipped = "what acts earlier is told up to 100 ms later";
    return;
  }
  core::Chance random;
  constexpr nanoseconds kInterval = 1ms;
  struct Act {
    nanoseconds at;
    std::uint64_t units;
    std::string id;
    bool acted;
  };
  int earlier = 0, settled = 0, cancelled = 0;
  for (int trace = 0; trace < 150; ++trace) {
    const std::int64_t burst = 1 + random.up_to(9);
    const bool others = random.up_to(2) == 0;
    const Limit limit = trial.limit(core::Rule{Quota::make({1, kInterval}, burst).value()}, 1);
    const Limit wide = trial.limit(core::Rule{Quota::make({1, 3ms}, 1 + random.up_to(9)).value()}, 2);
    const std::string key = std::to_string(trace);
    std::vector<Act> acts;
    struct Waits {
      std::unique_ptr<Follower> asked;
      std::uint64_t units;
    };
    std::list<Waits> waiting;
    const auto look = [&] {
      for (auto each = waiting.begin(); each != waiting.end();) {
        if (each->asked->waits()) {
          ++each;
          continue;
        }
        if (each->asked->allowed())
          acts.push_back({trial.world.now(), each->units, each->asked->booking.id, true});
        each = waiting.erase(each);
      }
    };
    for (int step = 0; step < 120; ++step) {
      const std::int64_t what = random.up_to(11);
      const std::uint64_t units = 1 + random() % static_cast<std::uint64_t>(std::min<std::int64_t>(burst, 4));
      if (what < 3) {
        for (std::int64_t left = random.up_to(20); left > 0; --left) {
          trial.world.advance(100us);
          look();
        }
      } else if (what < 7) {
        std::vector<Part> parts{{limit, key, units}};
        if (others && random.up_to(3) == 0) parts.push_back({wide, key, 1});
        waiting.push_back({std::make_unique<Follower>(trial, std::move(parts), 60ms), units});
        look();
      } else if (what < 8) {
        if (others && random.up_to(2) == 0) {
          const Booked booked = reserve(trial, limit, key, units, 20ms, kHold);
          if (booked.granted) acts.push_back({trial.world.now() + booked.wait, units, booked.id, false});
        } else if (trial.ask(limit, key, units).allowed()) {
          acts.push_back({trial.world.now(), units, "", true});
        }
      } else if (what < 9 && !waiting.empty()) {
        const auto gone = std::next(waiting.begin(), static_cast<std::ptrdiff_t>(random() % waiting.size()));
        trial.cancel(*gone->asked);
        trial.world.settle();
        waiting.erase(gone);
        ++cancelled;
        look();
      } else if (!acts.empty()) {
        Act& act = acts[acts.size() - 1 - random() % std::min<std::size_t>(acts.size(), 8)];
        if (act.id.empty()) continue;
        const std::size_t before = waiting.size();
        if (random.up_to(5) == 0) {
          if (cancel(trial, act.id) == 0) continue;
          trial.expect(!act.acted, "what has acted is not cancelled");
          act.units = 0;
        } else {
          const std::uint64_t actual = random() % (act.units + 1);
          if (settle(trial, act.id, actual).count() < 0) continue;
          ++settled;
          act.units = std::min(act.units, actual);
        }
        act.id.clear();
        trial.world.settle();
        look();
        earlier += waiting.size() < before ? 1 : 0;
      }
    }
    for (const Waits& each : waiting) trial.cancel(*each.asked);
    waiting.clear();
    trial.world.settle();
    std::vector<Admitted> admitted;
    for (const Act& act : acts) admitted.push_back({act.at.count(), static_cast<std::int64_t>(act.units)});
    std::sort(admitted.begin(), admitted.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    trial.expect(kept(admitted, burst, kInterval.count()), "the promise, in trace " + key);
    trial.world.advance(1s);
  }
  trial.expect(earlier > 50 && settled > 100 && cancelled > 100, "there was something to see");
}

}  // namespace

std::vector<Property> moves_up_properties() {
  return {
      {"those_who_wait_act_earlier_when_a_call_cost_less", those_who_wait_act_earlier_when_a_call_cost_less},
      {"who_would_be_in_time_if_a_call_cost_less_waits", who_would_be_in_time_if_a_call_cost_less_waits},
      {"those_who_wait_move_by_what_has_not_drained", those_who_wait_move_by_what_has_not_drained},
      {"a_moment_that_somebody_was_told_stays", a_moment_that_somebody_was_told_stays},
      {"those_after_one_that_left_move_up", those_after_one_that_left_move_up},
      {"the_last_that_is_given_up_after_a_move_leaves_nothing",
       the_last_that_is_given_up_after_a_move_leaves_nothing},
      {"one_that_waits_for_two_rates_is_passed_by_nobody", one_that_waits_for_two_rates_is_passed_by_nobody},
      {"a_pause_after_a_call_that_cost_less_makes_them_later",
       a_pause_after_a_call_that_cost_less_makes_them_later},
      {"the_promise_holds_when_those_who_wait_move_up", the_promise_holds_when_those_who_wait_move_up}};
}

}  // namespace weir::store::conformance
