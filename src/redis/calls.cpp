#include "redis/calls.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace weir::inline v0_1::redis {

namespace {

// What a call takes besides its command: here, at its asker's, and in the heap.
constexpr std::size_t kBesides = 512;

}  // namespace

std::uint32_t Calls::add(OpenCall fresh) {
  auto index = static_cast<std::uint32_t>(calls_.size());
  if (free_.empty()) {
    calls_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  OpenCall& call = calls_[index];
  fresh.generation = call.generation;
  call = std::move(fresh);
  bytes_ += call.command.size() + kBesides;
  return index;
}

std::unique_ptr<Call> Calls::close(std::uint32_t index) {
  OpenCall& call = calls_[index];
  if (!call.its) return nullptr;
  ++call.generation;
  bytes_ -= call.command.size() + kBesides;
  call.command.clear();
  free_.push_back(index);
  // Most calls are answered in the order of their deadlines: what nothing waits for is gone at once.
  while (!due_.empty() && !waits(due_.front().ref)) pop();
  return std::move(call.its);
}

void Calls::schedule(Due due) {
  due_.push_back(due);
  std::push_heap(due_.begin(), due_.end(), std::greater<>{});
}

void Calls::pop() {
  std::pop_heap(due_.begin(), due_.end(), std::greater<>{});
  due_.pop_back();
}

std::optional<Calls::Due> Calls::take_due(nanoseconds now) {
  while (!due_.empty() && due_.front().at <= now) {
    const Due due = due_.front();
    pop();
    if (waits(due.ref)) return due;
  }
  return std::nullopt;
}

std::optional<Calls::nanoseconds> Calls::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.front().at;
}

}  // namespace weir::redis
