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
        return {Kind::granted, hole->moment - now, take(*hole, cost, hold)};
      if (own > now + max_wait) return {Kind::denied, own - now - max_wait, 0};
    }
    const int id = own > now || hold > 0 ? ++last_id_ : 0;
    rows_.push_back(
        {.moment = own, .ticks = cost * limit_.interval, .cost = cost, .id = id, .until = own + hold});
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
    // Nothing has come after it: it goes, and so do those before it that were cancelled earlier.
    bool last = row + 1 == rows_.end();
    while (last && !rows_.empty() && rows_.back().hole != 0 && rows_.back().whole &&
           rows_.back().moment > now)
      rows_.pop_back();
    return cost;
  }

  // Until one more unit is admitted; -1: there is no such reservation.
  std::int64_t settle(std::int64_t now, int id, std::int64_t actual) {
    const auto row = find(id);
    if (row == rows_.end() || row->until <= now) return -1;
    row->id = 0;
    if (actual > row->cost) {
      rows_.push_back({.moment = now, .ticks = (actual - row->cost) * limit_.interval, .debt = true});
    } else if (std::none_of(rows_.begin(), rows_.end(),
                            [&](const Row& each) { return each.is_ahead(now); })) {
      const auto number = static_cast<std::size_t>(row - rows_.begin());
      const std::int64_t undrained = std::max<std::int64_t>(0, end(number + 1) - now);
      row->ticks -= std::min((row->cost - actual) * limit_.interval, undrained);
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
    std::int64_t until = 0;  // it can be settled
    int hole = 0;            // cancelled: its number among the cancelled
    bool whole = true;       // no part of it has been a hole that was divided
    bool debt = false;

    // Somebody's, or a hole's: a debt has none.
    bool is_ahead(std::int64_t now) const { return !debt && moment > now; }
  };

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

  // Not before any moment that somebody has, or that is still open: moments never decrease.
  std::int64_t first_moment(std::int64_t now, std::int64_t cost) const {
    std::int64_t moment = now;
    for (const Row& each : rows_) moment = std::max(moment, each.moment);
    while (!conforms(moment, cost)) ++moment;
    return moment;
  }
  bool conforms(std::int64_t moment, std::int64_t cost) const {
    if (cost > limit_.burst) return false;
    for (const Row& start : rows_) {
      std::int64_t sum = cost * limit_.interval;
      for (const Row& each : rows_) sum += each.moment >= start.moment ? each.ticks : 0;
      if (sum > limit_.burst * limit_.interval + moment - start.moment) return false;
    }
    return true;
  }

  Row* earliest_hole(std::int64_t now, std::int64_t cost, std::int64_t latest) {
    Row* earliest = nullptr;
    for (Row& each : rows_) {
      if (each.hole == 0 || each.moment <= now || each.moment > latest || each.cost < cost) continue;
      if (earliest == nullptr || each.moment < earliest->moment ||
          (each.moment == earliest->moment && each.hole < earliest->hole))
        earliest = &each;
    }
    return earliest;
  }
  // The first part of a hole; its rest stays.
  int take(Row& hole, std::int64_t cost, std::int64_t hold) {
    Row taken = hole;
    taken.cost = cost;
    taken.ticks = cost * limit_.interval;
    taken.hole = 0;
    taken.id = ++last_id_;
    taken.until = taken.moment + hold;
    taken.whole = hole.whole && hole.cost == cost;
    if (hole.cost == cost) {
      hole = taken;
    } else {
      hole.cost -= cost;
      hole.ticks -= taken.ticks;
      hole.whole = false;
      rows_.insert(rows_.begin() + (&hole - rows_.data()), taken);
    }
    return last_id_;
  }

  Limit limit_;
  std::vector<Row> rows_;
  int last_id_ = 0;
  int last_hole_ = 0;
};

}  // namespace weir::oracle
