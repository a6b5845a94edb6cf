// Events that wait for one place to be delivered to: at most 1 MiB of them. Beyond that the oldest go, and
// the next that is taken begins with how many they were.
//
// Any thread adds, one takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

class EventQueue {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostAtOnce = 1000;  // lines

  // `dropped_line` says that events were dropped, as a line.
  explicit EventQueue(std::function<std::string(std::uint64_t)> dropped_line)
      : dropped_line_(std::move(dropped_line)) {}

  void add(const std::string& line);

  // The oldest lines, which stay until they are delivered.
  struct Batch {
    std::string text;
    std::uint64_t end = 0;   // the number of the line after them
    std::uint64_t told = 0;  // of dropped lines
  };
  // Waits for the first line, and `gathering` longer for others, as long as they are few; no text: it ends.
  Batch take(std::chrono::milliseconds gathering);
  void delivered(const Batch& batch);
  // Waits that long, or until it ends.
  void rest(std::chrono::milliseconds time);
  // Lets the one who takes know that it ends: what waits is taken once more.
  void end();
  bool ends() const;
  std::uint64_t dropped() const;  // since the start

 private:
  std::function<std::string(std::uint64_t)> dropped_line_;
  mutable detail::Mutex mutex_;
  detail::Signal changed_;
  std::deque<std::string> lines_ WEIR_GUARDED_BY(mutex_);
  std::size_t bytes_ WEIR_GUARDED_BY(mutex_) = 0;
  std::uint64_t first_ WEIR_GUARDED_BY(mutex_) = 0;  // the number of the first line
  std::uint64_t dropped_ WEIR_GUARDED_BY(mutex_) = 0;
  std::uint64_t untold_ WEIR_GUARDED_BY(mutex_) = 0;
  bool ends_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::server
