// Ends the holds of connections that have gone, and others that nobody settles: each before its moment as a
// cancel, after it as a settlement, at what it was charged unless its hold says otherwise.
//
// A connection may leave thousands, so they end a few at a time, in turns of their own. Where a store that is
// shared does not answer, a hold is left to its time.
//
// The thread of its loop. Destroying it leaves what is open to its time. Not for: which holds a connection
// has (bound_holds.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock_function.hpp"
#include "service/question.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::service {

class HoldEnder {
 public:
  static constexpr std::size_t kAtOnce = 64;

  struct Hold {
    std::string id;
    bool may_wait = false;                  // its moment may be yet to come
    std::optional<std::uint64_t> actual{};  // what it turned out to cost; nothing: what it was charged
  };

  // `soon` is called when advance() is to be called in a later turn; empty: what can be done is done at once.
  // The store must outlive this.
  HoldEnder(store::Store& store, core::ClockFunction clock, std::function<void()> soon);
  ~HoldEnder();
  HoldEnder(const HoldEnder&) = delete;
  HoldEnder& operator=(const HoldEnder&) = delete;

  // Is told of each cancel and settlement that is answered.
  void on_changed(std::function<void(const store::Request&)> call) { changed_ = std::move(call); }

  void end(std::vector<Hold> holds);
  // One that the store has not answered, and nobody waits for any more: what it is granted ends too.
  void end_when_answered(std::unique_ptr<Question> question);
  // Whether that hold is open, or may be. `told` may be called at once, and is not called when this ends.
  void look(std::string id, std::function<void(bool is_open)> told);

  void advance();
  // Nothing is left to do, or to be answered.
  bool empty() const { return waiting_.empty() && asked_.empty() && unanswered_.empty(); }

 private:
  struct Asked;

  void go_on();
  void add(store::Verb verb, Hold hold, std::function<void(bool)> told);
  void finish(Asked& asked);
  void end_granted(Question& question);

  store::Store& store_;
  core::ClockFunction clock_;
  std::function<void()> soon_;
  std::function<void(const store::Request&)> changed_;
  bool is_called_soon_ = false;
  std::deque<Hold> waiting_;
  std::list<std::unique_ptr<Asked>> asked_;
  std::list<std::unique_ptr<Question>> unanswered_;
};

}  // namespace weir::service
