// The limits of a limits file, in a C++ program: the file that `weir serve --limits` takes, decided by the
// same code.
//
//   weir::Limits limits{"limits.yaml"};
//   auto d = limits.check({{"tenant", tenant}, {"user", user}, {"path", path}});
//   if (!d.allowed()) refuse(d.by, d.decision.retry_after);
//
//   const weir::Attribute asks[] = {{"tenant", tenant}, {"user", user}};
//   weir::LimitsReservation mine = limits.reserve({asks});              // not denied: told when to act
//
//   weir::RedisStore store{"redis://10.0.0.1:6379"};                    // shared by many processes
//   weir::Limits shared{"limits.yaml", store};
//   shared.check({asks}, [](const weir::LimitsResult& result) { assert(result); });  // does not wait
//
// docs/limits.md says what a file means. A request is a set of attributes: of the file's routes the first
// that matches says which limits it meets, and it is charged to all of them or to none.
//
// Threads: any thread may call every member at any time. A reload swaps the set of limits as one; a request
// is decided by one set whole, and every key keeps its debt, in units. In a child of fork(): as
// weir/limiter.hpp says, or with a RedisStore weir/redis.hpp. Link weir::limits; with a RedisStore also
// weir::redis. Time is std::chrono's steady clock, and the system clock for what the file gives an end; a
// Redis counts by its own.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/charge.hpp"
#include "weir/clock.hpp"
#include "weir/completion.hpp"
#include "weir/decision.hpp"
#include "weir/memory.hpp"
#include "weir/quota.hpp"
#include "weir/reservation.hpp"
#include "weir/source.hpp"
#include "weir/store_fault.hpp"
#include "weir/time_zone.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

class RedisStore;
namespace store {
class BlockingStore;
}

// One thing that a request says of itself.
struct Attribute {
  std::string_view name;
  std::string_view value;
};

// What a request costs at the limit of that name.
struct LimitCost {
  std::string_view limit;
  Cost cost;
};

// Views what it is made of.
struct LimitsRequest {
  std::span<const Attribute> attributes{};
  // Times what each limit says that a request costs. Nothing: 1, or of a limit with a hold its estimate where
  // the file does not say what the request costs there.
  std::optional<Cost> cost{};
  std::string_view class_name{};  // one of the file's; empty: its route's, or `default`
  // What it costs at these limits, whatever else is said. One that it does not meet is left alone.
  std::span<const LimitCost> costs{};
};

struct LimitsDecision {
  // Of the limit that decides. Where none applies: allowed, limit and remaining -1. Of a `deny` list: denied,
  // limit and remaining 0, and no retry_after.
  Decision decision{};
  std::string by{};  // its name; empty where none applies

  [[nodiscard]] bool allowed() const noexcept { return decision.allowed(); }
};

// As many units of a request's cost as there are (weir/take.hpp).
struct LimitsTaken : LimitsDecision {
  std::uint64_t granted = 0;  // 0: denied
};

// A moment that is kept for a request, as every limiter's reserve() returns it (weir/reservation.hpp).
struct LimitsReservation {
  Reservation reservation{};
  std::string by{};  // the name of the limit that decides; empty where none applies

  [[nodiscard]] bool granted() const noexcept { return reservation.granted(); }
};

// What happened outside, and at which limit: views what it is made of.
struct LimitsCharge {
  std::string_view limit{};  // its name; empty: all that the request meets, or the only one
  // One of the windows of that limit, by its period; std::chrono::months{1} is a month's by the calendar.
  std::optional<std::chrono::nanoseconds> window{};
  std::optional<Remaining> remaining{};  // what is left there, instead of what was used
  std::optional<Pause> pause{};          // for how long nobody acts there, instead of either
  std::chrono::nanoseconds overdraft = Outside{}.overdraft;
};

struct LimitsCharged {
  Charged charged{};
  std::string by{};  // the name of the limit with the longest wait; empty where none applies
};

// A limits file that cannot be used. what() has all that is wrong with it, a line each.
class WEIR_API LimitsFileError : public std::runtime_error {
 public:
  explicit LimitsFileError(std::vector<std::string> errors);
  [[nodiscard]] const std::vector<std::string>& errors() const noexcept { return errors_; }

