// Which holds of a key are open: each of them, once, until it ends.
#include <string>
#include <utility>
#include <vector>

#include "conformance/booking.hpp"
#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

std::vector<OpenHold> holds(Trial& trial, std::vector<Part> parts, std::size_t most = 100) {
  TestRequest question(std::move(parts), Verb::holds);
  question.booking.most = most;
  trial.ask(question);
  trial.expect(question.fault == Fault::none, "nobody could list the holds: " + question.why);
  return question.booking.open;
}

struct Listing {
  std::string id;
  std::uint64_t cost;
  nanoseconds wait;
  nanoseconds ends;
};
void expect_holds(Trial& trial, std::vector<Part> parts, const std::vector<Listing>& rows,
                  const std::string& when) {
  const std::vector<OpenHold> open = holds(trial, std::move(parts));
  trial.equal(open.size(), rows.size(), "open " + when);
  for (std::size_t i = 0; i < std::min(open.size(), rows.size()); ++i) {
    const std::string which = " of hold " + std::to_string(i) + " " + when;
    trial.expect(open[i].id == rows[i].id, "the id" + which);
    trial.equal(open[i].cost, rows[i].cost, "the cost" + which);
    trial.equal(open[i].wait.count(), rows[i].wait.count(), "until the moment" + which);
    trial.equal(open[i].ends.count(), rows[i].ends.count(), "until the end" + which);
  }
}

void each_open_hold_is_listed_until_it_ends(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 9", 1);
  expect_holds(trial, {{limit, "k"}}, {}, "of a key that nobody has charged");
  const std::string first = reserve(trial, limit, "k", 2, 0s, 30s).id;
  trial.world.advance(1s);
  const std::string second = reserve(trial, limit, "k", 3, 0s, 10s).id;
  trial.world.advance(1s);
  const std::string third = reserve(trial, limit, "k", 1, 0s, 60s).id;
  trial.ask(limit, "k");                       // not held
  reserve(trial, limit, "other", 1, 0s, 60s);  // another key's
  expect_holds(trial, {{limit, "k"}}, {{first, 2, 0s, 28s}, {second, 3, 0s, 9s}, {third, 1, 0s, 60s}},
               "with three");
  settle(trial, first, 2);
  expect_holds(trial, {{limit, "k"}}, {{second, 3, 0s, 9s}, {third, 1, 0s, 60s}}, "after a settlement");
  trial.world.advance(9s - 1us);
  expect_holds(trial, {{limit, "k"}}, {{second, 3, 0s, 1us}, {third, 1, 0s, 51s + 1us}},
               "just before an end");
  trial.world.advance(1us);
  expect_holds(trial, {{limit, "k"}}, {{third, 1, 0s, 51s}}, "at its end");
  TestRequest reset({{limit, "k"}}, Verb::reset);
  trial.ask(reset);
  expect_holds(trial, {{limit, "k"}}, {}, "after a reset");
}

void one_that_waits_is_listed_with_its_moment(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 1", 1);
  const std::string now = reserve(trial, limit, "k", 1, 0s, 60s).id;
  const std::string later = reserve(trial, limit, "k", 1, 60s, 60s).id;
  const std::string last = reserve(trial, limit, "k", 1, 60s, 60s).id;
  expect_holds(trial, {{limit, "k"}}, {{now, 1, 0s, 60s}, {later, 1, 1s, 61s}, {last, 1, 2s, 62s}},
               "with two who wait");
  pause(trial, limit, "k", 1500ms);
  expect_holds(trial, {{limit, "k"}}, {{now, 1, 0s, 60s}, {later, 1, 1s, 61s}, {last, 1, 2s, 62s}},
               "in a pause, as long as none asks");
  trial.equal(moment(trial, later).count(), -1, "the moment of one in it");
  expect_holds(trial, {{limit, "k"}}, {{now, 1, 0s, 60s}, {last, 1, 2s, 62s}}, "when that has asked");
  trial.world.advance(2s);
  expect_holds(trial, {{limit, "k"}}, {{now, 1, 0s, 58s}, {last, 1, 0s, 60s}}, "after the last's moment");
}

void an_extension_is_another_end(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 9", 1);
  const std::string first = reserve(trial, limit, "k", 1, 0s, 10s).id;
  trial.world.advance(1s);
  const std::string second = reserve(trial, limit, "k", 1, 0s, 10s).id;
  TestRequest extend({}, Verb::extend);
  extend.booking.id = first;
  extend.booking.hold = 100s;
  trial.ask(extend);
  expect_holds(trial, {{limit, "k"}}, {{first, 1, 0s, 100s}, {second, 1, 0s, 10s}},
               "the oldest is still the first");
}

void slots_are_listed_with_who_has_them(Trial& trial) {
  const Limit limit = trial.limit("in_flight=2", 1);
  const std::string first = reserve(trial, limit, "k", 1, 0s, 20s).id;
  trial.world.advance(1s);
  const std::string second = reserve(trial, limit, "k", 1, 0s, 10s).id;
  trial.expect(!reserve(trial, limit, "k", 1, 0s, 10s).granted, "they are taken");
  expect_holds(trial, {{limit, "k"}}, {{first, 1, 0s, 19s}, {second, 1, 0s, 10s}}, "of slots");
  settle(trial, first, 0);
  trial.expect(reserve(trial, limit, "k", 1, 0s, 5s).granted, "to settle one frees its slot");
  trial.equal(holds(trial, {{limit, "k"}}).size(), std::size_t{2}, "open");
  trial.world.advance(10s);
  expect_holds(trial, {{limit, "k"}}, {}, "when their time is over");
}

void one_of_several_states_is_listed_once(Trial& trial) {
  const Limit slots = trial.limit("in_flight=5", 1);
  const Limit rate = trial.limit("10/s burst 50", 2);
  const std::vector<Part> both = {{rate, "k", 7, false, Check::kNoGuarantee, "t"},
                                  {slots, "k", 1, false, Check::kNoGuarantee, "t"}};
  const std::string id = reserve(trial, both, 0s, 20s).id;
  expect_holds(trial, both, {{id, 7, 0s, 20s}}, "of a rate and slots");
  expect_holds(trial, {both[1]}, {{id, 1, 0s, 20s}}, "of the slots");
}

void no_more_are_listed_than_are_asked_for(Trial& trial) {
  const Limit limit = trial.limit("in_flight=50", 1);
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(reserve(trial, limit, "k", 1, 0s, 100s - i * 1s).id);
    trial.world.advance(1ms);
  }
  const std::vector<OpenHold> open = holds(trial, {{limit, "k"}}, 3);
  trial.equal(open.size(), std::size_t{3}, "listed");
  for (std::size_t i = 0; i < open.size(); ++i) trial.expect(open[i].id == ids[i], "the oldest come first");
  trial.equal(holds(trial, {{limit, "k"}}).size(), std::size_t{20}, "all of them");
}

}  // namespace

std::vector<Property> holds_properties() {
  return {{"each_open_hold_is_listed_until_it_ends", each_open_hold_is_listed_until_it_ends},
          {"one_that_waits_is_listed_with_its_moment", one_that_waits_is_listed_with_its_moment},
          {"an_extension_is_another_end", an_extension_is_another_end},
          {"slots_are_listed_with_who_has_them", slots_are_listed_with_who_has_them},
          {"one_of_several_states_is_listed_once", one_of_several_states_is_listed_once},
          {"no_more_are_listed_than_are_asked_for", no_more_are_listed_than_are_asked_for}};
}

}  // namespace weir::store::conformance
