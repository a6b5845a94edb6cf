#include "waiting/moments.hpp"

namespace weir::inline v0_1::waiting {

bool Moments::add(const std::string& line, nanoseconds moment, std::uint64_t number, Queues::Owner& owner,
                  bool may_have_moved) {
  const detail::Held lock(mutex_);
  OneKey& its = lines_[line];
  its.has_moved = its.has_moved || may_have_moved;
  its.waiting.emplace(moment, number, &owner);
  count_.store(lines_.size(), std::memory_order_relaxed);
  return std::get<1>(*its.waiting.begin()) == number;
}

void Moments::remove(const std::string& line, nanoseconds moment, std::uint64_t number,
                     Queues::Owner& owner) {
  const detail::Held lock(mutex_);
  const auto found = lines_.find(line);
  if (found == lines_.end()) return;
  OneKey& its = found->second;
  const bool was_first = std::get<1>(*its.waiting.begin()) == number;
  its.waiting.erase({moment, number, &owner});
  if (its.waiting.empty()) {
    lines_.erase(found);
    count_.store(lines_.size(), std::memory_order_relaxed);
  } else if (was_first && its.has_moved) {
    its.tell_first();
  }
}

void Moments::moved_up(const std::string& line) {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  const detail::Held lock(mutex_);
  const auto found = lines_.find(line);
  if (found == lines_.end()) return;
  found->second.has_moved = true;
  found->second.tell_first();
}

bool Moments::has_moved(const std::string& line) const {
  const detail::Held lock(mutex_);
  const auto found = lines_.find(line);
  return found != lines_.end() && found->second.has_moved;
}

}  // namespace weir::waiting
