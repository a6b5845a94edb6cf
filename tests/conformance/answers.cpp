// When requests are answered, in what order they are decided, and what an asker may do meanwhile.
#include <deque>
#include <memory>

#include "conformance/model.hpp"
#include "conformance/suite.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::store::conformance {
namespace {

using namespace std::chrono_literals;

std::deque<TestRequest> random_questions(Trial& trial, core::Chance& random, std::size_t count) {
  const Limit limits[] = {trial.limit("9/s", 1), trial.limit("7/s burst 5", 2)};
  std::deque<TestRequest> questions;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Part> parts = {{limits[0], std::to_string(random() % 3), random() % 4}};
    if (trial.world.keeps_order_of_several() && random() % 3 == 0)
      parts.push_back({limits[1], std::to_string(random() % 2), random() % 3});
    questions.emplace_back(parts);
  }
  return questions;
}

void as_the_model_says(Trial& trial, Model& model, const std::deque<TestRequest>& questions) {
  for (std::size_t i = 0; i < questions.size() && trial.violations.empty(); ++i) {
    const std::vector<Decision> should = model.ask(questions[i].parts, trial.world.now());
    const std::string what = "request " + std::to_string(i);
    if (questions[i].source == Source::remembered) {
      // It does not wait for what was asked before it, so its numbers may be older than those.
      trial.expect(should[questions[i].by].verdict == Verdict::denied, what + " is denied by memory");
    } else {
      expect_told(trial, questions[i], should, what);
    }
  }
}

void a_batch_is_decided_in_order(Trial& trial) {
  core::Chance random;
  Model model;
  for (int turn = 0; turn < 20; ++turn) {
    std::deque<TestRequest> questions = random_questions(trial, random, 1 + random() % 40);
    std::vector<TestRequest*> batch;
    for (TestRequest& question : questions) batch.push_back(&question);
    trial.submit(batch);
    trial.settle();
    as_the_model_says(trial, model, questions);
    if (!trial.violations.empty()) return;
    trial.world.advance(1ms * (random() % 500));
  }
}

void batches_are_decided_in_the_order_in_which_they_came(Trial& trial) {
  core::Chance random;
  Model model;
  for (int turn = 0; turn < 20; ++turn) {
    std::deque<TestRequest> questions = random_questions(trial, random, 30);
    for (std::size_t at = 0; at < questions.size();) {
      std::vector<TestRequest*> batch;
      for (std::size_t size = random() % 5; size > 0 && at < questions.size(); --size)
        batch.push_back(&questions[at++]);
      trial.submit(batch);
    }
    trial.settle();
    as_the_model_says(trial, model, questions);
    if (!trial.violations.empty()) return;
    trial.world.advance(1ms * (random() % 500));
  }
}

void an_empty_batch_is_nothing(Trial& trial) {
  trial.submit({});
  trial.settle();
}

