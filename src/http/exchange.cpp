#include "http/exchange.hpp"

#include <algorithm>

#include "http/json.hpp"

namespace weir::inline v0_1::http {

using State = store::Request::State;

Question::Question() {
  on_answer = [](store::Request& request) {
    Exchange& exchange = *static_cast<Question&>(request).asker;
    if (--exchange.open == 0) (*exchange.resume)();
  };
}

void Question::clear() {
  state = State::idle;
  fault = Fault::none;
  verb = store::Verb::check;
  checks = {};
  reservation = nullptr;
  by = 0;
  forgotten = 0;
  by_file = explains = false;
  faults = Faults();
  asked.clear();
}

bool Question::renew(store::Request& request) {
  auto& question = static_cast<Question&>(request);
  Exchange& exchange = *question.asker;
  const limits::Set* const set = exchange.room.renew_limits();
  if (set == nullptr || set == exchange.set) return false;
  exchange.set = set;
  exchange.set_kept = exchange.room.limits_set();
  limits::Trace* const trace = question.explains ? &question.trace : nullptr;
  if (question.asked.match(*set, exchange.room.limits_now(), *question.matched, trace)) {
    question.checks = question.matched->all();
  } else {
    question.fault = Fault::unsuitable;
    question.why = question.matched->error;
  }
  return true;
}

std::span<store::Check> Question::room(std::size_t count) {
  own.assign(count, {});
  checks = own;
  return checks;
}

void Question::keep() {
  if (by_file) return;
  limits_.clear();
  limits_.reserve(own.size());
  for (store::Check& each : own) each.limit = &limits_.emplace_back(*each.limit);
}

std::size_t Question::kept() const {
  return sizeof(Question) + (matched ? sizeof(limits::Matched) + matched->keys.capacity() : 0) +
         own.capacity() * (sizeof(store::Check) + sizeof(store::Limit)) + asked.bytes();
}

Room::Room(service::Service& service, std::string_view forms)
    : json(std::make_unique<Json>()),
      service_(service),
      rules_(service.options().on_store_error, service.options().sharing, service.wall_ahead()),
      limits_(service.limits.get()),
      forms_chosen_(forms) {
  forms_.choose(forms);
}

Room::~Room() = default;

std::unique_ptr<Exchange> Room::take() {
  if (exchanges_.empty()) return std::make_unique<Exchange>(service_, *this);
  std::unique_ptr<Exchange> last = std::move(exchanges_.back());
  exchanges_.pop_back();
  return last;
}

void Room::put_back(std::unique_ptr<Exchange> exchange) {
  constexpr std::size_t kMostText = std::size_t{64} << 10;
  exchange->drop_questions();
  exchange->open = 0;  // its connection may have gone before the answer
  exchange->set_kept.reset();
  exchange->set = nullptr;
  exchange->gateway = nullptr;
  exchange->answer = nullptr;
  exchange->kind = Kind::check;
  exchange->prefers.reset();
  exchange->batch = exchange->trusted = exchange->ended = false;
  exchange->reply.clear();
  if (exchanges_.size() < kMostFree && exchange->reply.body.capacity() <= kMostText)
    exchanges_.push_back(std::move(exchange));
}

std::unique_ptr<Question> Room::take_question() {
  if (questions_.empty()) return std::make_unique<Question>();
  std::unique_ptr<Question> last = std::move(questions_.back());
  questions_.pop_back();
  last->clear();
  return last;
}

void Room::put_back(std::unique_ptr<Question> question) {
  if (questions_.size() < kMostFree) questions_.push_back(std::move(question));
}

const limits::Set* Room::renew_limits() {
  const limits::Set* const set = limits_.refresh();
  if (set != nullptr && set->has_dates()) limits_now_ = limits_.limits()->now();
  rules_.forget();
  if (set != nullptr && set->serial() != forms_of_) {
    forms_of_ = set->serial();
    forms_ = forms_of(set->file().answers);
    forms_.choose(forms_chosen_);
  }
  return set;
}

std::string_view Room::date() {
  const auto now = std::chrono::floor<std::chrono::seconds>(service_.wall_now());
  if (now != dated_) {
    dated_ = now;
    date_ = date_text(std::chrono::sys_seconds(now));
  }
  return date_;
}

Question& Exchange::ask() {
  Question& question = *questions.emplace_back(room.take_question());
  question.asker = this;
  return question;
}

void Exchange::drop_questions() {
  for (auto& each : questions) room.put_back(std::move(each));
  if (questions.capacity() > 64) {
    std::vector<std::unique_ptr<Question>>().swap(questions);
  } else {
    questions.clear();
  }
}

std::size_t Exchange::kept() const {
  std::size_t bytes = sizeof(Exchange) + reply.body.capacity();
  for (const auto& each : questions) bytes += each->kept();
  return bytes;
}

}  // namespace weir::http
