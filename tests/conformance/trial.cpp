#include "conformance/trial.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/severity.hpp"

namespace weir::inline v0_1::store::conformance {

void Trial::Lent::spoil() {
  for (std::string& key : keys) std::fill(key.begin(), key.end(), '#');
  for (Limit& limit : limits) limit = Limit{core::Rule{Quota::per_day(1)}, 0xbad};
}

TestRequest::~TestRequest() {
  if (pending) trial->cancel(*this);
}

void Trial::expect(bool holds, std::string_view what) {
  if (!holds) violations.emplace_back(what);
}

namespace {

std::string_view name_of_limit(std::uint64_t id) {
  static std::map<std::uint64_t, std::string> names;
  return id == 0 ? std::string_view() : names.try_emplace(id, "limit " + std::to_string(id)).first->second;
}

}  // namespace

Limit Trial::limit(const core::Rule& rule, std::uint64_t id) const {
  return {.rule = rule.on_clock(world.wall_ahead()),
          .id = id,
          .name = name_of_limit(id),
          .sharing = world.sharing()};
}

Limit Trial::limit(std::string_view rule, std::uint64_t id) const {
  return limit(core::Rule::parse(rule).value(), id);
}

std::unique_ptr<Trial::Lent> Trial::lend(TestRequest& question) {
  auto lent = std::make_unique<Lent>();
  for (const Part& part : question.parts) {
    lent->keys.push_back(part.key);
    lent->limits.push_back(part.limit);
  }
  question.room.resize(question.parts.size());
  question.checks = question.room;
  for (std::size_t i = 0; i < question.parts.size(); ++i) {
    question.room[i].limit = &lent->limits[i];
    question.room[i].key = lent->keys[i];
    question.room[i].cost = Cost{question.parts[i].cost};
    question.room[i].shadow = question.parts[i].shadow;
    question.room[i].inside = question.parts[i].inside;
    question.room[i].colocate = question.parts[i].colocate;
    if (question.verb == Verb::take) question.taking.unit[i] = question.parts[i].cost;
  }
  return lent;
}

void Trial::submit(std::span<TestRequest* const> batch, nanoseconds arrived) {
  std::vector<std::unique_ptr<Lent>> lent;
  std::vector<Request*> requests;
  for (TestRequest* const question : batch) {
    lent.push_back(lend(*question));
    question->trial = this;
    question->on_answer = &Trial::answered;
    question->pending = true;
    question->answers = 0;
    owed_.insert(question);
    requests.push_back(question);
  }
  const bool outer = std::exchange(inside_, true);
  world.store().submit(requests, {arrived, world.now()});
  inside_ = outer;
  for (std::size_t i = 0; i < lent.size(); ++i) {
    const bool waits = batch[i]->verb == Verb::acquire && batch[i]->state == Request::State::submitted;
    if (!waits) lent[i]->spoil();
    lent_.push_back(std::move(lent[i]));
  }
  for (TestRequest* const question : batch) {
    if (question->state == Request::State::answered) {
      question->pending = false;
      owed_.erase(question);
      examine(*question);
    } else {
      expect(question->state == Request::State::submitted,
             "after submit() a request is submitted or answered");
    }
  }
}

void Trial::answered(Request& request) {
  auto& question = static_cast<TestRequest&>(request);
  Trial& trial = *question.trial;
  trial.expect(!trial.inside_, "on_answer is never called from inside submit()");
  trial.expect(question.pending,
               "on_answer is called once, and not after submit() has answered nor after cancel()");
  trial.expect(question.state == Request::State::answered, "in on_answer the request is answered");
  question.pending = false;
  ++question.answers;
  trial.owed_.erase(&question);
  trial.examine(question);
  if (question.then) {
    const auto then = std::move(question.then);
    question.then = nullptr;
    then();
  }
}

// What holds for every answer.
void Trial::examine(const TestRequest& question) {
  if (question.fault != Fault::none) {
    expect(!question.charged, "what nobody could decide is not charged");
    expect(!question.why.empty(), "a fault comes with a sentence");
    return;
  }
  if (question.verb == Verb::reset) {
    expect(question.forgotten <= question.checks.size(), "no more keys are forgotten than were named");
    return;
  }
  if (question.verb == Verb::holds)
    return expect(question.booking.open.size() <= question.booking.most,
                  "no more are listed than are asked for");
  if (question.verb >= Verb::reserve) return examine_reservation(question);
  if (question.verb == Verb::charge)
    return expect(question.charged && question.by < question.checks.size(), "a charge always passes");
  examine_checks(question);
}

void Trial::examine_reservation(const TestRequest& question) {
  const ReservationTerms& its = question.booking;
  if (question.checks.empty()) {
    const bool cancels = question.verb == Verb::cancel;
    return expect(cancels || its.wait.count() >= -1, "a settlement tells a wait, or -1");
  }
  if (question.by >= question.checks.size()) return expect(false, "what decides is one of the request's");
  const bool granted = question.allowed();
  equal(question.charged, granted, "charged");
  expect(!granted || its.wait.count() >= 0, "what is granted has a moment, and not in the past");
  expect(!granted || its.wait <= its.max_wait, "what is granted waits no longer than it said");
  expect(granted || its.wait.count() > 0 || its.wait.count() == -1,
         "what is denied is told when to come back");
  expect(granted || its.id.empty(), "what is denied has no id");
  expect(
      its.id.size() <= 64 && its.id.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                                      "0123456789-_") == std::string::npos,
      "an id is at most 64 of A-Z, a-z, 0-9, - and _");
}

