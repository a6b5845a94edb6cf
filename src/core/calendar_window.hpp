// Windows by the calendar: a count that starts again at 0 with each hour, day, week, month or year of a
// place.
//
//   allowed  iff  units admitted in the window + cost <= limit
//
// A state knows which window it counts (CalendarWindow::id) and not when that ends: the calendar says so, by
// the clock as it is now. So a clock that steps, another zone and a new database leave the units where they
// are. A window that has begun is never left backwards: a state of a later one counts until that one ends.
//
// Weakness: as of every fixed window, up to 2 x limit in a short span around the end of a window.
//
// Pure functions of values. A clock that steps back by more than kept_for() may find a state forgotten.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/calendar.hpp"
#include "core/step.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::core::calendar_window {

using std::chrono::nanoseconds;

// As a state's second word has them: the window's id above, the units admitted in it below.
// The uppermost bit stays 0.
constexpr int kUsedBits = 36;
constexpr std::uint64_t kMostUsed = (std::uint64_t{1} << kUsedBits) - 1;
constexpr std::uint64_t kMostId = std::uint64_t{1} << 27;  // ids are below it
constexpr std::uint64_t id_of(std::uint64_t word) { return word >> kUsedBits; }
constexpr std::uint64_t used_of(std::uint64_t word) { return word & kMostUsed; }
constexpr std::uint64_t word_of(std::uint64_t id, std::uint64_t used) { return id << kUsedBits | used; }

// How long a state is kept after its window's end: another zone may end the same date that much later.
constexpr nanoseconds kept_for(Calendar::Unit unit) {
  return unit == Calendar::Unit::hour ? std::chrono::hours{1} : std::chrono::hours{26};
}

// What counts now: the units used, in which window, and until when.
struct Running {
  std::uint64_t id = 0;
  std::uint64_t used = 0;
  std::uint64_t left = 0;  // ns until it ends, at least 1

  template <class Windows>
  TwoWords state(const Windows& calendar, nanoseconds now) const {
    const auto kept = static_cast<std::uint64_t>(kept_for(calendar.unit()).count());
    return {static_cast<std::uint64_t>(now.count()) + left + kept, word_of(id, used)};
  }
};

// `utc` is the same time as `now`, on the clock that the calendar goes by. `Windows`: a Calendar.
template <class Windows>
Running running(const Windows& calendar, TwoWords state, nanoseconds now, nanoseconds utc) {
  CalendarWindow window = calendar.at(utc);
  Running found{.id = window.id};
  if (ahead_of(state.until, now) != 0 && id_of(state.word) >= window.id) {
    found.id = id_of(state.word);
    found.used = used_of(state.word);
    if (found.id > window.id) window = calendar.of(found.id);
  }
  found.left = static_cast<std::uint64_t>(std::max((window.end - utc).count(), std::int64_t{1}));
  return found;
}

template <class Windows>
Step decide(const Quota& quota, const Windows& calendar, TwoWords state, nanoseconds now, nanoseconds utc,
            Cost cost) {
  const auto limit = static_cast<std::uint64_t>(quota.rate().count);
  Running window = running(calendar, state, now, utc);
  std::uint64_t room = limit - std::min(window.used, limit);

  Verdict verdict = Verdict::allowed;
  TwoWords next = state;
  if (cost.units > limit) {
    verdict = Verdict::never;
  } else if (cost.units > room) {
    verdict = Verdict::denied;
  } else if (cost.units != 0) {
    window.used += cost.units;
    room -= cost.units;
    next = window.state(calendar, now);
  }
  return {verdict, quota.rate().count, room, window.left, window.used != 0 ? window.left : 0,
          next,    next != state};
}

}  // namespace weir::core::calendar_window
