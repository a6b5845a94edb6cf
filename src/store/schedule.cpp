#include "store/schedule.hpp"

#include <algorithm>

#include "core/freed_units.hpp"

namespace weir::inline v0_1::store {

using std::chrono::nanoseconds;

bool Schedule::is_idle(nanoseconds now) {
  drop_ended(now, kLooked);
  return holds_.empty() && !is_paused(now) && !has_holes(now) && !is_anybody_ahead(now);
}

// Of those who are ahead: their units are no longer the schedule's, or are counted by other numbers.
void Schedule::keep_moments() {
  if (!ahead_.empty()) keep_moment(ahead_.last_moment());
}

void Schedule::lose() {
  keep_moments();
  ++generation_;
  tail_ = kUnknown;
  clear_holes();
  words_.clear();
}

void Schedule::count_by(const QuotaNumbers& numbers) {
  if (numbers_ == numbers) return;
  keep_moments();
  numbers_ = numbers;
  clear_holes();
}

void Schedule::clear_holes() {
  lost_ += holes();
  for (const auto& each : lasting_) lose_units(each.second);
  passing_.clear();
  lasting_.clear();
  by_moment_.clear();
}

OwnUnits Schedule::append(const core::Charge& charge, std::uint64_t units, const QuotaNumbers& numbers,
                          nanoseconds now) {
  const std::uint64_t end = charge.after.until;
  const std::uint64_t begin = end - units * numbers.interval;
  // A debt that was counted by another T begins where it has been recounted.
  const bool recounted =
      charge.before.word != numbers.interval && core::ahead_of(charge.before.until, now) != 0;
  const std::uint64_t low = recounted ? begin : std::min(charge.before.until, begin);
  const std::uint64_t number = units_ + 1;
  units_ += units;
  tail_ = end;
  return {.grant = ++grants_,
          .number = number,
          .count = units,
          .low = low,
          .end = end,
          .moved = moved_,
          .paused = moves_.of(number),
          .generation = generation_,
          .numbers = numbers};
}

void Schedule::add_moment(const OwnUnits& own, nanoseconds moment, nanoseconds now) {
  ahead_.drop_passed(now);
  ahead_.add(whose(own), moment);
}

bool Schedule::is_anybody_ahead(nanoseconds now) {
  ahead_.drop_passed(now);
  return !ahead_.empty() || fixed_until_ > now;
}

std::optional<nanoseconds> Schedule::moment_of(const OwnUnits& own, nanoseconds now) {
  ahead_.drop_passed(now);
  return ahead_.find(whose(own));
}

std::uint64_t Schedule::least_tat(const QuotaNumbers& numbers, nanoseconds now) const {
  return core::least_tat(pause_end_, numbers.interval, numbers.burst, now);
}

void Schedule::wrote(const QuotaNumbers& numbers, nanoseconds now) {
  if (paused_tat_ != 0) paused_tat_ = least_tat(numbers, now);
}

void Schedule::wrote(nanoseconds now) {
  if (!is_paused(now)) paused_tat_ = 0;
}

std::uint64_t Schedule::least_after_refund(const QuotaNumbers& numbers, std::uint64_t interval,
                                           nanoseconds now) {
  const std::uint64_t least = least_tat(numbers, now);
  drop_ended(now, holds_.size());
  if (holds_.empty() && !has_holes(now) && !is_anybody_ahead(now)) return least;
  return numbers == numbers_ && numbers.interval == interval ? std::max(tail_, least) : kUnknown;
}

std::uint64_t Schedule::pause(nanoseconds end, nanoseconds now) {
  now = no_earlier(now);
  pause_end_ = std::max(pause_end_, end);
  wrote(numbers_, now);
  keep_until(end);
  drop_ended(now, holds_.size());  // whose time is over moves no more
  ahead_.drop_passed(now);
  drop_passed(now);
  if (ahead_.empty() || ahead_.first_moment() >= end) {
    if (is_paused(now)) move_holes(units_ + 1, 0);
    return 0;
  }
  const nanoseconds by = end - ahead_.first_moment();
  const auto moved = static_cast<std::uint64_t>(by.count());
  const std::uint64_t from = ahead_.first_number();
  fold_moves();
  if (!moves_.add(from, moved)) lose();
  ahead_.move(by);
  if (fixed_until_ > now) fixed_until_ += by;
  if (told_until_ > now) told_until_ += by;
  until_ += by;
  move_holes(from, moved);
  return moved;
}

void Schedule::paused(std::uint64_t tat, nanoseconds now) {
  paused_tat_ = least_tat(numbers_, now);
  left(tat);
}

ReservationMemory::Kind Schedule::kept_for(nanoseconds now) const {
  using Kind = ReservationMemory::Kind;
  const nanoseconds held = by_until_.empty() ? nanoseconds{0} : by_until_.back().first;
  if (is_paused(now) && pause_end_ >= held) return Kind::pause;
  return held > now ? Kind::hold : Kind::wait;
}

// Those that have acted, and whose holds have ended, take nothing back: how far they moved no longer matters.
// Not before there are many: one that holds a slot may ask whose units here are nobody's any more.
void Schedule::fold_moves() {
  if (!moves_.is_half_full()) return;
  std::uint64_t first = ahead_.first_number();
  if (!holds_.empty()) first = std::min(first, holds_.front().number);
  moves_.fold_up_to(first);
}

// Those from that number on; what then could be taken before the pause's end is lost.
void Schedule::move_holes(std::uint64_t from, std::uint64_t by) {
  const auto time = nanoseconds{static_cast<std::int64_t>(by)};
  std::vector<std::pair<std::uint64_t, Hole>> left;
  for (Holes* const holes : {&lasting_, &passing_}) {
    for (auto& [end, hole] : *holes) {
      if (hole.number < from || hole.moment + time < pause_end_ || left.size() == kMostMovedHoles) {
        ++lost_;
        lose_units(hole);
        continue;
      }
      hole.moment += time;
      hole.low += by;
      left.emplace_back(end + by, std::move(hole));
    }
    holes->clear();
  }
  by_moment_.clear();
  for (auto& [end, hole] : left) put(end, std::move(hole));
}

void Schedule::put(std::uint64_t end, Hole hole) {
  if (!hole.lasts) by_moment_.emplace(hole.moment, end);
  (hole.lasts ? lasting_ : passing_).emplace(end, std::move(hole));
}

std::optional<Schedule::Holes::iterator> Schedule::find_hole(std::uint64_t end) {
  for (Holes* const holes : {&lasting_, &passing_}) {
    if (const auto found = holes->find(end); found != holes->end()) return found;
  }
  return std::nullopt;
}

Schedule::Hole Schedule::remove(Holes::iterator at) {
  Hole hole = std::move(at->second);
  if (!hole.lasts) by_moment_.erase({hole.moment, at->first});
  (hole.lasts ? lasting_ : passing_).erase(at);
  return hole;
}

// Those that have drained, and those whose moment has come without anybody to take them.
void Schedule::drop_passed(nanoseconds now) {
  while (!lasting_.empty() && core::ahead_of(lasting_.begin()->first, now) < numbers_.interval)
    lose_units(remove(lasting_.begin()));
  const auto n = static_cast<std::uint64_t>(now.count());
  while (!by_moment_.empty() && by_moment_.begin()->first <= now) {
    const std::uint64_t end = by_moment_.begin()->second;
    Hole hole = remove(passing_.find(end));
    const std::uint64_t apart = hole.units * numbers_.interval;
    const std::uint64_t passed = (n - static_cast<std::uint64_t>(hole.moment.count())) / apart + 1;
    if (passed >= hole.count) continue;
    hole.count -= passed;
    hole.moment += nanoseconds{static_cast<std::int64_t>(passed * apart)};
    hole.number += passed * hole.units;
    hole.low = end - length(hole);
    put(end, std::move(hole));
  }
}

bool Schedule::has_holes(nanoseconds now) {
  drop_passed(now);
  return holes() != 0;
}

// Of those that pass: with the one before it, the one after it, or both.
bool Schedule::join(std::uint64_t end, const Hole& hole) {
  const auto joins = [&](const Hole& first, std::uint64_t first_end, const Hole& second) {
    return first.units == second.units && second.low == first_end &&
           second.moment == first.moment + step(first) * static_cast<std::int64_t>(first.count);
  };
  bool joined = false;
  Hole whole{hole.moment, hole.low, hole.units, hole.count, hole.number, hole.lasts, {}};
  if (hole.low == end - length(hole)) {
    const auto before = passing_.find(hole.low);
    if (before != passing_.end() && joins(before->second, before->first, whole)) {
      Hole first = remove(before);
      first.count += whole.count;
      whole = std::move(first);
      joined = true;
    }
  }
  const auto after = passing_.upper_bound(end);
  if (after != passing_.end() && after->second.low == after->first - length(after->second) &&
      joins(whole, end, after->second)) {
    end = after->first;
    Hole second = remove(after);
    whole.count += second.count;
    if (!whole.share) whole.share = std::move(second.share);
    joined = true;
  }
  if (joined) put(end, std::move(whole));
  return joined;
}

// Those that last are for any cost: the ones that touch are one.
void Schedule::join_lasting(std::uint64_t& end, Hole& hole) {
  auto near = lasting_.lower_bound(hole.low);
  if (near != lasting_.end() && near->first == hole.low) {
    hole.low = near->second.low;
    hole.number = near->second.number;
    hole.share = std::move(near->second.share);
    near = lasting_.erase(near);
  }
  if (near != lasting_.end() && near->second.low == end) {
    end = near->first;
    hole.moment = near->second.moment;
    if (!hole.share) hole.share = std::move(near->second.share);
    lasting_.erase(near);
  }
  hole.units = (end - hole.low) / numbers_.interval;
}

bool Schedule::add(std::uint64_t end, Hole hole, std::uint64_t client) {
  if (hole.lasts) {
    join_lasting(end, hole);
  } else if (join(end, hole)) {
    return true;
  }
  if (memory_ != nullptr && !hole.share) {
    hole.share = memory_->take(client, kHoleBytes, ReservationMemory::Kind::wait);
    if (!hole.share) {
      ++lost_;
      lose_units(hole);
      return false;
    }
  }
  if (const auto same = find_hole(end)) lose_units(remove(*same));
  put(end, std::move(hole));
  return true;
}

std::optional<Schedule::Taken> Schedule::take_hole(std::uint64_t units, nanoseconds now, nanoseconds latest) {
  drop_passed(now);
  auto passing = by_moment_.begin();
  auto lasting = lasting_.begin();
  for (std::size_t looked = 0; looked < kLooked; ++looked) {
    const bool passes =
        passing != by_moment_.end() &&
        (lasting == lasting_.end() || *passing < std::pair(lasting->second.moment, lasting->first));
    if (!passes && lasting == lasting_.end()) break;
    const auto at = passes ? passing_.find((passing++)->second) : lasting++;
    if (at->second.moment > latest) break;
    if (auto taken = take_from(at, units, now, latest)) return taken;
  }
  return std::nullopt;
}

// The first units of a hole; what remains of it stays.
std::optional<Schedule::Taken> Schedule::take_from(Holes::iterator at, std::uint64_t units, nanoseconds now,
                                                   nanoseconds latest) {
  const std::uint64_t end = at->first;
  Hole& found = at->second;
  const std::uint64_t interval = numbers_.interval;
  nanoseconds moment = found.moment;
  std::uint64_t low = found.low;
  std::uint64_t begin = end - length(found);
  std::uint64_t fits = found.units;
  if (!found.lasts && moment <= now) return std::nullopt;
  if (found.lasts) {
    const core::FreeUnits free = core::free_units(low, end, moment, interval, now);
    moment = free.moment;
    low = begin = free.begin;
    fits = free.count;
  }
  if (moment > latest || units > fits) return std::nullopt;
  const Taken taken{{.grant = ++grants_,
                     .number = found.number,
                     .count = units,
                     .low = low,
                     .end = begin + units * interval,
                     .moved = moved_ - words_.sum_from(found.number),
                     .paused = moves_.of(found.number),
                     .generation = generation_,
                     .numbers = numbers_},
                    moment};
  Hole hole = remove(at);
  if (hole.lasts) lost_units_ += hole.units - fits;  // they have drained
  const std::uint64_t rest = fits - units;
  if (rest != 0) {
    Hole left{.moment = hole.moment,
              .low = taken.own.end,
              .units = rest,
              .count = 1,
              .number = hole.number + units,
              .lasts = hole.lasts};
    const std::uint64_t left_end = hole.lasts ? end : taken.own.end + rest * interval;
    if (hole.count == 1) {
      left.share = std::move(hole.share);
      put(left_end, std::move(left));
    } else {
      add(left_end, std::move(left), hole.share.client());
    }
  }
  if (hole.count > 1) {
    --hole.count;
    hole.moment += step(hole);
    hole.number += hole.units;
    hole.low = end - length(hole);
    put(end, std::move(hole));
  }
  return taken;
}

// What came after these holes has been taken back, so they are the last of the schedule now, and their units
// go back too; not those of one that was settled before its moment, which is still to come.
void Schedule::take_last(core::TwoWords& state, nanoseconds now) {
  const std::uint64_t least = least_tat(now);
  while (const auto found = find_hole(state.until)) {
    if ((*found)->second.lasts && (*found)->second.moment > now) return;
    if ((*found)->second.low < least) return;
    state.until = remove(*found).low;
  }
}

void Schedule::hold(OwnUnits& own, nanoseconds until, nanoseconds now, ReservationId id) {
  drop_ended(now, 2);
  own.held = true;
  keep({own.number, until, own.count, own.paused, id});
}

void Schedule::name_hold(const OwnUnits& own, ReservationId id) {
  if (const auto found = find_hold(own)) holds_[*found].id = id;
}

void Schedule::find_holds(std::size_t most, nanoseconds now,
                          std::vector<std::pair<ReservationId, std::uint64_t>>& into) {
  drop_ended(now, holds_.size());
  for (auto at = by_until_.begin(); !by_until_.is_end(at) && most > 0; at = by_until_.next(at), --most) {
    const Hold& hold = holds_[holds_.find_from({.number = by_until_[at].second})];
    into.emplace_back(hold.id, hold.units);
  }
}

bool Schedule::keep(const Hold& hold) {
  if (!holds_.insert(hold)) return false;
  by_until_.insert({hold.until, hold.number});
  held_units_ += hold.units;
  return true;
}

void Schedule::extend(const OwnUnits& own, nanoseconds until) {
  keep_until(until);
  const auto found = find_hold(own);
  if (!found) return;
  Hold& hold = holds_[*found];
  by_until_.erase(by_until_.find_from({hold.until, hold.number}));
  hold.until = until;
  hold.paused = moves_.of(hold.number);
  by_until_.insert({until, hold.number});
}

std::optional<Schedule::Holds::Place> Schedule::find_hold(const OwnUnits& own) const {
  if (!own.held) return std::nullopt;
  const Holds::Place found = holds_.find_from({.number = own.number});
  return holds_.is_end(found) || holds_[found].number != own.number ? std::nullopt : std::optional(found);
}

// How a hold's units ended when they were charged, less what has gone back of those before it since.
std::uint64_t Schedule::end_of(const OwnUnits& own) const {
  return core::end_after_moves(own.end, own.moved, moved_, words_.sum_from(own.number)) +
         moved_by_pauses(own);
}

void Schedule::close(Holds::Place place, std::uint64_t moved) {
  const Hold hold = holds_[place];
  const std::uint64_t word = words_.take(hold.number) + moved;
  moved_ += moved;
  if (word != 0 && holds_.front() < hold) words_.add(holds_[holds_.before(place)].number, word);
  by_until_.erase(by_until_.find_from({hold.until, hold.number}));
  held_units_ -= hold.units;
  holds_.erase(place);
}

// Of one that a pause has moved, its time runs from its new moment; it is looked at once more, and not
// counted.
void Schedule::drop_ended(nanoseconds now, std::size_t most) {
  while (most > 0 && !by_until_.empty() && by_until_.front().first <= now) {
    const auto [until, number] = by_until_.front();
    const Holds::Place place = holds_.find_from({.number = number});
    Hold& hold = holds_[place];
    const std::uint64_t moved = moves_.of(number) - hold.paused;
    if (moved == 0) {
      close(place, 0);
      --most;
      continue;
    }
    by_until_.erase(by_until_.begin());
    hold.paused += moved;
    hold.until += nanoseconds{static_cast<std::int64_t>(moved)};
    by_until_.insert({hold.until, number});
  }
}

nanoseconds Schedule::until_hold_fits(std::uint64_t units, std::uint64_t at_most, nanoseconds now) {
  if (at_most == ~std::uint64_t{0}) return nanoseconds{0};
  if (units > at_most) return nanoseconds{-1};
  drop_ended(now, holds_.size());
  unsigned __int128 held = held_units_;
  if (held + units <= at_most) return nanoseconds{0};
  // A pause may have moved them.
  std::vector<std::pair<nanoseconds, std::uint64_t>> open;
  for (auto at = by_until_.begin(); !by_until_.is_end(at) && open.size() < kLooked; at = by_until_.next(at)) {
    const Hold& hold = holds_[holds_.find_from({.number = by_until_[at].second})];
    const std::uint64_t moved = moves_.of(hold.number) - hold.paused;
    open.emplace_back(hold.until + nanoseconds{static_cast<std::int64_t>(moved)}, hold.units);
  }
  std::sort(open.begin(), open.end());
  nanoseconds wait{0};
  for (const auto& [until, its] : open) {
    held -= its;
    wait = until - now;
    if (held + units <= at_most) break;
  }
  return wait;
}

bool Schedule::cancel(const OwnUnits& own, nanoseconds moment, nanoseconds now, std::uint64_t client,
                      core::TwoWords& state) {
  if (const auto moved = ahead_.take(whose(own))) moment = *moved;
  const std::uint64_t end = end_of(own);
  const std::uint64_t low = own.low + (end - own.end);
  end_hold(own);
  if (own.generation != generation_) return false;
  now = no_earlier(now);
  drop_passed(now);
  if (state.until == end) {
    const std::uint64_t least = least_tat(now);
    state.until = std::min(end, std::max(low, least));
    if (state.until == low) take_last(state, now);
    left(state.until);
    return true;
  }
  if (own.numbers != numbers_ || moment <= now) {
    ++lost_;
    return false;
  }
  return add(end, {.moment = moment, .low = low, .units = own.count, .number = own.number}, client);
}

// Whether all that follow one that acts at `moment` may move up: nobody has a moment that is kept, and no
// hole one of its own.
bool Schedule::moves_up(nanoseconds moment, nanoseconds now) {
  if (is_paused(now) || has_holes(now) || words_.size() >= kMostWords) return false;
  return !is_anybody_ahead(now) || (moment <= now && fixed_until_ <= now && told_until_ <= now);
}

// One that is settled before its moment is still to act at it, and those who come later do not act before.
bool Schedule::settle(const OwnUnits& own, nanoseconds moment, std::uint64_t less, nanoseconds now,
                      std::uint64_t client, core::TwoWords& state) {
  const auto hold = find_hold(own);
  if (!hold) return false;
  now = no_earlier(now);
  const bool lives = own.generation == generation_;
  const std::uint64_t end = lives ? end_of(own) : 0;
  const std::uint64_t interval = own.numbers.interval;
  if (const auto moved = ahead_.find(whose(own))) moment = std::max(moment, *moved);
  std::uint64_t back = core::undrained(end, less, interval, now);
  if (is_paused(now) && state.until == end && moment <= now)
    back = std::min(back, core::ahead_of(end, nanoseconds{static_cast<std::int64_t>(least_tat(now))}));
  if (back == 0) {
    close(*hold, 0);
    return false;
  }
  if (state.until == end && moment <= now) {
    close(*hold, 0);
    drop_passed(now);
    state.until -= back;
    take_last(state, now);
    left(state.until);
    return false;
  }
  if (moves_up(moment, now)) {
    close(*hold, back);
    state.until -= back;
    left(state.until);
    if (ahead_.empty()) return false;
    ahead_.move(-nanoseconds{static_cast<std::int64_t>(back)});
    return true;
  }
  leave_hole(own, end, back / interval, now, client);
  return false;
}

// The last `units` of a hold that ends at `end`, for others to take over.
void Schedule::leave_hole(const OwnUnits& own, std::uint64_t end, std::uint64_t units, nanoseconds now,
                          std::uint64_t client) {
  end_hold(own);
  const std::uint64_t interval = own.numbers.interval;
  if (own.numbers != numbers_) lost_units_ += units;
  if (units == 0 || own.numbers != numbers_) return;
  // The last of them; the first, where those become one with a hole before them.
  std::uint64_t stop = end;
  std::uint64_t number = own.number + (own.count - std::min(units, own.count));
  const std::uint64_t begin = end - own.count * interval;
  if (begin >= static_cast<std::uint64_t>(now.count()) && lasting_.contains(begin)) {
    stop = begin + units * interval;
    number = own.number;
  }
  const nanoseconds from = core::first_moment(stop, numbers_.burst * interval);
  if (is_paused(now) && from < pause_end_) {
    ++lost_;
    lost_units_ += units;
    return;
  }
  add(stop, {.moment = from, .low = stop - units * interval, .units = units, .number = number, .lasts = true},
      client);
}

void Schedule::end_hold(const OwnUnits& own) {
  if (const auto hold = find_hold(own)) close(*hold, 0);
}

}  // namespace weir::store
