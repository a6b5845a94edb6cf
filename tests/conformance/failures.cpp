// What becomes of a request when the store cannot decide it.
#include <deque>

#include "conformance/suite.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

constexpr const char* kNothingSilent = "its states are in this process and cannot fall silent";

void a_foreign_value_is_a_fault_and_charges_nothing(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  if (!trial.world.put_foreign_value(limit, "foreign")) {
    trial.skipped = "nothing but weir writes into it";
    return;
  }
  TestRequest alone(limit, "foreign");
  TestRequest before({{limit, "a"}, {limit, "foreign"}});
  TestRequest after({{limit, "foreign"}, {limit, "a"}});
  for (TestRequest* const question : {&alone, &before, &after}) {
    trial.ask(*question);
    trial.expect(question->fault == Fault::foreign_value, "a foreign value is a fault");
    trial.expect(!question->allowed(), "a fault does not allow");
  }
  trial.equal(trial.left(limit, "a"), 5, "left of the other key");
}

// More keys than a store may forget at a time.
void a_reset_leaves_a_foreign_value_and_forgets_the_rest(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  if (!trial.world.put_foreign_value(limit, "foreign")) {
    trial.skipped = "nothing but weir writes into it";
    return;
  }
  for (const std::size_t others : {0U, 1U, 2'500U}) {
    for (const std::size_t place : {std::size_t{0}, others / 2, others}) {
      std::vector<Part> parts;
      for (std::size_t i = 0; i < others; ++i) parts.push_back({limit, "key" + std::to_string(i)});
      for (const std::size_t used : {std::size_t{0}, others / 2, others - 1})
        if (used < others) trial.ask(limit, parts[used].key);
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(place), {limit, "foreign"});
      TestRequest reset(parts, Verb::reset);
      trial.ask(reset);
      trial.expect(reset.fault == Fault::foreign_value, "a foreign value is a fault of a reset too");
      trial.expect(!reset.why.empty(), "which says why");
      TestRequest after(limit, "foreign");
      trial.ask(after);
      trial.expect(after.fault == Fault::foreign_value, "and is still there");
      for (const std::size_t used : {std::size_t{0}, others / 2, others - 1})
        if (used < others)
          trial.equal(trial.left(limit, "key" + std::to_string(used)), 5, "left of the others");
    }
  }
}

void an_answer_takes_no_longer_than_the_askers_patience(Trial& trial) {
  if (!trial.world.fall_silent()) {
    trial.skipped = kNothingSilent;
    return;
  }
  const Limit limit = trial.limit("5/h", 1);
  TestRequest patient(limit, "a"), hasty(limit, "b"), usual(limit, "c"),
      several({{limit, "a"}, {limit, "b"}});
  patient.patience = 30ms;
  hasty.patience = 10ms;
  several.patience = 20ms;
  trial.submit({&patient, &hasty, &usual, &several});
  trial.world.advance(10ms);
  trial.expect(!hasty.pending, "answered after 10 ms");
  trial.world.advance(10ms);
  trial.expect(!several.pending, "answered after 20 ms");
  trial.world.advance(10ms);
  trial.expect(!patient.pending, "answered after 30 ms");
  trial.world.advance(10s);
  trial.settle();
  for (const TestRequest* const question : {&patient, &hasty, &usual, &several})
    trial.expect(question->source == Source::fallback && question->fault == Fault::none,
                 "the fallback decided");
}

void the_fallback_is_the_limits(Trial& trial) {
  if (!trial.world.fall_silent()) {
    trial.skipped = kNothingSilent;
    return;
  }
  struct Row {
    OnStoreError on_store_error;
    std::uint64_t cost;
    std::string verdicts;  // of five in a row, under a burst of 2
  };
  int key = 0;
  for (const Row& row : {Row{OnStoreError::local, 1, "aaddd"}, Row{OnStoreError::allow, 1, "aaaaa"},
                         Row{OnStoreError::deny, 1, "ddddd"}, Row{OnStoreError::deny, 0, "aaaaa"},
                         Row{OnStoreError::allow, 3, "nnnnn"}, Row{OnStoreError::deny, 3, "nnnnn"},
                         Row{OnStoreError::local, 3, "nnnnn"}}) {
    Limit limit = trial.limit("2/d", 1);
    limit.on_store_error = row.on_store_error;
    std::string verdicts;
    ++key;
    for (int i = 0; i < 5; ++i) {
      TestRequest question(limit, std::to_string(key), row.cost);
      question.patience = 5ms;
      trial.submit({&question});
      trial.world.advance(5ms);
      trial.settle();
      if (question.pending) trial.cancel(question);
      trial.expect(question.source == Source::fallback, "the fallback decided");
      verdicts += "adn"[static_cast<int>(question.decision().verdict)];
    }
    trial.equal(verdicts, row.verdicts, "row " + std::to_string(key));
  }
}