 private:
  std::vector<std::string> errors_;
};

// What callbacks are told, where the calls that wait return the value or throw the StoreFault.
using LimitsResult = StoreResult<LimitsDecision>;
using LimitsReserveResult = StoreResult<LimitsReservation>;
using LimitsTakeResult = StoreResult<LimitsTaken>;

class WEIR_API Limits {
 public:
  struct Options {
    std::size_t memory = 64_MiB;  // of the keys; a shared store has its own
    WhenFull when_full = WhenFull::deny;
    OnStoreError on_store_error = OnStoreError::local;  // of limits that do not say it
    // Must outlive the object. Null: the steady clock, and the system clock.
    const Clock* clock = nullptr;
    const Clock* wall_clock = nullptr;
  };

  // From which the windows by the calendar of all files that are read from then on have their zones, instead
  // of the system's: the files in the folder that the environment variable TZDIR names, else in
  // /usr/share/zoneinfo. It must live as long as the program.
  static void use_time_zones(const TimeZones& zones);

  // Reads the file at `path`. Throws LimitsFileError.
  explicit Limits(const std::string& path) : Limits(path, Options{}) {}
  Limits(const std::string& path, const Options& options);
  // The same, counted in `store`, which must outlive it.
  template <std::same_as<RedisStore> Store>
  Limits(const std::string& path, Store& store) : Limits(path, store.asker(), Options{}) {}
  template <std::same_as<RedisStore> Store>
  Limits(const std::string& path, Store& store, const Options& options)
      : Limits(path, store.asker(), options) {}
  // From text. Files of lists are looked for in the current folder.
  [[nodiscard]] static Limits from_text(std::string_view text) { return from_text(text, Options{}); }
  [[nodiscard]] static Limits from_text(std::string_view text, const Options& options);
  template <std::same_as<RedisStore> Store>
  [[nodiscard]] static Limits from_text(std::string_view text, Store& store) {
    return from_text(text, store.asker(), Options{});
  }
  template <std::same_as<RedisStore> Store>
  [[nodiscard]] static Limits from_text(std::string_view text, Store& store, const Options& options) {
    return from_text(text, store.asker(), options);
  }
  ~Limits();
  Limits(Limits&&) noexcept;
  Limits& operator=(Limits&&) noexcept;

  // Decides and, if allowed, charges. Throws std::invalid_argument for a request that is an error: an
  // attribute twice, one that is required missing, an unknown class or limit; StoreFault when nobody could
  // decide. With a RedisStore it waits for the answer, at most the deadline.
  [[nodiscard]] LimitsDecision check(const LimitsRequest& request);
  [[nodiscard]] LimitsDecision check(std::span<const Attribute> attributes, std::optional<Cost> cost = {}) {
    return check(LimitsRequest{.attributes = attributes, .cost = cost});
  }
  [[nodiscard]] LimitsDecision check(std::initializer_list<Attribute> attributes,
                                     std::optional<Cost> cost = {}) {
    return check(std::span<const Attribute>(attributes.begin(), attributes.size()), cost);
  }
  // Many, in order, each as check() would, asked together. Throws std::invalid_argument unless there are as
  // many decisions as requests, and as check() does for the first that is an error, before any is charged;
  // StoreFault for the first that nobody could decide, the others being decided all the same.
  void check(std::span<const LimitsRequest> requests, std::span<LimitsDecision> decisions);

  // Charges as many units of the request as all its limits admit, `cost` of it at most, or none: to each
  // limit that many times what one costs there. Where none applies all are granted. Throws as check() does,
  // and std::invalid_argument unless 1 <= least <= cost, and for `costs`.
  [[nodiscard]] LimitsTaken take_up_to(const LimitsRequest& request, Cost least = {});

  // Says when to act, and charges the request as of then: weir/reservation.hpp has the rest. The first form
  // waits for as long as the least `max_wait` of the limits that the request meets, or not at all where none
  // has one; the second for as long as it says. What the limits' `hold` says can be settled. A request of a
  // class that leaves something free for others is granted only when it can act now. `by` and the decision
  // are as check()'s. Throws as check() does, StoreFault for a limit that is not by gcra and for a store that
  // cannot reserve, and std::invalid_argument for a max_wait above the limits'. A reservation keeps the
  // memory that it lies in; a RedisStore and a clock must outlive it.
  [[nodiscard]] LimitsReservation reserve(const LimitsRequest& request) {
    return reserve_by(request, nullptr);
  }
  [[nodiscard]] LimitsReservation reserve(const LimitsRequest& request, ReserveOptions options) {
    return reserve_by(request, &options);
  }

