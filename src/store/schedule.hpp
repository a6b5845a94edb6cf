// What a key's state cannot tell of those who reserve under it: the moments that were given, what was
// cancelled or settled for less and may be taken over, and what may still be settled. One rule for every form
// of limiter: what a reservation may take back, and how, is decided here and nowhere else.
//
// A schedule is a row of units, each T long, that the tat ends. A reservation owns the units
// [end - units x T, end]; nobody else does, and it acts no later than the first of them begins. So in a span
// of length W no more can act than burst + W / T (docs/algorithm.md, "Waiting", has the proofs). Three things
// take units back:
// - the last ones of the schedule, of one that was cancelled or has acted: the tat moves back;
// - those of a hold that has acted, when nobody has been told a moment that is ahead: all that follow move
//   up, and those who wait act earlier;
// - any others leave a hole, which a later reservation takes over.
//
// A pause moves what has not acted: the first of the units of those whose moment is ahead, and all that
// follow, by one time, so that the first of those moments is its end. Nothing shortens a pause: while it
// lasts the tat is at least its end and burst - 1 units, and a hole that could be taken before it is lost.
// Nor do other numbers move its end (core/pause.hpp).
//
// All of it is of one T. A state that was counted by another T, or forgotten, since the schedule last knew it
// is no longer the schedule's: its owner says lose(), and then nothing of before can be taken back.
//
// No reading of the clock that lags counts: what has drained by the latest at which the key was charged, has
// drained.
//
// Every call costs at most the logarithm of what is kept, beside kLooked of the holes or holds, and a sum of
// at most kMostWords numbers. A value without a clock or a lock; one thread. Not for: whose reservation it is
// (reservations.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/pause.hpp"
#include "core/reservation.hpp"
#include "store/moments_ahead.hpp"
#include "store/reservation_id.hpp"
#include "store/reservation_memory.hpp"
#include "store/schedule_moves.hpp"
#include "store/schedule_shifts.hpp"
#include "store/sorted_chunks.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

// What a quota counts by.
struct QuotaNumbers {
  std::uint64_t interval = 0;  // T
  std::uint64_t burst = 0;

  QuotaNumbers() = default;
  explicit QuotaNumbers(const Quota& quota)
      : interval(static_cast<std::uint64_t>(quota.emission_interval().count())),
        burst(static_cast<std::uint64_t>(quota.burst())) {}
  friend bool operator==(const QuotaNumbers&, const QuotaNumbers&) = default;
};

// The units of one reservation in a schedule, as its owner keeps them.
struct OwnUnits {
  std::uint64_t grant = 0;   // how many the schedule had granted then: tells what a copy of it knows
  std::uint64_t number = 0;  // where in the schedule: those that come later have a greater one
  std::uint64_t count = 0;
  std::uint64_t low = 0;    // the tat before them; earlier than where they begin when the schedule was lifted
  std::uint64_t end = 0;    // the tat at which they had drained when they were charged
  std::uint64_t moved = 0;  // how long all up to them had moved up by then
  std::uint64_t paused = 0;      // how far pauses had moved them by then
  std::uint64_t generation = 0;  // Schedule::generation_ then
  QuotaNumbers numbers;
  bool held = false;  // Schedule::hold() was called
};

