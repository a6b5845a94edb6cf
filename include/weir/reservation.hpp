// A moment that a limiter has kept for a request that cannot act yet: it waits instead of being denied.
//
//   weir::Reservation mine = limiter.reserve({.max_wait = 5s});
//   if (!mine.granted()) return later(mine.decision().retry_after);  // denied at once, nothing was charged
//   std::this_thread::sleep_for(mine.wait());                        // weir/acquire.hpp can be interrupted
//   act();
//
// The moment is the earliest at which the request fits, and its units are charged as of then. It stays:
// whatever comes later is admitted only where it makes nobody late who was told a moment. The limiter's
// promise holds for the moments of acting. A program that acts later by L than its moment may add L / T to a
// span, T being the emission interval.
//
// Destroyed before its moment, by the limiter's clock, a reservation is cancelled; after it, it stands.
//
// A value that can be moved; one that was moved from is not granted and has nothing to cancel. One thread at
// a time for each; different ones may be used by different threads. A Limiter must outlive what it has
// reserved, and so must a RedisStore; the memory of a LocalStore and of a KeyedLimiter lives as long as their
// reservations, and their clock must live as long too. One in a RedisStore is cancelled and settled by asking
// it, which waits for its answer, at most the deadline, unless the call is handed what to call then
// (weir/completion.hpp). One that is destroyed in a callback of the store does not wait
// (weir/redis.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "weir/callback.hpp"
#include "weir/completion.hpp"
#include "weir/decision.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

namespace store {
class ReservationHandle;
}
class Alarm;
class Limiter;
class KeyedLimiter;
class LocalStore;
class SharedLimiter;
class RedisStore;
class Limits;

// Below 0 counts as 0.
struct ReserveOptions {
  std::chrono::nanoseconds max_wait{0};  // the furthest moment, from now; beyond it the request is denied
  std::chrono::nanoseconds hold{0};      // for how long after its moment it can be settled
};

class WEIR_API Reservation {
 public:
  // Not granted.
  Reservation() noexcept;
  ~Reservation();
  Reservation(Reservation&& from) noexcept;
  Reservation& operator=(Reservation&& from) noexcept;  // what it was is destroyed, as above

  // It may act at its moment: it was not denied, and has not been cancelled.
  [[nodiscard]] bool granted() const noexcept { return granted_; }
  // Remaining and reset_after are those of the moment of asking. Denied: retry_after is the shortest time
  // after which the same request, with the same max_wait, would be granted if nobody else came and nothing
  // were given back.
  [[nodiscard]] const Decision& decision() const noexcept { return decision_; }
  // Which of several limits decides, counted from 0.
  [[nodiscard]] std::size_t by() const noexcept { return by_; }

  // The moment to act, on the limiter's clock. Only of one that was granted.
  [[nodiscard]] std::chrono::nanoseconds at() const noexcept { return at_; }
  // From the moment of asking to at(); 0: act now.
  [[nodiscard]] std::chrono::nanoseconds wait() const noexcept { return wait_; }
  // From now to at() by the limiter's clock, never below 0.
  [[nodiscard]] std::chrono::nanoseconds left() const noexcept;

  // Whether it may still act, and when: asks for it, as a pause (weir/charge.hpp) may have come over its
  // moment. Then it is cancelled, its slots too, and granted() says so: reserve again. The same of one that
  // is forgotten, as by a reset, before it was told that its moment has come. Nothing, too, of one that was
  // settled, or that the store had no memory to keep, which may act as it was told. One that acts in a pause
  // without having asked breaks the pause. Throws StoreFault when a store does not answer.
  std::optional<std::chrono::nanoseconds> moment();
  // Does not wait: `done` is told that std::optional, by the store's thread, or by this one when there is
  // nothing to ask. at() stays as it is, as this may be somewhere else by then; it need not live longer than
  // the call.
  template <detail::Completion Done, class Result = StoreResult<std::optional<std::chrono::nanoseconds>>>
  auto moment(Done&& done) {
    return detail::complete<std::optional<std::chrono::nanoseconds>, Result>(ready_moment(),
                                                                             std::forward<Done>(done));
  }

