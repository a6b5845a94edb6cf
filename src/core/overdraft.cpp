#include "core/overdraft.hpp"

#include <limits>

#include "core/calendar_window.hpp"
#include "core/fixed_window.hpp"
#include "core/reservation.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::nanoseconds;

// Rounded up.
std::uint64_t units_of(std::uint64_t time, std::uint64_t interval) {
  return time / interval + (time % interval != 0 ? 1 : 0);
}

std::uint64_t interval_of(const Rule& rule) {
  return static_cast<std::uint64_t>(rule.quota.emission_interval().count());
}

// What is owed of a state, in this T; as much as anybody may owe where it is more.
std::uint64_t owed_of(TwoWords state, std::uint64_t ahead, std::uint64_t interval, std::uint64_t most) {
  if (ahead == 0 || state.word == interval) return ahead;
  const std::uint64_t units = units_of(ahead, state.word);
  return units > most / interval ? most : units * interval;
}

void tell_owed(const Rule& rule, nanoseconds now, Overdrawn& told) {
  const std::uint64_t interval = interval_of(rule);
  const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
  const std::uint64_t left = ahead_of(told.next.until, now);
  told.reset_after = nanoseconds{static_cast<std::int64_t>(at_most_the_longest(left))};
  told.remaining = static_cast<std::uint64_t>(decide(rule, told.next, now, Cost{0}, now).remaining);
  if (left == 0) return;
  if (told.next.word != interval || rule.kept.count() != 0) {
    const std::uint64_t units = units_of(left, told.next.word);
    told.overdraft = units - std::min(units, burst);
    told.wait = until_one_more(rule, told.next, now);
    return;
  }
  const std::uint64_t full = burst * interval;
  if (left > full) told.overdraft = units_of(left - full, interval);
  if (left > full - interval)
    told.wait = nanoseconds{static_cast<std::int64_t>(at_most_the_longest(left - (full - interval)))};
}

// Of a burst that no ledger counts, in which a pause is a time (store/key_ledger.hpp).
std::uint64_t paused(const Rule& rule, std::uint64_t owed, nanoseconds length) {
  const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
  const std::uint64_t at_end = (burst - 1) * interval_of(rule);
  constexpr auto kMost = static_cast<std::uint64_t>(nanoseconds::max().count());
  const auto pause = static_cast<std::uint64_t>(length.count());
  return std::max(owed, pause + std::min(at_end, kMost - pause));
}

Overdrawn overdraw_gcra(const Rule& rule, TwoWords state, nanoseconds now, const Outside& outside) {
  const std::uint64_t interval = interval_of(rule);
  const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
  const std::uint64_t ahead = ahead_of(state.until, now);
  const std::uint64_t most = most_owed(rule, outside.overdraft);
  const std::uint64_t owed = owed_of(state, ahead, interval, most);

  Overdrawn told;
  told.next = state;
  std::uint64_t after = owed;
  if (outside.form == Outside::Form::cost) {
    const std::uint64_t room = most - std::min(owed, most);
    told.charged = outside.units;
    if (outside.units <= room / interval) {
      after += outside.units * interval;
    } else {
      after += room;
      told.charged = room / interval;
      told.dropped = outside.units - told.charged;
    }
  } else {
    after = outside.form == Outside::Form::pause
                ? paused(rule, owed, outside.length)
                : std::max(owed, (burst - std::min(outside.units, burst)) * interval);
    if (after > owed) {
      // Fewer, where what was owed in another T was more than anybody may owe in this one.
      const std::uint64_t units = units_of(after, interval);
      told.charged = units - std::min(units, ahead == 0 ? 0 : units_of(ahead, state.word));
    }
  }
  // A pause lasts by the numbers of who asks for it, so all that is owed is counted by them.
  const bool recounts = outside.form == Outside::Form::pause && ahead != 0 && state.word != interval;
  if (after > owed || recounts) {
    told.next = {static_cast<std::uint64_t>(now.count()) + after, interval};
    told.changes = true;
  }
  tell_owed(rule, now, told);
  return told;
}

// What is told of a key that rests until then.
Overdrawn paused_window(TwoWords state, nanoseconds now) {
  Overdrawn told;
  told.next = state;
  told.wait = told.reset_after =
      nanoseconds{static_cast<std::int64_t>(at_most_the_longest(ahead_of(state.until, now)))};
  return told;
}

bool is_paused_window(const Rule& rule, TwoWords state, nanoseconds now) {
  return rule.calendar == nullptr && fixed_window::is_paused({state.until, state.word}, now);
}

// The later end stands.
Overdrawn pause_window(TwoWords state, bool is_paused, nanoseconds now, nanoseconds length) {
  const auto end = static_cast<std::uint64_t>((now + length).count());
  const std::uint64_t before = is_paused ? state.until : 0;
  Overdrawn told = paused_window({std::max(end, before), fixed_window::kPaused}, now);
  told.changes = true;
  return told;
}

