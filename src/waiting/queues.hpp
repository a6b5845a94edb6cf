// Those that wait until a key has room for their class, which their requests may not take ahead, or a slot:
// in line for the key that has denied them last, first come first served. For each key one asks again
// at a time, or as many as there is room for, so that a thousand that wait for one limit ask as often as
// they act.
//
// A request does not pass any that came earlier and waits for a key of its own in the same class. A key that
// has room holds up nobody, whatever else those that need it wait for.
//
// Shared by the loops of a server: any thread may call anything at any time, for places of its own. It does
// not own those that wait: each stays where it is until it leaves. Not for: asking, and timers
// (acquiring_store.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/store.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::store {
class Reservations;
}

namespace weir::inline v0_1::waiting {

class Queues {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // Whom a loop belongs to whose requests wait.
  class Owner {
   public:
    // One of its places is the first of its line now, or there is room beside that, and may ask, or a pause
    // makes it too late. Any thread; it may call nothing here.
    virtual void on_first(std::uint64_t number) = 0;

   protected:
    ~Owner() = default;
  };

  struct Queue;

  // One that waits.
  struct Place {
    std::uint64_t number = 0;  // in the order of coming
    Owner* owner = nullptr;
    std::span<const store::Check> checks{};  // of its own thread alone
    nanoseconds latest{0};                   // to act; as long as it waits for a key nobody changes it
    Queue* queue = nullptr;                  // null: it waits for no key
    std::size_t by = 0;                      // the check that this key is of
    std::uint64_t units = 0;                 // of that
    nanoseconds opens{0};                    // when there is room for it there, as it was told last
    std::vector<std::uint64_t> planned{};    // the keys at which it has a plan, as place_of() has them
    std::vector<std::uint64_t> rates{};      // those that it needs beside the slot for which it waits
    nanoseconds too_late{0};                 // above 0: a pause lets it act no earlier
    bool has_hold = false;                   // it may be settled for less, at once
    std::uint64_t asks_for = 0;              // the same of all that ask for the same units of the same keys
    bool may_follow = false;                 // told that it may ask beside the first
    bool asks_beside = false;                // does so
  };

  static constexpr int kTogether = 64;
  // Beyond that nobody waits: a quarter of the time that a clock has.
  static constexpr nanoseconds kFar = nanoseconds::max() / 4;

  Queues();
  ~Queues();
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  // Of a request that was denied: whether it was for its class that it was told no moment, as an enforced
  // check is of one that keeps something free. A guarantee with room makes it one that is.
  static bool was_not_ahead(std::span<const store::Check> checks);
  // The names of the lines in which it may have to stand, and its units there.
  using Lines = std::vector<std::pair<std::string, std::uint64_t>>;
  static Lines lines_of(std::span<const store::Check> checks);

