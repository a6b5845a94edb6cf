// Who is denied, and who is charged what: what all event loops of a server count beside their decisions, and
// what is told of it. Top, usage and events are told values of attributes; nothing else here is.
//
// Any thread. Not for: which questions count (loop_counting.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/clock_function.hpp"
#include "core/siphash.hpp"
#include "steering/top.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

struct CountingOptions {
  steering::TopOptions top{.entries = 0};  // without entries nothing of it is counted
  bool hashes = false;                     // keys are told by a hash alone
};

constexpr std::string_view kNoTop = "--top is 0";

class Counting {
 public:
  Counting(CountingOptions options, core::ClockFunction clock);
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  const CountingOptions& options() const { return options_; }
  std::chrono::nanoseconds start() const { return start_; }
  // What a key's hash is made with: secret, and the same in all loops.
  core::HashKey seed() const { return seed_; }

  // A loop's, from then on until it leaves.
  void join(const steering::Top& top);
  void leave(const steering::Top& top);

  // With --top. Costs as much as there are entries.
  steering::Top::Answer top(steering::Top::By by, std::string_view limit, std::size_t most) const;

 private:
  const CountingOptions options_;
  const core::ClockFunction clock_;
  const std::chrono::nanoseconds start_;
  const core::HashKey seed_;
  mutable detail::Mutex mutex_;
  std::vector<const steering::Top*> tops_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::service
