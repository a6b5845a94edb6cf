// Limits that many processes share, through a Redis or Valkey.
//
//   weir::RedisStore store{"redis://10.0.0.1:6379"};                           // one for the process
//   weir::SharedLimiter per_user{weir::Quota::per_second(50), store};
//   auto d = per_user.check(user_id, weir::Cost{3});
//   auto all = store.check_all({{per_user, user_id}, {per_tenant, tenant_id}});  // both are charged, or none
//
// A check asks the store and waits for its answer, at most the deadline. When there is none, `on_store_error`
// decides: the embedded store of this process, or always yes, or always no. A denial is remembered until its
// retry_after, so that a key which is denied costs the store nothing.
//
// A store has one thread of its own and one connection to each node, over which the checks of all threads
// travel together. Every member may be called from any thread. Needs Boost.Asio's headers and OpenSSL: link
// weir::redis, not only weir::weir.
//
// The promise, while the store decides: in any span of length W at most burst + W / T for a key, over all
// processes. A Redis that fails over may have lost what it acknowledged last: one burst more for each
// failover.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/algorithm.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"
#include "weir/source.hpp"

namespace weir {

class SharedLimiter;

// One of several limits that a request has to meet.
struct SharedCheck {
  const SharedLimiter& limiter;
  std::string_view key;
  Cost cost{};
};

// What several limits made of one request.
struct SharedDecision {
  // Of the limit that decides: the one denied for longest, or where all allow the one with the least left.
  Decision decision;
  std::size_t by = 0;  // which that is, counted from 0

  [[nodiscard]] bool allowed() const noexcept { return decision.allowed(); }
};

class RedisStore {
 public:
  struct Options {
    std::chrono::nanoseconds deadline = std::chrono::milliseconds{50};
    OnStoreError on_store_error = OnStoreError::local;
    bool remember_denials = true;
    std::string tls_ca{};    // of rediss://, a file in PEM; empty: whom the system trusts
    std::string tls_cert{};  // what we show a store that asks for it, a chain in PEM; with its key or neither
    std::string tls_key{};
  };

  // docs/redis.md has the forms of a URL. Begins to connect and does not wait for it. Throws
  // std::invalid_argument for a URL that is none, whose text never has the password in it, or a certificate
  // that does not go with it, and std::runtime_error for a file of certificates or a key that holds none.
  explicit RedisStore(std::string_view url) : RedisStore(url, Options{}) {}
  RedisStore(std::string_view url, Options options);
  ~RedisStore();
  RedisStore(const RedisStore&) = delete;
  RedisStore& operator=(const RedisStore&) = delete;

  // One request against several limits, 16 at most and each with a key of its own: charged all, or none when
  // any is not allowed. It takes one call when the keys are in one Redis, or in a cluster share a {hash tag}.
  // Otherwise it takes one call for each slot; when one of them denies, what the others have charged is given
  // back, less what has drained meanwhile, and until that arrives they may deny others for it. The deadline
  // is the shortest of the limits', whose own policies decide when the store does not. Leases are not used.
  // Throws std::invalid_argument for no limit or too many, for one of another store, and for a key that comes
  // twice; std::runtime_error as SharedLimiter::check, and for other algorithms than GCRA across slots.
  [[nodiscard]] SharedDecision check_all(std::span<const SharedCheck> checks);
  [[nodiscard]] SharedDecision check_all(std::initializer_list<SharedCheck> checks) {
    return check_all(std::span<const SharedCheck>(checks.begin(), checks.size()));
  }
  // Does not wait; as SharedLimiter::check with `done`.
  void check_all(std::span<const SharedCheck> checks,
                 std::function<void(const SharedDecision&, std::string_view error)> done);

  [[nodiscard]] bool ready() const noexcept;                // whether the store answers
  [[nodiscard]] std::uint64_t decided() const noexcept;     // checks that it has decided
  [[nodiscard]] std::uint64_t remembered() const noexcept;  // denials given without asking
  [[nodiscard]] std::uint64_t leased() const noexcept;      // allowances given without asking
  [[nodiscard]] std::uint64_t merged() const noexcept;  // checks that the store decided in another one's call
  [[nodiscard]] std::uint64_t not_decided() const noexcept;  // checks that on_store_error had to decide

 private:
  friend class SharedLimiter;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// One limit for each key, counted in the store, which must outlive it.
class SharedLimiter {
 public:
  struct Options {
    // Above 1: takes so many units from the store at a time and spends them here without asking, for keys
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
    // Otherwise than the store's own.
    std::optional<OnStoreError> on_store_error{};
    std::optional<std::chrono::nanoseconds> deadline{};
  };
  SharedLimiter(Quota quota, RedisStore& store) : SharedLimiter(quota, store, Options{}) {}
  // Throws std::invalid_argument for numbers that the algorithm or a script in Redis cannot count exactly.
  SharedLimiter(Quota quota, RedisStore& store, Options options);

  // Throws std::runtime_error when something that is no limit lies under the key in Redis.
  [[nodiscard]] Decision check(std::string_view key, Cost cost = {});
  // Does not wait: `done` is called on the store's thread, or on this one, and must not block. With an error
  // text in place of a decision where check() throws.
  void check(std::string_view key, Cost cost,
             std::function<void(const Decision&, std::string_view error)> done);
  // Forgets what was charged to the key; false when the store did not answer.
  bool reset(std::string_view key);

  [[nodiscard]] const Quota& quota() const noexcept { return quota_; }

 private:
  friend class RedisStore;
  Quota quota_;
  RedisStore& store_;
  Options options_;
};

}  // namespace weir
