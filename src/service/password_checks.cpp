#include "service/password_checks.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace weir::inline v0_1::service {
namespace {

constexpr int kNice = 10;  // of the threads

}  // namespace

PasswordChecks::PasswordChecks(core::ClockFunction clock) : clock_(std::move(clock)) {
  for (std::size_t i = 0; i < kAtOnce; ++i) threads_.emplace_back([this] { loop(); });
}

PasswordChecks::~PasswordChecks() {
  end();
  for (std::thread& each : threads_) each.join();
}

void PasswordChecks::end() {
  const detail::Held lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

bool PasswordChecks::ask(const core::Sha256& what, const std::string& from, Work work, OnDone done) {
  const detail::Held lock(mutex_);
  const auto known = from_.find(from);
  if (asking_ >= kMostAsking || (known != from_.end() && known->second.asking >= kMostAskingOfOne))
    return false;
  const auto same = checks_.find(what);
  if (same == checks_.end()) {
    if (waiting_ >= kMostWaiting ||
        (known != from_.end() && known->second.waiting.size() >= kMostWaitingOfOne))
      return false;
    From& theirs = from_[from];
    if (theirs.waiting.empty()) turns_.push_back(from);
    theirs.waiting.push_back(what);
    checks_[what] = {.work = std::move(work), .since = clock_()};
    ++waiting_;
    changed_.notify_one();
  }
  checks_[what].askers.push_back({from, std::move(done)});
  ++from_[from].asking;
  ++asking_;
  return true;
}

void PasswordChecks::loop() {
  // On Linux a thread's own.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  const detail::Held lock(mutex_);
  while (true) {
    while (!ends_ && turns_.empty()) changed_.wait(mutex_);
    if (ends_) return;
    run_next();
  }
}

void PasswordChecks::run_next() {
  const std::string from = std::move(turns_.front());
  turns_.pop_front();
  From& theirs = from_.at(from);
  const core::Sha256 what = theirs.waiting.front();
  theirs.waiting.pop_front();
  --waiting_;
  if (!theirs.waiting.empty()) turns_.push_back(from);
  const bool late = clock_() - checks_.at(what).since >= kPatience;
  const Work work = std::exchange(checks_.at(what).work, nullptr);
  mutex_.unlock();
  const Answer answer = late ? Answer::late : work() ? Answer::right : Answer::wrong;
  mutex_.lock();
  const std::vector<Claimant> askers = end(what);
  mutex_.unlock();
  for (const Claimant& each : askers) each.done(answer);
  mutex_.lock();
}

std::vector<PasswordChecks::Claimant> PasswordChecks::end(const core::Sha256& what) {
  std::vector<Claimant> askers = std::move(checks_.at(what).askers);
  checks_.erase(what);
  asking_ -= askers.size();
  for (const Claimant& each : askers) {
    const auto theirs = from_.find(each.from);
    if (--theirs->second.asking == 0 && theirs->second.waiting.empty()) from_.erase(theirs);
  }
  return askers;
}

}  // namespace weir::service
