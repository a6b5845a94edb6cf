// What a key's state cannot tell of those who wait for it: the moments that were given and cancelled, what
// may still be settled, and whether anybody's moment is ahead.
//
// A value without a clock or a lock; one thread. Not for: whose reservation it is (reservations.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/reservation.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::store {

// What a quota counts by.
struct Numbers {
  std::uint64_t interval = 0;  // T
  std::uint64_t burst = 0;

  Numbers() = default;
  explicit Numbers(const Quota& quota)
      : interval(static_cast<std::uint64_t>(quota.emission_interval().count())),
        burst(static_cast<std::uint64_t>(quota.burst())) {}
  friend bool operator==(const Numbers&, const Numbers&) = default;
};

// The moment of a cancelled reservation, while others wait for later ones: its units may act then, if another
// takes them over before. Given back at once they would act twice, because those others were charged beyond
// them.
struct Hole {
  std::chrono::nanoseconds moment;
  std::uint64_t units;
  Numbers numbers;                    // that they were charged by
  std::uint64_t end;                  // the tat at which they have drained
  std::optional<core::Charge> whole;  // what was charged, while no part of it has been taken
};

class Line {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::size_t kMostHoles = 1024;

  // `epoch` tells it from earlier lines of the key: what was charged before a reset is not this line's.
  explicit Line(std::uint64_t epoch) : epoch_(epoch) {}

  std::uint64_t epoch() const { return epoch_; }
  // Counts what is charged to it: tells what a copy of it knows from what came later.
  std::uint64_t count_part() { return ++parts_; }
  std::uint64_t parts() const { return parts_; }
  // There is nothing to be known of it from then on.
  nanoseconds until() const { return until_; }
  void keep_until(nanoseconds until) { until_ = std::max(until_, until); }

  // A reservation comes by these numbers. A hole belongs to those that it was charged by: others would let
  // more act at its moment than they allow. Returns how many are lost.
  std::size_t count_by(const Numbers& numbers);

  // The moments that somebody has, as long as they are ahead.
  void add_moment(nanoseconds moment, nanoseconds now);
  void remove_moment(nanoseconds moment);
  bool is_anybody_ahead(nanoseconds now);

  // The first one whose units are enough, at most `latest`; null: there is none.
  const Hole* find_hole(std::uint64_t units, nanoseconds now, nanoseconds latest) const;
  // Takes units of a hole that find_hole() has found; its rest stays.
  Hole take(const Hole& from, std::uint64_t units);
  // False when there are kMostHoles, or it was charged by other numbers than the line's.
  bool add_hole(const Hole& hole, nanoseconds now);
  // The hole whose reservation left this state: what came after it has been taken back, so it is the last one
  // now and its units go back too.
  std::optional<Hole> take_last(core::TwoWords state, nanoseconds now);
  std::size_t holes() const { return holes_.size(); }
  bool has_holes(nanoseconds now) const { return !holes_.empty() && holes_.back().moment > now; }

  // Units whose reservation may be settled until then, drained at the tat `end`. Its number, above 0.
  std::uint64_t open_hold(nanoseconds until, std::uint64_t units, std::uint64_t end, nanoseconds now);
  bool has_holds(nanoseconds now) const;
  // When its units have drained, after what has gone back of others meanwhile; 0: it is not open.
  std::uint64_t close_hold(std::uint64_t number);
  // So long of what ended at the tat `end` has gone back: what was charged after it has moved up.
  void move_up(std::uint64_t end, std::uint64_t by);
  // How long until `units` more fit beside those that are open; below 0: they never do.
  nanoseconds until_hold_fits(std::uint64_t units, std::uint64_t at_most, nanoseconds now);

  // To a snapshot and from it (reservations_copy.cpp).
  template <class Archive>
  void transfer(Archive& archive);

 private:
  struct Hold {
    std::uint64_t number;
    nanoseconds until;
    std::uint64_t units;
    std::uint64_t end;
  };

  std::uint64_t epoch_;
  nanoseconds until_{0};
  Numbers numbers_;
  std::uint64_t parts_ = 0;
  std::uint64_t last_hold_ = 0;
  std::multiset<nanoseconds> moments_;
  std::vector<Hole> holes_;  // by moment
  std::vector<Hold> holds_;  // by number; some of them have ended
  std::size_t many_holds_ = 16;
};

}  // namespace weir::store
