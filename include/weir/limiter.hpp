// Limits inside one process.
//
//   weir::Limiter limiter{weir::Quota::per_minute(100).with_burst(20)};       // one limit, no key
//   if (auto d = limiter.check(); !d.allowed()) refuse(d.retry_after);        // empty: waiting does not help
//
//   using namespace weir::literals;
//   weir::KeyedLimiter per_user{weir::Quota::per_second(50), {.memory = 64_MiB}};
//   auto d = per_user.check(user_id, weir::Cost{3});                          // one limit for each key
//
//   weir::LocalStore store;                                                   // memory that limits share
//   weir::KeyedLimiter users{weir::Quota::per_second(50), store};
//   weir::KeyedLimiter tenants{weir::Quota::per_second(500), store};
//   auto both = store.check_all({{users, user_id}, {tenants, tenant_id}});    // charged both, or none
//
//   weir::Reservation mine = limiter.reserve({.max_wait = 5s});               // not denied: told when to act
//
// Threads: any thread may call every member at any time, except that an object must not be moved, assigned or
// destroyed while another thread uses it. A check that is noexcept cannot fail, and no check allocates; nor
// does reserve(), without a hold, when it acts now. What throws says so.
//
// Locks: a lock is held for some tens of nanoseconds, and for up to some milliseconds by a check that makes
// room for a new key, which only other new keys may wait for. A thread that finds a lock held for longer,
// because its holder has lost its processor, sleeps for 50 us at a time. So a thread of high priority (as
// SCHED_FIFO) never keeps a holder of low priority from its processor: it waits until that one has run on,
// and 0.1 ms. There is no priority inheritance: while threads of a priority between the two take all the
// processor, both wait.
//
// fork(): a child has copies, and counts for itself. Where other threads may be in a call at that time, it
// has to make limiters of its own: one that the child finds locked by a thread of its parent ends the child,
// with a sentence.
//
// Time is std::chrono::steady_clock's. Stepping the wall clock changes no decision; the time that a machine
// spends suspended does not count as passed. A program that has times of its own, as those of a log or of an
// event loop that reads the clock once a turn, gives the limiter a Clock that tells them (weir/clock.hpp):
//
//   weir::ManualClock clock;
//   weir::KeyedLimiter of_a_log{weir::Quota::per_minute(10), {.clock = &clock}};
//   clock.advance_to(5min);  // the time of the next line
//   assert(of_a_log.check("10.0.0.1").allowed());
//
// A quota may be changed while it is in use: set_quota(). What a key has spent stays spent, in units, and no
// change forgives any of it: quotas that follow each other admit together at most the greatest burst
// + W / the smallest T (docs/algorithm.md, "One key under two quotas"). Moments that were told stay; holds
// that are open can give nothing back from then on, and can still cost more.
//
// The promise (src/core/gcra.hpp, after ITU-T I.371): in any span of length W the cost admitted for a key is
// at most burst + W / T, T being the quota's emission interval. That is of the default, GCRA. A KeyedLimiter
// can count otherwise, and then promises otherwise, where `limit` is the quota's count and P its period
// (docs/algorithm.md):
//
//   fixed_window            at most `limit` in each window, 2 x limit in any span of P
//   fixed_window_clock      the same
//   sliding_window_log      at most `limit` in any (t - P, t]
//   sliding_window_counter  at most `limit` in each window, 2 x limit in any (t - P, t]
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "weir/algorithm.hpp"
#include "weir/charge.hpp"
#include "weir/clock.hpp"
#include "weir/decision.hpp"
#include "weir/memory.hpp"
#include "weir/quota.hpp"
#include "weir/reservation.hpp"
#include "weir/take.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

namespace store {
class DefaultLimit;
class LimiterHandle;
struct LimiterLedger;
class LogTable;
struct LimiterMemory;
struct Limit;
struct Request;
}  // namespace store

class Limiter;

// One of several limits that a request has to meet.
struct LimiterCheck {
  Limiter& limiter;
  Cost cost{};
};

// One limit, by GCRA. 64 bytes, and no allocation before something is reserved for later; not copied or
// moved, because its address is what threads share.
class WEIR_API alignas(64) Limiter {
 public:
  explicit Limiter(Quota quota) noexcept : quota_(quota) {}
  // Reads `clock`, which must outlive it.
  Limiter(Quota quota, const Clock& clock) noexcept : quota_(quota), clock_(&clock) {}
  ~Limiter();
  Limiter(Quota quota, const Clock&& clock) = delete;  // it would be gone at once
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  // Decides and, if allowed, charges `cost` units. Cannot fail.
  [[nodiscard]] Decision check(Cost cost = {}) noexcept;

