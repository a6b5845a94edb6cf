// Acquires: a reservation and a timer. A Store around a Store that answers Verb::acquire when the moment has
// come at which the request may act; everything else it passes on.
//
// What it asks of the other store is a reservation, charged at once, so each that waits has a moment of its
// own, in the order in which they came, over all that share that store. One whose asker goes away is
// cancelled, and its units go to those who come next; so is one whose wait is ended early.
//
// One thread, its loop's, which sets a timer to next_deadline() and then calls advance(). Bounded by a House,
// which any number of these share. Not for: timers, and what a client is told.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "store/store.hpp"
#include "weir/waiters.hpp"

namespace weir::waiting {

// How many may wait at a time, over all loops. A full one lets nobody wait: who would have to is denied at
// once.
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

 private:
  const std::size_t most_;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::uint64_t> turned_away_{0};
};

class AcquiringStore final : public store::Store {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `changed` is called when next_deadline() may have become earlier. All that is handed in must outlive
  // this; no request may be submitted to it when it is destroyed.
  AcquiringStore(store::Store& other, House& house, core::Clock clock, std::function<void()> changed);
  ~AcquiringStore() override;
  AcquiringStore(const AcquiringStore&) = delete;
  AcquiringStore& operator=(const AcquiringStore&) = delete;

  void submit(std::span<store::Request* const> batch, store::Moment when) override;
  void cancel(store::Request& pending) override;
  void give_back(const store::Request& charged, nanoseconds now) override { other_.give_back(charged, now); }

  // Ends the wait of a submitted request: with the next advance() it is answered as denied, uncharged, with
  // the time that it would yet have had to wait. False: it does not wait yet.
  bool end(store::Request& pending);
  // Ends every wait for a moment after that; nobody waits longer from now on.
  void end_all_after(nanoseconds moment);

  std::optional<nanoseconds> next_deadline() const { return waiters_.next_deadline(); }
  void advance(nanoseconds now) { waiters_.advance(now); }

 private:
  struct Waiting;
  struct Leaving;
  using Place = std::list<std::unique_ptr<Waiting>>::iterator;

  void begin(store::Request& request, store::Moment when);
  void on_reserved(Waiting& waiting, nanoseconds since);
  void on_due(Waiting& waiting);
  void wait_until(Waiting& waiting, nanoseconds moment);
  void end(Waiting& waiting);
  void deny(Waiting& waiting, nanoseconds wait);
  void finish(Waiting& waiting);
  void give_up(std::string id);
  void remove(Waiting& waiting);

  store::Store& other_;
  House& house_;
  core::Clock clock_;
  std::function<void()> changed_;
  nanoseconds last_moment_ = nanoseconds::max();
  Waiters waiters_;
  std::list<std::unique_ptr<Waiting>> waiting_;
  std::list<std::unique_ptr<Leaving>> leaving_;
};

}  // namespace weir::waiting
