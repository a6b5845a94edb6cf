// Limits that many processes share, through a Redis or Valkey.
//
//   weir::RedisStore store{"redis://10.0.0.1:6379"};                           // one for the process
//   weir::SharedLimiter per_user{weir::Quota::per_second(50), store};
//   weir::SharedLimiter per_tenant{weir::Quota::per_second(500), store};
//   auto d = per_user.check(user_id, weir::Cost{3});
//   auto all = store.check_all({{per_user, user_id}, {per_tenant, tenant_id}});  // both are charged, or none
//   auto mine = per_user.reserve(user_id, {.max_wait = 5s});  // not denied: told when to act
//
// A check asks the store and waits for its answer, at most the deadline. When there is none, `on_store_error`
// decides: the embedded store of this process, or always yes, or always no. A denial is remembered for a
// second at most, so that a key which is denied costs the store one call a second. Decision::source says
// which it was.
//
// Two ways to ask: check(), check_all() and reserve() wait for the answer; with one argument more, what to
// call then, they do not (weir/completion.hpp). That is a callback,
//
//   per_user.check(user_id, [](const weir::SharedResult& d) { assert(d && d->limit == 50); });
//
// or with <weir/asio.hpp> a completion token of Boost.Asio, as in
// `co_await per_user.check(user_id, asio::use_awaitable)`. What was reserved is cancelled and settled in the
// same two ways.
//
// Callbacks are called by the store's thread, or by the one that asks, and every answer waits for them. In a
// callback
//
// - a call that would wait for this store throws std::logic_error: ask again with another callback
// - a reservation that is cancelled or destroyed does not wait for its answer, and cancel() returns 0; to
//   settle one takes a callback too
// - an exception that leaves it is counted (thrown()) and handed to Options::on_exception; the store goes on
// - to destroy the store ends the program
//
// and so with "memory:", which thus shows in a test what a Redis would do.
//
// Threads: any thread may call every member at any time, until the object is destroyed. A store has one
// thread of its own and one connection to each node, over which the checks of all threads travel together.
// Link weir::redis, not only weir::weir.
//
// fork(): a store belongs to the process that made it. In a child every call throws std::logic_error, what
// was reserved stays the parent's, and to destroy the store does nothing. A child makes a store of its own.
//
// The promise, while the store decides: in any span of length W at most burst + W / T for a key, over all
// processes (src/core/gcra.hpp, after ITU-T I.371; src/redis/check.lua counts by it). A Redis that fails over
// may have lost what it acknowledged last: one burst more for each failover.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weir/algorithm.hpp"
#include "weir/callback.hpp"
#include "weir/charge.hpp"
#include "weir/clock.hpp"
#include "weir/completion.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"
#include "weir/reservation.hpp"
#include "weir/slots.hpp"
#include "weir/source.hpp"
#include "weir/store_fault.hpp"
#include "weir/take.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

class SharedLimiter;
class Limits;
namespace store {
class BlockingStore;
}

// What callbacks are told, where the calls that wait return the value or throw the StoreFault.
using SharedResult = StoreResult<Decision>;
using JointResult = StoreResult<JointDecision>;

// One of several limits that a request has to meet.
struct SharedCheck {
  const SharedLimiter& limiter;
  std::string_view key;
  Cost cost{};
  std::optional<Quota> quota{};  // of this request, instead of the limiter's
};

class WEIR_API RedisStore {
 public:
  struct Options {
    std::chrono::nanoseconds deadline = kStoreDeadline;
    OnStoreError on_store_error = OnStoreError::local;
    bool remember_denials = true;
    std::string tls_ca{};    // of rediss://, a file in PEM; empty: the authorities that the system trusts
    std::string tls_cert{};  // what we show a store that asks for it, a chain in PEM; with its key or neither
    std::string tls_key{};
    std::string tls_name{};  // whom the store's certificate names; empty: the host of the URL
    // The part of each limit, above 0 and at most 1, that OnStoreError::local admits here while the store
    // does not decide. With N processes, 1.0 / N keeps all of them together within the limit.
    double local_share = 1;
    // Of deadlines, remembered denials, leases and what this process counts itself; must outlive the store.
    // A Redis counts by its own clock. Null: the steady clock.
    const Clock* clock = nullptr;
    // Called with an exception that has left a callback, on the callback's thread. Must not throw.
    std::function<void(std::exception_ptr)> on_exception{};
  };

