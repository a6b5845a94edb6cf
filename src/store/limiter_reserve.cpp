// What a Limiter reserves: by the rule of line.hpp, under the lock in its word. While something is reserved
// the tat is in the line, so that every charge tells it by which reading of the clock it was made.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/moment.hpp"
#include "core/reservation.hpp"
#include "store/kept.hpp"
#include "store/limiter_word.hpp"
#include "store/local.hpp"
#include "store/settlement.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1 {

using std::chrono::nanoseconds;
using store::kInLine;
using store::kLocked;

// The limiter's tat, wherever it is, for as long as this lives.
struct Limiter::Locked {
  explicit Locked(Limiter& locked) noexcept : limiter(locked) {
    do {
      tat = limiter.unlocked();
    } while (!limiter.tat_.compare_exchange_weak(tat, kLocked, std::memory_order_acquire,
                                                 std::memory_order_relaxed));
    in_line = tat == kInLine;
    if (in_line) tat = limiter.line_->tat;
  }
  ~Locked() {
    if (in_line) limiter.line_->tat = tat;
    limiter.tat_.store(in_line ? kInLine : std::min(tat, kInLine - 1), std::memory_order_release);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  store::Line& line() { return limiter.line_->line; }
  std::uint64_t interval() const {
    return static_cast<std::uint64_t>(limiter.quota_.emission_interval().count());
  }
  // What was in the line has drained, or been forgotten, since it was last there.
  void put_in_line() {
    if (!in_line) line().lose();
    in_line = true;
  }
  void leave_idle_line(nanoseconds now) {
    if (in_line && line().is_idle(now)) in_line = false;
  }

  Limiter& limiter;
  std::uint64_t tat = 0;
  bool in_line = false;
};

Limiter::~Limiter() { delete line_; }

Decision Limiter::check_lined(nanoseconds now, Cost cost) noexcept {
  Locked locked(*this);
  locked.leave_idle_line(now);
  const core::gcra::Step step = store::step_of(quota_, locked.tat, now, cost);
  if (step.changes) {
    locked.tat = step.next.tat;
    if (locked.in_line) locked.line().read(now);
  }
  return step.decision();
}

void Limiter::reset() noexcept {
  Locked locked(*this);
  if (line_ != nullptr) locked.line() = store::Line(locked.line().epoch() + 1);
  locked.in_line = false;
  locked.tat = 0;
}

namespace store {

class LimiterKept final : public Kept {
 public:
  explicit LimiterKept(Limiter& limiter) : limiter_(limiter) {}

  // While the limiter is locked.
  void charged(Line& line, const OwnUnits& own, nanoseconds now, nanoseconds moment, nanoseconds hold) {
    epoch_ = line.epoch();
    own_ = own;
    moment_ = moment;
    until_ = moment + hold;
    if (moment > now) line.add_moment(moment, now);
    if (hold.count() != 0) line.hold(own_, until_, now);
  }

  const Clock* clock() const noexcept override { return limiter_.clock_; }

  std::uint64_t cancel(nanoseconds now) noexcept override {
    Limiter::Locked locked(limiter_);
    if (locked.line().epoch() != epoch_) return 0;
    core::TwoWords state = known(locked);
    const bool is_kept = locked.line().cancel(own_, moment_, now, 0, state);
    locked.tat = state.until;
    locked.leave_idle_line(now);
    return is_kept ? own_.count : 0;
  }

  std::optional<nanoseconds> settle(nanoseconds now, std::optional<std::uint64_t> told) override {
    const Quota& quota = limiter_.quota_;
    const std::uint64_t actual = told.value_or(own_.count);
    auto why = too_much(actual, static_cast<std::uint64_t>(quota.burst()));
    if (!why && now >= until_) return std::nullopt;
    if (!why && until_ == moment_) why = without_hold();
    if (why) throw std::invalid_argument("weir::Reservation::settle: " + *why);
    Limiter::Locked locked(limiter_);
    Line& line = locked.line();
    if (line.epoch() != epoch_) return std::nullopt;
    core::TwoWords state = known(locked);
    if (actual < own_.count) {
      line.settle(own_, moment_, own_.count - actual, now, 0, state);
    } else {
      line.end_hold(own_);
      if (actual > own_.count) {
        line.read(now);
        state = core::owe(quota, state, actual - own_.count, line.no_earlier(now));
      }
    }
    locked.tat = std::min(state.until, kInLine - 1);
    locked.leave_idle_line(now);
    const core::gcra::Step next = step_of(quota, locked.tat, now, Cost{1});
    return nanoseconds{static_cast<std::int64_t>(next.verdict == Verdict::denied ? next.retry_after : 0)};
  }

