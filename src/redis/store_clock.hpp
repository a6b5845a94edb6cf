// Whether the store's clock has stepped back, as its answers show it: by how far it is ahead of ours.
//
// A state that was written before the step lies that much too far ahead, and denies its key until the clock
// has come there again. No state tells that: much is owed by a key that was booked ahead, that was charged
// more when it was settled, or whose burst was lowered, and to cut that would hand it out again. So it is the
// step that makes a debt suspect, for as long as one from before it may last.
//
// Any thread. One for all nodes of a store: where the clocks of two are seconds apart, the later one is
// always suspect.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace weir::inline v0_1::redis {

class StoreClock {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  // A smaller step delays nobody by more than that, and clocks are set right by that much all the time.
  static constexpr nanoseconds kSmallest = std::chrono::seconds{1};

  // The store said that it was `theirs` at some time of ours from `asked` to `answered`.
  void heard(nanoseconds theirs, nanoseconds asked, nanoseconds answered) {
    const std::int64_t least = (theirs - answered).count();
    const std::int64_t most = (theirs - asked).count();
    std::int64_t furthest = ahead_.load(std::memory_order_relaxed);
    const std::int64_t found = furthest;
    if (least > furthest) {
      while (least > furthest && !ahead_.compare_exchange_weak(furthest, least)) {
      }
    } else if (furthest != kUnknown && furthest - most > kSmallest.count()) {
      // What was written before the step has come by then, and what was before one that it follows soon:
      // later by this step, but no later than all that it has gone back by.
      if (is_suspect(answered)) furthest = std::max(furthest, before_steps_.load(std::memory_order_relaxed));
      before_steps_.store(furthest, std::memory_order_relaxed);
      const auto until = [&](std::int64_t known) {
        return std::min(std::max(known, answered.count()) + (found - least),
                        answered.count() + (furthest - least));
      };
      std::int64_t known = suspect_until_.load(std::memory_order_relaxed);
      while (until(known) > known && !suspect_until_.compare_exchange_weak(known, until(known))) {
      }
      std::int64_t expected = found;
      ahead_.compare_exchange_strong(expected, least);
    }
  }

  // What time it is there, about.
  std::optional<nanoseconds> at(nanoseconds now) const {
    const std::int64_t ahead = ahead_.load(std::memory_order_relaxed);
    return ahead == kUnknown ? std::nullopt : std::optional(now + nanoseconds{ahead});
  }

  // Whether what lies far ahead may be there for the sake of a step.
  bool is_suspect(nanoseconds now) const { return suspect_for(now).count() > 0; }
  // By how much at most for its sake.
  nanoseconds suspect_for(nanoseconds now) const {
    const std::int64_t until = suspect_until_.load(std::memory_order_relaxed);
    return nanoseconds{until > now.count() ? until - now.count() : 0};
  }

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  std::atomic<std::int64_t> ahead_{kUnknown};         // of ours, the furthest since the last step; ns
  std::atomic<std::int64_t> before_steps_{kUnknown};  // the same, before those for which something is suspect
  std::atomic<std::int64_t> suspect_until_{kUnknown};  // on our clock
};

}  // namespace weir::redis
