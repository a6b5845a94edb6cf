#include "server/remote.hpp"

#include "server/throttle.hpp"

namespace weir::server {

void Remote::abandon(Remote* remote) {
  if (remote == nullptr) return;
  remote->abandoned_ = true;
  if (remote->open_ == 0) delete remote;
}

void Remote::throttle(const Quota& quota, std::string_view key, Cost cost, bool silent) {
  Answer& answer = add(silent);
  answer.decides = true;
  ++open_;
  if (const auto at_once = store_.check(core::Rule{quota}, key, cost, token_of(answer), {})) {
    --open_;
    answer.decision = at_once->decision;
    answer.error = at_once->error;
  }
}

void Remote::reset(std::span<const std::string_view> keys, bool silent) {
  Answer& answer = add(silent);
  open_ += keys.size();
  for (const std::string_view key : keys) store_.reset(key, token_of(answer));
}

void Remote::fail(std::string text, bool silent) { add(silent).error = std::move(text); }

void Remote::on_outcome(std::uint64_t token, const redis::SharedStore::Outcome& outcome) {
  Answer& answer = answer_of(token);
  answer.decision = outcome.decision;
  answer.error = outcome.error;
  answer.owner->one_less();
}

void Remote::on_reset(std::uint64_t token, std::optional<std::int64_t> removed, std::string_view error) {
  Answer& answer = answer_of(token);
  answer.removed += removed.value_or(0);
  if (!removed) answer.error = "ERR the store: " + std::string(error);
  answer.owner->one_less();
}

void Remote::one_less() {
  if (--open_ > 0) return;
  if (abandoned_) {
    delete this;
  } else {
    resume_();
  }
}

std::uint64_t Remote::collect(resp::Writer to) {
  std::uint64_t denied = 0;
  for (const Answer& answer : answers_) {
    const bool decided = answer.decides && answer.error.empty();
    if (decided && !answer.decision.allowed()) ++denied;
    if (answer.silent) continue;
    if (!answer.error.empty()) {
      to.error(answer.error);
    } else if (answer.decides) {
      to.five_integers(five_integers(answer.decision));
    } else {
      to.integer(answer.removed);
    }
  }
  answers_.clear();
  return denied;
}

}  // namespace weir::server
