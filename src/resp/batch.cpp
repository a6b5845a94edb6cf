#include "resp/batch.hpp"

#include <utility>

namespace weir::inline v0_1::resp {

std::span<store::Check> Question::room(std::size_t count) {
  if (count == 1) {
    check.cost = {};  // all else of it is the asker's to set, the store's, or never set
    checks = {&check, 1};
  } else {
    if (!more) more = std::make_unique<More>();
    more->checks.assign(count, {});
    checks = more->checks;
  }
  return checks;
}

void Question::reserve(std::chrono::nanoseconds max_wait, std::chrono::nanoseconds hold,
                       std::uint64_t client) {
  if (!more) more = std::make_unique<More>();
  verb = store::Verb::reserve;
  reservation = &more->reservation;
  reservation->max_wait = max_wait;
  reservation->hold = hold;
  reservation->client = client;
}

void Question::keep_keys() {
  if (!more) more = std::make_unique<More>();
  std::string& kept = more->keys;
  kept.clear();
  for (const store::Check& each : checks) kept += each.key;
  std::size_t at = 0;
  for (store::Check& each : checks) {
    each.key = std::string_view(kept).substr(at, each.key.size());
    at += each.key.size();
  }
}

Batch::Batch(OnStoreError on_store_error, store::Sharing sharing, std::chrono::nanoseconds wall,
             const service::LimitsInForce* limits)
    : parser_(on_store_error, sharing), rules_(on_store_error, sharing, wall), limits_(limits) {
  for (store::Request*& each : questions_) each = std::make_unique<Question>().release();
}

Batch::~Batch() {
  for (store::Request* each : questions_) delete static_cast<Question*>(each);
}

void Batch::renew_limits() {
  set_ = limits_.refresh();
  if (set_ != nullptr && set_->has_dates()) limits_now_ = limits_.limits()->now();
}

void Batch::clear() {
  // A reset of many keys is alone, and the only one whose size is the client's choice.
  if (size_ == 1 && (*this)[0].checks.size() > kMost) (*this)[0].more.reset();
  size_ = 0;
  parser_.forget();
  rules_.forget();
}

std::unique_ptr<Question> Batch::take_out(std::size_t i) {
  std::unique_ptr<Question> other;
  if (free_.empty()) {
    other = std::make_unique<Question>();
  } else {
    other = std::move(free_.back());
    free_.pop_back();
  }
  return std::unique_ptr<Question>(static_cast<Question*>(std::exchange(questions_[i], other.release())));
}

void Batch::put_back(std::unique_ptr<Question> question) {
  // Some keep what they had: made and destroyed, it was a fourteenth of an ACQUIRE that waits.
  const bool is_small =
      question->more && question->checks.size() <= kMost && question->more->keys.capacity() <= kMostKeptKeys;
  if (is_small && free_.size() < kMostWithMore) {
    question->more->set.reset();
  } else {
    question->more.reset();
  }
  question->why.clear();
  if (free_.size() < kMostFree) free_.push_back(std::move(question));
}

}  // namespace weir::resp