Overdrawn overdraw_window(const Rule& rule, TwoWords state, nanoseconds now, const Outside& outside) {
  const bool is_paused = is_paused_window(rule, state, now);
  if (outside.form == Outside::Form::pause) return pause_window(state, is_paused, now, outside.length);
  if (is_paused) {
    Overdrawn told = paused_window(state, now);
    if (outside.form == Outside::Form::cost) told.dropped = outside.units;
    return told;
  }
  const auto limit = static_cast<std::uint64_t>(rule.quota.rate().count);
  calendar_window::Running date;
  if (rule.calendar != nullptr) date = calendar_window::running(*rule.calendar, state, now, rule.utc_at(now));
  const std::uint64_t used = rule.calendar != nullptr          ? date.used
                             : ahead_of(state.until, now) == 0 ? 0
                                                               : state.word;
  std::uint64_t after = used;
  if (outside.form == Outside::Form::cost) {
    const std::uint64_t most = std::max({used, limit, std::uint64_t{kMostUsedOfWindow}});
    after = used + std::min(outside.units, most - used);
  } else {
    after = std::max(used, limit - std::min(outside.units, limit));
  }
  Overdrawn told;
  told.next = state;
  told.changes = after != used;
  told.charged = after - used;
  if (outside.form == Outside::Form::cost) told.dropped = outside.units - told.charged;
  if (told.changes && rule.calendar != nullptr) {
    date.used = after;
    told.next = date.state(*rule.calendar, now);
  } else if (told.changes) {
    // A unit that passes tells which window runs.
    const TwoWords open = ahead_of(state.until, now) == 0 ? decide(rule, {}, now, Cost{1}).next : state;
    told.next = {open.until, after};
  }
  told.overdraft = after - std::min(after, limit);
  told.remaining = limit - std::min(after, limit);
  if (after == 0) return told;
  told.reset_after = nanoseconds{static_cast<std::int64_t>(
      at_most_the_longest(rule.calendar != nullptr ? date.left : ahead_of(told.next.until, now)))};
  if (after >= limit) told.wait = told.reset_after;
  return told;
}

}  // namespace

std::uint64_t most_owed(const Rule& rule, nanoseconds overdraft) {
  constexpr auto kMost = static_cast<std::uint64_t>(nanoseconds::max().count());
  const std::uint64_t full = static_cast<std::uint64_t>(rule.quota.burst()) * interval_of(rule);
  return full +
         std::min(static_cast<std::uint64_t>(std::max(overdraft.count(), std::int64_t{0})), kMost - full);
}

namespace {

Overdrawn refund_gcra(const Rule& rule, TwoWords state, nanoseconds now, std::uint64_t units,
                      std::uint64_t least) {
  const std::uint64_t interval = interval_of(rule);
  const std::uint64_t ahead = ahead_of(state.until, now);
  const std::uint64_t owed = owed_of(state, ahead, interval, std::numeric_limits<std::int64_t>::max());
  const std::uint64_t stays = std::min(owed, ahead_of(least, now));
  Overdrawn told;
  told.next = state;
  const std::uint64_t back = units > (owed - stays) / interval ? owed - stays : units * interval;
  if (back != 0) {
    told.next = {static_cast<std::uint64_t>(now.count()) + owed - back, interval};
    told.changes = true;
  }
  // Of a unit that has drained in part the rest goes back, so it counts.
  told.charged = units_of(owed, interval) - units_of(owed - back, interval);
  tell_owed(rule, now, told);
  return told;
}

Overdrawn refund_window(const Rule& rule, TwoWords state, nanoseconds now, std::uint64_t units) {
  if (is_paused_window(rule, state, now)) return paused_window(state, now);
  const std::uint64_t used = rule.calendar != nullptr
                                 ? calendar_window::running(*rule.calendar, state, now, rule.utc_at(now)).used
                             : ahead_of(state.until, now) == 0 ? 0
                                                               : state.word;
  const std::uint64_t back = std::min(units, used);
  if (back != 0) state.word -= back;
  // What it tells of what is left is what a charge of nothing does.
  Overdrawn told = overdraw_window(rule, state, now, Cost{0});
  told.charged = back;
  told.changes = back != 0;
  return told;
}

}  // namespace

Overdrawn refund(const Rule& rule, TwoWords state, nanoseconds now, std::uint64_t units,
                 std::uint64_t least) {
  return rule.algorithm == Algorithm::gcra ? refund_gcra(rule, state, now, units, least)
                                           : refund_window(rule, state, now, units);
}

Overdrawn overdraw(const Rule& rule, TwoWords state, nanoseconds now, const Outside& outside) {
  if (outside.form == Outside::Form::refund) return refund(rule, state, now, outside.units, 0);
  return rule.algorithm == Algorithm::gcra ? overdraw_gcra(rule, state, now, outside)
                                           : overdraw_window(rule, state, now, outside);
}

}  // namespace weir::core
