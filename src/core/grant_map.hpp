// What grants do to what a key owes. A grant of c units that acts at a moment a takes the tat x to
//
//   max(x, a) + c x T
//
// and what is owed is the product of these maps, in the order of the moments (docs/algorithm.md). Maps of the
// form x -> max(x + S, A) are closed under composition, so any row of grants is one such pair. A second pair
// says by how much the latest of those that were told their moment comes after it: x -> max(x + P, Q).
// Neither knows the burst.
//
// Times are nanoseconds. With every moment from 0 to below 2^62 and burst x T at most kMostFull, no sum below
// wraps.
//
// Pure values, any thread. Not for: where grants are kept (store/ledger.hpp).
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::inline v0_1::core {

struct GrantMap {
  using Time = std::int64_t;
  static constexpr Time kForever = Time{1} << 62;
  // Before all times, and so is what comes after it.
  static constexpr Time kNever = -kForever;
  // 73 years less some months, for what may be owed beyond it.
  static constexpr Time kMostFull = (Time{1} << 61) - (Time{1} << 54);

  Time sum = 0;              // S
  Time least = kNever;       // A
  Time late = kNever;        // P
  Time least_late = kNever;  // Q

  // Of `need` = c x T ns that act at `at`. One that was told its moment can be late.
  static constexpr GrantMap of(Time at, Time need, bool told) {
    GrantMap map{need, at + need, kNever, kNever};
    if (told && need != 0) map.late = need - at, map.least_late = need;
    return map;
  }

  // Of a pause: at its end one unit acts, and the pace after that.
  static constexpr GrantMap of_pause(Time end, Time full, Time interval) {
    GrantMap map;
    map.least = end + (full - interval);
    return map;
  }

  constexpr Time owed(Time tat) const { return std::max(tat + sum, least); }
  // By how much the latest comes after its moment, with what it has to wait for; nobody is late where that is
  // at most burst x T.
  constexpr Time latest(Time tat) const { return std::max(plus(late, tat), least_late); }
  // The most that may be owed before them so that latest() is at most `full`: kNever where somebody is later.
  constexpr Time most_before(Time full) const {
    if (least_late > full) return kNever;
    return late == kNever ? kForever : full - late;
  }

  // These grants, and then those.
  constexpr GrantMap then(const GrantMap& next) const {
    return {sum + next.sum, std::max(plus(least, next.sum), next.least), std::max(late, plus(next.late, sum)),
            std::max({least_late, plus(least, next.late), next.least_late})};
  }

  friend constexpr bool operator==(const GrantMap&, const GrantMap&) = default;

 private:
  static constexpr Time plus(Time a, Time b) { return a == kNever || b == kNever ? kNever : a + b; }
};

}  // namespace weir::core