  // docs/redis.md has the forms of a URL. Keys in the store begin with weir:, or with what ?prefix= says;
  // what lies there and is not weir's is never touched. Begins to connect and does not wait for it. Besides,
  // "memory:" is a store inside this process, for tests: without sockets or a thread, it decides at once and
  // never fails. Throws std::invalid_argument for a malformed URL, with a text that never contains the
  // password, for a certificate that does not go with it, and for a local_share out of range;
  // std::runtime_error for a file of certificates or a key that holds none.
  explicit RedisStore(std::string_view url) : RedisStore(url, Options{}) {}
  RedisStore(std::string_view url, Options options);
  // Waits until what was asked has been answered, at most the deadline. No thread may be inside a call.
  ~RedisStore();
  RedisStore(const RedisStore&) = delete;
  RedisStore& operator=(const RedisStore&) = delete;

  // One request against several limits, 16 at most and each with a key of its own: charged all, or none when
  // any is not allowed. It takes one call when the keys are in one Redis, or in a cluster share a {hash tag}.
  // Otherwise it takes one call for each slot; when one of them denies, what the others have charged is given
  // back, less what has drained meanwhile, and until that arrives they may deny others for it. The deadline
  // is the shortest of the limits', whose own on_store_error decides when the store does not. Leases decide
  // it when each of the limits has one with enough left. Throws std::invalid_argument for no limit or too
  // many, for one of another store, for a key that comes twice, and for a quota that cannot be counted;
  // StoreFault as SharedLimiter::check, and for other algorithms than GCRA across slots.
  [[nodiscard]] JointDecision check_all(std::span<const SharedCheck> checks);
  [[nodiscard]] JointDecision check_all(std::initializer_list<SharedCheck> checks) {
    return check_all(std::span<const SharedCheck>(checks.begin(), checks.size()));
  }
  // Does not wait; as SharedLimiter::check, with a JointDecision.
  template <detail::Completion Done, class Result = JointResult>
  auto check_all(std::span<const SharedCheck> checks, Done&& done) {
    return detail::complete<JointDecision, Result>(ready_check_all(checks), std::forward<Done>(done));
  }

  [[nodiscard]] bool ready() const noexcept;                 // the store decides; docs/redis-failures.md
  [[nodiscard]] std::uint64_t decided() const noexcept;      // checks that it has decided
  [[nodiscard]] std::uint64_t remembered() const noexcept;   // denials given without asking
  [[nodiscard]] std::uint64_t leased() const noexcept;       // allowances given without asking
  [[nodiscard]] std::uint64_t merged() const noexcept;       // checks decided in another one's call
  [[nodiscard]] std::uint64_t not_decided() const noexcept;  // checks that on_store_error had to decide
  [[nodiscard]] std::uint64_t thrown() const noexcept;       // callbacks that an exception left