  // Several requests at one time, in order, each as check() would. Throws std::invalid_argument unless there
  // are as many decisions as costs.
  void check(std::span<const Cost> costs, std::span<Decision> decisions);

  // Charges as many units as there are, at least and at most that many, or none (weir/take.hpp). Throws
  // std::invalid_argument unless 1 <= least <= most.
  [[nodiscard]] Taken take_up_to(Cost most, Cost least = {});

  // Says when to act, at the earliest moment at which it fits and at the latest after max_wait, and charges
  // it as of then; a request whose moment would be later is denied at once and charged nothing. A cost of 0
  // looks. Throws std::bad_alloc, with nothing charged, when it has to wait or to be held and there is no
  // memory; std::invalid_argument for a quota whose burst takes more than 73 years to drain.
  //
  // A moment that was told stays. What cancel() and settle() give back is a moment at which others fit,
  // checks too, as long as they make nobody late who was told a later one. A pause over the moment ends it:
  // Reservation::moment().
  [[nodiscard]] Reservation reserve(ReserveOptions options = {}, Cost cost = {});

  // Records what happened outside, whether there was room or not (weir/charge.hpp). Takes a lock. Cannot
  // fail, but ends the program when there is no memory for a pause.
  Charged charge(Outside outside = {}) noexcept;
  // Takes back the last units that were charged, which were not used (weir/charge.hpp). Returns how many.
  std::uint64_t refund(Cost units = {}) noexcept { return charge(detail::refund_of(units)).charged; }

  // From now on it counts by this quota, also what was charged before: a debt of 10 units stays one of 10,
  // and drains at the new rate as soon as a request has been admitted under it. Moments that were told
  // stay. Requests that other threads are asking meanwhile are decided by the one quota or the other. The
  // first change allocates some 400 bytes, and from then on a check takes a lock. Throws std::bad_alloc, and
  // std::invalid_argument for a quota whose burst takes more than 73 years to drain; nothing has changed
  // then.
  void set_quota(Quota quota);
  [[nodiscard]] Quota quota() const noexcept;

  // Forgets what was charged; what was reserved can no longer be cancelled or settled.
  void reset() noexcept;

 private:
  friend JointDecision check_all(std::span<const LimiterCheck> checks);
  friend class store::LimiterHandle;
  std::chrono::nanoseconds now() const noexcept;
  struct Locked;
  std::uint64_t unlocked() const noexcept;
  Decision check(std::chrono::nanoseconds now, Cost cost) noexcept;
  Decision check_in_ledger(std::chrono::nanoseconds now, Cost cost) noexcept;
  Taken take_in_ledger(std::chrono::nanoseconds now, Cost most, Cost least) noexcept;
  Reservation reserve_later(std::chrono::nanoseconds now, ReserveOptions options, Cost cost);

  std::atomic<std::uint64_t> tat_{0};
  const Quota quota_;             // until set_quota(): then it is in the ledger
  const Clock* clock_ = nullptr;  // null: the steady clock
  // While the tat is locked. What is reserved or paused, and the quota since it was changed; null as long as
  // there is nothing of it.
  store::LimiterLedger* ledger_ = nullptr;
};
static_assert(sizeof(Limiter) == 64);

// One request against several limiters, 1 to 16 different ones: charged to all, or to none when any of them
// does not allow it. No thread sees it charged to some. Each limiter reads its own clock. Throws
// std::invalid_argument for another number of limiters, and for one that comes twice.
WEIR_API [[nodiscard]] JointDecision check_all(std::span<const LimiterCheck> checks);
[[nodiscard]] inline JointDecision check_all(std::initializer_list<LimiterCheck> checks) {
  return check_all(std::span<const LimiterCheck>(checks.begin(), checks.size()));
}

class KeyedLimiter;

// One of several limits that a request has to meet.
struct KeyedCheck {
  const KeyedLimiter& limiter;
  std::string_view key;
  Cost cost{};
  std::optional<Quota> quota{};  // of this request, instead of the limiter's
};