void Trial::examine_checks(const TestRequest& question) {
  const auto checks = question.checks;
  if (question.by >= checks.size()) return expect(false, "the check that decides is one of the request's");
  const bool one_known = question.source == Source::remembered;
  bool any_enforced = false;
  for (const Check& check : checks) any_enforced = any_enforced || !check.shadow;
  expect(!checks[question.by].shadow || !any_enforced, "a shadow check decides nothing");
  expect(any_enforced || question.allowed(), "a request of shadow checks passes");
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (one_known && i != question.by) continue;
    const Decision& each = checks[i].decision;
    if (!checks[i].shadow) {
      expect(!core::decides(each, question.decision()), "no check is more severe than the one that decides");
      expect(i >= question.by || core::decides(question.decision(), each),
             "of equal checks the first one decides");
    }
    expect(each.retry_after.has_value() == (each.verdict == Verdict::denied || each.verdict == Verdict::busy),
           "retry_after is present exactly when denied or busy");
    expect(each.reset_after.count() >= 0 && each.remaining >= 0, "no time and no number is negative");
  }
  if (question.verb == Verb::take)
    equal(question.taking.granted != 0, question.allowed(), "granted, and allowed");
  if (question.verb == Verb::look || (question.verb == Verb::take && question.taking.looks))
    return expect(!question.charged, "a look charges nothing");
  expect(!question.charged || question.allowed(), "what is not allowed is not charged");
  if (question.source == Source::store) equal(question.charged, question.allowed(), "charged by the store");
}

void Trial::cancel(TestRequest& question) {
  world.store().cancel(question);
  expect(question.state != Request::State::submitted, "after cancel() the store does not have the request");
  question.pending = false;
  owed_.erase(&question);
}

void Trial::give_back(TestRequest& charged) {
  lent_.push_back(lend(charged));
  world.store().give_back(charged, world.now());
  lent_.back()->spoil();
}

void Trial::settle() {
  world.settle();
  expect(owed_.empty(), "every request is answered");
}

void Trial::ask(TestRequest& question) {
  submit({&question});
  world.settle();
  expect(!question.pending, "a request is answered");
}

Decision Trial::ask(const Limit& limit, std::string_view key, std::uint64_t cost) {
  TestRequest question(limit, std::string(key), cost);
  ask(question);
  if (question.fault != Fault::none) expect(false, "nobody could decide: " + question.why);
  return question.decision();
}

std::uint64_t Trial::reset(std::vector<Part> parts) {
  TestRequest question(std::move(parts), Verb::reset);
  ask(question);
  if (question.fault != Fault::none) expect(false, "a reset failed: " + question.why);
  return question.forgotten;
}

std::string shown(const Decision& decision) {
  const char* const verdict = decision.verdict == Verdict::allowed  ? "allowed"
                              : decision.verdict == Verdict::busy   ? "busy"
                              : decision.verdict == Verdict::denied ? "denied"
                                                                    : "never";
  std::string text = verdict;
  text += ", " + std::to_string(decision.remaining) + " of " + std::to_string(decision.limit) + " left";
  if (decision.retry_after) text += ", retry after " + std::to_string(decision.retry_after->count()) + " ns";
  return text + ", reset after " + std::to_string(decision.reset_after.count()) + " ns";
}

}  // namespace weir::store::conformance
