// A token bucket in exact fractions: slow, obvious, and made without a look at src/core, with which it shares
// no code. What the rule must agree with.
//
// The bucket holds at most `burst` tokens and gains one every T nanoseconds; a request takes `cost` tokens if
// they are there and nothing otherwise. What is missing from a full bucket is called the debt.
#pragma once

#include <cstdint>
#include <string>

namespace weir::oracle {

using Wide = __int128;

struct Fraction {  // of tokens; the denominator is positive
  Wide over = 0;
  Wide under = 1;
};

inline Fraction minus(Fraction a, Fraction b) {
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
  // One request at `now` under a bucket of `burst` tokens and one token each `interval` ns.
  Answer ask(Wide now, Wide burst, Wide interval, Wide cost) {
    TokenBucket then = *this;
    then.refill(now);
    then.adopt(burst, interval, cost);
    Answer answer = then.decide(burst, cost);
    // A look leaves no trace, not even that the quota has changed; neither does what can never pass.
    if (cost != 0 && answer.kind != Answer::Kind::never) *this = then;
    return answer;
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

  // Another quota: whole tokens are owed, a part of one counting as one, and they come back at the new pace.
  // Only when that is slower and the bucket too small for what is owed, the old pace goes on.
  void adopt(Wide burst, Wide interval, Wide cost) {
    if (interval == interval_) return;
    const Wide owed = ceil(debt_);
    if (interval > interval_ && owed + (cost < burst ? cost : burst) > burst) return;
    debt_ = {owed * interval, interval};
    interval_ = interval;
  }

  Answer decide(Wide burst, Wide cost) {
    Answer answer{Answer::Kind::allowed, 0, 0, 0};
    const Fraction after = plus(debt_, cost);
    const Fraction full{burst, 1};
    if (cost > burst) {
      answer.kind = Answer::Kind::never;
    } else if (cost != 0 && less(full, after)) {
      answer.kind = Answer::Kind::denied;
      const Fraction missing = minus(after, full);
      answer.retry_after = ceil({missing.over * interval_, missing.under});
    } else {
      debt_ = after;
    }
    const Fraction left = minus(full, debt_);
    answer.remaining = left.over > 0 ? floor(left) : 0;
    answer.reset_after = ceil({debt_.over * interval_, debt_.under});
    return answer;
  }

  Wide at_ = 0;
  Wide interval_ = 1;
  Fraction debt_;
};

}  // namespace weir::oracle
