// Those who wait for a moment that may come earlier, by the key whose line of units they wait in. When what
// is ahead of them moves up, the first of a line is told to ask for its moment again, and when it has gone
// the next.
//
// Any thread. Each call costs the logarithm of those who wait. Not for: those who have no moment
// (queues.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "waiting/queues.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::waiting {

class Moments {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `line` is a key's, the same in all loops. `may_have_moved`: nobody says whether it has. True: it is the
  // first of its line.
  bool add(const std::string& line, nanoseconds moment, std::uint64_t number, Queues::Owner& owner,
           bool may_have_moved);
  // It has gone, by the moment that it was added with.
  void remove(const std::string& line, nanoseconds moment, std::uint64_t number, Queues::Owner& owner);
  // Those of the line act earlier.
  void moved_up(const std::string& line);
  // That has been, or may have been, since the line began.
  bool has_moved(const std::string& line) const;

 private:
  struct OneKey {
    std::set<std::tuple<nanoseconds, std::uint64_t, Queues::Owner*>> waiting{};
    bool has_moved = false;

    void tell_first() const {
      const auto& [moment, number, owner] = *waiting.begin();
      owner->on_first(number);
    }
  };

  mutable detail::Mutex mutex_;
  std::unordered_map<std::string, OneKey> lines_ WEIR_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};  // of lines
};

}  // namespace weir::waiting