 private:
  friend class SharedLimiter;
  friend class Limits;
  store::BlockingStore& asker() noexcept;  // for weir::Limits
  detail::Ready<JointDecision> ready_check_all(std::span<const SharedCheck> checks);
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// One limit for each key, counted in the store, which must outlive it. The key alone says which state is
// meant: two limiters of one store, with one algorithm, count equal keys together. A quota that changes while
// the program runs is passed with each call: a key keeps its debt in units.
class WEIR_API SharedLimiter {
 public:
  struct Options {
    // Above 1: takes that many units from the store at a time and spends them here without asking, for keys
    // that are asked for more often than the store should be. The promise holds; the price is that, while a
    // lease lasts, other processes may be denied units that nobody spends here. What is left after
    // `lease_for`, or when the store ends, is given back. `remaining` is what is left of the lease.
    std::uint64_t lease = 0;
    std::chrono::nanoseconds lease_for = std::chrono::seconds{1};
    // One call for a key at a time: checks that come while one is under way wait for it and then travel
    // together, and each is decided as it would have been alone, first come, first served. For keys that
    // many callers ask for at once: far fewer calls, for up to one more round trip. With a lease always. Not
    // for sliding_window_log.
    bool merge = false;
    // Of others than GCRA, denials are not remembered, there are no leases, and OnStoreError::local decides
    // by GCRA.
    Algorithm algorithm = Algorithm::gcra;
    // These replace the store's own.
    std::optional<OnStoreError> on_store_error{};
    std::optional<std::chrono::nanoseconds> deadline{};
  };
  SharedLimiter(Quota quota, RedisStore& store) : SharedLimiter(quota, store, Options{}) {}
  // Throws std::invalid_argument for numbers that the algorithm or a script in Redis cannot count exactly.
  SharedLimiter(Quota quota, RedisStore& store, Options options);
  // Counts open holds instead of a rate (weir/slots.hpp), by one key over all processes. It can reserve(),
  // with a hold, and reset(): whatever else asks throws std::invalid_argument. Of the options the deadline
  // and on_store_error are used. Throws std::invalid_argument for a count out of range.
  SharedLimiter(Slots slots, RedisStore& store) : SharedLimiter(slots, store, Options{}) {}
  SharedLimiter(Slots slots, RedisStore& store, Options options);

  // Decides and, if allowed, charges the key `cost` units. Waits at most the deadline. Throws StoreFault when
  // something other than a limit lies under the key in Redis (foreign_value).
  [[nodiscard]] Decision check(std::string_view key, Cost cost = {});
  // The same with a quota of this call, for keys on different plans. A key whose quota changes keeps its debt
  // in units. Throws std::invalid_argument for a quota that cannot be counted.
  [[nodiscard]] Decision check(std::string_view key, const Quota& quota, Cost cost = {});

  // Charges as many units as there are, at least and at most that many, or none (weir/take.hpp). A lease of
  // the key that has fewer goes back first. Waits and throws as check() does; std::invalid_argument also
  // unless 1 <= least <= most.
  [[nodiscard]] Taken take_up_to(std::string_view key, Cost most, Cost least = {}) {
    return take_up_to(key, quota_, most, least);
  }
  [[nodiscard]] Taken take_up_to(std::string_view key, const Quota& quota, Cost most, Cost least = {});

  // Says when to act: weir/reservation.hpp has the rest. The moment is the earliest at which it fits, over
  // all processes. It waits for the store, at most the deadline, to reserve, to cancel and to settle. Its
  // moment is by our clock, and as much later than the store's as its answer took, at least. What
  // `on_store_error` reserves is this process' own, and lasts as long as the store. Leases and `merge` are
  // not used. Throws as check() does, and std::invalid_argument for another algorithm than GCRA, and for
  // slots without a hold.
  [[nodiscard]] Reservation reserve(std::string_view key, ReserveOptions options = {}, Cost cost = {});
  [[nodiscard]] Reservation reserve(std::string_view key, const Quota& quota, ReserveOptions options = {},
                                    Cost cost = {});

  // Records what happened outside under the key, whether there was room or not (weir/charge.hpp). Waits at
  // most the deadline. While the store is away it is kept here, where on_store_error is `local`. Throws
  // StoreFault where nobody keeps it (store_down), and as check() does; std::invalid_argument for a quota
  // that cannot be counted, and for the sliding windows.
  Charged charge(std::string_view key, Outside outside = {}) { return charge(key, quota_, outside); }
  Charged charge(std::string_view key, const Quota& quota, Outside outside = {});
  // Takes back the last units that were charged to the key, which were not used (weir/charge.hpp). Returns
  // how many. Throws as charge() does.
  std::uint64_t refund(std::string_view key, Cost units = {}) { return refund(key, quota_, units); }
  std::uint64_t refund(std::string_view key, const Quota& quota, Cost units = {}) {
    return charge(key, quota, detail::refund_of(units)).charged;
  }

