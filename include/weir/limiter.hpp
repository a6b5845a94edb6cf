// Limits inside one process.
//
//   weir::Limiter limiter{weir::Quota::per_minute(100).with_burst(20)};       // one limit, no key
//   if (auto d = limiter.check(); !d.allowed()) refuse(d.retry_after);        // empty: waiting does not help
//
//   using namespace weir::literals;
//   weir::KeyedLimiter per_user{weir::Quota::per_second(50), {.memory = 64_MiB}};
//   auto d = per_user.check(user_id, weir::Cost{3});                          // one limit for each key
//
// Every member may be called from any thread at any time. A check cannot fail, allocates nothing, and takes
// no lock that another thread can hold across a system call. Time is std::chrono::steady_clock's: stepping
// the wall clock changes no decision; the time that a machine spends suspended does not count as passed.
//
// The promise (src/core/gcra.hpp): in any span of length W the cost admitted for a key is at most
// burst + W / T, T being the quota's emission interval. That is of the default, GCRA. A KeyedLimiter can
// count otherwise, and then promises otherwise, where `limit` is the quota's count and P its period
// (docs/algorithm.md):
//
//   fixed_window            at most `limit` in each window, 2 x limit in any span of P
//   fixed_window_clock      the same
//   sliding_window_log      at most `limit` in any (t - P, t]
//   sliding_window_counter  at most `limit` in each window, 2 x limit - 1 in any (t - P, t]
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "weir/algorithm.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir {

namespace core {
struct Rule;
}  // namespace core
namespace store {
class LogTable;
class Table;
}  // namespace store

// One limit, by GCRA. 64 bytes, no allocation; not copied or moved, because its address is what threads
// share.
class alignas(64) Limiter {
 public:
  explicit Limiter(Quota quota) noexcept;
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  [[nodiscard]] Decision check(Cost cost = {}) noexcept;
  // The same at a time of the caller's, 0 or above, on a clock of the caller's: for tests and simulations.
  // Never mix it with check() on one limiter.
  [[nodiscard]] Decision check_at(std::chrono::nanoseconds now, Cost cost = {}) noexcept;

  // Forgets what was charged.
  void reset() noexcept { tat_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] const Quota& quota() const noexcept { return quota_; }

 private:
  std::atomic<std::uint64_t> tat_{0};
  Quota quota_;
};

// What a key that is not yet known gets when the memory is full of keys that are in use.
enum class WhenFull : std::uint8_t { deny, allow };

inline namespace literals {
consteval std::size_t operator""_MiB(unsigned long long n) { return static_cast<std::size_t>(n) << 20; }
}  // namespace literals

// One limit for each key. A key is bytes, any bytes; it is not kept, only 56 bits of a keyed hash of it (64
// for sliding_window_log).
class KeyedLimiter {
 public:
  struct Options {
    // The most that keys may take, at least 1 MiB; 21.3 bytes a slot, of which some nine in ten can be used.
    // With sliding_window_log a slot takes 40 + 16 x count bytes, of which some three in four can be used,
    // and sixteen have to fit. Memory is taken as it is needed. A key whose reset_after has passed takes
    // none.
    std::size_t memory = 64_MiB;
    WhenFull when_full = WhenFull::deny;
    // fixed_window_clock and sliding_window_counter lay their windows by the wall clock, in UTC: it is read
    // once, here, and stepping it later changes no decision.
    Algorithm algorithm = Algorithm::gcra;
  };

  // Throws std::invalid_argument for too little memory, for a burst with an algorithm other than gcra, and
  // for numbers that the algorithm cannot count (Rule::make in src/core/rule.hpp); std::system_error when the
  // system refuses the memory.
  explicit KeyedLimiter(Quota quota) : KeyedLimiter(quota, Options{}) {}
  KeyedLimiter(Quota quota, Options options);
  ~KeyedLimiter();
  KeyedLimiter(const KeyedLimiter&) = delete;
  KeyedLimiter& operator=(const KeyedLimiter&) = delete;

  [[nodiscard]] Decision check(std::string_view key, Cost cost = {}) noexcept;
  // As Limiter::check_at. Windows that go by the clock go by the one of `now`.
  [[nodiscard]] Decision check_at(std::chrono::nanoseconds now, std::string_view key,
                                  Cost cost = {}) noexcept;

  // Many keys at one time, in order, each as check() would: several times faster than one by one, because the
  // memory of the next keys is fetched while the first are decided. Only the first min(keys, decisions) are.
  void check(std::span<const std::string_view> keys, std::span<Decision> decisions, Cost cost = {});

  // Forgets what was charged to the key; true if there was something to forget.
  bool reset(std::string_view key) noexcept;

  [[nodiscard]] const Quota& quota() const noexcept { return quota_; }
  [[nodiscard]] std::uint64_t live()
      const noexcept;  // keys in use now; reads the table, some 20 ms for 64 MiB
  [[nodiscard]] std::uint64_t capacity() const noexcept;  // slots at the bound
  [[nodiscard]] std::uint64_t refused() const noexcept;   // checks that when_full answered

 private:
  Quota quota_;
  std::unique_ptr<const core::Rule> rule_;
  std::unique_ptr<store::Table> table_;  // one of these two, by the algorithm
  std::unique_ptr<store::LogTable> logs_;
};

}  // namespace weir
