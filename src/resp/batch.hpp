// The questions that a connection gathers from one read buffer, before the store is asked all of them in one
// call.
//
// One for each event loop, shared by its connections: a connection uses it within one call of feed() and
// leaves it empty. Questions that are still open then go with the connection (take_out) and come back later
// (put_back), so a connection at rest holds none. Not for: what a question means (pipeline.hpp).
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

// A request of one command. Aligned, so that it lies in four cache lines and not in five: without it a
// decision took 4 % longer.
struct alignas(64) Question final : store::Request {
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

  // The limits of the questions are its.
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
  // All have been dealt with, or taken out.
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
