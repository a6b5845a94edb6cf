// After a step back of the clock of a store that has one of its own: what lies far ahead for its sake is
// forgotten, and nothing else.
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

constexpr const char* kWindow = "2/s algorithm=fixed_window";

// The next who asks hears of it.
bool steps_back(Trial& trial, nanoseconds by) {
  const Limit other = trial.limit("100/s", 9);
  trial.ask(other, "other");
  if (!trial.world.step_back(by)) {
    trial.skipped = "it has no clock of its own";
    return false;
  }
  trial.ask(other, "other");
  return true;
}

void a_pause_of_a_window_is_told_to_its_end(Trial& trial) {
  const Limit limit = trial.limit(kWindow, 1);
  if (!steps_back(trial, 1h)) return;
  pause(trial, limit, "k", 10s, true);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{10s}.count(), "all of it");
  trial.world.advance(4s);
  trial.equal(retry_of(trial, limit, "k").count(), nanoseconds{6s}.count(), "what is left");
  trial.world.advance(6s);
  trial.equal(trial.left(limit, "k"), 2, "left at its end");
}

// A step of two seconds puts no window ten minutes ahead.
void a_window_that_was_longer_under_other_numbers_stays(Trial& trial) {
  const Limit longer = trial.limit("2/10min algorithm=fixed_window", 1), limit = trial.limit(kWindow, 1);
  for (int i = 0; i < 2; ++i) trial.expect(trial.ask(longer, "k").allowed(), "both of its units");
  if (!steps_back(trial, 2s)) return;
  for (int i = 0; i < 3; ++i) {
    trial.expect(!trial.ask(limit, "k").allowed(), "another until it ends");
    trial.world.advance(250ms);
  }
}

void a_window_of_before_is_forgotten(Trial& trial) {
  const Limit limit = trial.limit(kWindow, 1);
  for (int i = 0; i < 2; ++i) trial.ask(limit, "k");
  if (!steps_back(trial, 1h)) return;
  trial.expect(!trial.ask(limit, "k").allowed(), "it denies as it is found");
  trial.world.advance(1s);
  trial.expect(trial.ask(limit, "k").allowed(), "and then no more");
}

}  // namespace

std::vector<Property> stepped_properties() {
  return {{"a_pause_of_a_window_is_told_to_its_end", a_pause_of_a_window_is_told_to_its_end},
          {"a_window_that_was_longer_under_other_numbers_stays",
           a_window_that_was_longer_under_other_numbers_stays},
          {"a_window_of_before_is_forgotten", a_window_of_before_is_forgotten}};
}

}  // namespace weir::store::conformance
