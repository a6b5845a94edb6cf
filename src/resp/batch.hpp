// The questions that a connection gathers from one read buffer, before the store is asked all of them in one
// call.
//
// One for each event loop, shared by its connections: a connection uses it within one call of feed() and
// leaves it empty. Questions that are still open then go with the connection (take_out) and come back later
// (put_back), so a connection at rest holds none. Not for: what a question means (pipeline.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limits/kept_request.hpp"
#include "limits/match.hpp"
#include "limits/trace.hpp"
#include "resp/limits_words.hpp"
#include "resp/throttle.hpp"
#include "service/decision_counts.hpp"
#include "service/limits_in_force.hpp"
#include "service/rule_texts.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::resp {

class Pipeline;

// How a question is replied to.
enum class Reply : std::uint8_t {
  five,          // CL.THROTTLE's integers, in seconds
  six_by_key,    // WEIR.THROTTLE's, in milliseconds, and the key that decides
  six_by_limit,  // WEIR.CHECK's, and the limit that decides
  explanation,   // WEIR.EXPLAIN's
  forgotten,     // how many keys had something to forget
  reservation,   // WEIR.RESERVE's seven, and the key that decides
  reservation_by_limit,
  cancelled,  // the units that went back
  settled,    // the milliseconds until one more unit would be admitted
  unblocked,  // an error: another client has ended its wait
};

// A request of one command. Aligned, so that it lies in four cache lines and not in five: without it a
// decision took 4 % longer.
struct alignas(64) Question final : store::Request {
  // What a question of CL.THROTTLE does without.
  struct More {
    std::vector<store::Check> checks;
    std::string keys;  // those of the checks, while the words are gone and the answer is not there
    // By the limits file.
    limits::Matched matched;
    std::shared_ptr<const limits::Set> set;  // while the answer is not there
    limits::Trace trace;                     // of an explanation, as is the next
    std::vector<std::pair<std::string, std::string>> attributes;
    store::Reservation reservation;
    limits::KeptRequest asked;  // of one that may wait in line while the limits change
  };

  Question();

  // Room for its checks, which are as new but for what the store answered before.
  std::span<store::Check> room(std::size_t count);
  // Its checks are reserved.
  void reserve(std::chrono::nanoseconds max_wait, std::chrono::nanoseconds hold, std::uint64_t client);
  // Copies the keys, which are views into what the connection has read.
  void keep_keys();

  store::Check check{};  // when there is one
  std::unique_ptr<More> more;
  Pipeline* asker = nullptr;
  Reply reply = Reply::five;
  bool silent = false;       // it is asked, but its reply is not wanted
  bool keeps_words = false;  // more->asked has something
};
static_assert(sizeof(Question) <= 256);

class Batch {
 public:
  // Enough cache misses to keep the memory busy; more only push earlier lines out again.
  static constexpr std::size_t kMost = 64;
  static_assert(kMost <= ThrottleParser::kMostLimits);

  // `wall`: how far the clock that windows go by is ahead of the one of the requests.
  explicit Batch(OnStoreError on_store_error = OnStoreError::local, store::Sharing sharing = {},
                 std::chrono::nanoseconds wall = std::chrono::nanoseconds{0},
                 const service::LimitsInForce* limits = nullptr);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // The limits of the questions are its.
  ThrottleParser& parser() { return parser_; }
  service::RuleTexts& rules() { return rules_; }

  // The set in force, the same for all questions of a batch; null: there is none. And what time it is for it.
  const limits::Set* limits() {
    if (size_ == 0) renew_limits();
    return set_;
  }
  limits::Time limits_now() const { return limits_now_; }
  AttributeRoom& attribute_room() { return attributes_; }
  service::DecisionCounts& counts() { return counts_; }
  const service::DecisionCounts& counts() const { return counts_; }
  const std::shared_ptr<const limits::Set>& limits_set() const { return limits_.set(); }

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
  // The last one is not asked.
  void drop_last() { --size_; }
  // All have been dealt with, or taken out.
  void clear();

  // Gives the i-th question away; another one takes its place.
  std::unique_ptr<Question> take_out(std::size_t i);
  void put_back(std::unique_ptr<Question> question);

 private:
  static constexpr std::size_t kMostFree = 1024;
  static constexpr std::size_t kMostWithMore = 16;
  static constexpr std::size_t kMostKeptKeys = 4096;

  void renew_limits();

  ThrottleParser parser_;
  service::RuleTexts rules_;
  service::LimitsView limits_;
  const limits::Set* set_ = nullptr;
  limits::Time limits_now_{};
  AttributeRoom attributes_;
  service::DecisionCounts counts_;
  std::size_t size_ = 0;
  std::array<store::Request*, kMost> questions_;  // all of them Questions, and ours
  std::vector<std::unique_ptr<Question>> free_;
};

}  // namespace weir::resp
