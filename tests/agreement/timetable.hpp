// One limit and those that wait for it, as a timetable: slow, obvious, and made from what docs/algorithm.md
// promises without a look at src/. There is no tat. What is remembered is which moments were given out, and
// each answer comes from trying moments one after the other until every span that ends at one holds what the
// promise allows.
//
// Time is a whole number of ticks. Not for: several limits, quotas that change, classes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "agreement/spans.hpp"

namespace weir::inline v0_1::oracle {

class Timetable {
 public:
  struct Limit {
    std::int64_t burst;
    std::int64_t interval;  // ticks for each unit
  };
  enum class Kind { granted, denied, never };
  struct Told {
    Kind kind = Kind::never;
    std::int64_t wait = 0;  // granted: until the moment; denied: until the same call is granted; never: -1
    int id = 0;             // 0: there is nothing to cancel or to settle

    friend bool operator==(const Told&, const Told&) = default;
  };
  // What a check of one unit would be told, and nothing is changed.
  struct Look {
    Kind kind = Kind::never;
    std::int64_t retry_after = 0, remaining = 0, reset_after = 0;

    friend bool operator==(const Look&, const Look&) = default;
  };

  explicit Timetable(Limit limit) : limit_(limit) {}

  Told reserve(std::int64_t now, std::int64_t cost, std::int64_t max_wait, std::int64_t hold) {
    if (cost > limit_.burst) return {Kind::never, -1, 0};
    const std::int64_t own = first_moment(now, cost);
    if (own > now) {
      if (Row* const hole = earliest_hole(now, cost, std::min(own, now + max_wait)))
        return take(*hole, now, cost, hold);
      if (own > now + max_wait) return {Kind::denied, own - now - max_wait, 0};
    }
    const int id = own > now || hold > 0 ? ++last_id_ : 0;
    rows_.push_back({.moment = own,
                     .ticks = cost * limit_.interval,
                     .cost = cost,
                     .id = id,
                     .until = own + hold,
                     .held = hold > 0});
    return {Kind::granted, own - now, id};
  }

  Told check(std::int64_t now, std::int64_t cost) {
    if (cost > limit_.burst) return {Kind::never, -1, 0};
    const std::int64_t own = first_moment(now, cost);
    if (own > now) return {Kind::denied, own - now, 0};
    rows_.push_back({.moment = now, .ticks = cost * limit_.interval, .cost = cost, .until = now});
    return {Kind::granted, 0, 0};
  }

  Look look(std::int64_t now) const {
    const std::int64_t own = first_moment(now, 1);
    const std::int64_t owed = std::max(end(rows_.size()), now) - now;
    return {own > now ? Kind::denied : Kind::granted, own - now,
            std::max<std::int64_t>(0, (limit_.burst * limit_.interval - owed) / limit_.interval), owed};
  }

  // The units that it gives back.
  std::int64_t cancel(std::int64_t now, int id) {
    const auto row = find(id);
    if (row == rows_.end() || row->moment <= now) return 0;
    const std::int64_t cost = row->cost;
    row->id = 0;
    row->hole = ++last_hole_;
    if (is_last(row)) drop_last_holes(now);
    return cost;
  }

  // Until one more unit is admitted; -1: there is no such reservation; -2: it was granted without a hold.
  std::int64_t settle(std::int64_t now, int id, std::int64_t actual) {
    const auto row = find(id);
    if (row == rows_.end() || row->until <= now) return -1;
    if (!row->held) return -2;
    row->id = 0;
    if (actual > row->cost) {
      rows_.push_back({.moment = now, .ticks = (actual - row->cost) * limit_.interval, .debt = true});
    } else {
      settle_for_less(now, row, actual);
    }
    return first_moment(now, 1) - now;
  }

  bool reset(std::int64_t now) {
    const bool owed = end(rows_.size()) > now;
    rows_.clear();
    return owed;
  }

  // What acts, with what it was charged in the end; moments in ticks, costs in ticks too.
  std::vector<Admitted> acts() const {
    std::vector<Admitted> acts;
    for (const Row& each : rows_)
      if (each.hole == 0 && !each.debt) acts.push_back({each.moment, each.ticks});
    std::sort(acts.begin(), acts.end(), [](Admitted a, Admitted b) { return a.at < b.at; });
    return acts;
  }

