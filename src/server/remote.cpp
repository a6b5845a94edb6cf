#include "server/remote.hpp"

#include "server/throttle.hpp"

namespace weir::server {

Remote::~Remote() {
  for (Answer& answer : answers_) {
    if (answer.state == store::Request::State::submitted) store_.cancel(answer);
  }
}

void Remote::throttle(const Quota& quota, std::string_view key, Cost cost, bool silent,
                      std::chrono::nanoseconds now) {
  Answer& answer = answers_.emplace_back(this, silent);
  answer.decides = true;
  const store::Limit limit{.rule = core::Rule{quota},
                           .on_store_error = settings_.on_store_error,
                           .sharing = {.merge = settings_.store_merge}};
  answer.list.push_back({.limit = &limit, .key = key, .cost = cost});
  submit(answer, now);
}

void Remote::reset(std::span<const std::string_view> keys, bool silent, std::chrono::nanoseconds now) {
  Answer& answer = answers_.emplace_back(this, silent);
  answer.verb = store::Verb::reset;
  for (const std::string_view key : keys) answer.list.push_back({.key = key});
  submit(answer, now);
}

void Remote::fail(std::string text, bool silent) {
  answers_.emplace_back(this, silent).error = std::move(text);
}

void Remote::submit(Answer& answer, std::chrono::nanoseconds now) {
  answer.checks = answer.list;
  answer.on_answer = [](store::Request& request) { static_cast<Answer&>(request).owner->one_less(); };
  store::Request* const batch[] = {&answer};
  store_.submit(batch, {now, now});
  if (answer.state == store::Request::State::submitted) ++open_;
}

void Remote::one_less() {
  if (--open_ == 0) resume_();
}

std::uint64_t Remote::collect(resp::Writer to) {
  std::uint64_t denied = 0;
  for (const Answer& answer : answers_) {
    const bool decided = answer.decides && answer.fault == Fault::none && answer.error.empty();
    if (decided && !answer.allowed()) ++denied;
    if (answer.silent) continue;
    if (!answer.error.empty()) {
      to.error(answer.error);
    } else if (decided) {
      to.five_integers(five_integers(answer.decision()));
    } else if (answer.fault == Fault::none) {
      to.integer(static_cast<std::int64_t>(answer.forgotten));
    } else if (answer.fault == Fault::foreign_value) {
      to.error(answer.why);
    } else {
      to.error((answer.fault == Fault::store_down ? "ERR the store: " : "ERR ") + answer.why);
    }
  }
  answers_.clear();
  return denied;
}

}  // namespace weir::server