void of_a_thousand_the_first_ones_pass(Trial& trial) {
  const Limit limit = trial.limit("300/h", 1);
  const Limit own = trial.limit("1/h", 2);
  std::deque<TestRequest> questions;
  std::vector<TestRequest*> batch;
  for (std::size_t i = 0; i < 1'000; ++i) {
    std::vector<Part> parts = {{limit, "shared"}};
    if (trial.world.keeps_order_of_several() && i % 2 == 0) parts.push_back({own, std::to_string(i)});
    batch.push_back(&questions.emplace_back(parts));
  }
  trial.submit(batch);
  trial.settle();
  for (std::size_t i = 0; i < 1'000; ++i)
    trial.expect(questions[i].allowed() == (i < 300), "request " + std::to_string(i) + " of a thousand");
}

void an_answer_keeps_nothing_of_the_one_before(Trial& trial) {
  const Limit one = trial.limit("1/h", 1);
  const Limit five = trial.limit("5/h", 2);
  trial.ask(one, "a");
  TestRequest question({{five, "a"}, {one, "a"}});
  trial.ask(question);
  trial.expect(question.by == 1 && !question.charged, "the second check decides");
  question.parts = {{five, "a"}};
  trial.ask(question);
  trial.expect(question.by == 0 && question.charged, "the only check decides");
  question.parts = {{one, "a"}};
  trial.ask(question);
  trial.expect(!question.charged, "denied");
  question.verb = Verb::reset;
  trial.ask(question);
  trial.expect(!question.charged && question.fault == Fault::none, "a reset charges nothing");
  trial.equal(question.forgotten, std::uint64_t{1}, "forgotten");
}

void the_asker_may_submit_again_in_on_answer(Trial& trial) {
  const Limit limit = trial.limit("100/h", 1);
  TestRequest question(limit, "key");
  int asked = 0;
  const std::function<void()> again = [&] {
    while (asked < 20) {
      ++asked;
      question.then = again;
      trial.submit({&question});
      if (question.pending) return;  // `again` goes on
    }
  };
  again();
  trial.settle();
  trial.equal(asked, 20, "asked");
  question.then = nullptr;
  trial.equal(trial.left(limit, "key"), 80, "left");
}

void the_asker_may_destroy_a_request_in_on_answer(Trial& trial) {
  const Limit limit = trial.limit("100/h", 1);
  std::vector<std::unique_ptr<TestRequest>> questions(30);
  std::vector<TestRequest*> batch;
  for (auto& question : questions) {
    question = std::make_unique<TestRequest>(limit, "key");
    question->then = [&question] { question.reset(); };
    batch.push_back(question.get());
  }
  trial.submit(batch);
  trial.settle();
  trial.equal(trial.left(limit, "key"), 70, "left");
}

void the_asker_may_cancel_others_in_on_answer(Trial& trial) {
  const Limit limit = trial.limit("100/h", 1);
  for (const bool one_key : {true, false}) {
    std::deque<TestRequest> questions;
    std::vector<TestRequest*> batch;
    for (std::size_t i = 0; i < 10; ++i) {
      batch.push_back(&questions.emplace_back(limit, one_key ? "key" : std::to_string(i)));
      questions.back().then = [&] {
        for (TestRequest& other : questions)
          if (other.pending) trial.cancel(other);
      };
    }
    trial.submit(batch);
    trial.settle();
    trial.world.advance(10s);
  }
}

void a_cancelled_request_is_not_answered(Trial& trial) {
  const Limit limit = trial.limit("100/h", 1);
  for (const bool one_key : {true, false}) {
    std::deque<TestRequest> questions;
    std::vector<TestRequest*> batch;
    for (std::size_t i = 0; i < 9; ++i)
      batch.push_back(&questions.emplace_back(limit, one_key ? "key" : std::to_string(i)));
    trial.submit(batch);
    for (std::size_t i = 0; i < 9; ++i)
      if (i % 3 != 1 && questions[i].pending) trial.cancel(questions[i]);
    trial.settle();
    trial.world.advance(10s);
    for (std::size_t i = 1; i < 9; i += 3) trial.expect(questions[i].allowed(), "the others are answered");
    if (!one_key) continue;
    const std::int64_t left = trial.left(limit, "key");
    trial.expect(left >= 91 && left <= 97, "what was cancelled is charged once or not at all");
  }
}

void the_memory_of_a_cancelled_request_is_the_askers(Trial& trial) {
  const Limit limit = trial.limit("100/h", 1);
  for (int i = 0; i < 5; ++i) {
    auto question = std::make_unique<TestRequest>(std::vector<Part>{{limit, "a"}, {limit, "b"}});
    trial.submit({question.get()});
    if (question->pending) trial.cancel(*question);
    question.reset();
    TestRequest next(limit, "a");
    trial.ask(next);
    trial.expect(next.allowed(), "the next one is answered");
  }
  trial.world.advance(10s);
}

void a_cancelled_request_can_be_submitted_again(Trial& trial) {
  const Limit limit = trial.limit("100/h", 1);
  TestRequest question(limit, "key");
  for (int i = 0; i < 5; ++i) {
    trial.submit({&question});
    if (question.pending) trial.cancel(question);
  }
  trial.submit({&question});
  const bool later = question.pending;
  trial.settle();
  trial.equal(question.answers, later ? 1 : 0, "answers");
  trial.expect(question.allowed(), "it passes");
}

}  // namespace

std::vector<Property> answer_properties() {
  return {
      {"a_batch_is_decided_in_order", a_batch_is_decided_in_order},
      {"batches_are_decided_in_the_order_in_which_they_came",
       batches_are_decided_in_the_order_in_which_they_came},
      {"an_empty_batch_is_nothing", an_empty_batch_is_nothing},
      {"of_a_thousand_the_first_ones_pass", of_a_thousand_the_first_ones_pass},
      {"an_answer_keeps_nothing_of_the_one_before", an_answer_keeps_nothing_of_the_one_before},
      {"the_asker_may_submit_again_in_on_answer", the_asker_may_submit_again_in_on_answer},
      {"the_asker_may_destroy_a_request_in_on_answer", the_asker_may_destroy_a_request_in_on_answer},
      {"the_asker_may_cancel_others_in_on_answer", the_asker_may_cancel_others_in_on_answer},
      {"a_cancelled_request_is_not_answered", a_cancelled_request_is_not_answered},
      {"the_memory_of_a_cancelled_request_is_the_askers", the_memory_of_a_cancelled_request_is_the_askers},
      {"a_cancelled_request_can_be_submitted_again", a_cancelled_request_can_be_submitted_again}};
}

}  // namespace weir::store::conformance
