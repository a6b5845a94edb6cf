#include "redis/merge_queue.hpp"

#include <algorithm>
#include <utility>

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

nanoseconds KeyCall::deadline() const {
  nanoseconds least = check.deadline;
  for (const KeyCheck& each : more) least = std::min(least, each.deadline);
  return least;
}

bool KeyCall::cancelled() const {
  return !ahead && check.ticket.cancelled() &&
         std::all_of(more.begin(), more.end(), [](const KeyCheck& each) { return each.ticket.cancelled(); });
}

std::vector<KeyCall> calls_of(std::vector<KeyCheck> checks) {
  std::vector<KeyCall> calls;
  for (KeyCheck& check : checks) {
    KeyCall* const last = calls.empty() ? nullptr : &calls.back();
    if (last != nullptr && last->check.limit.rule == check.limit.rule &&
        last->check.cost.units == check.cost.units && last->check.name == check.name &&
        last->more.size() + 1 < kMostTimes) {
      last->more.push_back(std::move(check));
    } else {
      calls.push_back({.check = std::move(check)});
    }
  }
  return calls;
}

std::uint64_t MergeQueue::begin(std::uint64_t key) {
  keys_.insert_or_assign(key, Queue{++turns_, nanoseconds::max(), {}});
  return turns_;
}

void MergeQueue::wait(KeyCheck check, nanoseconds until) {
  const std::uint64_t key = check.hash;
  Queue& queue = keys_.at(key);
  ++waiting_;
  queue.checks.push_back(std::move(check));
  if (until >= queue.until) return;
  queue.until = until;
  due_.emplace(until, key);
}

bool MergeQueue::waits_for(std::uint64_t key, std::uint64_t turn) const {
  const auto found = keys_.find(key);
  return found != keys_.end() && found->second.turn == turn;
}

std::vector<KeyCheck> MergeQueue::end(std::uint64_t key) {
  auto queue = keys_.extract(key);
  if (queue.empty()) return {};
  waiting_ -= queue.mapped().checks.size();
  return std::move(queue.mapped().checks);
}

nanoseconds MergeQueue::next_due() {
  for (; !due_.empty(); due_.pop()) {
    const auto found = keys_.find(due_.top().second);
    if (found != keys_.end() && found->second.until == due_.top().first) return due_.top().first;
  }
  return nanoseconds::max();
}

std::optional<std::uint64_t> MergeQueue::take_due(nanoseconds now) {
  if (next_due() > now) return std::nullopt;
  const std::uint64_t key = due_.top().second;
  due_.pop();
  return key;
}

}  // namespace weir::redis
