#include "redis/merge_queue.hpp"

#include <algorithm>
#include <utility>

namespace weir::redis {

using std::chrono::nanoseconds;

nanoseconds KeyCall::deadline() const {
  nanoseconds least = check.deadline;
  for (const KeyCheck& each : more) least = std::min(least, each.deadline);
  return least;
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

MergeQueue::Turn MergeQueue::turn_of(std::uint64_t key, nanoseconds deadline) {
  const auto [queue, first] = keys_.try_emplace(key, Queue{deadline, {}});
  if (first) return Turn::first;
  return queue->second.deadline <= deadline ? Turn::waits : Turn::alone;
}

void MergeQueue::wait(KeyCheck check) {
  ++waiting_;
  keys_.at(check.hash).checks.push_back(std::move(check));
}

std::vector<KeyCheck> MergeQueue::end(std::uint64_t key) {
  auto queue = keys_.extract(key);
  waiting_ -= queue.mapped().checks.size();
  return std::move(queue.mapped().checks);
}

}  // namespace weir::redis
