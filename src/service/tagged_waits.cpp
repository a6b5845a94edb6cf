#include "service/tagged_waits.hpp"

#include <algorithm>
#include <utility>

namespace weir::inline v0_1::service {

void TaggedWaits::add(std::unique_ptr<Question> question) {
  const std::size_t kept = question->kept() + kPlace;
  const std::string_view tag = question->more->tag;
  all_.emplace(tag, Wait{std::move(question), kept});
  kept_ += kept;
}

bool TaggedWaits::note_answer(Question& question) {
  const auto found = all_.find(question.more->tag);
  if (found == all_.end() || found->second.question.get() != &question) return false;
  answered_.push_back(&question);
  return true;
}

std::unique_ptr<Question> TaggedWaits::take_answered() {
  return answered_.empty() ? nullptr : take(answered_.front()->more->tag);
}

std::unique_ptr<Question> TaggedWaits::take(std::string_view tag) {
  const auto found = all_.find(tag);
  if (found == all_.end()) return nullptr;
  Wait wait = std::move(found->second);
  all_.erase(found);
  kept_ -= wait.kept;
  if (wait.question->state == store::Request::State::answered)
    answered_.erase(std::find(answered_.begin(), answered_.end(), wait.question.get()));
  return std::move(wait.question);
}

}  // namespace weir::service
