// Acquires: reservations that are answered when their moment has come.
#include <deque>
#include <string>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

class Waiting : public TestRequest {
 public:
  Waiting(Trial& its_trial, const Limit& limit, const std::string& key, nanoseconds max_wait,
          std::uint64_t units = 1)
      : TestRequest({{limit, key, units}}, Verb::acquire) {
    booking.max_wait = max_wait;
    its_trial.submit({this});
    its_trial.world.settle();
  }
  bool waits() const { return pending; }
};

void a_store_in_which_nobody_waits_says_so(Trial& trial) {
  if (trial.world.lets_wait()) {
    trial.skipped = "requests wait in this store";
    return;
  }
  TestRequest question(trial.limit("1/s", 1), "k");
  question.verb = Verb::acquire;
  question.reservation = &question.booking;
  trial.ask(question);
  trial.expect(question.fault == Fault::unsuitable, "it is unsuitable");
}

void an_acquire_is_answered_when_its_moment_has_come(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 2", 1);
  std::deque<Waiting> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(trial, limit, "k", 10s);
  for (int second = 0; second < 4; ++second) {
    for (int i = 0; i < 5; ++i)
      trial.equal(all[static_cast<std::size_t>(i)].waits(), i >= second + 2,
                  "waits: " + std::to_string(i) + " after " + std::to_string(second) + " s");
    trial.expect(!trial.ask(limit, "k").allowed(), "no check comes between them");
    trial.world.advance(1s - 1us);
    if (second < 3) trial.expect(all[static_cast<std::size_t>(second) + 2].waits(), "and not before");
    trial.world.advance(1us);
  }
  for (const Waiting& each : all) trial.expect(each.allowed() && each.charged, "each is granted");
}

void an_acquire_that_cannot_be_in_time_is_denied_at_once(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s", 1);
  trial.ask(limit, "k");
  Waiting late(trial, limit, "k", 999ms);
  trial.expect(!late.waits() && !late.allowed(), "it is denied");
  trial.equal(late.booking.wait.count(), nanoseconds{1ms}.count(), "and told when it could wait");
  Waiting never(trial, limit, "k", 999s, 2);
  trial.expect(!never.waits() && !never.allowed(), "above the burst nobody waits");
  trial.world.advance(1s);
  trial.expect(trial.ask(limit, "k").allowed(), "neither was charged");
}

void who_goes_away_leaves_the_moment_to_the_next(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s", 1);
  trial.ask(limit, "k");
  Waiting first(trial, limit, "k", 10s), second(trial, limit, "k", 10s);
  trial.cancel(first);
  trial.world.settle();
  Waiting third(trial, limit, "k", 10s);
  trial.world.advance(1s);
  trial.expect(!third.waits() && third.allowed() && second.waits(), "the next has its moment");
  trial.world.advance(1s);
  trial.expect(!second.waits() && second.allowed(), "and who waited has their own");
}

// A loop that stood still reads what was asked meanwhile before its timers have their turn.
void what_is_overdue_and_what_is_new_share_a_burst(Trial& trial) {
  if (nobody_waits_here(trial)) return;
  const Limit limit = trial.limit("1/s burst 4", 1);
  const auto act = [&] {
    int acted = 0;
    for (int i = 0; i < 5; ++i) acted += trial.ask(limit, "k").allowed() ? 1 : 0;
    return acted;
  };
  trial.equal(act(), 4, "a burst");
  std::deque<Waiting> old;
  for (int i = 0; i < 6; ++i) old.emplace_back(trial, limit, "k", 60s);
  trial.world.stand_still(8500ms);
  int acted = act();
  trial.equal(acted, 2, "what has drained");
  std::deque<Waiting> fresh;
  for (int i = 0; i < 4; ++i) fresh.emplace_back(trial, limit, "k", 60s);
  trial.world.advance(0s);
  for (const Waiting& each : old) acted += each.waits() ? 0 : 1;
  for (const Waiting& each : fresh) trial.expect(each.waits(), "each waits after those");
  trial.equal(acted, 3, "what is overdue and has not drained acts, and no more");
  trial.world.advance(500ms);
  for (int second = 0; second < 20; ++second) trial.world.advance(1s);
  for (const Waiting& each : old) trial.expect(each.allowed(), "each that was overdue is granted");
  for (const Waiting& each : fresh) trial.expect(each.allowed(), "each is granted");
}

}  // namespace

std::vector<Property> acquire_properties() {
  return {
      {"a_store_in_which_nobody_waits_says_so", a_store_in_which_nobody_waits_says_so},
      {"an_acquire_is_answered_when_its_moment_has_come", an_acquire_is_answered_when_its_moment_has_come},
      {"an_acquire_that_cannot_be_in_time_is_denied_at_once",
       an_acquire_that_cannot_be_in_time_is_denied_at_once},
      {"what_is_overdue_and_what_is_new_share_a_burst", what_is_overdue_and_what_is_new_share_a_burst},
      {"who_goes_away_leaves_the_moment_to_the_next", who_goes_away_leaves_the_moment_to_the_next}};
}

}  // namespace weir::store::conformance
