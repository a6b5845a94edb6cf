// What took long of late, for an operator who asks: commands that ran for long, and answers that were long in
// coming from a shared store or from the other event loops.
//
// Any thread. Bounded: the latest replaces the oldest. Not for: lines in a log (core/notices.hpp), and
// secrets, which its caller leaves out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

class SlowLog {
 public:
  static constexpr std::chrono::nanoseconds kSlow = std::chrono::milliseconds{10};
  static constexpr std::size_t kMost = 128;
  // As Redis cuts them.
  static constexpr std::size_t kMostWords = 32;
  static constexpr std::size_t kMostBytes = 128;  // of a word

  struct Entry {
    std::uint64_t id = 0;        // in the order in which they ended
    std::chrono::seconds at{0};  // on the wall clock, when it ended
    std::chrono::nanoseconds took{0};
    std::vector<std::string> words{};  // cut, and made printable
    std::string address{};             // of the client, with its port
    std::string name{};                // that the client gave itself
  };

  // Numbers the entry.
  void add(Entry entry);
  // The newest first.
  std::vector<Entry> latest(std::size_t count) const;
  std::size_t size() const;
  void clear();  // the numbers go on

 private:
  mutable detail::Mutex mutex_;
  std::deque<Entry> entries_ WEIR_GUARDED_BY(mutex_);  // the newest first
  std::uint64_t ids_ WEIR_GUARDED_BY(mutex_) = 0;
};

// The words of a command, as an entry has them.
std::vector<std::string> cut(std::span<const std::string_view> words);

}  // namespace weir::service