// The memory that several KeyedLimiters share, so that one request can be charged to all of them or to none.
// They have to share it because all-or-none needs the states of all keys in one order of locks. Each limiter
// counts for itself, also under equal keys. The memory lives until the store and all its limiters are gone.
class WEIR_API LocalStore {
 public:
  struct Options {
    std::size_t memory = 64_MiB;  // as KeyedLimiter's, for the keys of all limiters together
    WhenFull when_full = WhenFull::deny;
    const Clock* clock = nullptr;  // that all its limiters read; must outlive them. Null: the steady clock
  };

  // Throws std::invalid_argument for too little memory, std::system_error when the system refuses it.
  LocalStore() : LocalStore(Options{}) {}
  explicit LocalStore(Options options);

  // One request against 1 to 16 limits of this store: charged to all, or to none when any does not allow it.
  // No thread sees it charged to some. Throws std::invalid_argument for another number of limits, for a
  // limiter of another store, for a limiter with a key that comes twice, and for a quota that the limiter's
  // algorithm cannot count.
  [[nodiscard]] JointDecision check_all(std::span<const KeyedCheck> checks);
  [[nodiscard]] JointDecision check_all(std::initializer_list<KeyedCheck> checks) {
    return check_all(std::span<const KeyedCheck>(checks.begin(), checks.size()));
  }

  // Charges all limits as of the earliest moment at which it fits at all of them, or none;
  // KeyedLimiter::reserve() says the rest. Throws as check_all() and KeyedLimiter::reserve() do.
  [[nodiscard]] Reservation reserve(std::span<const KeyedCheck> checks, ReserveOptions options = {});
  [[nodiscard]] Reservation reserve(std::initializer_list<KeyedCheck> checks, ReserveOptions options = {}) {
    return reserve(std::span<const KeyedCheck>(checks.begin(), checks.size()), options);
  }

 private:
  friend class KeyedLimiter;
  struct JointRequest;
  void ask(const char* where, std::span<const KeyedCheck> checks, JointRequest& asked) const;
  static Reservation reserve(const std::shared_ptr<store::LimiterMemory>& local, store::Request& request,
                             std::chrono::nanoseconds now, ReserveOptions options);
  std::shared_ptr<store::LimiterMemory> local_;
};

// One limit for each key. A key is bytes, any bytes; it is not kept, only 55 bits of a keyed hash of it (64
// for sliding_window_log). Can be moved; one that was moved from can only be destroyed or assigned to.
class WEIR_API KeyedLimiter {
 public:
  struct Options {
    // The most that keys may take, at least 1 MiB; 21.3 bytes a slot, of which some nine in ten can be used.
    // With sliding_window_log a slot takes 40 + 16 x count bytes, of which some three in four can be used,
    // and sixteen have to fit. Memory is taken as it is needed. A key whose reset_after has passed takes
    // none.
    std::size_t memory = 64_MiB;
    WhenFull when_full = WhenFull::deny;
    // fixed_window_clock and sliding_window_counter lay their windows by the wall clock, in UTC: it is read
    // once, here, and stepping it later changes no decision. With a `clock` they lie on that.
    Algorithm algorithm = Algorithm::gcra;
    const Clock* clock = nullptr;  // must outlive the limiter; null: the steady clock
  };

  // Throws std::invalid_argument for too little memory, for a burst with an algorithm other than gcra, and
  // for numbers that the algorithm cannot count (Rule::make in src/core/rule.hpp); std::system_error when the
  // system refuses the memory.
  explicit KeyedLimiter(Quota quota) : KeyedLimiter(quota, Options{}) {}
  KeyedLimiter(Quota quota, Options options);
  // Keeps its keys in `store`. Throws std::invalid_argument as above, and for sliding_window_log, whose
  // states have no place there.
  KeyedLimiter(Quota quota, LocalStore& store, Algorithm algorithm = Algorithm::gcra);
  ~KeyedLimiter();
  KeyedLimiter(KeyedLimiter&&) noexcept;
  KeyedLimiter& operator=(KeyedLimiter&&) noexcept;

  // Decides and, if allowed, charges the key `cost` units. Cannot fail.
  [[nodiscard]] Decision check(std::string_view key, Cost cost = {}) noexcept;

  // The same with a quota of this call, for keys on different plans. A key whose quota changes keeps its debt
  // in units: what it has spent stays spent, and drains at the new rate. Never throws for gcra; throws
  // std::invalid_argument for a quota that another algorithm cannot count, and for sliding_window_log, which
  // has room for one count only.
  [[nodiscard]] Decision check(std::string_view key, const Quota& quota, Cost cost = {});