 private:
  // A moment that was given out, in the order in which they were. Nothing is ever forgotten.
  struct Row {
    std::int64_t moment = 0;
    std::int64_t ticks = 0;
    std::int64_t cost = 0;
    int id = 0;
    std::int64_t until = 0;     // it can be settled
    bool held = false;          // and then for less, too
    int hole = 0;               // cancelled: its number among the cancelled
    std::int64_t lasts_to = 0;  // of a hole that can be taken until it has drained: when that is
    bool debt = false;

    // Somebody's, or a hole's: a debt has none.
    bool is_ahead(std::int64_t now) const { return !debt && moment > now; }
  };

  static constexpr std::int64_t kNever = -1;
  static constexpr std::size_t kNone = ~std::size_t{0};

  // Nothing has come after it.
  bool is_last(std::vector<Row>::iterator row) {
    return std::all_of(row + 1, rows_.end(), [](const Row& each) { return each.ticks == 0; });
  }
  bool can_be_taken(const Row& row, std::int64_t now) const {
    if (row.hole == 0) return false;
    return row.lasts_to != 0 ? row.lasts_to - now >= limit_.interval : row.moment > now;
  }
  // What is last and was cancelled, or settled for less, goes.
  void drop_last_holes(std::int64_t now) {
    for (auto last = rows_.end(); last != rows_.begin();) {
      --last;
      if (last->ticks == 0) continue;
      if (!can_be_taken(*last, now) || (last->lasts_to != 0 && first_of(*last) > now)) return;
      last = rows_.erase(last);
    }
  }

  // What of it has not drained goes back at once, if it is the last and has acted, or if all that is there
  // has acted. Otherwise whole units of it become a hole.
  void settle_for_less(std::int64_t now, std::vector<Row>::iterator row, std::int64_t actual) {
    const auto number = static_cast<std::size_t>(row - rows_.begin());
    const std::int64_t its_end = end(number + 1);
    const std::int64_t back =
        std::min((row->cost - actual) * limit_.interval, std::max<std::int64_t>(0, its_end - now));
    const bool has_acted = row->moment <= now;
    const auto stands_in_the_way = [&](const Row& each) {
      return each.is_ahead(now) || can_be_taken(each, now);
    };
    if (has_acted && is_last(row)) {
      row->ticks -= back;
      drop_last_holes(now);
    } else if (std::none_of(rows_.begin(), rows_.end(), stands_in_the_way)) {
      row->ticks -= back;
    } else if (const std::int64_t units = back / limit_.interval; units != 0) {
      leave_hole(now, number, its_end, units * limit_.interval);
    }
  }

