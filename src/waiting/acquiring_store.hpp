// Acquires: a line and a timer. A Store around a Store that answers Verb::acquire when the moment has come at
// which the request may act; everything else it passes on.
//
// Those that cannot act at once stand in line, first come first served (queues.hpp), and are charged when
// they act. The first of a line has a plan: a reservation of the other store for the first moment at which it
// fits, so that nobody who came later makes it later. It is given up for an earlier one when something is
// given back, and when its asker goes away.
//
// One that waits views what its asker has: its checks with their keys and limits stay until it is answered or
// cancelled. They may lie elsewhere once submit() has returned, or when Renew says so.
//
// A class that keeps something free for others is told no moment ahead, nor is one that finds no slot: the
// first of those asks again when there is room.
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
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/clock_function.hpp"
#include "store/store.hpp"
#include "waiting/queues.hpp"
#include "weir/lock.hpp"
#include "weir/waiters.hpp"

namespace weir::inline v0_1::waiting {

// How many may wait at a time, over all loops, and in which order. A full one lets nobody wait: who would
// have to is denied at once.
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

 private:
  const std::size_t most_;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::uint64_t> turned_away_{0};
};

class AcquiringStore final : public store::Store, private Queues::Owner {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `changed` is called when next_deadline() may have become earlier; `soon` by any thread when advance() is
  // to be called. `tells`: the House is told of all that is given back in the store; otherwise the first of a
  // line looks for it. All that is handed in must outlive this; no request may be submitted to it
  // when it is destroyed.
  AcquiringStore(store::Store& other, House& house, core::ClockFunction clock, std::function<void()> changed,
                 std::function<void()> soon, bool tells = true);
  ~AcquiringStore() override;
  AcquiringStore(const AcquiringStore&) = delete;
  AcquiringStore& operator=(const AcquiringStore&) = delete;

  void submit(std::span<store::Request* const> batch, store::Arrival when) override;
  // Of one that waits in line: fits it to the limits that are in force now, and says whether they are others.
  // It then has other checks, or none and nobody denies it, or a fault.
  using Renew = bool (*)(store::Request&);
  // Of one that has waited, and has no reservation meanwhile: makes it one for its answer.
  using Room = store::ReservationTerms& (*)(store::Request&);
  struct Ways {
    Renew renew = nullptr;
    Room room = nullptr;  // null: it keeps its reservation
  };
  // As submit(). Those who wait in line are renewed before they ask again.
  void acquire(store::Request& request, store::Arrival when, Ways ways);
  // As submit(), of Verb::reserve: it acts no earlier than those in line, and one that needs a slot for which
  // others stand in line is busy. It then has Verb::acquire and no max_wait.
  void reserve(store::Request& request, store::Arrival when);
  // Somebody stands in one: elsewhere reserve() is submit().
  bool has_lines() const { return !house_.queues.empty(); }
  const Queues& lines() const { return house_.queues; }
  void cancel(store::Request& pending) override;
  void give_back(const store::Request& charged, nanoseconds now) override { other_.give_back(charged, now); }

  // Whether the asker of one that has waited has gone, which nobody has told cancel() yet. It is asked before
  // the request is granted anything, on the thread of this. One that has gone stands in no line any more and
  // is charged nothing; if it is not cancelled by the end of its time, it is denied.
  using HasGone = bool (*)(const store::Request&);
  void look_for_askers(HasGone has_gone) { has_gone_ = has_gone; }

  // Ends the wait of a submitted request: with the next advance(), or when the store has answered what it is
  // asked, it is answered as denied, uncharged, with the time that it would yet have had to wait; granted, if
  // it acts by that answer.
  void end(store::Request& pending);
  // Each that waits is given to `judge` in the next advance()s, which says whether it stays; has no checks
  // any longer, and is answered with the next advance(), uncharged; or is renewed then, and asks again,
  // whatever stands before it.
  enum class Judged : std::uint8_t { stays, refused, asks_again };
  using Judge = Judged (*)(store::Request&);
  void judge_waiting(Judge judge);
  // Ends every wait for a moment after that; nobody waits longer from now on. Each that stood in line and
  // might have waited for longer is given to `tell`, if there is one, before it is answered as denied.
  using Tell = void (*)(store::Request&);
  void end_all_after(nanoseconds moment, Tell tell = nullptr);

