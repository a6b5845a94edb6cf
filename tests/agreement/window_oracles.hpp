// The definitions of the algorithms, computed as they are written: slow, obvious, and made without a look at
// src/core, with which they share no code. The whole history of admissions is kept, and everything is asked
// of it again; a wait is found by trying times, not by a formula.
#pragma once

#include <vector>

#include "agreement/oracle.hpp"

namespace weir::inline v0_1::oracle {

class History {
 public:
  enum class Kind {
    leaky_bucket,            // as a meter: each admission is poured in, one unit leaks out in `period`
    fixed_window,            // opened by the first request
    fixed_window_clock,      // at the multiples of the period
    sliding_window_log,      // the units of (t - period, t]
    sliding_window_counter,  // two windows at the multiples of the period, the earlier one in part
  };

  // For the leaky bucket `limit` is the burst, and `period` the time of one unit.
  History(Kind kind, Wide limit, Wide period) : kind_(kind), limit_(limit), period_(period) {}

  Answer ask(Wide now, Wide cost) {
    Answer answer{Answer::Kind::allowed, 0, 0, 0};
    if (cost > limit_) {
      answer.kind = Answer::Kind::never;
    } else if (cost > 0 && !fits(now, cost)) {
      answer.kind = Answer::Kind::denied;
      answer.retry_after = first_wait([&](Wide wait) { return fits(now + wait, cost); });
    } else if (cost > 0) {
      admitted_.push_back({now, cost});
    }
    const Wide left = limit_ * period_ - taken(now);
    answer.remaining = left > 0 ? left / period_ : 0;
    answer.reset_after = first_wait([&](Wide wait) { return taken(now + wait) == 0; });
    return answer;
  }

  // Takes the last admission back, for a walk over all traces.
  std::size_t admissions() const { return admitted_.size(); }
  void back_to(std::size_t admissions) { admitted_.resize(admissions); }

 private:
  struct Admission {
    Wide at;
    Wide units;
  };

  bool fits(Wide t, Wide cost) const { return taken(t) + cost * period_ <= limit_ * period_; }

  // The units that count at t, times the period, so that it is a whole number.
  Wide taken(Wide t) const {
    switch (kind_) {
      case Kind::leaky_bucket:
        return level(t);
      case Kind::fixed_window:
        return period_ * in_own_window(t);
      case Kind::fixed_window_clock:
        return period_ * between(start(t), t);
      case Kind::sliding_window_log:
        return period_ * between(t - period_ + 1, t);
      case Kind::sliding_window_counter:
        // Of the one before whole units, rounded down.
        return (between(start(t) - period_, start(t) - 1) * (start(t) + period_ - t) / period_ +
                between(start(t), t)) *
               period_;
    }
    return 0;
  }

  Wide start(Wide t) const { return t - t % period_; }

  Wide between(Wide first, Wide last) const {
    Wide sum = 0;
    for (const Admission& each : admitted_) sum += each.at >= first && each.at <= last ? each.units : 0;
    return sum;
  }

  Wide in_own_window(Wide t) const {
    Wide end = 0;
    Wide sum = 0;
    for (const Admission& each : admitted_) {
      if (each.at >= end) {
        end = each.at + period_;
        sum = 0;
      }
      sum += each.units;
    }
    return t < end ? sum : 0;
  }

  // What is in a bucket that never runs below empty: the most that any of the latest pours leave there.
  Wide level(Wide t) const {
    Wide most = 0;
    Wide poured = 0;
    for (auto each = admitted_.rbegin(); each != admitted_.rend(); ++each) {
      poured += each->units * period_;
      const Wide left = poured - (t - each->at);
      most = left > most ? left : most;
    }
    return most;
  }

  // The least wait after which it is so. What counts only fades while nothing is admitted, so halving finds
  // it.
  template <class IsSo>
  Wide first_wait(IsSo is_so) const {
    if (is_so(Wide{0})) return 0;
    Wide not_yet = 0;
    Wide enough = 1;
    while (!is_so(enough)) enough *= 2;
    while (enough - not_yet > 1) {
      const Wide middle = not_yet + (enough - not_yet) / 2;
      (is_so(middle) ? enough : not_yet) = middle;
    }
    return enough;
  }

  Kind kind_;
  Wide limit_;
  Wide period_;
  std::vector<Admission> admitted_;
};

}  // namespace weir::oracle
