// Acquires: a reservation and a timer. A Store around a Store that answers Verb::acquire when the moment has
// come at which the request may act; everything else it passes on.
//
// What it asks of the other store is a reservation, charged at once, so each that waits has a moment of its
// own, in the order in which they came, over all that share that store. It comes earlier when what is ahead
// of it turns out to cost less. One whose asker goes away is cancelled, and its units go to those who come
// next; so is one whose wait is ended early.
//
// A class that keeps something free for others is not charged ahead, nor is one that finds no slot: its
// requests wait here, in line for what has denied them (queues.hpp), ask again when there is room, and are
// charged when they are granted. Their order is that of the House.
//
// When the program stood still, many moments are overdue at once. As many are told as what they were charged
// and has not drained; the others ask for other moments, so that what acts keeps the promise, whatever comes
// before the timers have their turn.
//
// One thread, its loop's, which sets a timer to next_deadline() and then calls advance(). Bounded by a House,
// which any number of these share, each with a loop of its own. Not for: timers, and what a client is told.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/clock_function.hpp"
#include "store/store.hpp"
#include "waiting/moments.hpp"
#include "waiting/queues.hpp"
#include "weir/lock.hpp"
#include "weir/waiters.hpp"

namespace weir::inline v0_1::waiting {

// How many may wait at a time, over all loops, and in which order those do that are not charged ahead. A full
// one lets nobody wait: who would have to is denied at once.
class House {
 public:
  explicit House(std::size_t most) : most_(most) {}

  bool enter() {
    if (waiting_.fetch_add(1, std::memory_order_relaxed) < most_) return true;
    leave();
    return false;
  }
  void leave() { waiting_.fetch_sub(1, std::memory_order_relaxed); }
  void turn_away() { turned_away_.fetch_add(1, std::memory_order_relaxed); }
  std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  std::uint64_t turned_away() const { return turned_away_.load(std::memory_order_relaxed); }

  Queues queues;
  Moments moments;

 private:
  const std::size_t most_;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::uint64_t> turned_away_{0};
};

class AcquiringStore final : public store::Store, private Queues::Owner {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `changed` is called when next_deadline() may have become earlier; `soon` by any thread when advance() is
  // to be called. Before one acts that has waited for longer than `trusts_for`, the store is asked whether
  // its moment is still the same. All that is handed in must outlive this; no request may be submitted to it
  // when it is destroyed.
  AcquiringStore(store::Store& other, House& house, core::ClockFunction clock, std::function<void()> changed,
                 std::function<void()> soon, nanoseconds trusts_for = nanoseconds{0});
  ~AcquiringStore() override;
  AcquiringStore(const AcquiringStore&) = delete;
  AcquiringStore& operator=(const AcquiringStore&) = delete;

  void submit(std::span<store::Request* const> batch, store::Arrival when) override;
  // Of one that waits in line: fits it to the limits that are in force now, and says whether they are others.
  // It then has other checks, or none and nobody denies it, or a fault.
  using Renew = bool (*)(store::Request&);
  // As submit(). Those who wait in line are renewed before they ask again.
  void acquire(store::Request& request, store::Arrival when, Renew renew);
  // As submit(), of Verb::reserve: one that needs a slot for which others stand in line is busy. It then has
  // Verb::acquire and no max_wait.
  void reserve(store::Request& request, store::Arrival when);
  void cancel(store::Request& pending) override;
  void give_back(const store::Request& charged, nanoseconds now) override { other_.give_back(charged, now); }

  // Ends the wait of a submitted request: with the next advance() it is answered as denied, uncharged, with
  // the time that it would yet have had to wait. False: it does not wait yet.
  bool end(store::Request& pending);
  // Each that waits is given to `refuse`; if that says so, the request has no checks any longer, and is
  // answered with the next advance(), uncharged.
  using Refuse = bool (*)(store::Request&);
  void refuse_waiting(Refuse refuse);
  // Ends every wait for a moment after that; nobody waits longer from now on.
  void end_all_after(nanoseconds moment);

  std::optional<nanoseconds> next_deadline() const { return waiters_.next_deadline(); }
  void advance(nanoseconds now);

 private:
  struct Waiting;
  struct Leaving;

  bool renewed(Waiting& waiting, nanoseconds now);
  bool was_refused(Waiting& waiting);
  void tell_refused(Waiting& waiting);
  Waiting& add(store::Request& request, Renew renew);
  void line_up(Waiting& waiting, nanoseconds now);
  void on_judged(Waiting& waiting, nanoseconds now);
  void deny_by_longest(Waiting& waiting);
  void ask(Waiting& waiting, store::Arrival when);
  void on_answered(Waiting& waiting, nanoseconds since);
  bool waits_for_room(Waiting& waiting, nanoseconds since);
  bool waits_for_slot(Waiting& waiting, nanoseconds since);
  void wait_for_moment(Waiting& waiting, nanoseconds since);
  void on_first(std::uint64_t number) override;
  bool take_turns();
  void on_due(Waiting& waiting);
  void on_moment(Waiting& waiting, nanoseconds now);
  void act(Waiting& waiting);
  bool acts_too_late(const Waiting& waiting, nanoseconds now);
  void look_at_overdue(nanoseconds now);
  void ask_again(Waiting& waiting, nanoseconds now);
  void on_turn(Waiting& waiting);
  void settle_in(Waiting& waiting);
  void look_out(Waiting& waiting, nanoseconds now);
  void plan(Waiting& waiting, nanoseconds since);
  void plan_again(Waiting& waiting, nanoseconds now);
  void on_plan(Waiting& waiting, nanoseconds now);
  void give_up_plan(Waiting& waiting);
  void go_by_renewed(Waiting& waiting, nanoseconds now);
  void forget_moment(Waiting& waiting);
  void wait_until(Waiting& waiting, nanoseconds time);
  void end(Waiting& waiting);
  void deny(Waiting& waiting, nanoseconds wait);
  void deny_in_line(Waiting& waiting, nanoseconds wait);
  void finish(Waiting& waiting);
  void take_back(Waiting& waiting);
  void give_up(store::ReservationTerms which, store::Verb verb);
  void give_up_moment(Waiting& waiting);
  void remove(Waiting& waiting);

  store::Store& other_;
  House& house_;
  nanoseconds trusts_for_;
  bool tells_;  // the store tells the House of a slot that is free, and of a line that has moved up
  core::ClockFunction clock_;
  std::function<void()> changed_;
  nanoseconds last_moment_ = nanoseconds::max();
  std::function<void()> soon_;
  Waiters waiters_;
  std::map<std::uint64_t, std::unique_ptr<Waiting>> waiting_;  // by their numbers
  // For those of this advance() that are overdue: what of their charges each key's line has not drained, less
  // what acts.
  std::optional<std::unordered_map<std::string, nanoseconds>> undrained_;
  detail::Mutex mutex_;
  std::vector<std::uint64_t> turns_ WEIR_GUARDED_BY(mutex_);  // those that are now first
  std::list<std::unique_ptr<Leaving>> leaving_;
};

}  // namespace weir::waiting
