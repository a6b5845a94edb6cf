// What all loops together know of the shared store: for INFO, and for the log.
//
// Each loop has connections of its own, and one may be refused what another is given: the worst counts, on
// whichever loop it is. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/repeated.hpp"
#include "redis/health.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

class StoreStatus {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  using View = redis::Health::View;

  // A line for the log.
  struct Message {
    bool warns;
    std::string text;
  };

  StoreStatus(std::string store, std::size_t loops);

  // Called when the store ceases to decide, with why, and when it decides again, without; set before the
  // first loop notes anything. It must not call this.
  std::function<void(const std::string& why)> on_turn = [](const std::string&) {};

  // That of the worst loop.
  View worst() const;

  // What a loop sees now; to be called at a change and every second or so. What is to be logged of it: when
  // the store begins to decide, when it ceases and why, at once; and again at intervals while it does not.
  std::optional<Message> note(std::size_t loop, const redis::Health& health, nanoseconds now);
  // Of a loop that has learnt the store's maxmemory-policy.
  std::optional<Message> note_eviction(std::string_view policy);
  // Of a loop that has measured a bare round trip; 0: not yet. Every so often, while it is longer than the
  // deadline, as no check is decided by the store then.
  std::optional<Message> note_round_trip(nanoseconds round_trip, nanoseconds deadline, nanoseconds now);
  // Of a loop that has found the module redis-cell where what weir writes would be fatal to it.
  std::optional<Message> note_redis_cell();
  // Of a loop that has found a key that a former build has reserved from.
  std::optional<Message> note_former_state();

 private:
  struct Loop {
    View view{};
    std::uint64_t not_decided = 0;
  };

  const View& find_worst() const WEIR_REQUIRES(mutex_);
  std::optional<Message> note_ready(nanoseconds now) WEIR_REQUIRES(mutex_);
  std::optional<Message> note_trouble(const View& trouble, nanoseconds now) WEIR_REQUIRES(mutex_);

  const std::string store_;
  mutable detail::Mutex mutex_;
  std::vector<Loop> loops_ WEIR_GUARDED_BY(mutex_);
  View told_ WEIR_GUARDED_BY(mutex_){};                           // what the log's last line says
  std::optional<nanoseconds> warned_at_ WEIR_GUARDED_BY(mutex_);  // the last line of trouble
  std::optional<nanoseconds> ready_since_ WEIR_GUARDED_BY(mutex_);
  bool failed_ WEIR_GUARDED_BY(mutex_) = false;                 // which was told
  std::uint64_t not_decided_then_ WEIR_GUARDED_BY(mutex_) = 0;  // at the last line
  std::string eviction_ WEIR_GUARDED_BY(mutex_) = "noeviction";
  bool redis_cell_told_ WEIR_GUARDED_BY(mutex_) = false;
  bool former_state_told_ WEIR_GUARDED_BY(mutex_) = false;
  core::Repeated far_;  // a long round trip
};

}  // namespace weir::server
