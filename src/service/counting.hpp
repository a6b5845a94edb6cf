// Which keys are denied, and which are charged what: what all event loops of a server count beside their
// decisions, and what is told of it. Top, usage and events are told values of attributes; nothing else
// here is.
//
// Any thread. Not for: which questions count (loop_counting.hpp).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/clock_function.hpp"
#include "core/siphash.hpp"
#include "limits/attribute.hpp"
#include "limits/match.hpp"
#include "limits/set.hpp"
#include "service/shared_usage.hpp"
#include "steering/once_a_period.hpp"
#include "steering/top.hpp"
#include "steering/usage.hpp"
#include "steering/usage_book.hpp"
#include "steering/usage_buffer.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

struct CountingOptions {
  steering::TopOptions top{.entries = 0};  // without entries nothing of it is counted
  bool hashes = false;                     // keys are told by a hash alone
  std::size_t track_memory = std::size_t{16} << 20;
};

constexpr std::string_view kNoTop = "--top is 0";
constexpr std::string_view kNoSecret = "--top-hash: the store has not told the secret of its servers yet";
constexpr std::string_view kNotTracked = "not tracked";

class Counting {
 public:
  // By the first clock generations of top go, by the other periods of usage.
  Counting(CountingOptions options, core::ClockFunction clock, core::ClockFunction wall_clock);
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  const CountingOptions& options() const { return options_; }
  std::chrono::nanoseconds start() const { return start_; }
  std::chrono::nanoseconds utc() const { return wall_clock_(); }
  // Of a limit (Set::CompiledLimit::shown_as) and a key of it: secret, and the same in all loops.
  std::uint64_t hash_of(std::uint64_t limit, std::string_view key) const {
    return core::siphash<1, 3>({seed_.k0, seed_.k1 ^ limit}, key);
  }

  // A loop's, from then on until it leaves.
  void join(const steering::TopKeys* top, steering::UsageBuffer& usage);
  void leave(const steering::TopKeys* top, steering::UsageBuffer& usage);

  // With --top. Costs as much as there are entries. Or a sentence why not.
  tl::expected<steering::TopKeys::Answer, std::string> top(steering::TopKeys::By by, std::string_view limit,
                                                           std::size_t most) const;
  // What keys are hashed with to be shown. Servers that share a store share it: until the store has said it
  // nothing is shown.
  bool needs_secret() const;
  void use_secret(std::string_view text);
  static std::string text_of(core::HashKey secret);

  // A key as events show it; nothing while it cannot be.
  std::optional<std::string> shown(std::string_view limit, std::string_view key) const;
  // Of which keys people have been told.
  steering::OnceAPeriod told_of;

  // What is booked goes there; before anybody counts. Null: it is kept here.
  void share_usage(SharedUsage* shared);
  // Adds up what a loop has booked, or all have.
  void add_usage(steering::UsageBuffer& of);
  void add_usage();

  // A key of a limit that is tracked.
  struct UsageAsked {
    std::shared_ptr<const limits::Set> set{};
    limits::Index limit = 0;
    steering::Booking key{};
    std::string key_text{};
  };
  // Of the limit called `limit`; attributes are all of its `by`, at least. Or a sentence why not.
  tl::expected<UsageAsked, std::string> usage_asked(std::shared_ptr<const limits::Set> set,
                                                    std::string_view limit,
                                                    std::span<const limits::Attribute> attributes,
                                                    limits::MatchMemory& memory) const;
  struct UsageTold {
    struct Window {
      std::string name;  // "1d"
      steering::Usage::OfWindow told;
    };
    std::string limit;
    std::string key;
    std::vector<Window> windows;
    std::array<std::uint64_t, steering::Usage::kHours> hours{};
  };
  using UsageAnswer = tl::expected<UsageTold, std::string>;
  using OnUsage = std::function<void(UsageAnswer)>;
  // `told` is called once, at once or later, by any thread.
  void usage(UsageAsked asked, OnUsage told);

  struct UsageCounts {
    std::uint64_t keys = 0;
    std::uint64_t bytes = 0;
    std::uint64_t untracked = 0;  // times that a key found no room
  };
  UsageCounts usage_counts() const;

  // All usage, once the loops have forgotten theirs.
  void forget();

 private:
  const CountingOptions options_;
  const core::ClockFunction clock_;
  const core::ClockFunction wall_clock_;
  const std::chrono::nanoseconds start_;
  const core::HashKey seed_;
  SharedUsage* shared_ = nullptr;
  mutable detail::Mutex mutex_;  // before the next
  std::optional<core::HashKey> secret_ WEIR_GUARDED_BY(mutex_);
  std::vector<const steering::TopKeys*> tops_ WEIR_GUARDED_BY(mutex_);
  std::vector<steering::UsageBuffer*> buffers_ WEIR_GUARDED_BY(mutex_);
  mutable detail::Mutex usage_mutex_;
  steering::UsageBook book_ WEIR_GUARDED_BY(usage_mutex_);
  std::atomic<std::uint64_t> untracked_{0};
};

}  // namespace weir::service