  // The last units of what was charged; the first, where they touch a hole before them that lasts. Such holes
  // are one when they touch.
  void leave_hole(std::int64_t now, std::size_t number, std::int64_t its_end, std::int64_t ticks) {
    const std::int64_t its_begin = its_end - rows_[number].cost * limit_.interval;
    const std::size_t before = neighbour(number, -1);
    const bool first = before != kNone && lasts(rows_[before], now) && rows_[before].lasts_to == its_begin &&
                       its_begin >= now;
    Row hole = rows_[number];
    hole.ticks = ticks;
    hole.cost = ticks / limit_.interval;
    hole.hole = ++last_hole_;
    hole.lasts_to = first ? its_begin + ticks : its_end;
    rows_[number].ticks -= ticks;
    const std::size_t at = first ? number : number + 1;
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(at), hole);
    merge(neighbour(at, -1), at, now);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].hole == last_hole_) merge(i, neighbour(i, 1), now);
  }
  // The next row that still has ticks.
  std::size_t neighbour(std::size_t number, int step) const {
    for (auto at = static_cast<std::ptrdiff_t>(number) + step;
         at >= 0 && at < static_cast<std::ptrdiff_t>(rows_.size()); at += step)
      if (rows_[static_cast<std::size_t>(at)].ticks != 0) return static_cast<std::size_t>(at);
    return kNone;
  }
  bool lasts(const Row& row, std::int64_t now) const { return row.lasts_to > 0 && can_be_taken(row, now); }
  void merge(std::size_t first, std::size_t second, std::int64_t now) {
    if (first == kNone || second == kNone) return;
    Row& one = rows_[first];
    const Row& other = rows_[second];
    if (!lasts(one, now) || !lasts(other, now) || one.lasts_to != other.lasts_to - other.ticks) return;
    one.ticks += other.ticks;
    one.cost = one.ticks / limit_.interval;
    one.lasts_to = other.lasts_to;
    one.hole = last_hole_;
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(second));
  }

  std::vector<Row>::iterator find(int id) {
    return std::find_if(rows_.begin(), rows_.end(),
                        [id](const Row& each) { return id != 0 && each.id == id; });
  }

  // When all of the first `rows` have drained: the latest that any span says.
  std::int64_t end(std::size_t rows) const {
    std::int64_t latest = 0;
    for (const Row& start : rows_) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < rows; ++i) sum += rows_[i].moment >= start.moment ? rows_[i].ticks : 0;
      if (sum != 0) latest = std::max(latest, start.moment + sum);
    }
    return latest;
  }

  // Not before its last unit drains within a burst of its moment: those that come later are served later.
  std::int64_t first_moment(std::int64_t now, std::int64_t cost) const {
    std::int64_t moment = std::max(now, end(rows_.size()) + (cost - limit_.burst) * limit_.interval);
    while (!conforms(moment, cost)) ++moment;
    return moment;
  }
  bool conforms(std::int64_t moment, std::int64_t cost) const {
    if (cost > limit_.burst) return false;
    for (const Row& start : rows_) {
      // One that was settled before its moment, or took a part of such a hole, may act after one that came
      // later.
      if (start.moment > moment) continue;
      std::int64_t sum = cost * limit_.interval;
      for (const Row& each : rows_) sum += each.moment >= start.moment ? each.ticks : 0;
      if (sum > limit_.burst * limit_.interval + moment - start.moment) return false;
    }
    return true;
  }

  Row* earliest_hole(std::int64_t now, std::int64_t cost, std::int64_t latest) {
    Row* earliest = nullptr;
    for (Row& each : rows_) {
      if (!can_be_taken(each, now)) continue;
      if (moment_of(each, now) > latest || units_of(each, now) < cost) continue;
      if (earliest == nullptr || first_of(each) < first_of(*earliest)) earliest = &each;
    }
    return earliest;
  }
  // When the last unit of a hole conforms, of one that lasts.
  std::int64_t first_of(const Row& hole) const {
    if (hole.lasts_to == 0) return hole.moment;
    return std::max<std::int64_t>(0, hole.lasts_to - limit_.burst * limit_.interval);
  }
  // When it acts that takes of it now.
  std::int64_t moment_of(const Row& hole, std::int64_t now) const {
    return hole.lasts_to == 0 ? hole.moment : std::max(now, first_of(hole));
  }
  std::int64_t units_of(const Row& hole, std::int64_t now) const {
    if (hole.lasts_to == 0) return hole.cost;
    return std::min(hole.cost, (hole.lasts_to - moment_of(hole, now)) / limit_.interval);
  }
  // The first part of a hole that has not drained; its rest stays.
  Told take(Row& hole, std::int64_t now, std::int64_t cost, std::int64_t hold) {
    const std::int64_t units = units_of(hole, now);
    const std::int64_t moment = moment_of(hole, now);
    const bool is_kept = moment > now || hold > 0;
    const Row taken{.moment = moment,
                    .ticks = cost * limit_.interval,
                    .cost = cost,
                    .id = is_kept ? ++last_id_ : 0,
                    .until = moment + hold,
                    .held = hold > 0};
    Row drained = hole;
    drained.ticks = hole.lasts_to == 0 ? 0 : std::max<std::int64_t>(0, moment - (hole.lasts_to - hole.ticks));
    drained.lasts_to = kNever;
    Row rest = hole;
    rest.ticks -= drained.ticks + taken.ticks;
    rest.cost = units - cost;
    if (rest.cost == 0) rest.lasts_to = kNever;
    hole = taken;
    const auto at = &hole - rows_.data();
    if (rest.ticks != 0) rows_.insert(rows_.begin() + at + 1, rest);
    if (drained.ticks != 0) rows_.insert(rows_.begin() + at, drained);
    return {Kind::granted, moment - now, taken.id};
  }

  Limit limit_;
  std::vector<Row> rows_;
  int last_id_ = 0;
  int last_hole_ = 0;
};

}  // namespace weir::oracle