  // Does not wait. `done` is a callback, void(SharedResult), or a token: it is called once, on the store's
  // thread or on this one, as callbacks are (above). The key and the quota need not live longer than this
  // call. Throws std::invalid_argument as above, and `done` is not called then.
  template <detail::Completion Done, class Result = SharedResult>
  auto check(std::string_view key, Done&& done) {
    return check<Done, Result>(key, quota_, Cost{}, std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = SharedResult>
  auto check(std::string_view key, Cost cost, Done&& done) {
    return check<Done, Result>(key, quota_, cost, std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = SharedResult>
  auto check(std::string_view key, const Quota& quota, Cost cost, Done&& done) {
    auto begin = [limiter = SharedLimiter(*this), key = std::string(key), quota,
                  cost](Callback<detail::RawResult<Decision>> answer) mutable {
      limiter.begin_check(std::move(key), quota, cost, std::move(answer));
    };
    return detail::complete<Decision, Result>(std::move(begin), std::forward<Done>(done));
  }
  // The same of reserve(): `done` is told a Reservation.
  template <detail::Completion Done, class Result = StoreResult<Reservation>>
  auto reserve(std::string_view key, ReserveOptions options, Done&& done) {
    return reserve<Done, Result>(key, quota_, options, Cost{}, std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = StoreResult<Reservation>>
  auto reserve(std::string_view key, ReserveOptions options, Cost cost, Done&& done) {
    return reserve<Done, Result>(key, quota_, options, cost, std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = StoreResult<Reservation>>
  auto reserve(std::string_view key, const Quota& quota, ReserveOptions options, Cost cost, Done&& done) {
    auto begin = [limiter = SharedLimiter(*this), key = std::string(key), quota, options,
                  cost](Callback<detail::RawResult<Reservation>> answer) mutable {
      limiter.begin_reserve(std::move(key), quota, options, cost, std::move(answer));
    };
    return detail::complete<Reservation, Result>(std::move(begin), std::forward<Done>(done));
  }

  // The same of take_up_to(): `done` is told a Taken.
  template <detail::Completion Done, class Result = StoreResult<Taken>>
  auto take_up_to(std::string_view key, Cost most, Done&& done) {
    return take_up_to<Done, Result>(key, quota_, most, Cost{}, std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = StoreResult<Taken>>
  auto take_up_to(std::string_view key, Cost most, Cost least, Done&& done) {
    return take_up_to<Done, Result>(key, quota_, most, least, std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = StoreResult<Taken>>
  auto take_up_to(std::string_view key, const Quota& quota, Cost most, Cost least, Done&& done) {
    auto begin = [limiter = SharedLimiter(*this), key = std::string(key), quota, most,
                  least](Callback<detail::RawResult<Taken>> answer) mutable {
      limiter.begin_take(std::move(key), quota, most, least, std::move(answer));
    };
    return detail::complete<Taken, Result>(std::move(begin), std::forward<Done>(done));
  }

  // Many keys, asked for together, in order; waits until all are answered. Throws std::invalid_argument
  // unless there are as many decisions as keys. Throws StoreFault as check() does, for the first key that has
  // one; the others are decided and charged all the same, and `decisions` says what they came to.
  void check(std::span<const std::string_view> keys, std::span<Decision> decisions, Cost cost = {});
  void check(std::span<const KeyCost> keys, std::span<Decision> decisions);

  // Forgets what was charged to the key; true if there was something to forget. Throws StoreFault when the
  // store did not answer (store_down), and when something other than a limit lies under the key.
  bool reset(std::string_view key);

  [[nodiscard]] const Quota& quota() const noexcept { return quota_; }

 private:
  friend class RedisStore;
  void begin_check(std::string key, const Quota& quota, Cost cost,
                   Callback<detail::RawResult<Decision>> answer);
  void begin_reserve(std::string key, const Quota& quota, ReserveOptions options, Cost cost,
                     Callback<detail::RawResult<Reservation>> answer);
  void begin_take(std::string key, const Quota& quota, Cost most, Cost least,
                  Callback<detail::RawResult<Taken>> answer);

  Quota quota_;
  RedisStore& store_;
  Options options_;
};

}  // namespace weir
