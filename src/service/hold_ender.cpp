#include "service/hold_ender.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::inline v0_1::service {

using store::Request;
using store::Verb;

struct HoldEnder::Asked final : Request {
  Asked(HoldEnder& its, Verb how, Hold which, std::function<void(bool)> then)
      : ender(its), hold(std::move(which)), told(std::move(then)) {
    verb = how;
    terms.id = hold.id;
    terms.actual = hold.actual;
    terms.tells_changes = ender.changed_ != nullptr;
    reservation = &terms;
    on_answer = [](Request& request) {
      auto& self = static_cast<Asked&>(request);
      self.ender.finish(self);
    };
  }

  HoldEnder& ender;
  Hold hold;
  store::ReservationTerms terms;
  std::function<void(bool)> told;  // of a look
  std::list<std::unique_ptr<Asked>>::iterator place;
};

HoldEnder::HoldEnder(store::Store& store, core::ClockFunction clock, std::function<void()> soon)
    : store_(store), clock_(std::move(clock)), soon_(std::move(soon)) {}

HoldEnder::~HoldEnder() {
  for (const auto& each : asked_) store_.cancel(*each);
  for (const auto& each : unanswered_) store_.cancel(*each);
}

void HoldEnder::end(std::vector<Hold> holds) {
  std::move(holds.begin(), holds.end(), std::back_inserter(waiting_));
  go_on();
}

void HoldEnder::end_when_answered(std::unique_ptr<Question> question) {
  question->context = this;
  question->on_answer = [](Request& request) {
    static_cast<HoldEnder*>(request.context)->end_granted(static_cast<Question&>(request));
  };
  unanswered_.push_back(std::move(question));
}

void HoldEnder::end_granted(Question& question) {
  store::ReservationTerms& granted = *question.reservation;
  if (question.allowed() && !granted.id.empty())
    waiting_.push_back({std::move(granted.id), granted.wait.count() > 0});
  unanswered_.remove_if([&question](const auto& each) { return each.get() == &question; });
  go_on();
}

void HoldEnder::look(std::string id, std::function<void(bool is_open)> told) {
  add(Verb::moment, {.id = std::move(id)}, std::move(told));
}

// Not here and now: the call may come from the store, and there may be many.
void HoldEnder::go_on() {
  if (waiting_.empty() || std::exchange(is_called_soon_, true)) return;
  if (soon_) return soon_();
  while (!waiting_.empty() && asked_.size() < kAtOnce) advance();
  is_called_soon_ = false;
}

void HoldEnder::advance() {
  is_called_soon_ = soon_ == nullptr;
  for (std::size_t left = kAtOnce; left > 0 && !waiting_.empty() && asked_.size() < kAtOnce; --left) {
    Hold next = std::move(waiting_.front());
    waiting_.pop_front();
    const Verb verb = next.may_wait ? Verb::cancel : Verb::settle;
    add(verb, std::move(next), nullptr);
  }
  // Those that are asked go on when they are answered.
  if (asked_.size() < kAtOnce) go_on();
}

void HoldEnder::add(Verb verb, Hold hold, std::function<void(bool)> told) {
  asked_.push_back(std::make_unique<Asked>(*this, verb, std::move(hold), std::move(told)));
  Asked& asked = *asked_.back();
  asked.place = std::prev(asked_.end());
  const std::chrono::nanoseconds now = clock_();
  Request* const one = &asked;
  store_.submit({&one, 1}, {now, now});
  if (asked.state == Request::State::answered) finish(asked);
}

void HoldEnder::finish(Asked& asked) {
  const bool is_answered = asked.fault == Fault::none;
  if (is_answered && changed_ && asked.verb != Verb::moment) changed_(asked);
  if (asked.told) {
    asked.told(!is_answered || asked.terms.wait.count() >= 0);
  } else if (asked.verb == Verb::cancel && is_answered && asked.terms.given_back == 0) {
    waiting_.push_front({.id = std::move(asked.hold.id)});  // its moment has come
  }
  asked_.erase(asked.place);
  go_on();
}

}  // namespace weir::service
