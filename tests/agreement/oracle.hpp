// A token bucket in exact fractions: slow, obvious, and made without a look at src/core, with which it shares
// no code. What the rule must agree with.
//
// The bucket holds at most `burst` tokens and gains one every T nanoseconds; a request takes `cost` tokens if
// they are there and nothing otherwise. What is missing from a full bucket is called the debt.
#pragma once

#include <cstdint>
#include <string>

namespace weir::inline v0_1::oracle {

using Wide = __int128;

struct Fraction {  // of tokens; the denominator is positive
  Wide over = 0;
  Wide under = 1;
};

inline Fraction minus(Fraction a, Fraction b) {
  if (a.under == b.under) return {a.over - b.over, a.under};
  return {a.over * b.under - b.over * a.under, a.under * b.under};
}
inline Fraction plus(Fraction a, Wide whole) { return {a.over + whole * a.under, a.under}; }
inline bool less(Fraction a, Fraction b) { return a.over * b.under < b.over * a.under; }
inline Wide floor(Fraction a) {
  return a.over >= 0 ? a.over / a.under : -((-a.over + a.under - 1) / a.under);
}
inline Wide ceil(Fraction a) { return -floor({-a.over, a.under}); }

struct Answer {
  enum class Kind { allowed, denied, never } kind;
  Wide remaining;
  Wide retry_after;  // ns; 0 unless denied
  Wide reset_after;  // ns
};

class TokenBucket {
 public:
  // One request at `now` under a bucket of `burst` tokens and one token each `interval` ns, of which it has
  // to leave as many as come in `kept` ns. Only one that is admitted leaves a trace, not even the fact that
  // the quota has changed is remembered of another.
  Answer ask(Wide now, Wide burst, Wide interval, Wide cost, Wide kept = 0) {
    TokenBucket then = *this;
    then.refill(now);
    const bool whole = interval != interval_;
    // Another quota: whole tokens are owed, a part of one counting as one.
    const Fraction owed = whole ? Fraction{ceil(then.debt_), 1} : then.debt_;
    Fraction most{burst * interval - kept, interval};
    if (whole) most = {floor(most), 1};
    const bool possible = !less(most, {cost, 1});
    const bool fits = possible && !less(most, plus(owed, cost));
    if (cost != 0 && fits) {
      // They come back at the new pace.
      then.debt_ = whole ? Fraction{(owed.over + cost) * interval, interval} : plus(owed, cost);
      then.interval_ = interval;
      *this = then;
      return answer(Answer::Kind::allowed, then, most, 0);
    }
    if (!possible) return answer(Answer::Kind::never, then, most, 0);
    if (cost == 0) return answer(Answer::Kind::allowed, then, most, 0);
    // What is owed comes back at the old pace until there is room.
    const Fraction missing = minus(plus(then.debt_, cost), most);
    return answer(Answer::Kind::denied, then, most, ceil({missing.over * then.interval_, missing.under}));
  }

 private:
  void refill(Wide now) {
    if (now <= at_) return;
    const Fraction gained{now - at_, interval_};
    // The debt's denominator is its interval, so a difference of such fractions needs no common one.
    debt_ = {debt_.over - gained.over, interval_};
    if (debt_.over < 0) debt_.over = 0;
    at_ = now;
  }

  static Answer answer(Answer::Kind kind, const TokenBucket& then, Fraction most, Wide retry_after) {
    const Fraction left = minus(most, then.debt_);
    return {kind, left.over > 0 ? floor(left) : 0, retry_after,
            ceil({then.debt_.over * then.interval_, then.debt_.under})};
  }

  Wide at_ = 0;
  Wide interval_ = 1;
  Fraction debt_;
};

}  // namespace weir::oracle
