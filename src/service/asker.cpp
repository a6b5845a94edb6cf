#include "service/asker.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "service/asking.hpp"
#include "service/told.hpp"

namespace weir::inline v0_1::service {

Asker::Asker(Service& service, store::Store& store, waiting::AcquiringStore* acquiring, HoldEnder* ender)
    : service_(service),
      store_(store),
      acquiring_(acquiring),
      ender_(ender),
      ruling_(service.limits ? &service.limits->ruling : nullptr),
      forms_(service.options().headers),
      texts_(service.options().on_store_error, service.options().sharing, service.wall_ahead(),
             service.options().wall_clock) {
  while (questions_.size() < kMany) grow();
}

void Asker::append_fields(const Question& question, const limits::Set* set, std::string& fields) {
  const limits::Time now{service_.wall_now()};
  if (question.by_file) {
    append_rate_limit_fields(*set, question.more->matched, asked_of(question), forms(), now, fields);
  } else {
    append_rate_limit_fields(question, forms(), now, fields);
  }
}

Asker::~Asker() {
  for (store::Request* each : questions_) delete static_cast<Question*>(each);
}

std::unique_ptr<Question> Asker::made() {
  auto question = std::make_unique<Question>();
  question->on_answer = &Asking::on_answer;
  return question;
}

void Asker::grow() {
  auto next = made();
  questions_.push_back(next.get());
  next.release();
}

void Asker::renew_limits() {
  renewed_ = true;
  const limits::Steered* const ruling = ruling_.refresh();
  set_ = ruling != nullptr ? &ruling->set() : nullptr;
  steered_ = ruling != nullptr && !ruling->empty() ? ruling : nullptr;
  if (steered_ != nullptr || (set_ != nullptr && set_->has_dates())) limits_now_ = service_.limits->now();
}

const store::Limit* Asker::find_rule(std::string_view text) {
  const store::Limit* const limit = texts_.find(text);
  if (limit == nullptr) refusal_ = {Refusal::What::rule, texts_.error()};
  return limit;
}

bool Asker::add_rule(std::string_view key, std::string_view text, Cost cost) {
  Question& question = (*this)[size_ - 1];
  const auto same_key = [key](const store::Check& other) { return other.key == key; };
  if (const auto before = question.checks.first(rules_);
      std::any_of(before.begin(), before.end(), same_key)) {
    refusal_ = {Refusal::What::key_twice, "is given twice"};
    return false;
  }
  store::Check& check = question.checks[rules_++];
  check.key = key;
  check.cost = cost;
  check.limit = find_rule(text);
  if (question.explains) question.more->explained_of().said.emplace_back(key, text);
  return check.limit != nullptr;
}

void Asker::count_keys(const Question& question, const limits::Set* set, bool allowed) {
  if (counting_ == nullptr || question.fault != Fault::none) return;
  counting_->count(question, set, allowed, sample_, now_);
}

void Asker::count_change(const Question& question, const limits::Set* set) {
  if (counting_ == nullptr || set == nullptr || !set->tracks() || question.fault != Fault::none) return;
  counting_->count_change(question, *set, question.by_file ? &question.more->matched : nullptr);
}

void Asker::keep_said(const limits::Description& asked, Question& question) {
  auto& said = question.more->explained_of().said;
  said.clear();
  for (const limits::Attribute& each : asked.attributes) said.emplace_back(each.name, each.value);
}

std::vector<store::Request*>& Asker::unanswered() {
  unanswered_.clear();
  for (store::Request* each : requests()) {
    if (each->state != store::Request::State::answered) unanswered_.push_back(each);
  }
  return unanswered_;
}

void Asker::clear() {
  // A reset of many keys is alone, and the only one whose size is the client's choice.
  if (size_ == 1 && (*this)[0].checks.size() > kMany) (*this)[0].drop_more();
  size_ = 0;
  renewed_ = false;
  texts_.forget();
  while (questions_.size() > kMany) {
    delete static_cast<Question*>(questions_.back());
    questions_.pop_back();
  }
}

std::unique_ptr<Question> Asker::take_out(std::size_t i) {
  std::unique_ptr<Question> other;
  if (free_.empty()) {
    other = made();
  } else {
    other = std::move(free_.back());
    free_.pop_back();
  }
  return std::unique_ptr<Question>(static_cast<Question*>(std::exchange(questions_[i], other.release())));
}

void Asker::put_back(std::unique_ptr<Question> question) {
  // Some keep what they had: made and destroyed, it was a fourteenth of an ACQUIRE that waits.
  const bool is_small = question->more && question->more->room_for_matched &&
                        question->checks.size() <= kMany && question->more->keys.capacity() <= kMostKeptKeys;
  if (is_small && free_.size() < kMostWithMore) {
    question->more->ruling.reset();
    question->more->limits.reset();
    question->more->asked.reset();
  } else {
    question->drop_more();
  }
  question->why.clear();
  if (free_.size() < kMostFree) free_.push_back(std::move(question));
}

void Asker::flush() {
  if (denied_ == 0) return;
  service_.counters.count(&Counters::denied, std::exchange(denied_, 0));
}

}  // namespace weir::service
