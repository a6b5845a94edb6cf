// The questions that the connections of one event loop gather, a read buffer at a time, before a store is
// asked all of them in one call.
//
// One for each event loop. A connection uses it within one call of its feed() and leaves it empty; questions
// that the store has not answered by then go with the connection (take_out) and come back later (put_back),
// so a connection that waits for nothing holds none. Not for: what a question means (pipeline.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "resp/throttle.hpp"
#include "store/store.hpp"

namespace weir::resp {

class Pipeline;

// A request of one command.
struct Question final : store::Request {
  Question();

  store::Check check{};              // of a decision
  std::vector<store::Check> keys{};  // of a reset
  Pipeline* asker = nullptr;
  bool silent = false;  // it is asked, but its reply is not wanted
};

class Batch {
 public:
  // Enough cache misses to keep the memory busy; more only push earlier lines out again.
  static constexpr std::size_t kMost = 64;
  static_assert(kMost <= ThrottleParser::kMostLimits);

  explicit Batch(OnStoreError on_store_error = OnStoreError::local, store::Sharing sharing = {});
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Makes the limits of the questions that are gathered.
  ThrottleParser& parser() { return parser_; }

  std::size_t size() const { return size_; }
  bool full() const { return size_ == kMost; }
  Question& operator[](std::size_t i) { return static_cast<Question&>(*questions_[i]); }
  std::span<store::Request* const> requests() const { return {questions_.data(), size_}; }

  // Another question, at most kMost.
  Question& add() {
    Question& next = (*this)[size_++];
    next.state = store::Request::State::idle;
    next.fault = Fault::none;
    return next;
  }
  // None is gathered any more.
  void clear();

  // Gives the i-th question away; another one takes its place.
  std::unique_ptr<Question> take_out(std::size_t i);
  void put_back(std::unique_ptr<Question> question);

 private:
  static constexpr std::size_t kMostFree = 1024;

  ThrottleParser parser_;
  std::size_t size_ = 0;
  std::array<store::Request*, kMost> questions_;  // all of them Questions, and ours
  std::vector<std::unique_ptr<Question>> free_;
};

}  // namespace weir::resp
