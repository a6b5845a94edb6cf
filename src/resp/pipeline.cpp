#include "resp/pipeline.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "limits/explain.hpp"

namespace weir::inline v0_1::resp {
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

std::int64_t in_ms_or_never(std::chrono::nanoseconds time) {
  return time.count() < 0 ? -1 : ceil_to_ms(time);
}

// First the route, then a flat row for each check.
void write_explanation(Writer& to, const limits::Explanation& explanation) {
  to.array(1 + explanation.checks.size());
  to.array(4);
  to.bulk("route");
  to.integer(explanation.route_line == 0 ? -1 : std::int64_t{explanation.route_line});
  to.bulk("class");
  to.bulk(explanation.class_of);
  for (const limits::ExplainedCheck& each : explanation.checks) {
    const auto text = [&to](std::string_view name, std::string_view value) {
      to.bulk(name);
      to.bulk(value);
    };
    const auto number = [&to](std::string_view name, std::int64_t value) {
      to.bulk(name);
      to.integer(value);
    };
    to.array(18);
    text("limit", each.limit);
    text("window", each.window);
    text("key", each.key);
    text("rate", each.rate);
    number("override_line", each.override_line == 0 ? -1 : std::int64_t{each.override_line});
    text("class", explanation.class_of);
    text("verdict", limits::verdict_of(each));
    number("remaining", each.decision ? each.decision->remaining : -1);
    number("retry_after_ms",
           each.decision && each.decision->retry_after ? ceil_to_ms(*each.decision->retry_after) : -1);
  }
}

}  // namespace

Question::Question() { on_answer = &Pipeline::on_answer; }

