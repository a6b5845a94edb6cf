#include "resp/pipeline.hpp"

#include <algorithm>
#include <string>

namespace weir::resp {
namespace {

using State = store::Request::State;

// The state of a key that is named without its limit, as in DEL: that of the limits that have no name.
const store::Limit kNameless{.rule = core::Rule{Quota::per_second(1)}};

// A request that nothing could decide is answered with an error, whose code clients of Redis know.
std::string error_of(const store::Request& request) {
  switch (request.fault) {
    case Fault::foreign_value:
      return request.why.starts_with("WRONGTYPE ") ? request.why : "WRONGTYPE " + request.why;
    case Fault::store_down:
      return "ERR the store: " + request.why;
    case Fault::unsuitable:
    case Fault::none:
      break;
  }
  return "ERR " + request.why;
}

}  // namespace

Question::Question() { on_answer = &Pipeline::on_answer; }

Pipeline::~Pipeline() {
  for (auto& question : pending_) {
    if (question->state == State::submitted) store_.cancel(*question);
    batch_.put_back(std::move(question));
  }
}

void Pipeline::check(const Throttle& throttle, bool silent) {
  Question& question = batch_.add();
  question.check.limit = throttle.limit;
  question.check.key = throttle.key;
  question.check.cost = throttle.cost;
  question.checks = {&question.check, 1};
  question.verb = store::Verb::check;
  question.reply = Reply::five;
  question.silent = silent;
}

Question& Pipeline::add(std::size_t checks, Reply reply, bool silent) {
  Question& question = batch_.add();
  question.room(checks);
  question.verb = store::Verb::check;
  question.reply = reply;
  question.silent = silent;
  return question;
}

void Pipeline::reset(std::span<const std::string_view> keys, bool silent) {
  // Each once: a request's keys differ.
  std::vector<std::string_view> once(keys.begin(), keys.end());
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  Question& question = add(once.size(), Reply::forgotten, silent);
  question.verb = store::Verb::reset;
  for (std::size_t i = 0; i < once.size(); ++i) {
    question.checks[i].limit = &kNameless;
    question.checks[i].key = once[i];
  }
}

void Pipeline::ask() {
  if (!fresh_) when_.now = service_.now();
  fresh_ = false;
  store_.submit(batch_.requests(), when_);
}

bool Pipeline::settle(Writer to) {
  if (open_ > 0) return false;
  if (!pending_.empty()) {
    for (auto& question : pending_) {
      write(to, *question);
      batch_.put_back(std::move(question));
    }
    std::vector<std::unique_ptr<Question>>().swap(pending_);
  }
  if (batch_.size() > 0) {
    ask();
    std::size_t done = 0;
    for (; done < batch_.size() && batch_[done].state == State::answered; ++done) write(to, batch_[done]);
    if (done < batch_.size()) await(done);
    batch_.clear();
  }
  if (denied_ > 0) {
    service_.counters.count(&service::Counters::denied, denied_);
    denied_ = 0;
  }
  return open_ == 0;
}

// The store has not answered the first of these: they are ours until it has answered all.
void Pipeline::await(std::size_t first) {
  pending_.reserve(batch_.size() - first);
  for (std::size_t i = first; i < batch_.size(); ++i) {
    Question& question = *pending_.emplace_back(batch_.take_out(i));
    if (question.reply == Reply::six_by_key) question.keep_keys();
    if (question.state == State::answered) continue;
    question.asker = this;
    ++open_;
  }
}

void Pipeline::on_answer(store::Request& request) {
  Pipeline& self = *static_cast<Question&>(request).asker;
  if (--self.open_ == 0) self.resume_();
}

void Pipeline::write(Writer& to, const Question& question) {
  if (question.fault != Fault::none) [[unlikely]] {
    if (!question.silent) to.error(error_of(question));
    return;
  }
  switch (question.reply) {
    case Reply::five: {
      const Decision& decision = question.check.decision;
      denied_ += decision.allowed() ? 0 : 1;
      if (!question.silent) to.five_integers(five_integers(decision));
      break;
    }
    case Reply::six_by_key: {
      denied_ += question.allowed() ? 0 : 1;
      if (!question.silent)
        to.six(five_in_ms(question.allowed(), question.decision()), question.checks[question.by].key);
      break;
    }
    case Reply::forgotten:
      if (!question.silent) to.integer(static_cast<std::int64_t>(question.forgotten));
      break;
  }
}

}  // namespace weir::resp
