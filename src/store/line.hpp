// What a key's state cannot tell of those who wait for it: the moments that were given and cancelled, what
// may still be settled, and whether anybody's moment is ahead.
//
// A value without a clock or a lock; one thread. Not for: whose reservation it is (reservations.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/reservation.hpp"

namespace weir::store {

// The moment of a cancelled reservation, while others wait for later ones: its units may act then, if another
// takes them over before. Given back at once they would act twice, because those others were charged beyond
// them.
struct Hole {
  std::chrono::nanoseconds moment;
  std::uint64_t units;
  std::uint64_t interval;             // the T that they were charged in
  std::optional<core::Charge> whole;  // what was charged, while no part of it has been taken
  std::chrono::nanoseconds last_before;
};

class Line {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::size_t kMostHoles = 1024;

  // `epoch` tells it from earlier lines of the key: what was charged before a reset is not this line's.
  explicit Line(std::uint64_t epoch) : epoch_(epoch) {}

  std::uint64_t epoch() const { return epoch_; }
  // There is nothing to be known of it from then on.
  nanoseconds until() const { return until_; }
  void keep_until(nanoseconds until) { until_ = std::max(until_, until); }

  // The latest moment that somebody has.
  nanoseconds last_moment() const { return last_moment_; }
  void set_last_moment(nanoseconds moment) { last_moment_ = moment; }

  // The first one whose units are enough, at most `latest`, counted in that T; null: there is none.
  const Hole* find_hole(std::uint64_t units, std::uint64_t interval, nanoseconds now,
                        nanoseconds latest) const;
  // Takes units of a hole that find_hole() has found; its rest stays.
  Hole take(const Hole& from, std::uint64_t units);
  // False when there are kMostHoles.
  bool add_hole(const Hole& hole, nanoseconds now);
  // The hole whose reservation left this state: what came after it has been taken back, so it is the last one
  // now and its units go back too.
  std::optional<Hole> take_last(core::TwoWords state, nanoseconds now);
  std::size_t holes() const { return holes_.size(); }
  bool has_holes(nanoseconds now) const { return !holes_.empty() && holes_.back().moment > now; }

  // Units whose reservations may be settled until then.
  void open_hold(nanoseconds until, std::uint64_t units) { holds_.push_back({until, units}); }
  void close_hold(nanoseconds until, std::uint64_t units);
  // How long until `units` more fit beside those that are open; below 0: they never do.
  nanoseconds until_hold_fits(std::uint64_t units, std::uint64_t at_most, nanoseconds now);

 private:
  struct Hold {
    nanoseconds until;
    std::uint64_t units;
  };

  std::uint64_t epoch_;
  nanoseconds until_{0};
  nanoseconds last_moment_{0};
  std::vector<Hole> holes_;  // by moment
  std::vector<Hold> holds_;
};

}  // namespace weir::store