  std::optional<nanoseconds> next_deadline() const { return waiters_.next_deadline(); }
  void advance(nanoseconds now);

 private:
  struct Waiting;
  struct Leaving;

  bool renewed(Waiting& waiting, nanoseconds now);
  void judge_some();
  bool was_refused(Waiting& waiting);
  void tell_refused(Waiting& waiting);
  Waiting& add(store::Request& request, Ways ways);
  bool joins_line(Waiting& waiting, nanoseconds now);
  void begin(Waiting& waiting, store::Arrival when);
  void begin_postponed();
  void ask_first(Waiting& waiting, store::Arrival when);
  bool may_lead(std::uint64_t number, const Queues::Lines& lines) const;
  bool may_follow(const Queues::Lines& lines) const;
  void set_out(Waiting& waiting, Queues::Lines lines, store::Arrival when);
  void come_back(Waiting& waiting);
  void begin_again(Waiting& waiting, nanoseconds wait);
  void postpone(Waiting& waiting);
  void begin_late(Waiting& waiting, nanoseconds now);
  void line_up(Waiting& waiting, nanoseconds now);
  void on_judged(Waiting& waiting, nanoseconds now);
  void deny_by_longest(Waiting& waiting);
  void ask(Waiting& waiting, store::Arrival when);
  void on_answered(Waiting& waiting, nanoseconds since);
  bool waits_for_room(Waiting& waiting, nanoseconds since);
  bool waits_for_slot(Waiting& waiting, nanoseconds since);
  void on_first(std::uint64_t number) override;
  bool take_turns();
  void on_due(Waiting& waiting);
  void on_moment(Waiting& waiting, nanoseconds now);
  void act(Waiting& waiting);
  std::uint64_t room_beside(const Waiting& waiting, nanoseconds since) const;
  void stay(Waiting& waiting);
  void on_turn(Waiting& waiting);
  void settle_in(Waiting& waiting);
  void plan(Waiting& waiting, nanoseconds since);
  void plan_again(Waiting& waiting, nanoseconds now);
  bool finds_gone(Waiting& waiting);
  void let_go(Waiting& waiting);
  void take_back_moment(Waiting& waiting, nanoseconds left, bool is_told);
  void on_plan(Waiting& waiting, nanoseconds now);
  void give_up_plan(Waiting& waiting);
  void end_plan_before(Waiting& waiting);
  void go_by_renewed(Waiting& waiting, nanoseconds now);
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
  bool tells_;
  core::ClockFunction clock_;
  std::function<void()> changed_;
  nanoseconds last_moment_ = nanoseconds::max();
  Tell tell_end_ = nullptr;
  HasGone has_gone_ = nullptr;
  std::function<void()> soon_;
  Waiters waiters_;
  std::map<std::uint64_t, std::unique_ptr<Waiting>> waiting_;  // by their numbers
  detail::Mutex mutex_;
  std::vector<std::uint64_t> turns_ WEIR_GUARDED_BY(mutex_);  // those that may ask now
  std::list<std::unique_ptr<Leaving>> leaving_;
  Judge judge_ = nullptr;
  std::uint64_t next_judged_ = 0;  // its number; those before it have been
  nanoseconds trip_{0};            // that the store took to answer last
  // About how many the store is asked for the first time, or beside the first of a line, at once. Each of the
  // next then finds the line that those before it have made, and a store that is asked for more than it can
  // answer within its deadline would answer none.
  static constexpr std::size_t kBeginAtOnce = 64;
  std::size_t beginning_ = 0;          // asked about for the first time
  std::set<std::uint64_t> postponed_;  // their numbers: they begin when fewer do
  bool begins_postponed_ = false;
  // Those that are asked about for the first time and may have to stand in one line, by its name.
  struct UnderWay {
    std::uint64_t units;  // of each
    std::set<std::uint64_t> numbers;
  };
  std::unordered_map<std::string, UnderWay> under_way_;
};

}  // namespace weir::waiting
