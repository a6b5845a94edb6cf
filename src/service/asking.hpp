// What one connection asks of the store: gathered, asked in one call, and told in the order in which it was
// asked.
//
// A store that answers at once has its answers told at once. Otherwise the connection waits: until all are
// answered it gathers no more. But for acquires that wait by a tag: each is told that it is queued, and by
// its tag what it was answered.
//
// The thread of its loop. Destroying it cancels what is open, and ends the holds that are bound. Not for:
// words and how an answer is written (the front ends).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/asker.hpp"
#include "service/bound_holds.hpp"
#include "service/question.hpp"
#include "service/tagged_waits.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::service {

class Asking {
 public:
  // What a front end needs of a question to tell its answer, and what is gone when that comes later.
  using Keep = void (*)(Question& question);
  // The form of what is told in place of an acquire's answer, which comes later by its tag. No front end has
  // it for another.
  static constexpr std::uint8_t kQueued = 0x7f;

  // `resume` is called by the store's thread when the last open question is answered; never from inside
  // settle(). `asker` must outlive this. What it reserves is charged to the connection of that number, or
  // with 0 to the address, as what it pauses always is: another connection is nothing to one who wants more.
  Asking(Asker& asker, std::uint64_t connection, std::string_view address, Keep keep,
         std::function<void()> resume);
  ~Asking();
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  Asker& asker() { return asker_; }
  // Where its client is, for people.
  void come_from(std::string address) { address_ = std::move(address); }

  // With what says whether it has gone; without, nobody knows.
  void look_for_client(std::function<bool()> has_gone) { has_gone_ = std::move(has_gone); }

  // When the next questions arrived, and what time it is. The first settle() goes by this `now`; a later one
  // reads the clock.
  void begin(store::Arrival when) {
    when_ = asker_.service().arrival(when);
    fresh_ = true;
    asker_.begin();
  }

  // One more question; null: it is refused, as asker().refusal() says. After an acquire that may wait nothing
  // is gathered: it is full.
  Question* add(const Ask& ask, std::uint8_t form, bool silent) {
    Question* const question = asker_.add(ask);
    if (question == nullptr) return nullptr;
    question->form = form;
    question->silent = silent;
    if (question->state == store::Request::State::answered) {
      some_answered_ = true;
    } else if (question->reservation != nullptr) {
      complete(ask, *question);
    } else if (question->verb == store::Verb::charge) {
      question->charge->client = from_;
    }
    return question;
  }
  // The same for one limit that the request brings.
  void add(const store::Limit& limit, std::string_view key, Cost cost, std::uint8_t form, bool silent) {
    Question& question = asker_.add();
    question.check.limit = &limit;
    question.check.key = key;
    question.check.cost = cost;
    question.checks = {&question.check, 1};
    question.verb = store::Verb::check;
    question.form = form;
    question.silent = silent;
    question.by_file = false;
  }
  // One that is charged whatever is left, and whose answer tells whether it may pass, unless it only reports.
  // The caller fills its checks.
  Question& add_charge(const Outside& outside, bool reports, std::uint8_t form) {
    Question& question = add_bare(store::Verb::charge, form);
    question.set_charge({.outside = outside, .client = from_, .decides = !reports});
    return question;
  }
  // A part of that one, which has its answer when the other has.
  Question& add_part(Question& whole, std::uint8_t form);
  // One that is reserved for now and held, whose checks the caller fills.
  Question& add_hold(std::chrono::nanoseconds hold, std::uint8_t form) {
    Question& question = add_bare(store::Verb::reserve, form);
    question.room_for_reservation() = {.hold = hold, .address = address_, .client = client_};
    return question;
  }
  // One that was added needs no store: none of its checks is left.
  void need_no_store(Question& question) {
    question.checks = {};
    question.state = store::Request::State::answered;
    some_answered_ = true;
  }
  // One that has its answer.
  Question& add_answered(std::uint8_t form);
  // Whether an acquire may wait: not in a transaction.
  void let_wait(bool yes) { lets_wait_ = yes; }
  bool lets_wait() const { return lets_wait_; }
  bool full() const { return asker_.size() >= Asker::kMany || acquires_; }

  bool waiting() const { return open_ > 0; }
  // No more holds may be bound.
  bool has_all_holds() const { return holds_ && holds_->full(); }
  // It waits for an acquire.
  bool acquiring() const {
    return open_ > 0 && pending_.back()->verb == store::Verb::acquire &&
           pending_.back()->state != store::Request::State::answered &&
           (pending_.back()->reservation == nullptr || pending_.back()->reservation->max_wait.count() > 0);
  }
  // Ends that wait early, if there is one. With an error: Question::ended().
  bool end_wait(bool with_error);
  // All is answered, and not all of it is told.
  bool answered() const { return open_ == 0 && (!pending_.empty() || has_answered_tags()); }

  // Those that wait by a tag.
  bool has_tag(std::string_view tag) const { return tagged_ && tagged_->has(tag); }
  std::size_t tags() const { return tagged_ ? tagged_->size() : 0; }
  std::size_t most_tags() const { return asker_.service().options().max_waiters; }
  bool has_answered_tags() const { return tagged_ && tagged_->has_answered(); }
  // Tells what one of them was answered, of all else of which nothing is untold.
  template <class Tell>
  void tell_tagged(const Tell& tell) {
    tell_taken(tagged_->take_answered(), tell);
  }
  // Takes one out of line; false: none of that tag is in it. If its answer was there, it is told.
  template <class Tell>
  bool leave_line(std::string_view tag, const Tell& tell) {
    auto question = tagged_ ? tagged_->take(tag) : nullptr;
    if (question == nullptr) return false;
    if (question->state == store::Request::State::answered) {
      tell_taken(std::move(question), tell);
      return false;
    }
    give_up(std::move(question));
    return true;
  }
  void leave_all_lines();
  std::size_t kept() const;  // bytes, while it waits
  // Also while others of the connection go on.
  std::size_t kept_for_long() const {
    return (holds_ ? holds_->kept() : 0) + (tagged_ ? tagged_->kept() : 0);
  }

