// The ledger of a key: the grants that can still change, in the order of the moments at which they act, and
// between two of them all others as one map. What is owed is the product of all (core/grant_map.hpp); nothing
// else is kept, and nothing moves. A settlement changes the cost of its grant, a cancel removes it, and what
// either gives back is a moment at which somebody fits.
//
// A pause is a time, its end: nobody acts before it, and at it the product has a member of its own, by the
// burst of the one that asks. What was owed still drains meanwhile. One that is afresh forgets instead: at
// its end all that acts before it is gone, and what is open of that can no longer be changed.
//
// A grant is open as long as it can change: it is told its moment, or held. One that is over is folded into
// those beside it, and what lies before all open ones is one number, the front.
//
// Grants are kept in a tree of rows that know their sums, so every call costs the logarithm of what is open.
// One T; under another one it is recounted().
//
// A value without a clock or a lock; one thread. Not for: whose a grant is, or until when it may change
// (key_ledger.hpp).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/grant_map.hpp"
#include "store/summed_tree.hpp"

namespace weir::inline v0_1::store {

class Ledger {
 public:
  using Time = core::GrantMap::Time;

  // Of one open grant; good until it is removed, settled or closed, or recount() has forgotten it.
  struct Place {
    Time at = 0;
    std::uint64_t number = 0;

    friend bool operator==(const Place&, const Place&) = default;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  // What may be owed: burst x T in all, and `mine` by those who ask, whose class leaves the rest.
  struct Room {
    Time full = 0;
    Time mine = 0;
    Time line = 0;  // they act after those in line, who then owe `mine`: end_of_line(); 0: nobody is
  };

  // A search takes at most that many steps, some two for each time between those who were told in which
  // nothing is owed; then it takes the first moment after all of them: later, never wrong.
  static constexpr int kMostSteps = 128;
  explicit Ledger(Time interval, Time front = 0) : interval_(interval), front_(front) {}

  Time interval() const { return interval_; }
  Time front() const { return front_; }
  Time pause_end() const { return pause_end_; }  // 0: none
  bool forgets() const { return forgets_; }      // at the end of its pause
  // What is owed is the front alone.
  bool is_empty() const { return members_.empty() && pause_end_ == 0; }

  // What is owed, as a tat, after all that act up to `at`; after all.
  Time owed_at(Time at, Time full) const;
  Time owed(Time full) const;
  // By the grants alone, of all that act up to `at`.
  Time owed_by_grants(Time at) const;
  // After all, had these units acted at `at`, where they fit.
  Time owed_with(Time at, std::uint64_t units, Time full) const;
  // The most units that may act at `at`, later than all that are over, so that no later one is late.
  std::uint64_t most(Time at, const Room& room) const;
  // The first moment from `from` on at which they fit. Units of at most the room's.
  Time earliest(Time from, std::uint64_t units, const Room& room) const;

  // When those in line have acted, who need all from `from` to `end` of what nobody else is told; none of
  // them before a pause ends.
  Time end_of_line(Time from, Time end) const;

  // An open grant.
  Place put(Time at, std::uint64_t units);
  // One that nothing can change. What it acts before must have been folded up to it: fold(at) first.
  void put_over(Time at, std::uint64_t units, Time full);
  // What is over owes that now.
  void set_front(Time tat) { front_ = tat; }
  // False: it is not there.
  bool remove(const Place& place);
  // It cost that.
  bool change(const Place& place, std::uint64_t units);
  // Nothing can change it any more; fold() says what becomes of it. False: it is not there.
  bool close(const Place& place);

  // What is over at the front becomes one number; a pause that has ended, too, but not without `full`, which
  // numbers of another T have not: they count it in recounted(). One that forgets needs no numbers.
  void fold(Time now, std::optional<Time> full);
  // Nobody acts before `end`, or before the end of a pause that lies later, and stands as it was; of equal
  // ends the one that forgets nothing.
  void pause(Time end, bool forgets, Time now, Time full);
  // They owe at least until `tat`, whatever acts later.
  void raise(Time at, Time tat, Time full);
  // The moment of the last that is kept; kNever: none is.
  Time last() const { return members_.empty() ? core::GrantMap::kNever : members_.back().key.at; }
  // The front gives back up to that many units, and stays at `least` or later. Returns how many.
  std::uint64_t refund(std::uint64_t units, Time least);
  // By another T and its `full`: what is owed now, in whole units rounded up, is the front, and those that
  // act later have kept their moments and units, and their places. A pause is as long as it was.
  Ledger recounted(Time now, Time interval, Time full) const;

  // As bytes and back (reservations_copy.cpp).
  template <class Archive>
  void transfer(Archive& archive);

  // Calls each(place, units) for those that are open, in order.
  template <class Each>
  void each_open(const Each& each) const;

 private:
  struct Member {
    Place key;
    core::GrantMap map;
    bool is_open = false;

    const core::GrantMap& sum() const { return map; }
  };
  // Two that are over, and between which no pause ends.
  struct Join;

  Time need(std::uint64_t units) const { return static_cast<Time>(units) * interval_; }
  // What is owed at the end of the pause, before all that acts then, of what was.
  Time owed_at_end(Time tat, Time full) const {
    return forgets_ ? pause_end_ : core::GrantMap::of_pause(pause_end_, full, interval_).owed(tat);
  }
  // Nobody that is kept acts later.
  bool is_after_all(Time at) const { return members_.empty() || members_.back().key.at <= at; }
  Time owed_before(const Place& place, Time full) const;
  Time owed_at(Time at, const Room& room) const;
  core::GrantMap after(Time at) const;
  Time late_from(Time at, Time tat, Time full) const;
  Time after_all(Time from, Time units_need, const Room& room) const;
  Join join() const;
  void keep_open(const Place& place, std::uint64_t units);
  void keep(const Member& member);
  void end_pause(Time full);
  void forget();

  Time interval_;
  Time front_;
  Time pause_end_ = 0;
  bool forgets_ = false;
  std::uint64_t numbers_ = 0;
  SummedTree<Member, Place, core::GrantMap> members_;
};

template <class Each>
void Ledger::each_open(const Each& each) const {
  members_.each([&](const Member& member) {
    if (member.is_open) each(member.key, static_cast<std::uint64_t>(member.map.sum / interval_));
  });
}

}  // namespace weir::store
