// Fixed windows that a reservation meets: they count at its grant, and what goes back goes to the window that
// has counted it.
#include <string>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

// A pace, and a budget beside it.
struct Paced {
  explicit Paced(const Trial& trial, std::string_view window)
      : pace(trial.limit("1/s burst 1", 1)), budget(trial.limit(window, 2)) {}

  Booked reserve(Trial& trial, std::uint64_t units, nanoseconds max_wait) const {
    return conformance::reserve(trial,
                                {{pace, "p", 1, false, Check::kNoGuarantee, "t"},
                                 {budget, "b", units, false, Check::kNoGuarantee, "t"}},
                                max_wait, 30min);
  }
  std::int64_t left(Trial& trial) const {
    TestRequest question({{budget, "b", 0, false, Check::kNoGuarantee, "t"}});
    trial.ask(question);
    return question.decision().remaining;
  }

  Limit pace;
  Limit budget;
};

constexpr std::string_view kHour = "10/h algorithm=fixed_window";

void a_window_counts_at_the_grant_and_has_no_moment(Trial& trial) {
  const Paced paced(trial, kHour);
  trial.equal(paced.reserve(trial, 4, 10s).wait.count(), 0, "acts now");
  const Booked second = paced.reserve(trial, 4, 10s);
  trial.equal(second.wait.count(), nanoseconds{1s}.count(), "the pace says when");
  trial.equal(paced.left(trial), 2, "and the window has counted it");
  const Booked third = paced.reserve(trial, 4, 10s);
  trial.expect(!third.granted, "no room there");
  trial.equal(int{third.by}, 1, "by the window");
  trial.equal(third.wait.count(), nanoseconds{1h}.count(), "until its end");
  trial.equal(paced.reserve(trial, 2, 10s).wait.count(), nanoseconds{2s}.count(), "it was charged nowhere");
  trial.equal(paced.reserve(trial, 11, 10s).wait.count(), -1, "more than it ever admits");
}

void what_is_cancelled_or_settled_goes_back_to_its_window(Trial& trial) {
  const Paced paced(trial, kHour);
  const Booked first = paced.reserve(trial, 4, 0s);
  const Booked second = paced.reserve(trial, 4, 10s);
  trial.equal(cancel(trial, second.id), 4U, "given back");
  trial.equal(paced.left(trial), 6, "left after the cancellation");
  trial.expect(settle(trial, first.id, 1) >= 0ns, "it is settled");
  trial.equal(paced.left(trial), 9, "left after the settlement");
  const Booked third = paced.reserve(trial, 2, 10s);
  trial.world.advance(third.wait);
  trial.equal(settle(trial, third.id, 12).count() > 0, true, "more than there is is charged all the same");
  trial.equal(paced.left(trial), 0, "left after that");
}

void nothing_goes_back_to_the_next_window(Trial& trial) {
  for (const std::string_view window : {kHour, std::string_view("10/h algorithm=fixed_window align=clock")}) {
    const Paced paced(trial, window);
    const Booked held = paced.reserve(trial, 4, 0s);
    trial.world.advance(20min);
    TestRequest reset({{paced.budget, "b", 1, false, Check::kNoGuarantee, "t"}}, Verb::reset);
    trial.ask(reset);
    TestRequest other({{paced.budget, "b", 5, false, Check::kNoGuarantee, "t"}});
    trial.ask(other);
    settle(trial, held.id, 0);
    trial.equal(paced.left(trial), 5, "left of what is counted since a reset");
    const Booked late = paced.reserve(trial, 1, 0s);
    trial.equal(paced.left(trial), 4, "left with another");
    trial.world.advance(1h);
    TestRequest next({{paced.budget, "b", 5, false, Check::kNoGuarantee, "t"}});
    trial.ask(next);
    settle(trial, late.id, 0);
    trial.equal(paced.left(trial), 5, "left in the next window");
    trial.reset({{paced.budget, "b", 1, false, Check::kNoGuarantee, "t"}});
  }
}

void a_window_alone_can_be_held(Trial& trial) {
  const Limit limit = trial.limit("3/h algorithm=fixed_window", 1);
  const Booked held = reserve(trial, limit, "k", 3, 10s, 60s);
  trial.expect(held.granted && !held.id.empty(), "it is held");
  trial.expect(!reserve(trial, limit, "k", 1, 10s, 60s).granted, "there is no more");
  trial.equal(settle(trial, held.id, 2).count(), 0, "until one more");
  trial.expect(reserve(trial, limit, "k", 1, 0s).granted, "what went back is there");
}

void a_shadow_of_a_window_stops_nobody(Trial& trial) {
  const Limit pace = trial.limit("1/s burst 1", 1);
  const Limit budget = trial.limit("1/h algorithm=fixed_window", 2);
  for (int i = 0; i < 3; ++i)
    trial.equal(reserve(trial, {{pace, "t"}, {budget, "t", 1, true}}, 10s, 60s).wait.count(),
                nanoseconds{i * 1s}.count(), "its moment");
}

}  // namespace

std::vector<Property> counted_at_grant_properties() {
  return {{"a_window_counts_at_the_grant_and_has_no_moment", a_window_counts_at_the_grant_and_has_no_moment},
          {"what_is_cancelled_or_settled_goes_back_to_its_window",
           what_is_cancelled_or_settled_goes_back_to_its_window},
          {"nothing_goes_back_to_the_next_window", nothing_goes_back_to_the_next_window},
          {"a_window_alone_can_be_held", a_window_alone_can_be_held},
          {"a_shadow_of_a_window_stops_nobody", a_shadow_of_a_window_stops_nobody}};
}

}  // namespace weir::store::conformance