  // The bound holds of a connection that goes on in another process.
  void pack_holds(core::Packing& to) const { holds_ ? holds_->pack(to) : to.number(0); }
  void take_over_holds(core::Unpacking& from);
  void leave() {
    if (holds_) holds_->leave();
  }

  // The set by which a question goes.
  const limits::Set* set_of(const Question& question) const {
    const auto& ruling = question.more && question.more->ruling ? question.more->ruling : asker_.ruling();
    return ruling ? &ruling->set() : nullptr;
  }

  // Asks what was gathered and tells what is answered; false while some is open.
  template <class Tell>
  bool settle(const Tell& tell) {
    if (open_ > 0) return false;
    if (!pending_.empty()) {
      took_pending();
      if (!after_lines_.empty()) [[unlikely]]
        count_lines(asker_.service().now());
      for (auto& question : pending_) {
        if (changes(question->verb)) note(*question);
        tell(*question);
        asker_.put_back(std::move(question));
      }
      std::vector<std::unique_ptr<Question>>().swap(pending_);
    }
    if (asker_.size() > 0) {
      submit();
      if (tags_last_) [[unlikely]]
        queue_tagged();
      asker_.set_now(when_.now);
      if (asker_.acquiring() != nullptr && asker_.acquiring()->has_lines()) [[unlikely]]
        look_at_lines();
      std::size_t done = 0;
      for (; done < asker_.size() && asker_[done].state == store::Request::State::answered; ++done) {
        if (changes(asker_[done].verb)) note(asker_[done]);
        tell(asker_[done]);
      }
      if (done > 0) asker_.counts().took(asker_.service().now() - when_.arrived, done);
      if (done < asker_.size()) await(done);
      asker_.clear();
    }
    asker_.flush();
    return open_ == 0;
  }

  // Of an acquire that waits: whether an operator has banned its asker since, and then it has the answer that
  // says so and no checks; or by the limits that are in force now it may never act.
  static waiting::AcquiringStore::Judged judge(store::Request& request);
  // Of an acquire that waits: whether its client has gone.
  static bool has_gone(const store::Request& request) {
    const auto& has_gone = static_cast<const Asking*>(request.context)->has_gone_;
    return has_gone && has_gone();
  }
  // Of an acquire that has waited, and is to be answered.
  static store::ReservationTerms& room_for_reservation(store::Request& request);
  // Of an acquire that stands in line as the server ends: its answer says so.
  static void tell_the_end(store::Request& request);

  // Where answers go that come later.
  static void on_answer(store::Request& request);

 private:
  // One whose checks and terms the caller fills.
  Question& add_bare(store::Verb verb, std::uint8_t form) {
    Question& question = asker_.add();
    question.verb = verb;
    question.form = form;
    question.silent = question.by_file = question.explains = false;
    question.reservation = nullptr;
    question.charge = nullptr;
    return question;
  }
  // Something is to be done once it is answered.
  static bool changes(store::Verb verb) {
    return verb >= store::Verb::reserve || verb == store::Verb::charge;
  }
  static bool renew(store::Request& request);
  template <class Tell>
  void tell_taken(std::unique_ptr<Question> question, const Tell& tell) {
    asker_.set_now(asker_.service().now());
    note(*question);
    tell(*question);
    asker_.put_back(std::move(question));
  }
  void give_up(std::unique_ptr<Question> question);
  void keep_while_waiting(Question& question);
  void queue_tagged();
  void complete(const Ask& ask, Question& question);
  void note(const Question& question);
  void note_asked(const Ask& ask, Question& question);
  void submit();
  void submit_apart();
  void look_at_lines();
  void count_lines(std::chrono::nanoseconds now);
  void await(std::size_t first);
  void took_pending();

  Asker& asker_;
  std::uint64_t from_;    // its address, as in ChargeTerms
  std::uint64_t client_;  // as in ReservationTerms
  std::string address_;
  Keep keep_;
  std::function<void()> resume_;
  std::function<bool()> has_gone_{};
  store::Arrival when_{};
  bool fresh_ = false;  // when_.now is now
  bool lets_wait_ = true;
  bool acquires_ = false;                           // the last of what was gathered
  bool tags_last_ = false;                          // and it may wait by a tag
  bool some_answered_ = false;                      // of what was gathered, without the store
  bool some_reserve_ = false;                       // of it, which minds those who stand in line
  std::vector<std::unique_ptr<Question>> pending_;  // asked, and not all answered
  std::size_t open_ = 0;                            // of them, without an answer
  // Checks of what was asked for which others stand in line, and when there is room after those.
  struct InLine {
    Question* question;
    std::size_t check;
    std::chrono::nanoseconds opens;
  };
  std::vector<InLine> after_lines_;
  std::chrono::nanoseconds waits_since_{0};  // when they had arrived
  std::unique_ptr<BoundHolds> holds_;        // null: none was asked for
  std::unique_ptr<TaggedWaits> tagged_;      // null: none has waited
};

}  // namespace weir::service
