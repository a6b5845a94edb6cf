#include "store/ledger.hpp"

#include <algorithm>
#include <limits>

namespace weir::inline v0_1::store {
namespace {

using Time = Ledger::Time;

// Of all that act up to a moment.
Ledger::Place after_those_at(Time at) { return {at, std::numeric_limits<std::uint64_t>::max()}; }

// So that no sum of what is owed and what may be asked wraps.
Time at_most_owed(Time now, unsigned __int128 time) {
  return now + static_cast<Time>(std::min<unsigned __int128>(time, core::GrantMap::kMostFull));
}

}  // namespace

struct Ledger::Join {
  Time pause_end;

  bool operator()(Member& first, const Member& second) const {
    if (first.is_open || second.is_open) return false;
    if ((first.key.at < pause_end) != (second.key.at < pause_end)) return false;
    first.map = first.map.then(second.map);
    return true;
  }
};

Ledger::Join Ledger::join() const { return {pause_end_}; }

// By all before that place, of which a pause may be one.
Time Ledger::owed_before(const Place& place, Time full) const {
  if (pause_end_ == 0 && is_after_all(place.at)) return members_.sum().owed(front_);
  Time tat = front_;
  const auto add = [&](const core::GrantMap& map) { tat = map.owed(tat); };
  if (pause_end_ == 0 || place.at < pause_end_) {
    members_.each_sum(nullptr, &place, add);
    return tat;
  }
  const Place pause{pause_end_, 0};
  members_.each_sum(nullptr, &pause, add);
  tat = owed_at_end(tat, full);
  members_.each_sum(&pause, &place, add);
  return tat;
}

Time Ledger::owed_by_grants(Time at) const {
  const bool has_forgotten = forgets_ && at >= pause_end_;
  Time tat = has_forgotten ? pause_end_ : front_;
  const Place from{pause_end_, 0};
  const Place to = after_those_at(at);
  members_.each_sum(has_forgotten ? &from : nullptr, &to,
                    [&](const core::GrantMap& map) { tat = map.owed(tat); });
  return tat;
}

Time Ledger::owed_at(Time at, Time full) const { return owed_before(after_those_at(at), full); }

Time Ledger::owed_at(Time at, const Room& room) const {
  if (room.line == 0) return owed_at(at, room.full);
  const Place line = after_those_at(room.line);
  const Place here = after_those_at(at);
  Time tat = std::max(owed_before(line, room.full), room.line + room.mine);
  members_.each_sum(&line, &here, [&](const core::GrantMap& map) { tat = map.owed(tat); });
  return tat;
}

Time Ledger::owed(Time full) const { return owed_at(core::GrantMap::kForever, full); }

Time Ledger::owed_with(Time at, std::uint64_t units, Time full) const {
  if (units == 0) return owed(full);
  return after(at).owed(std::max(owed_at(at, full), at) + need(units));
}

core::GrantMap Ledger::after(Time at) const {
  core::GrantMap sum;
  if (is_after_all(at)) return sum;
  const Place from = after_those_at(at);
  members_.each_sum(&from, nullptr, [&](const core::GrantMap& map) { sum = sum.then(map); });
  return sum;
}

std::uint64_t Ledger::most(Time at, const Room& room) const {
  if (at < pause_end_) return 0;
  const Time free =
      std::min(at + room.mine, after(at).most_before(room.full)) - std::max(owed_at(at, room.full), at);
  return free <= 0 ? 0 : static_cast<std::uint64_t>(free / interval_);
}

// Each step counts those that the one before has reached.
Time Ledger::end_of_line(Time from, Time end) const {
  const Time all = std::max<Time>(end - from, 0);
  from = std::max(from, pause_end_);
  end = from + all;
  const Place first = after_those_at(from);
  for (int step = 0; step < kMostSteps; ++step) {
    Time told = 0;
    const Place last = after_those_at(end);
    members_.each_sum(&first, &last, [&](const core::GrantMap& map) { told += map.sum; });
    const Time later = from + all + told;
    if (later == end) return end;
    end = later;
  }
  return std::max(end, last());
}

// The last who comes late where that is owed after `at`, and its moment; kNever: nobody does.
Time Ledger::late_from(Time at, Time tat, Time full) const {
  if (is_after_all(at)) return core::GrantMap::kNever;
  const Place from = after_those_at(at);
  const Member* const late = members_.find_last(
      &from, tat, [](Time owed, const core::GrantMap& map) { return map.owed(owed); },
      [full](Time owed, const core::GrantMap& map) { return map.latest(owed) > full; });
  return late != nullptr ? late->key.at : core::GrantMap::kNever;
}

// Where nobody acts later.
Time Ledger::after_all(Time from, Time units_need, const Room& room) const {
  if (!members_.empty()) from = std::max(from, members_.back().key.at);
  return std::max(from, owed_at(core::GrantMap::kForever, room) + units_need - room.mine);
}

// Each step but the last goes past one that would be late wherever the units acted before it, or to where the
// units have room of their own: what is owed before them only grows with the moment.
Time Ledger::earliest(Time from, std::uint64_t units, const Room& room) const {
  if (units == 0) return from;
  Time at = std::max({from, pause_end_, room.line});
  const Time units_need = need(units);
  for (int step = 0; step < kMostSteps; ++step) {
    const Time owed = owed_at(at, room);
    const Time late = late_from(at, std::max(owed, at) + units_need, room.full);
    const Time next = late != core::GrantMap::kNever ? late : std::max(at, owed + units_need - room.mine);
    if (next == at) return at;
    at = next;
  }
  return after_all(at, units_need, room);
}

Ledger::Place Ledger::put(Time at, std::uint64_t units) {
  const Place place{at, ++numbers_};
  keep_open(place, units);
  return place;
}

void Ledger::keep_open(const Place& place, std::uint64_t units) {
  members_.insert({place, core::GrantMap::of(place.at, need(units), true), true}, join());
}

void Ledger::keep(const Member& member) { members_.insert(member, join()); }

void Ledger::put_over(Time at, std::uint64_t units, Time full) {
  fold(at, full);
  const core::GrantMap map = core::GrantMap::of(at, need(units), false);
  if (members_.empty() || at < members_.front().key.at) {
    front_ = map.owed(front_);
    return;
  }
  members_.insert({{at, ++numbers_}, map, false}, join());
}

void Ledger::raise(Time at, Time tat, Time full) {
  fold(at, full);
  if (members_.empty() || at < members_.front().key.at) {
    front_ = std::max(front_, tat);
    return;
  }
  members_.insert({{at, ++numbers_}, core::GrantMap{.least = tat}, false}, join());
}

bool Ledger::remove(const Place& place) { return members_.erase(place, join()); }

bool Ledger::change(const Place& place, std::uint64_t units) {
  return members_.change(
      place, [&](Member& member) { member.map = core::GrantMap::of(place.at, need(units), true); }, join());
}

bool Ledger::close(const Place& place) {
  const auto close = [](Member& member) {
    member.map = core::GrantMap::of(member.key.at, member.map.sum, false);
    member.is_open = false;
  };
  return members_.change(place, close, join());
}

// It becomes a part of the front.
void Ledger::end_pause(Time full) {
  front_ = owed_at_end(front_, full);
  pause_end_ = 0;
  forgets_ = false;
}

// All that acts before the end of the pause.
void Ledger::forget() {
  while (!members_.empty() && members_.front().key.at < pause_end_)
    members_.erase(members_.front().key, join());
  end_pause(0);
}

void Ledger::fold(Time now, std::optional<Time> full) {
  if (forgets_ && pause_end_ <= now) forget();
  while (!members_.empty() && !members_.front().is_open) {
    const Member first = members_.front();
    if (pause_end_ != 0 && first.key.at >= pause_end_) {
      if (!full) return;
      end_pause(*full);
    }
    front_ = first.map.owed(front_);
    members_.erase(first.key, join());
  }
  if (pause_end_ == 0 || pause_end_ > now || !full) return;
  if (members_.empty() || members_.front().key.at >= pause_end_) end_pause(*full);
}

// One that has ended stays where it is: as a part of the front it would ask, beyond what it does, for all
// that has acted before it.
void Ledger::pause(Time end, bool forgets, Time now, Time full) {
  fold(now, full);
  if (pause_end_ != 0 && pause_end_ <= now) {
    const Member ended{{pause_end_, 0}, core::GrantMap::of_pause(pause_end_, full, interval_), false};
    pause_end_ = 0;
    keep(ended);
  }
  if (end > pause_end_) forgets_ = forgets;
  if (end == pause_end_) forgets_ = forgets_ && forgets;
  pause_end_ = std::max(pause_end_, end);
}

std::uint64_t Ledger::refund(std::uint64_t units, Time least) {
  if (front_ <= least) return 0;
  const Time free = front_ - least;
  const auto whole = static_cast<std::uint64_t>(free / interval_) + (free % interval_ != 0 ? 1 : 0);
  const std::uint64_t back = std::min(units, whole);
  front_ -= std::min(free, back > static_cast<std::uint64_t>(free / interval_) ? free : need(back));
  return back;
}

// What has acted after a pause is owed beyond what that asks for, by the new numbers.
Ledger Ledger::recounted(Time now, Time interval, Time full) const {
  const auto counted = [&](Time time) {
    return time <= 0 ? 0
                     : static_cast<unsigned __int128>((time - 1) / interval_ + 1) *
                           static_cast<std::uint64_t>(interval);
  };
  const Place here = after_those_at(now);
  Ledger other(interval, at_most_owed(now, counted(owed_by_grants(now) - now)));
  other.numbers_ = numbers_;
  if (pause_end_ > now) {
    other.pause_end_ = pause_end_;
    other.forgets_ = forgets_;
  } else if (pause_end_ != 0 && !forgets_) {
    const Place end{pause_end_, 0};
    Time since = 0;
    members_.each_sum(&end, &here, [&](const core::GrantMap& map) { since += map.sum; });
    const Time paced = core::GrantMap::of_pause(pause_end_, full, interval).least;
    other.front_ = std::max(other.front_, at_most_owed(paced, counted(since)));
  }
  each_open([&](const Place& place, std::uint64_t units) {
    if (here < place) other.keep_open(place, units);
  });
  return other;
}

}  // namespace weir::store