  // Of the next that comes.
  std::uint64_t next_number() { return last_number_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // Puts it into the line of a key of its for which one waits that came earlier, out of the one that it is
  // in; false: there is none, and nothing has changed.
  enum class Of : std::uint8_t { all, slots };
  bool join(Place& place, Of lines = Of::all);
  bool has_line_for(const Place& place) const;  // which it would join
  // Puts it into the line of the key of its check `by`, which has denied it, out of the one that it is in:
  // there is room for it at `opens`, at best by `sooner_by` sooner.
  void wait_for(Place& place, std::size_t by, nanoseconds opens, nanoseconds sooner_by = nanoseconds{0});
  // Has these tell it what follows, each of its keys. Before anybody asks.
  void hear(store::Reservations& reservations);
  // A slot of that key is free (store::Reservations::place_of()): the first of its lines may ask.
  void slot_freed(std::uint64_t slots);
  struct Plan {
    nanoseconds opens;
    nanoseconds sooner_by;  // as store::ReservationTerms has it
    std::vector<std::uint64_t> keys;
  };
  // The same of one that has a plan, at these keys: it is told, as one that is now first, when something of
  // any of them was given back or charged from outside, as it acts earlier or later then. False: it is not
  // the first there, and stands in line without.
  bool plan(Place& place, std::size_t by, Plan plan);
  void unplan(Place& place);
  void owed_changed(std::uint64_t key);
  // Nobody acts at that key before `end`; then one unit, and the pace. Whose latest moment is earlier is
  // told.
  void paused(std::uint64_t key, nanoseconds end, bool afresh);
  nanoseconds too_late(const Place& place) const;
  // One in line for a slot needs these keys too.
  void needs(Place& place, std::vector<std::uint64_t> rates);
  // When there would be room for that check after all those of its class or a higher one who wait for its
  // key; 0: nobody does, or it takes no units there.
  nanoseconds after_all(std::span<const store::Check> checks, std::size_t which) const;
  // By check, those; none: nobody waits there, or all will have acted by now.
  std::vector<store::Line> lines_ahead(std::span<const store::Check> checks, nanoseconds now) const;
  // Takes it out of its line, with what it was charged or without. `room`: how many units fit at that key
  // now; those that need no more, all together, may ask beside the first (takes_turn()), kTogether at most.
  void leave(Place& place, bool charged, std::uint64_t room = 0);
  // The first asks, and so may those that need no more than `room` beside it.
  void follow(const Place& first, std::uint64_t room);
  // Of one that is not the first, once: whether it may ask.
  bool takes_turn(Place& place);
  // It did not fit. Whether it is the first by now.
  bool stays(Place& place);

  bool is_first(const Place& place) const;
  // When there would be room for one in its line if nobody else came: for the first, and for the last.
  nanoseconds first_moment(const Place& place) const;
  nanoseconds last_moment(const Place& place) const;
  // For the last, if all that is held and will be costs nothing in the end: no earlier if nobody leaves.
  nanoseconds last_moment_at_best(const Place& place) const;

  bool empty() const { return lines_.load(std::memory_order_relaxed) == 0; }
  bool has_lines_of_slots() const { return lines_of_slots_.load(std::memory_order_relaxed) > 0; }
  // How many stand in line for slots, by their Limit::id.
  std::unordered_map<std::uint64_t, std::uint64_t> slot_waiters() const;

 private:
  struct Found {
    Queue* queue;  // null: none
    std::size_t by;
  };
  struct Ahead {
    nanoseconds base{0}, opens{0}, interval{0};  // as Queue has them, for one of that class
    unsigned __int128 units = 0;
  };
  const Queue& queue_of(const Place& place) const WEIR_REQUIRES(mutex_) { return *place.queue; }
  Found find_earlier(const Place& place, Of lines) const WEIR_REQUIRES(mutex_);
  // Of its class or a higher one, for its key.
  Ahead ahead_of(std::span<const store::Check> checks, std::size_t which) const WEIR_REQUIRES(mutex_);
  bool stand(Place& place, std::size_t by, nanoseconds opens) WEIR_REQUIRES(mutex_);
  void forget_plan(Place& place) WEIR_REQUIRES(mutex_);
  std::uint64_t units_up_to(const Place& place) const WEIR_REQUIRES(mutex_);
  void add(Place& place, Queue& queue, std::size_t by) WEIR_REQUIRES(mutex_);
  void remove(Place& place, bool charged, std::uint64_t room = 0) WEIR_REQUIRES(mutex_);
  void tell_beside(const Queue& queue, std::uint64_t room) WEIR_REQUIRES(mutex_);
  // Of a key that nobody acts at before that.
  struct Paused {
    std::uint64_t key;
    nanoseconds end;
    std::uint64_t last;  // the number of who had come last when it was paused
  };
  void tell_late(Place& place, nanoseconds earliest) WEIR_REQUIRES(mutex_);
  nanoseconds told_too_late(const Place& place) const WEIR_REQUIRES(mutex_) { return place.too_late; }

  std::atomic<std::uint64_t> last_number_{0};
  mutable detail::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Queue>> queues_ WEIR_GUARDED_BY(mutex_);
  std::unordered_multimap<std::uint64_t, Queue*> by_key_ WEIR_GUARDED_BY(mutex_);  // by place_of()
  std::set<std::pair<std::uint64_t, Place*>> needing_ WEIR_GUARDED_BY(mutex_);
  std::unordered_multimap<std::uint64_t, Place*> planned_ WEIR_GUARDED_BY(mutex_);
  std::deque<Paused> pauses_ WEIR_GUARDED_BY(mutex_);  // the latest, while anybody stands in line
  std::atomic<std::size_t> lines_{0};
  std::atomic<std::size_t> lines_of_slots_{0};
};

}  // namespace weir::waiting