Pipeline::~Pipeline() {
  for (auto& question : pending_) {
    if (question->state == State::submitted)
      question->verb == store::Verb::acquire ? acquiring_->cancel(*question) : store_.cancel(*question);
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

Question& Pipeline::add_limits(Reply reply, store::Verb verb, bool silent) {
  Question& question = batch_.add();
  if (!question.more) question.more = std::make_unique<Question::More>();
  question.more->attributes.clear();
  if (std::exchange(question.keeps_words, false)) question.more->asked.clear();
  question.verb = verb;
  question.reply = reply;
  question.silent = silent;
  return question;
}

void Pipeline::ask_matched(Question& question) {
  limits::Matched& matched = question.more->matched;
  question.checks = matched.all();
  if (!question.checks.empty()) return;
  question.state = State::answered;
  ++unasked_;
}

void Pipeline::ask_states(Question& question) {
  question.checks = question.more->checks;
  if (!question.checks.empty()) return;
  question.state = State::answered;
  ++unasked_;
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

void Pipeline::acquire(Question& question) {
  if (acquiring_ == nullptr || !lets_wait_) {
    question.reservation->max_wait = std::chrono::nanoseconds{0};
    return;
  }
  if (question.checks.empty()) return;
  question.verb = store::Verb::acquire;
  acquires_ = true;
}

bool Pipeline::end_wait(bool with_error) {
  if (!acquiring() || !acquiring_->end(*pending_.back())) return false;
  if (with_error) pending_.back()->reply = Reply::unblocked;
  return true;
}

store::Reservation& Pipeline::ask_about(std::string_view id, store::Verb verb, bool silent) {
  Question& question = batch_.add();
  if (!question.more) question.more = std::make_unique<Question::More>();
  question.checks = {};
  question.verb = verb;
  question.reply = verb == store::Verb::cancel ? Reply::cancelled : Reply::settled;
  question.silent = silent;
  question.reservation = &question.more->reservation;
  question.reservation->id = id;
  question.reservation->actual.reset();
  question.reservation->actuals.clear();
  question.reservation->client = client_;
  return *question.reservation;
}

void Pipeline::ask() {
  if (!fresh_) when_.now = service_.now();
  fresh_ = false;
  if (unasked_ == 0 && !acquires_) return store_.submit(batch_.requests(), when_);
  unasked_ = 0;
  std::array<store::Request*, Batch::kMost> asked{};
  std::size_t count = 0;
  for (store::Request* each : batch_.requests()) {
    if (each->state != State::answered) asked[count++] = each;
  }
  const std::size_t last = std::exchange(acquires_, false) ? 1 : 0;
  if (count > last) store_.submit({asked.data(), count - last}, when_);
  if (last == 0) return;
  auto& question = static_cast<Question&>(*asked[count - 1]);
  const bool by_file = question.reply == Reply::reservation_by_limit && question.keeps_words;
  acquiring_->acquire(question, when_, by_file ? &Pipeline::renew : nullptr);
}

bool Pipeline::renew(store::Request& request) {
  auto& question = static_cast<Question&>(request);
  Question::More& more = *question.more;
  Pipeline& self = *question.asker;
  const limits::Set* const set = self.limits();
  if (set == nullptr || set == more.set.get()) return false;
  more.set = self.batch_.limits_set();
  if (more.asked.match(*set, self.limits_now(), more.matched)) {
    question.checks = more.matched.all();
  } else {
    question.fault = Fault::unsuitable;
    question.why = more.matched.error;
  }
  return true;
}

bool Pipeline::settle(Writer to) {
  if (open_ > 0) return false;
  if (!pending_.empty()) {
    // What waited for its moment says nothing of how fast decisions are.
    const std::size_t decided = pending_.size() - (pending_.back()->verb == store::Verb::acquire ? 1 : 0);
    if (decided > 0) batch_.counts().took(service_.now() - waits_since_, decided);
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
    if (done > 0) batch_.counts().took(service_.now() - when_.arrived, done);
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
  waits_since_ = when_.arrived;
  pending_.reserve(batch_.size() - first);
  for (std::size_t i = first; i < batch_.size(); ++i) {
    Question& question = *pending_.emplace_back(batch_.take_out(i));
    if (question.reply == Reply::six_by_key || question.reply == Reply::reservation) question.keep_keys();
    if (question.reply == Reply::six_by_limit || question.reply == Reply::explanation ||
        question.reply == Reply::reservation_by_limit)
      question.more->set = batch_.limits_set();
    if (question.state == State::answered) continue;
    question.asker = this;
    ++open_;
  }
}

void Pipeline::on_answer(store::Request& request) {
  Pipeline& self = *static_cast<Question&>(request).asker;
  if (--self.open_ == 0) self.resume_();
}

void Pipeline::write(Writer& to, Question& question) {
  if (question.fault != Fault::none) [[unlikely]] {
    if (!question.silent) to.error(error_of(question));
    return;
  }
  switch (question.reply) {
    case Reply::five: {
      const Decision& decision = question.check.decision;
      denied_ += decision.allowed() ? 0 : 1;
      batch_.counts().count(question);
      if (!question.silent) to.five_integers(five_integers(decision));
      break;
    }
    case Reply::six_by_key: {
      denied_ += question.allowed() ? 0 : 1;
      batch_.counts().count(question);
      if (!question.silent)
        to.six(five_in_ms(question.allowed(), question.decision()), question.checks[question.by].key);
      break;
    }
    case Reply::six_by_limit:
    case Reply::explanation:
      write_limits(to, question, set_of(question));
      break;
    case Reply::forgotten:
      if (!question.silent) to.integer(static_cast<std::int64_t>(question.forgotten));
      break;
    case Reply::reservation:
    case Reply::reservation_by_limit:
      write_reservation(to, question);
      break;
    case Reply::cancelled:
      if (!question.silent) to.integer(static_cast<std::int64_t>(question.reservation->given_back));
      break;
    case Reply::settled:
      if (!question.silent) to.integer(in_ms_or_never(question.reservation->wait));
      break;
    case Reply::unblocked:
      if (!question.silent) to.error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
      break;
  }
}

void Pipeline::write_reservation(Writer& to, const Question& question) {
  const bool by_limit = question.reply == Reply::reservation_by_limit;
  const limits::Matched* const matched = by_limit ? &question.more->matched : nullptr;
  const store::Request* const asked = question.checks.empty() ? nullptr : &question;
  limits::Answer answer;
  if (by_limit) {
    answer = limits::answer_of(set_of(question), *matched, asked);
    batch_.counts().count(set_of(question), *matched, asked);
  } else {
    const Decision& decision = question.decision();
    answer.allowed = decision.allowed();
    answer.limit = decision.limit;
    answer.remaining = decision.remaining;
    answer.reset_after = decision.reset_after;
    answer.by = question.checks[question.by].key;
    batch_.counts().count(question);
  }
  denied_ += answer.allowed ? 0 : 1;
  if (question.silent) return;
  const auto wait =
      asked != nullptr ? question.reservation->wait : std::chrono::nanoseconds{answer.allowed ? 0 : -1};
  const std::array<std::int64_t, 5> numbers = {answer.allowed ? 0 : 1, answer.limit, answer.remaining,
                                               in_ms_or_never(wait), ceil_to_ms(answer.reset_after)};
  to.seven(numbers, asked != nullptr ? question.reservation->id : std::string_view{}, answer.by);
}

void Pipeline::write_limits(Writer& to, const Question& question, const limits::Set& set) {
  const limits::Matched& matched = question.more->matched;
  const bool asked = !question.checks.empty();
  if (question.reply == Reply::six_by_limit) {
    const limits::Answer answer = limits::answer_of(set, matched, asked ? &question : nullptr);
    denied_ += answer.allowed ? 0 : 1;
    if (question.verb == store::Verb::check) batch_.counts().count(set, matched, asked ? &question : nullptr);
    if (!question.silent) to.six(five_in_ms(answer), answer.by);
    return;
  }
  if (question.silent) return;
  std::vector<limits::Attribute> attributes;
  for (const auto& [name, value] : question.more->attributes) attributes.push_back({name, value});
  write_explanation(to, limits::explain(set.file(), question.more->trace, attributes, question.checks,
                                        asked ? &question : nullptr));
}

}  // namespace weir::resp
