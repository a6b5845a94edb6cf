#include "resp/batch.hpp"

#include <utility>

namespace weir::resp {

Batch::Batch(OnStoreError on_store_error, store::Sharing sharing) : parser_(on_store_error, sharing) {
  for (store::Request*& each : questions_) each = std::make_unique<Question>().release();
}

Batch::~Batch() {
  for (store::Request* each : questions_) delete static_cast<Question*>(each);
}

void Batch::clear() {
  // A reset of many keys is alone, and the only one whose size is the client's choice.
  if (size_ == 1 && (*this)[0].keys.size() > kMost) std::vector<store::Check>().swap((*this)[0].keys);
  size_ = 0;
  parser_.forget();
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
  std::vector<store::Check>().swap(question->keys);
  question->why.clear();
  if (free_.size() < kMostFree) free_.push_back(std::move(question));
}

}  // namespace weir::resp
