// Giving back what a request has charged, as far as it has not drained.
#include <algorithm>
#include <memory>

#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

void give_back(Trial& trial, TestRequest& charged) {
  trial.give_back(charged);
  trial.settle();
}

// What is charged first drains first: of 4 taken at once and 4 taken by another right after.
void what_has_not_drained_comes_back(Trial& trial) {
  struct Row {
    nanoseconds after;
    std::int64_t left;  // of 10, after giving the first 4 back
  };
  for (const auto& [after, left] :
       {Row{0s, 6}, Row{1s, 6}, Row{3s, 6}, Row{4s, 6}, Row{5s, 7}, Row{8s, 10}, Row{60s, 10}}) {
    const Limit limit = trial.limit("1/s burst 10", 1);
    const std::string key = std::to_string(after.count());
    TestRequest first(limit, key, 4);
    TestRequest second(limit, key, 4);
    trial.ask(first);
    trial.ask(second);
    trial.world.advance(after);
    give_back(trial, first);
    trial.equal(trial.left(limit, key), left, "left when given back after " + key + " ns");
  }
}

void all_of_a_request_comes_back_at_once(Trial& trial) {
  const Limit limit = trial.limit("3/h burst 10", 1);
  const Limit other = trial.limit("7/min", 2);
  TestRequest question({{limit, "a", 6}, {limit, "b", 10}, {other, "a", 7}});
  trial.ask(question);
  give_back(trial, question);
  for (const Part& part : question.parts) {
    const Decision look = trial.ask(part.limit, part.key, 0);
    trial.equal(look.remaining, part.limit.rule.quota.burst(), "left of " + part.key);
    trial.equal(look.reset_after.count(), 0, "reset_after of " + part.key);
  }
}

void what_was_not_charged_gives_nothing_back(Trial& trial) {
  const Limit limit = trial.limit("10/h", 1);
  trial.ask(limit, "key", 8);
  TestRequest denied(limit, "key", 3);
  TestRequest look(limit, "key", 0);
  TestRequest never(limit, "key", 11);
  for (TestRequest* const question : {&denied, &look, &never}) {
    trial.ask(*question);
    give_back(trial, *question);
    trial.equal(trial.left(limit, "key"), 2, "left");
  }
}

// The debt is then in units of another length, and nobody can tell whose of them have drained.
void under_changed_numbers_nothing_comes_back(Trial& trial) {
  const Limit slow = trial.limit("1/s burst 10", 1);
  const Limit fast = trial.limit("2/s burst 10", 1);
  TestRequest question(slow, "key", 4);
  trial.ask(question);
  trial.ask(fast, "key", 1);
  give_back(trial, question);
  trial.equal(trial.left(fast, "key"), 5, "left");
}

// After the key was forgotten, its new debt is somebody else's.
void never_more_than_is_owed_comes_back(Trial& trial) {
  const Limit limit = trial.limit("1/s burst 10", 1);
  TestRequest question(limit, "key", 8);
  trial.ask(question);
  trial.world.advance(2s);
  trial.reset({{limit, "key"}});
  give_back(trial, question);
  trial.equal(trial.left(limit, "key"), 10, "left");
  trial.expect(!trial.ask(limit, "key", 11).allowed() && trial.ask(limit, "key", 10).allowed(),
               "the burst passes");
  trial.expect(!trial.ask(limit, "key", 1).allowed(), "and no more");
}

// Also where the units used, 1,000, look like a T of 1,000 ns.
void other_algorithms_keep_what_was_charged(Trial& trial) {
  struct Row {
    std::string rate;
    std::uint64_t cost;
    std::int64_t left;
  };
  for (const auto& [rate, cost, left] : {Row{"5/h", 2, 3}, Row{"1000/ms", 1'000, 0}}) {
    for (const char* const algorithm :
         {"fixed_window", "fixed_window align=clock", "sliding_window_log", "sliding_window_counter"}) {
      const std::string text = rate + " algorithm=" + algorithm;
      const Limit limit = trial.limit(text, 1);
      if (trial.world.refuses(limit.rule)) continue;
      TestRequest question(limit, text, cost);
      trial.ask(question);
      give_back(trial, question);
      trial.equal(trial.left(limit, text), left, "left of " + text);
    }
  }
}

// Of what was admitted and not given back, at most burst + W / T in any span.
void the_promise_holds_for_what_was_not_given_back(Trial& trial) {
  core::Chance random;
  struct Admitted {
    nanoseconds at;
    std::unique_ptr<TestRequest> question;
  };
  for (int trace = 0; trace < trial.runs(30); ++trace) {
    const auto burst = static_cast<std::int64_t>(1 + random() % 8);
    const nanoseconds interval = 1ms;
    const Limit limit = trial.limit(core::Rule{Quota::make({1, interval}, burst).value()}, 1);
    const std::string key = std::to_string(trace);
    std::vector<Admitted> admitted;
    for (int step = 0; step < 80; ++step) {
      auto question = std::make_unique<TestRequest>(limit, key, 1 + random() % 3);
      trial.ask(*question);
      if (question->charged) admitted.push_back({trial.world.now(), std::move(question)});
      if (!admitted.empty() && random() % 3 == 0) {
        // One of the last few: older ones have drained.
        const std::size_t back = std::min<std::size_t>(admitted.size(), 1 + random() % 4);
        const auto chosen = admitted.end() - static_cast<std::ptrdiff_t>(back);
        give_back(trial, *chosen->question);
        admitted.erase(chosen);
      }
      if (random() % 3 == 0) trial.world.advance(1us * (random() % 3'000));
    }
    nanoseconds worst{0}, last{0};
    for (const Admitted& each : admitted) {
      worst = std::max(nanoseconds{0}, worst - (each.at - last)) +
              interval * static_cast<std::int64_t>(each.question->parts[0].cost);
      last = each.at;
      trial.expect(worst <= interval * burst, "the promise, in trace " + key);
    }
  }
}

}  // namespace

std::vector<Property> give_back_properties() {
  return {{"what_has_not_drained_comes_back", what_has_not_drained_comes_back},
          {"all_of_a_request_comes_back_at_once", all_of_a_request_comes_back_at_once},
          {"what_was_not_charged_gives_nothing_back", what_was_not_charged_gives_nothing_back},
          {"under_changed_numbers_nothing_comes_back", under_changed_numbers_nothing_comes_back},
          {"never_more_than_is_owed_comes_back", never_more_than_is_owed_comes_back},
          {"other_algorithms_keep_what_was_charged", other_algorithms_keep_what_was_charged},
          {"the_promise_holds_for_what_was_not_given_back", the_promise_holds_for_what_was_not_given_back}};
}

}  // namespace weir::store::conformance