 private:
  static core::TwoWords known(Limiter::Locked& locked) {
    if (!locked.in_line) locked.line().lose();
    return {locked.tat, locked.interval()};
  }

  Limiter& limiter_;
  std::uint64_t epoch_ = 0;
  OwnUnits own_{};
  nanoseconds moment_{0};
  nanoseconds until_{0};  // it can be settled
};

}  // namespace store

Reservation Limiter::reserve(ReserveOptions options, Cost cost) {
  return reserve(now(), options, cost, true);
}

Reservation Limiter::reserve_at(nanoseconds now, ReserveOptions options, Cost cost) {
  return reserve(store::from_zero(now), options, cost, false);
}

Reservation Limiter::reserve(nanoseconds now, ReserveOptions options, Cost cost, bool by_our_clock) {
  if (options.hold.count() > 0 && cost.units != 0) return reserve_later(now, options, cost, by_our_clock);
  std::uint64_t tat = unlocked();
  for (;;) {
    if (tat == kInLine) return reserve_later(now, options, cost, by_our_clock);
    const core::gcra::Step step = store::step_of(quota_, tat, now, cost);
    if (step.verdict == Verdict::denied && options.max_wait.count() > 0)
      return reserve_later(now, options, cost, by_our_clock);
    if (!step.changes || tat_.compare_exchange_weak(tat, step.next.tat, std::memory_order_relaxed))
      return Reservation(now, [&] { return step.decision(); });
    if (tat == kLocked) tat = unlocked();
  }
}

// A request that is denied now is charged as it would be at its moment (core/moment.hpp), unless it can take
// over an earlier one.
Reservation Limiter::reserve_later(nanoseconds now, ReserveOptions options, Cost cost, bool by_our_clock) {
  options = store::bounded(options, now);
  if (cost.units == 0) options.hold = nanoseconds{0};
  auto kept = std::make_unique<store::LimiterKept>(*this);
  Locked locked(*this);
  if (line_ == nullptr) line_ = new store::LimiterLine;
  store::Line& line = locked.line();
  core::gcra::Step step = store::step_of(quota_, locked.tat, now, cost);
  nanoseconds wait{0};
  std::optional<store::Line::Taken> taken;
  if (step.verdict == Verdict::denied) {
    const core::Moment moment = core::moment(step, options.max_wait);
    if (locked.in_line)
      taken = line.take_hole(cost.units, now, now + (moment.granted ? moment.wait : options.max_wait));
    if (taken) {
      wait = taken->moment - now;
      step = store::step_of(quota_, locked.tat, now, Cost{0});
    } else if (moment.granted) {
      wait = moment.wait;
      step = store::step_of(quota_, locked.tat, now + wait, cost);
    } else {
      step.retry_after = static_cast<std::uint64_t>(moment.wait.count());
    }
  }
  const bool keeps = wait.count() != 0 || options.hold.count() != 0;
  if (step.verdict != Verdict::allowed || (!keeps && !step.changes && !taken))
    return Reservation(now, [&] { return step.decision(); });
  if (!keeps) {
    locked.tat = step.next.tat;
    if (locked.in_line) line.read(now);
    return Reservation(now, [&] { return step.decision(); });
  }
  const core::Charge charge{{locked.tat, locked.interval()}, {step.next.tat, locked.interval()}};
  locked.put_in_line();
  line.count_by(store::Numbers(quota_));
  kept->charged(line, taken ? taken->own : line.append(charge, cost.units, store::Numbers(quota_), now), now,
                now + wait, options.hold);
  locked.tat = step.next.tat;
  line.read(now);
  const Decision as_of_now = store::step_of(quota_, locked.tat, now, Cost{0}).decision();
  return {now, wait, as_of_now, 0, std::move(kept), by_our_clock};
}

}  // namespace weir
