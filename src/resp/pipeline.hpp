// What one connection asks of the store, in the order of its commands, and the replies, in the same order.
//
// Questions are gathered and then asked in one call, by settle(). A store that answers at once has its
// answers written at once. Otherwise the connection waits: until all are answered it gathers no more.
//
// The thread of its loop. Destroying it cancels what is open. Not for: commands (commands.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resp/batch.hpp"
#include "resp/throttle.hpp"
#include "resp/writer.hpp"
#include "service/service.hpp"
#include "store/store.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::resp {

class Pipeline {
 public:
  // `resume` is called by the store's thread when the last open question is answered; never from inside
  // settle(). Without `acquiring` nobody waits for a moment. All that is handed in must outlive this.
  // `client` is on whose behalf it reserves (store::Reservation).
  Pipeline(service::Service& service, store::Store& store, waiting::AcquiringStore* acquiring, Batch& batch,
           std::uint64_t client, std::function<void()> resume)
      : service_(service),
        store_(store),
        acquiring_(acquiring),
        batch_(batch),
        client_(client),
        resume_(std::move(resume)) {}
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // When the next questions arrived, and what time it is. The first settle() goes by this `now`; a later one
  // reads the clock.
  void begin(store::Moment when) {
    when_ = when;
    fresh_ = true;
  }

  ThrottleParser& parser() { return batch_.parser(); }
  service::RuleTexts& rules() { return batch_.rules(); }

  void check(const Throttle& throttle, bool silent);
  // Another question of that many checks, for the caller to fill; drop() when it cannot.
  Question& add(std::size_t checks, Reply reply, bool silent);
  void drop() { batch_.drop_last(); }

  // The limits file's set, or null, and the time by which its dates go.
  const limits::Set* limits() { return batch_.limits(); }
  limits::Time limits_now() const { return batch_.limits_now(); }
  AttributeRoom& attribute_room() { return batch_.attribute_room(); }
  // Another question by the limits file, for the caller to match; then ask_matched(), or drop().
  Question& add_limits(Reply reply, store::Verb verb, bool silent);
  // Asks what `matched` says, or nothing: then it is answered already.
  void ask_matched(Question& question);
  // Of a reset: asks about `more->checks`.
  void ask_states(Question& question);
  // Another question, about a reservation; of a settlement the caller says what it cost.
  store::Reservation& ask_about(std::string_view id, store::Verb verb, bool silent);
  std::uint64_t client() const { return client_; }
  // The longest that a reservation may have to wait.
  std::chrono::milliseconds max_wait() const { return service_.options().max_wait; }
  // What was added last waits for its moment, if it may; nothing is gathered after it.
  void acquire(Question& question);
  // Whether acquires wait: not in a transaction.
  void let_wait(bool yes) { lets_wait_ = yes; }
  // Alone: nothing may be gathered before it, and settle() is the next call.
  void reset(std::span<const std::string_view> keys, bool silent);

  // What is replied to a command that could not be gathered. Always false.
  bool fail(std::string text) {
    error_ = std::move(text);
    return false;
  }
  void answer(Writer to) const { to.error(error_); }

  bool full() const { return batch_.full() || acquires_; }
  bool waiting() const { return open_ > 0; }
  // It waits for an acquire.
  bool acquiring() const { return open_ > 0 && pending_.back()->verb == store::Verb::acquire; }
  bool end_wait(bool with_error);
  // All is answered, and not all of it is written.
  bool answered() const { return !pending_.empty() && open_ == 0; }

  // Where answers go that come later.
  static void on_answer(store::Request& request);

  // waiting::AcquiringStore::Renew of a question of ours.
  static bool renew(store::Request& request);

  // Asks what was gathered and writes what is answered; false while some is open.
  bool settle(Writer to);

 private:
  void ask();
  void await(std::size_t first);
  void write(Writer& to, Question& question);
  void write_limits(Writer& to, const Question& question, const limits::Set& set);
  void write_reservation(Writer& to, const Question& question);
  const limits::Set& set_of(const Question& question) const {
    return question.more->set ? *question.more->set : *batch_.limits_set();
  }

  service::Service& service_;
  store::Store& store_;
  waiting::AcquiringStore* acquiring_;
  Batch& batch_;
  std::uint64_t client_;
  std::function<void()> resume_;
  store::Moment when_{};
  bool fresh_ = false;                              // when_.now is now
  std::vector<std::unique_ptr<Question>> pending_;  // asked, and not all answered
  std::size_t open_ = 0;                            // of them, without an answer
  std::chrono::nanoseconds waits_since_{0};         // when they had arrived
  std::string error_;
  bool lets_wait_ = true;
  bool acquires_ = false;     // the last of the batch
  std::size_t unasked_ = 0;   // of the batch: answered without the store
  std::uint64_t denied_ = 0;  // not yet counted
};

}  // namespace weir::resp