  // check() and reserve() that do not wait: `done` is told a LimitsDecision, or a LimitsReservation. It is
  // called once: by the thread of the RedisStore, or inside the call where that asks nobody, as it is without
  // a RedisStore; what it throws then leaves the call. What the request views need not live longer than the
  // call, nor need this object. Throw std::invalid_argument as above, and `done` is not called then.
  template <detail::Completion Done, class Result = LimitsResult>
    requires(!std::convertible_to<Done, std::optional<Cost>>)
  auto check(const LimitsRequest& request, Done&& done) {
    return detail::complete<LimitsDecision, Result>(ready_check(request), std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = LimitsReserveResult>
    requires(!std::convertible_to<Done, ReserveOptions>)
  auto reserve(const LimitsRequest& request, Done&& done) {
    return detail::complete<LimitsReservation, Result>(ready_reserve(request, nullptr),
                                                       std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = LimitsReserveResult>
  auto reserve(const LimitsRequest& request, ReserveOptions options, Done&& done) {
    return detail::complete<LimitsReservation, Result>(ready_reserve(request, &options),
                                                       std::forward<Done>(done));
  }

  // The same of take_up_to(): `done` is told a LimitsTaken.
  template <detail::Completion Done, class Result = LimitsTakeResult>
  auto take_up_to(const LimitsRequest& request, Done&& done) {
    return take_up_to<Done, Result>(request, Cost{}, std::forward<Done>(done));
  }
  template <detail::Completion Done, class Result = LimitsTakeResult>
  auto take_up_to(const LimitsRequest& request, Cost least, Done&& done) {
    return detail::complete<LimitsTaken, Result>(ready_take(request, least), std::forward<Done>(done));
  }

  // Records what happened outside, whether there was room or not (weir/charge.hpp): what the request cost,
  // which is 1 unless it says more, times what each limit says; or what is left at one window of one limit;
  // or for how long nobody acts under one limit. Throws as check() does, std::invalid_argument also where it
  // is not clear which limit or window is meant; StoreFault where nobody keeps it.
  LimitsCharged charge(const LimitsRequest& request, const LimitsCharge& charge);
  LimitsCharged charge(const LimitsRequest& request) { return charge(request, LimitsCharge{}); }
  // Takes back what the request was charged last, which was not used (weir/charge.hpp). Returns the units
  // that were given back at the limit that gave least. Throws as charge() does, std::invalid_argument also
  // where a limit does not say `refunds: true`.
  std::uint64_t refund(const LimitsRequest& request);

  // What check() would say now; nothing is charged, and `remaining` is what is left before it.
  [[nodiscard]] LimitsDecision look(const LimitsRequest& request);
  // Why, in lines for people: the route, each limit with its numbers and whose they are, the one that
  // decides.
  [[nodiscard]] std::string explain(const LimitsRequest& request);
  // Forgets what was charged to the limit called `limit`, or if that is empty to all that the request meets;
  // how many states had something to forget.
  std::uint64_t reset(std::span<const Attribute> attributes, std::string_view limit = {});

  // Reads the file again, or takes another text. Throws LimitsFileError, and then nothing has changed.
  void reload();
  void reload(std::string_view text);

 private:
  class Impl;
  template <class Value>
  struct Asked;
  struct Reserving;
  LimitsReservation reserve_by(const LimitsRequest& request, const ReserveOptions* options);
  detail::Ready<LimitsDecision> ready_check(const LimitsRequest& request);
  detail::Ready<LimitsTaken> ready_take(const LimitsRequest& request, Cost least);
  detail::Ready<LimitsReservation> ready_reserve(const LimitsRequest& request, const ReserveOptions* options);
  Limits(const std::string& path, store::BlockingStore& store, const Options& options);
  static Limits from_text(std::string_view text, store::BlockingStore& store, const Options& options);
  explicit Limits(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
