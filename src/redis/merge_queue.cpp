#include "redis/merge_queue.hpp"

#include <utility>

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

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
