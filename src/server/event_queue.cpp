#include "server/event_queue.hpp"

#include <algorithm>

namespace weir::inline v0_1::server {

void EventQueue::add(const std::string& line) {
  const detail::Held lock(mutex_);
  lines_.push_back(line);
  bytes_ += line.size();
  while (bytes_ > kMostBytes && !lines_.empty()) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
    ++first_;
    ++dropped_;
    ++untold_;
  }
  changed_.notify_all();
}

EventQueue::Batch EventQueue::take(std::chrono::milliseconds gathering) {
  const detail::Held lock(mutex_);
  while (lines_.empty() && untold_ == 0 && !ends_) changed_.wait(mutex_);
  const auto until = std::chrono::steady_clock::now() + gathering;
  while (gathering.count() > 0 && lines_.size() < kMostAtOnce && !ends_) {
    if (!changed_.wait_until(mutex_, until)) break;
  }
  Batch batch;
  batch.told = untold_;
  if (untold_ > 0) batch.text = dropped_line_(untold_);
  const std::size_t count = std::min(lines_.size(), kMostAtOnce);
  for (std::size_t i = 0; i < count; ++i) batch.text += lines_[i];
  batch.end = first_ + count;
  return batch;
}

void EventQueue::delivered(const Batch& batch) {
  const detail::Held lock(mutex_);
  untold_ -= batch.told;
  // Some of them may have been dropped meanwhile, and were delivered all the same.
  for (; first_ < batch.end && !lines_.empty(); ++first_) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
  }
}

void EventQueue::rest(std::chrono::milliseconds time) {
  const detail::Held lock(mutex_);
  const auto until = std::chrono::steady_clock::now() + time;
  while (!ends_ && changed_.wait_until(mutex_, until)) {
  }
}

void EventQueue::end() {
  const detail::Held lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

bool EventQueue::ends() const {
  const detail::Held lock(mutex_);
  return ends_;
}

std::uint64_t EventQueue::dropped() const {
  const detail::Held lock(mutex_);
  return dropped_;
}

}  // namespace weir::server