  // Many keys at one time, in order, each as check() would: several times faster than one by one, because the
  // memory of the next keys is fetched while the first are decided. The second form has a cost for each key.
  // Throws std::invalid_argument, and decides none, unless there are as many decisions as keys.
  void check(std::span<const std::string_view> keys, std::span<Decision> decisions, Cost cost = {});
  void check(std::span<const KeyCost> keys, std::span<Decision> decisions);

  // Charges as many units as there are, at least and at most that many, or none (weir/take.hpp). Throws
  // std::invalid_argument unless 1 <= least <= most.
  [[nodiscard]] Taken take_up_to(std::string_view key, Cost most, Cost least = {});
  // The same with a quota of this call, as check() has it.
  [[nodiscard]] Taken take_up_to(std::string_view key, const Quota& quota, Cost most, Cost least = {});

  // As Limiter::reserve(), of the key. Throws std::invalid_argument unless the algorithm is gcra, the only
  // one whose states tell a later moment; std::length_error, with nothing charged, for a wait or a hold while
  // those of one memory keep 48 MiB, or of a quota whose burst takes more than 73 years to drain; and
  // std::bad_alloc.
  [[nodiscard]] Reservation reserve(std::string_view key, ReserveOptions options = {}, Cost cost = {});
  // The same with a quota of this call, as check() has it. A moment that was told stays when another call
  // brings another quota.
  [[nodiscard]] Reservation reserve(std::string_view key, const Quota& quota, ReserveOptions options = {},
                                    Cost cost = {});

  // Records what happened outside under the key, whether there was room or not (weir/charge.hpp); a key for
  // which the memory has no room loses it. Throws std::invalid_argument for the sliding windows, which cannot
  // say that more was used than their limit, and for a pause of a window that is not fixed or not afresh;
  // std::length_error, with nothing paused, while the pauses of one memory keep 16 MiB.
  Charged charge(std::string_view key, Outside outside = {});
  // The same with a quota of this call, as check() has it.
  Charged charge(std::string_view key, const Quota& quota, Outside outside = {});
  // Takes back the last units that were charged to the key, which were not used (weir/charge.hpp). Returns
  // how many. Throws as charge() does.
  std::uint64_t refund(std::string_view key, Cost units = {}) {
    return charge(key, detail::refund_of(units)).charged;
  }
  std::uint64_t refund(std::string_view key, const Quota& quota, Cost units = {}) {
    return charge(key, quota, detail::refund_of(units)).charged;
  }

  // From now on this is the quota of all calls that bring none of their own, for every key; each keeps its
  // debt in units, as check() with a quota has it. Requests that other threads are asking meanwhile are
  // decided by the one quota or the other. Allocates nothing; from then on a check copies the quota. Throws
  // std::invalid_argument as check() with a quota does, and nothing has changed.
  void set_quota(const Quota& quota);
  [[nodiscard]] Quota quota() const noexcept;

  // Forgets what was charged to the key; true if there was something to forget. What was reserved under it
  // can no longer be cancelled or settled.
  bool reset(std::string_view key) noexcept;

  // Keys in use, of all limiters of a shared LocalStore; reads the table, some 20 ms for 64 MiB.
  [[nodiscard]] std::uint64_t live() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept;  // slots at the bound
  [[nodiscard]] std::uint64_t refused() const noexcept;   // checks that when_full answered

 private:
  friend class LocalStore;
  KeyedLimiter(Quota quota, Algorithm algorithm, const Clock* clock, std::uint64_t id);
  std::chrono::nanoseconds now() const noexcept;
  store::Limit with(const char* where, const Quota& quota) const;
  Decision decide(std::chrono::nanoseconds now, std::string_view key, const store::Limit& limit,
                  Cost cost) noexcept;
  Reservation reserve(std::chrono::nanoseconds now, std::string_view key, const store::Limit& limit,
                      ReserveOptions options, Cost cost);
  Charged charge(std::string_view key, const store::Limit& limit, Outside outside);
  Taken take(std::string_view key, const store::Limit& limit, Cost most, Cost least);
  template <class Key>
  void check_each(std::span<const Key> keys, std::span<Decision> decisions, Cost cost);

  const Clock* clock_;
  std::chrono::nanoseconds wall_{0};  // from our clock to the one that windows go by
  std::unique_ptr<store::DefaultLimit> limit_;
  std::shared_ptr<store::LimiterMemory> local_;  // one of these two, by the algorithm
  std::unique_ptr<store::LogTable> logs_;
};

}  // namespace weir