class Schedule {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};  // of a tat

  // How many holes are looked at for one that fits, and how many holds for when enough of them end.
  static constexpr std::size_t kLooked = 64;
  // Between how many open holds others have moved up. A settlement that would make one more leaves a hole.
  static constexpr std::size_t kMostWords = 128;

  // About the bytes that what is kept takes, for ReservationMemory.
  static constexpr std::size_t kBytes = 800;
  static constexpr std::size_t kHoleBytes = 256;
  static constexpr std::size_t kHoldBytes = 208;
  static constexpr std::size_t kMomentBytes = MomentsAhead::kBytes;
  // A pause moves as many holes; more are lost.
  static constexpr std::size_t kMostMovedHoles = 1024;

  // `epoch` tells it from earlier schedules of the key: what was charged before a reset is not this
  // schedule's. `memory`, if any, is what holes are kept in; it must outlive the schedule.
  explicit Schedule(std::uint64_t epoch, ReservationMemory* memory = nullptr)
      : epoch_(epoch), memory_(memory) {}

  std::uint64_t epoch() const { return epoch_; }
  // They were charged before a copy of the schedule was made.
  bool knows(const OwnUnits& own) const { return own.grant <= grants_; }
  // There is nothing to be known of it from then on.
  nanoseconds until() const { return until_; }
  void keep_until(nanoseconds until) { until_ = std::max(until_, until); }
  void keep_until_drained(std::uint64_t tat) {
    keep_until(nanoseconds{static_cast<std::int64_t>(core::at_most_the_longest(tat))});
  }
  // Nothing of it matters to those who check or reserve: nobody is ahead, and there is no hold and no hole.
  bool is_idle(nanoseconds now);

  // The key was charged by this reading of the clock.
  void read(nanoseconds now) { latest_ = std::max(latest_, now); }
  nanoseconds no_earlier(nanoseconds now) const { return std::max(now, latest_); }
  // The state is another than the schedule knew: nothing of before can be taken back any more.
  void lose();
  // A reservation comes by these numbers. A hole belongs to those that it was charged by: others would let
  // more act at its moment than they allow.
  void count_by(const QuotaNumbers& numbers);
  // How many holes have been lost since this was last asked.
  std::uint64_t take_lost() { return std::exchange(lost_, 0); }
  // The same of units that holds were settled for less by, and that nobody took. Those of a hole that drains
  // count once somebody uses the schedule.
  std::uint64_t take_lost_units() { return std::exchange(lost_units_, 0); }

  // That is the tat as the last change of the schedule has left it.
  void left(std::uint64_t tat) {
    tail_ = tat;
    if (paused_tat_ != 0) keep_until_drained(tat);
  }
  // The least tat after a refund by these numbers: it gives back nothing of what a moment, a hold or a hole
  // is part of, and what nobody knows to lie after them stays. The debt is counted in `interval`.
  std::uint64_t least_after_refund(const QuotaNumbers& numbers, std::uint64_t interval, nanoseconds now);

  // A reservation has been charged at the schedule's end.
  OwnUnits append(const core::Charge& charge, std::uint64_t units, const QuotaNumbers& numbers,
                  nanoseconds now);

  // The moments that somebody has, as long as they are ahead.
  void add_moment(const OwnUnits& own, nanoseconds moment, nanoseconds now);
  // Somebody acts at that moment, and no earlier, whatever moves up.
  void keep_moment(nanoseconds moment) { told_until_ = std::max(told_until_, moment); }
  // Of one that can never be taken back.
  void add_fixed_moment(nanoseconds moment) { fixed_until_ = std::max(fixed_until_, moment); }
  bool is_anybody_ahead(nanoseconds now);
  // Where that of these units is by now; nothing when it has come.
  std::optional<nanoseconds> moment_of(const OwnUnits& own, nanoseconds now);
  // What pauses have moved these units by since they were charged.
  std::uint64_t moved_by_pauses(const OwnUnits& own) const { return moves_.of(own.number) - own.paused; }

  // Nobody acts before `end`. For how long what the state says moves, which is counted by the numbers of
  // count_by(); and then what that has become.
  std::uint64_t pause(nanoseconds end, nanoseconds now);
  void paused(std::uint64_t tat, nanoseconds now);
  bool is_paused(nanoseconds now) const { return pause_end_ > now; }
  // The least that the tat may be, by these numbers and by those that the state is counted by.
  std::uint64_t least_tat(const QuotaNumbers& numbers, nanoseconds now) const;
  std::uint64_t least_tat(nanoseconds now) const { return is_paused(now) ? paused_tat_ : 0; }
  // The state of the key, by these numbers: another where a pause has left it and it was not counted so.
  core::TwoWords counted_by(const QuotaNumbers& numbers, core::TwoWords state) const {
    return core::PausedState{static_cast<std::uint64_t>(pause_end_.count()), paused_tat_}.counted_by(
        numbers.interval, numbers.burst, state);
  }
  // The key has been charged, or given something back; it is counted by these numbers then.
  void wrote(const QuotaNumbers& numbers, nanoseconds now);
  void wrote(nanoseconds now);

  // The earliest of the first holes whose units are enough, at most `latest`.
  struct Taken {
    OwnUnits own;
    nanoseconds moment;
  };
  std::optional<Taken> take_hole(std::uint64_t units, nanoseconds now, nanoseconds latest);
  bool has_holes(nanoseconds now);
  std::size_t holes() const { return passing_.size() + lasting_.size(); }

  // Its units may be settled until then, by that id.
  void hold(OwnUnits& own, nanoseconds until, nanoseconds now, ReservationId id = {});
  // The id of one that a snapshot has brought, which does not have it.
  void name_hold(const OwnUnits& own, ReservationId id);
  // Appends those that end first, each with its units.
  void find_holds(std::size_t most, nanoseconds now,
                  std::vector<std::pair<ReservationId, std::uint64_t>>& into);
  // How long until `units` more fit beside those that are held; below 0: they never do. When more than
  // kLooked holds would have to end first: until that many have.
  nanoseconds until_hold_fits(std::uint64_t units, std::uint64_t at_most, nanoseconds now);
  std::size_t holds() const { return holds_.size(); }
  // What keeps it longest, as far as it knows.
  ReservationMemory::Kind kept_for(nanoseconds now) const;

  // Both take the key's state, and leave it as it is then. Cancels what was to act at a moment that has not
  // come; false when its units are lost.
  bool cancel(const OwnUnits& own, nanoseconds moment, nanoseconds now, std::uint64_t client,
              core::TwoWords& state);
  // What acts, or has acted, at `moment` cost `less` units less than it was charged. True: those who wait act
  // earlier.
  bool settle(const OwnUnits& own, nanoseconds moment, std::uint64_t less, nanoseconds now,
              std::uint64_t client, core::TwoWords& state);
  // An open hold may be settled until then instead.
  void extend(const OwnUnits& own, nanoseconds until);
  // It ends without taking anything back; what remains of its moment stands.
  void end_hold(const OwnUnits& own);

  // To a snapshot and from it (reservations_copy.cpp).
  template <class Archive>
  void transfer(Archive& archive);

 private:
  // Units that may act at `moment`, if somebody takes them over. Given back at once they would act twice,
  // because others were charged beyond them. Equal ones that touch are one: `count` of them, a moment each,
  // `units` x T apart.
  struct Hole {
    nanoseconds moment{0};  // of the first; of one that lasts the earliest, where its owner had acted
    std::uint64_t low = 0;  // the tat before all
    std::uint64_t units = 0;
    std::uint64_t count = 1;
    std::uint64_t number = 0;  // for the first that takes of it
    bool lasts = false;        // takeable from `moment` on until it has drained, and not only before
    ReservationMemory::Share share{};
  };
  using Holes = std::map<std::uint64_t, Hole>;  // by the tat at which all have drained
  struct Hold {
    std::uint64_t number = 0;
    nanoseconds until{0};
    std::uint64_t units = 0;
    std::uint64_t paused = 0;  // OwnUnits::paused
    ReservationId id{};

    friend bool operator<(const Hold& a, const Hold& b) { return a.number < b.number; }
  };
  using Holds = SortedChunks<Hold>;

  static MomentsAhead::Whose whose(const OwnUnits& own) { return {own.number, own.grant}; }
  std::uint64_t length(const Hole& hole) const { return hole.count * hole.units * numbers_.interval; }
  nanoseconds step(const Hole& hole) const {
    return nanoseconds{static_cast<std::int64_t>(hole.units * numbers_.interval)};
  }
  std::optional<Holes::iterator> find_hole(std::uint64_t end);
  void lose_units(const Hole& hole) { lost_units_ += hole.lasts ? hole.units : 0; }
  void clear_holes();
  void put(std::uint64_t end, Hole hole);
  Hole remove(Holes::iterator at);
  void drop_passed(nanoseconds now);
  bool add(std::uint64_t end, Hole hole, std::uint64_t client);
  bool join(std::uint64_t end, const Hole& hole);
  void join_lasting(std::uint64_t& end, Hole& hole);
  std::optional<Taken> take_from(Holes::iterator at, std::uint64_t units, nanoseconds now,
                                 nanoseconds latest);
  void take_last(core::TwoWords& state, nanoseconds now);
  std::uint64_t end_of(const OwnUnits& own) const;
  void move_holes(std::uint64_t from, std::uint64_t by);
  void fold_moves();
  void keep_moments();
  void leave_hole(const OwnUnits& own, std::uint64_t end, std::uint64_t units, nanoseconds now,
                  std::uint64_t client);
  bool moves_up(nanoseconds moment, nanoseconds now);
  std::optional<Holds::Place> find_hold(const OwnUnits& own) const;
  bool keep(const Hold& hold);
  void close(Holds::Place hold, std::uint64_t moved);
  void drop_ended(nanoseconds now, std::size_t most);

  std::uint64_t epoch_;
  ReservationMemory* memory_;
  nanoseconds until_{0};
  nanoseconds latest_{0};
  nanoseconds fixed_until_{0};
  nanoseconds told_until_{0};  // the latest of the moments that are kept; no snapshot has it
  QuotaNumbers numbers_;
  std::uint64_t generation_ = 0;
  std::uint64_t grants_ = 0;
  std::uint64_t units_ = 0;  // that have been charged, ever: the next number
  std::uint64_t moved_ = 0;  // how long the schedule has moved up, ever
  std::uint64_t lost_ = 0;
  std::uint64_t lost_units_ = 0;
  std::uint64_t tail_ = kUnknown;  // left(); no snapshot has it
  nanoseconds pause_end_{0};
  std::uint64_t paused_tat_ = 0;  // PausedState::tat
  ScheduleMoves moves_;
  MomentsAhead ahead_;
  Holes passing_;
  Holes lasting_;                                              // their moments are in the order of their ends
  std::set<std::pair<nanoseconds, std::uint64_t>> by_moment_;  // those that pass, each with its end
  Holds holds_;
  SortedChunks<std::pair<nanoseconds, std::uint64_t>> by_until_;  // holds, each with its number
  ScheduleShifts words_;
  unsigned __int128 held_units_ = 0;
};

}  // namespace weir::store
