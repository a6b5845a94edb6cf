#include "service/asking.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "service/guesses.hpp"
#include "store/check_rules.hpp"
#include "waiting/queues.hpp"

namespace weir::inline v0_1::service {

using State = store::Request::State;
using store::Verb;

namespace {

// What tells an address from the number of a connection.
constexpr std::uint64_t kAddress = std::uint64_t{1} << 63;

// All of a /64 of IPv6 is one.
std::uint64_t number_of(std::string_view address) {
  return std::hash<std::string>{}(guesses_of(address)) | kAddress;
}

}  // namespace

Asking::Asking(Asker& asker, std::uint64_t connection, std::string_view address, Keep keep,
               std::function<void()> resume)
    : asker_(asker),
      from_(number_of(address)),
      client_(connection != 0 ? connection : from_),
      keep_(keep),
      resume_(std::move(resume)) {}

Asking::~Asking() {
  leave_all_lines();
  for (auto& question : pending_) give_up(std::move(question));
}

void Asking::leave_all_lines() {
  while (auto question = tagged_ ? tagged_->take_any() : nullptr) give_up(std::move(question));
}

// Nobody is told its answer.
void Asking::give_up(std::unique_ptr<Question> question) {
  if (question->state == State::submitted) {
    if (question->verb == Verb::reserve && question->reservation->bound)
      return asker_.ender()->end_when_answered(std::move(question));
    question->verb == Verb::acquire ? asker_.acquiring()->cancel(*question)
                                    : asker_.store().cancel(*question);
    if (question->verb == Verb::acquire && question->more->binds) holds_->answered();
  } else {
    note(*question);
  }
  asker_.put_back(std::move(question));
}

void Asking::take_over_holds(core::Unpacking& from) {
  holds_ = std::make_unique<BoundHolds>(*asker_.ender());
  holds_->take_over(from);
  if (holds_->size() == 0) holds_.reset();
}

// Of one that is about a reservation.
void Asking::complete(const Ask& ask, Question& question) {
  question.reservation->client = client_;
  question.reservation->address = address_;
  if (question.reservation->bound) {
    if (!holds_) holds_ = std::make_unique<BoundHolds>(*asker_.ender());
    holds_->expect();
  }
  if (question.verb == Verb::reserve && asker_.acquiring() != nullptr) some_reserve_ = true;
  if (question.verb != Verb::acquire) return;
  acquires_ = asker_.acquiring() != nullptr && lets_wait_;
  if (acquires_) {
    tags_last_ = !ask.tag.empty();
    question.more->tag = ask.tag;
    return note_asked(ask, question);
  }
  question.verb = Verb::reserve;
  question.reservation->max_wait = std::chrono::nanoseconds{0};
}

// It may have to stand in line while another file comes into force, or a ban: what it says is kept once it
// waits.
void Asking::note_asked(const Ask& ask, Question& question) {
  question.more->asked.reset();
  if (ask.as == nullptr) return;
  asker_.acquired() = *ask.as;
  if (ask.as->costs.empty()) return;
  // They lie where they were read, which is gone by then.
  question.more->asked = std::make_unique<const limits::KeptDescription>(*ask.as);
}

// Of one that changes something and is answered, before it is told.
void Asking::note(const Question& question) {
  if (question.verb == Verb::charge || question.verb == Verb::cancel || question.verb == Verb::settle)
    asker_.count_change(question, set_of(question));
  if (!holds_ || question.reservation == nullptr) return;
  const store::ReservationTerms& terms = *question.reservation;
  const bool is_told = question.fault == Fault::none;
  if (question.verb == Verb::cancel) {
    if (is_told && terms.given_back > 0) holds_->drop(terms.id);
  } else if (question.verb == Verb::settle) {
    if (is_told) holds_->drop(terms.id);
  } else if (terms.bound) {
    holds_->answered();
    if (question.checks.empty() || !question.allowed() || terms.id.empty()) return;
    const bool may_wait = question.verb == Verb::reserve && terms.wait.count() > 0;
    holds_->add(terms.id, may_wait, terms.wait + terms.hold, asker_.service().now());
  }
}

Question& Asking::add_answered(std::uint8_t form) {
  Question& question = asker_.add();
  question.checks = {};
  question.verb = Verb::look;
  question.form = form;
  question.silent = question.by_file = question.explains = false;
  question.state = State::answered;
  some_answered_ = true;
  return question;
}

Question& Asking::add_part(Question& whole, std::uint8_t form) {
  Question& question = add_bare(Verb::check, form);
  question.state = State::answered;
  some_answered_ = true;
  whole.more_of().whole_of().parts.push_back(&question);
  return question;
}

bool Asking::end_wait(bool with_error) {
  if (!acquiring()) return false;
  asker_.acquiring()->end(*pending_.back());
  if (with_error) pending_.back()->more->ended = Ended::by_operator;
  return true;
}

std::size_t Asking::kept() const {
  std::size_t bytes = 0;
  for (const auto& each : pending_) bytes += each->kept();
  return bytes;
}

void Asking::submit() {
  if (!fresh_) when_.now = asker_.service().now();
  fresh_ = false;
  // Without lines they are as any others.
  some_reserve_ = some_reserve_ && asker_.acquiring()->has_lines();
  if (!some_answered_ && !acquires_ && !some_reserve_) return asker_.store().submit(asker_.requests(), when_);
  submit_apart();
}

// In their order: what minds those in line, each by itself, after what came before it.
void Asking::submit_apart() {
  some_answered_ = false;
  std::vector<store::Request*>& asked = asker_.unanswered();
  Question* last = nullptr;
  if (std::exchange(acquires_, false)) {
    last = static_cast<Question*>(asked.back());
    asked.pop_back();
  }
  const bool some_reserve = std::exchange(some_reserve_, false);
  const std::span<store::Request*> all(asked);
  for (std::size_t begin = 0, end = 0; end < all.size(); begin = ++end) {
    const auto is_apart = [&](std::size_t i) { return some_reserve && all[i]->verb == Verb::reserve; };
    while (end < all.size() && !is_apart(end)) ++end;
    if (end > begin) asker_.store().submit(all.subspan(begin, end - begin), when_);
    if (end < all.size()) asker_.acquiring()->reserve(*all[end], when_);
  }
  if (last == nullptr) return;
  asker_.acquiring()->acquire(
      *last, when_,
      {.renew = last->by_file ? &Asking::renew : nullptr, .room = &Asking::room_for_reservation});
}

// Before the keys are gone. What is granted needs no wait, and an acquire that was in line has been told its
// own.
void Asking::look_at_lines() {
  const auto denies = [](Verb verb) {
    return verb == Verb::check || verb == Verb::look || verb == Verb::take || verb == Verb::reserve;
  };
  for (std::size_t i = 0; i < asker_.size(); ++i) {
    Question& question = asker_[i];
    const bool is_passed =
        question.state == State::answered && (question.checks.empty() || question.allowed());
    if (is_passed || !denies(question.verb)) continue;
    for (std::size_t check = 0; check < question.checks.size(); ++check) {
      const auto opens = asker_.acquiring()->lines().after_all(question.checks, check);
      if (opens > when_.now) after_lines_.push_back({&question, check, opens});
    }
  }
  count_lines(when_.now);
}

// A denial's wait is after those in line.
void Asking::count_lines(std::chrono::nanoseconds now) {
  std::erase_if(after_lines_, [now](const InLine& each) {
    Question& question = *each.question;
    if (question.state != State::answered) return false;
    if (question.fault != Fault::none || question.allowed()) return true;
    const bool reserves = question.verb == Verb::reserve;
    const auto left =
        each.opens - now - (reserves ? question.reservation->max_wait : std::chrono::nanoseconds{0});
    Decision& decision = question.checks[each.check].decision;
    if (decision.allowed() || !decision.retry_after || *decision.retry_after >= left) return true;
    decision.retry_after = left;
    if (const auto& longest = question.decision().retry_after; longest && *longest < left)
      question.by = static_cast<std::uint8_t>(each.check);
    if (reserves && question.reservation->wait.count() >= 0)
      question.reservation->wait = std::max(question.reservation->wait, left);
    return true;
  });
}

bool Asking::renew(store::Request& request) {
  auto& question = static_cast<Question&>(request);
  Question::More& more = *question.more;
  Asker& asker = static_cast<Asking*>(request.context)->asker_;
  if (asker.size() == 0) asker.begin();
  const limits::Set* const set = asker.limits();
  if (set == nullptr || asker.ruling() == more.ruling) return false;
  more.ruling = asker.ruling();
  if (more.asked->match(*set, asker.limits_now(), asker.match_memory(), more.matched,
                        question.explains ? &more.explained_of().trace : nullptr, asker.steered())) {
    question.checks = more.matched.all();
  } else {
    question.checks = {};  // they are gone, or lie elsewhere
    question.fault = Fault::unsuitable;
    question.why = more.matched.error;
  }
  return true;
}

store::ReservationTerms& Asking::room_for_reservation(store::Request& request) {
  return static_cast<Question&>(request).room_for_reservation();
}

void Asking::tell_the_end(store::Request& request) {
  static_cast<Question&>(request).more->ended = Ended::as_the_server_ends;
}

// One that is banned is refused. By other limits some can never act.
waiting::AcquiringStore::Judged Asking::judge(store::Request& request) {
  using Judged = waiting::AcquiringStore::Judged;
  auto& question = static_cast<Question&>(request);
  if (!question.by_file || !question.more->asked) return Judged::stays;
  Question::More& more = *question.more;
  Asker& asker = static_cast<Asking*>(request.context)->asker_;
  if (asker.size() == 0) asker.begin();
  const limits::Set* const set = asker.limits();
  if (set == nullptr || asker.ruling() == more.ruling) return Judged::stays;
  const auto match = [&](limits::Matched& into) {
    return more.asked->match(*set, asker.limits_now(), asker.match_memory(), into, nullptr, asker.steered());
  };
  limits::Matched& found = asker.second_look();
  if (!match(found)) return Judged::stays;
  if (found.ban == nullptr) return store::may_be_never(found.all()) ? Judged::asks_again : Judged::stays;
  more.ruling = asker.ruling();
  match(more.matched);
  question.checks = {};
  return Judged::refused;
}

// The store has not answered the first of these: they are ours until it has answered all.
void Asking::await(std::size_t first) {
  waits_since_ = when_.arrived;
  pending_.reserve(asker_.size() - first);
  for (std::size_t i = first; i < asker_.size(); ++i) {
    Question& question = *pending_.emplace_back(asker_.take_out(i));
    keep_while_waiting(question);
    if (question.state != State::answered) ++open_;
  }
}

void Asking::keep_while_waiting(Question& question) {
  if (question.by_file) question.more->ruling = asker_.ruling();
  if (asker_.counts_keys() && !question.by_file) question.keep_keys();
  keep_(question);
  if (question.state == State::answered) return;
  question.context = this;
  if (question.verb != Verb::acquire) return;
  question.more->binds = question.reservation->bound;
  const bool may_wait = question.reservation->max_wait.count() > 0;
  if (may_wait) question.put_reservation_away();
  if (!question.by_file) {
    question.keep_keys();
    question.keep_limits();
    question.more->room_for_matched.reset();
  } else if (!may_wait) {
    question.more->asked.reset();
  } else if (!question.more->asked) {
    question.more->asked = std::make_unique<const limits::KeptDescription>(asker_.acquired());
  }
}

// The last was asked, to wait by its tag: unless it is answered, that it is queued stands in its place.
void Asking::queue_tagged() {
  tags_last_ = false;
  const std::size_t last = asker_.size() - 1;
  if (asker_[last].state == State::answered) return;
  auto question = asker_.take_out(last);
  keep_while_waiting(*question);
  const bool silent = question->silent;
  if (!tagged_) tagged_ = std::make_unique<TaggedWaits>();
  tagged_->add(std::move(question));
  asker_.drop_last();
  add_answered(kQueued).silent = silent;
  some_answered_ = false;
}

// What waited for its moment says nothing of how fast decisions are.
void Asking::took_pending() {
  const std::size_t decided = pending_.size() - (pending_.back()->verb == Verb::acquire ? 1 : 0);
  asker_.set_now(asker_.service().now());
  if (decided > 0) asker_.counts().took(asker_.service().now() - waits_since_, decided);
}

void Asking::on_answer(store::Request& request) {
  Asking& self = *static_cast<Asking*>(request.context);
  auto& question = static_cast<Question&>(request);
  const bool is_tagged =
      question.verb == Verb::acquire && self.tagged_ && self.tagged_->note_answer(question);
  if (!is_tagged) --self.open_;
  if (self.open_ == 0) self.resume_();
}

}  // namespace weir::service