void a_reset_that_did_not_arrive_says_so(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  trial.ask(limit, "a", 2);
  if (!trial.world.fall_silent()) {
    trial.skipped = kNothingSilent;
    return;
  }
  TestRequest one({{limit, "a"}}, Verb::reset);
  TestRequest many({{limit, "a"}, {limit, "b"}, {limit, "c"}}, Verb::reset);
  one.patience = many.patience = 10ms;
  trial.submit({&one, &many});
  trial.world.advance(10ms);
  trial.settle();
  for (const TestRequest* const reset : {&one, &many})
    trial.expect(reset->fault == Fault::store_down, "a reset that did not arrive is a fault");
}

void a_late_answer_answers_nobody(Trial& trial) {
  const Limit limit = trial.limit("5/h", 1);
  trial.ask(limit, "a");
  if (!trial.world.fall_silent()) {
    trial.skipped = kNothingSilent;
    return;
  }
  std::deque<TestRequest> questions;
  std::vector<TestRequest*> batch;
  for (int i = 0; i < 4; ++i) {
    batch.push_back(&questions.emplace_back(limit, "a"));
    batch.back()->patience = 10ms;
  }
  trial.submit(batch);
  trial.cancel(questions[1]);
  trial.world.advance(10ms);
  trial.settle();
  trial.world.speak_again();
  trial.world.advance(10s);
  trial.equal(questions[0].answers, 1, "answers of the first");
  trial.equal(questions[1].answers, 0, "answers of the cancelled one");
  TestRequest next(limit, "b", 2);
  trial.ask(next);
  trial.expect(next.source == Source::store, "the store decides again");
  trial.equal(next.decision().remaining, 3, "left of the next one's key");
}

void requests_can_be_cancelled_while_the_store_is_silent(Trial& trial) {
  if (!trial.world.fall_silent()) {
    trial.skipped = kNothingSilent;
    return;
  }
  const Limit limit = trial.limit("5/h", 1);
  for (int i = 0; i < 3; ++i) {
    auto one = std::make_unique<TestRequest>(limit, "a");
    auto two = std::make_unique<TestRequest>(std::vector<Part>{{limit, "a"}, {limit, "b"}});
    auto reset = std::make_unique<TestRequest>(std::vector<Part>{{limit, "a"}}, Verb::reset);
    trial.submit({one.get(), two.get(), reset.get()});
    trial.world.advance(1ms);
    for (const auto& question : {one.get(), two.get(), reset.get()})
      if (question->pending) trial.cancel(*question);
    one.reset();
    two.reset();
    reset.reset();
    trial.world.advance(10s);
  }
  trial.settle();
}

}  // namespace

std::vector<Property> failure_properties() {
  return {{"a_foreign_value_is_a_fault_and_charges_nothing", a_foreign_value_is_a_fault_and_charges_nothing},
          {"a_reset_leaves_a_foreign_value_and_forgets_the_rest",
           a_reset_leaves_a_foreign_value_and_forgets_the_rest},
          {"an_answer_takes_no_longer_than_the_askers_patience",
           an_answer_takes_no_longer_than_the_askers_patience},
          {"the_fallback_is_the_limits", the_fallback_is_the_limits},
          {"a_reset_that_did_not_arrive_says_so", a_reset_that_did_not_arrive_says_so},
          {"a_late_answer_answers_nobody", a_late_answer_answers_nobody},
          {"requests_can_be_cancelled_while_the_store_is_silent",
           requests_can_be_cancelled_while_the_store_is_silent}};
}

}  // namespace weir::store::conformance