  // Gives its hold, and the slots that it has, another end: that long from now, or from its moment if that is
  // later. It may be shorter; at most 24 h, and the shortest `ttl` of the limits of a file. Returns how long
  // it has from now on; 0 when no such hold is open: what has ended stays ended. Throws StoreFault when a
  // store does not answer.
  std::chrono::nanoseconds extend(std::chrono::nanoseconds hold);
  // Does not wait: `done` is told that time, as moment(done) does it.
  template <class Done, class Result = StoreResult<std::chrono::nanoseconds>>
  auto extend(std::chrono::nanoseconds hold, Done&& done) {
    return detail::complete<std::chrono::nanoseconds, Result>(ready_extend(hold), std::forward<Done>(done));
  }

  // Has `alarm` ring at at(). False, without setting it: the limiter's clock runs as the steady clock does
  // (Clock::ring_at), or there is nothing to wait for.
  [[nodiscard]] bool set(Alarm& alarm) const noexcept;

  // Whether cancel() would ask for it back: its moment is ahead, and it has not been cancelled or settled.
  [[nodiscard]] bool can_cancel() const noexcept;
  // Takes it back before its moment, once; the units that were given back, and 0 when a store does not
  // answer. From its moment on, which is at(), it changes nothing and returns 0. Nothing is kept of it: its
  // moment is free for what fits there. Ends the program when there is no memory.
  std::uint64_t cancel() noexcept;
  // Does not wait: `done` is told the units, a std::uint64_t, by the store's thread, or by this one when
  // there is nothing to ask. What it is called on is then as one that was moved from.
  template <class Done, class Result = StoreResult<std::uint64_t>>
  auto cancel(Done&& done) {
    return detail::complete<std::uint64_t, Result>(
        [mine = std::move(*this)](Callback<detail::RawResult<std::uint64_t>> answer) mutable {
          begin_cancel(std::move(mine), std::move(answer));
        },
        std::forward<Done>(done));
  }

  // Charges what it turned out to cost, once, from its moment until its hold is over: less or more, as of its
  // moment, so that what is owed is as if that had been known. More may make those late that were told a
  // later moment. Without an actual it cost what it was charged, and its hold ends. Returns the time until
  // one more unit would be admitted; nothing when there is nothing to settle, yet or any longer, and then
  // nothing has changed. Throws std::invalid_argument, and nothing has changed, for one that waits and was
  // granted without a hold; StoreFault when a store does not answer.
  std::optional<std::chrono::nanoseconds> settle(std::optional<std::uint64_t> actual = {});
  // Does not wait: `done` is told that std::optional, as cancel(done) does it. A store that refuses it, as
  // above, says so by Fault::unsuitable; what was charged then stands.
  template <class Done, class Result = StoreResult<std::optional<std::chrono::nanoseconds>>>
  auto settle(std::optional<std::uint64_t> actual, Done&& done) {
    return detail::complete<std::optional<std::chrono::nanoseconds>, Result>(
        [mine = std::move(*this),
         actual](Callback<detail::RawResult<std::optional<std::chrono::nanoseconds>>> answer) mutable {
          begin_settle(std::move(mine), actual, std::move(answer));
        },
        std::forward<Done>(done));
  }

 private:
  friend class Limiter;
  friend class KeyedLimiter;
  friend class LocalStore;
  friend class SharedLimiter;
  friend class Limits;
  // A decision to act now or not at all, built in its place.
  template <class Decide>
  Reservation(std::chrono::nanoseconds now, const Decide& decide) noexcept
      : decision_(decide()), at_(now), granted_(decision_.allowed()) {}
  Reservation(std::chrono::nanoseconds now, std::chrono::nanoseconds wait, const Decision& decision,
              std::size_t by, std::unique_ptr<store::ReservationHandle> kept) noexcept;
  std::optional<std::chrono::nanoseconds> known_moment() const;
  detail::Ready<std::optional<std::chrono::nanoseconds>> ready_moment() const;
  detail::Ready<std::chrono::nanoseconds> ready_extend(std::chrono::nanoseconds hold) const;
  static void begin_cancel(Reservation mine, Callback<detail::RawResult<std::uint64_t>> answer);
  static void begin_settle(Reservation mine, std::optional<std::uint64_t> actual,
                           Callback<detail::RawResult<std::optional<std::chrono::nanoseconds>>> answer);

  Decision decision_;
  std::chrono::nanoseconds at_{0};
  std::chrono::nanoseconds wait_{0};
  std::size_t by_ = 0;
  std::unique_ptr<store::ReservationHandle> kept_;  // null: there is nothing to cancel or to settle
  bool granted_ = false;
  bool is_settled_ = false;
  bool has_come_ = false;  // its moment, by what it was told
};

}  // namespace weir
