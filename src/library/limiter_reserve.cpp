// What a Limiter reserves: by the rule of schedule.hpp, under the lock in its word. While something is
// reserved the tat is in the schedule, so that every charge tells it by which reading of the clock it was
// made; and for good once the quota was changed.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/moment.hpp"
#include "core/overdraft.hpp"
#include "core/reservation.hpp"
#include "library/limiter_memory.hpp"
#include "library/limiter_word.hpp"
#include "library/reservation_handle.hpp"
#include "library/units.hpp"
#include "store/settlement.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1 {

using std::chrono::nanoseconds;
using store::kInSchedule;
using store::kLocked;

// The limiter's state, wherever it is, for as long as this lives.
struct Limiter::Locked {
  explicit Locked(Limiter& locked) noexcept : limiter(locked) {
    std::uint64_t tat = 0;
    do {
      tat = limiter.unlocked();
    } while (!limiter.tat_.compare_exchange_weak(tat, kLocked, std::memory_order_acquire,
                                                 std::memory_order_relaxed));
    in_schedule = tat == kInSchedule;
    state = in_schedule ? limiter.schedule_->state : store::state_of(limiter.quota_, tat);
  }
  ~Locked() {
    if (in_schedule) limiter.schedule_->state = state;
    limiter.tat_.store(in_schedule ? kInSchedule : std::min(state.tat, kInSchedule - 1),
                       std::memory_order_release);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  store::Schedule& schedule() { return limiter.schedule_->schedule; }
  const Quota& quota() const {
    return limiter.schedule_ != nullptr ? limiter.schedule_->quota_or(limiter.quota_) : limiter.quota_;
  }
  core::gcra::Step decide(nanoseconds now, Cost cost) const {
    if (!in_schedule) return store::step_of(limiter.quota_, state.tat, now, cost);
    return limiter.schedule_->decide(limiter.quota_, now, cost);
  }
  void charge(const core::gcra::State& next, nanoseconds now) {
    if (in_schedule) limiter.schedule_->charge(next, now);
    state = next;
  }
  void need_schedule() {
    if (limiter.schedule_ == nullptr) limiter.schedule_ = new store::LimiterSchedule;
  }
  // What was in the schedule has drained, or been forgotten, since it was last there.
  void put_in_schedule() {
    if (!in_schedule) schedule().lose();
    in_schedule = true;
    limiter.schedule_->state = state;
  }
  void leave_idle_schedule(nanoseconds now) {
    if (in_schedule && !limiter.schedule_->quota && schedule().is_idle(now)) in_schedule = false;
  }

  Limiter& limiter;
  core::gcra::State state;
  bool in_schedule = false;
};

Limiter::~Limiter() { delete schedule_; }

Decision Limiter::check_scheduled(nanoseconds now, Cost cost) noexcept {
  Locked locked(*this);
  locked.leave_idle_schedule(now);
  const core::gcra::Step step = locked.decide(now, cost);
  if (step.changes) locked.charge(step.next, now);
  return step.decision();
}

Taken Limiter::take_scheduled(nanoseconds now, Cost most, Cost least) noexcept {
  Locked locked(*this);
  locked.leave_idle_schedule(now);
  const Cost cost = store::as_many(locked.decide(now, Cost{0}).decision(), most, least);
  const core::gcra::Step step = locked.decide(now, cost);
  if (step.changes) locked.charge(step.next, now);
  return store::taken(step.decision(), cost);
}

void Limiter::reset() noexcept {
  Locked locked(*this);
  if (schedule_ != nullptr) locked.schedule() = store::Schedule(locked.schedule().epoch() + 1);
  locked.in_schedule = schedule_ != nullptr && schedule_->quota.has_value();
  locked.state = store::state_of(locked.quota(), 0);
}

Charged Limiter::charge(Outside outside) noexcept {
  const nanoseconds at = now();
  Locked locked(*this);
  locked.leave_idle_schedule(at);
  std::uint64_t moved = 0;
  if (outside.form == Outside::Form::pause && outside.length.count() > 0) {
    locked.need_schedule();
    locked.put_in_schedule();
    locked.schedule().count_by(store::QuotaNumbers(locked.quota()));
    moved = locked.schedule().pause(at + outside.length, at);
  }
  const nanoseconds as_of = locked.in_schedule ? schedule_->no_earlier(quota_, at) : at;
  const core::Rule rule{locked.quota()};
  const core::TwoWords state{locked.state.tat, locked.state.interval};
  core::Overdrawn told;
  if (outside.form == Outside::Form::refund) {
    const store::QuotaNumbers numbers(locked.quota());
    const std::uint64_t least =
        locked.in_schedule ? locked.schedule().least_after_refund(numbers, state.word, as_of) : 0;
    told = core::refund(rule, state, as_of, outside.units, least);
  } else {
    told = core::overdraw(rule, state, as_of, outside, moved);
  }
  if (told.changes) locked.charge({told.next.until, told.next.word}, as_of);
  if (outside.form == Outside::Form::pause && locked.in_schedule) locked.schedule().left(locked.state.tat);
  return told;
}

void Limiter::set_quota(Quota quota) {
  const nanoseconds at = now();
  Locked locked(*this);
  locked.need_schedule();
  locked.put_in_schedule();
  schedule_->quota = quota;
  locked.schedule().count_by(store::QuotaNumbers(quota));
  locked.schedule().read(at);
}

Quota Limiter::quota() const noexcept {
  if (unlocked() != kInSchedule) return quota_;
  return Locked(const_cast<Limiter&>(*this)).quota();
}

namespace store {

class LimiterHandle final : public ReservationHandle {
 public:
  explicit LimiterHandle(Limiter& limiter) : limiter_(limiter) {}

  // While the limiter is locked.
  void charged(Schedule& schedule, const Quota& quota, const OwnUnits& own, nanoseconds now,
               nanoseconds moment, nanoseconds hold) {
    epoch_ = schedule.epoch();
    quota_ = quota;
    own_ = own;
    moment_ = moment;
    until_ = moment + hold;
    if (moment > now) schedule.add_moment(own_, moment, now);
    schedule.keep_moment(moment);
    if (hold.count() != 0) schedule.hold(own_, until_, now);
  }

  const Clock* clock() const noexcept override { return limiter_.clock_; }

  std::optional<nanoseconds> moment(nanoseconds now) override {
    Limiter::Locked locked(limiter_);
    Schedule& schedule = locked.schedule();
    if (schedule.epoch() != epoch_) return std::nullopt;
    return schedule.moment_of(own_, now).value_or(now) - now;
  }

  nanoseconds extend(nanoseconds now, nanoseconds hold) override {
    Limiter::Locked locked(limiter_);
    Schedule& schedule = locked.schedule();
    const nanoseconds moved = moved_by_pauses(schedule);
    if (schedule.epoch() != epoch_ || !own_.held || now >= until_ + moved) return nanoseconds{0};
    const nanoseconds from = std::max(now, schedule.moment_of(own_, now).value_or(now));
    const nanoseconds end = from + std::min(hold, kLongestExtension);
    until_ = end - moved;
    schedule.extend(own_, end);
    return end - now;
  }

  std::uint64_t cancel(nanoseconds now) noexcept override {
    Limiter::Locked locked(limiter_);
    if (locked.schedule().epoch() != epoch_) return 0;
    core::TwoWords state = known(locked);
    const bool is_kept = locked.schedule().cancel(own_, moment_, now, 0, state);
    locked.state = {state.until, state.word};
    locked.leave_idle_schedule(now);
    return is_kept ? own_.count : 0;
  }

  std::optional<nanoseconds> settle(nanoseconds now, std::optional<std::uint64_t> told) override {
    const std::uint64_t actual = told.value_or(own_.count);
    if (!own_.held && now < until_)
      throw std::invalid_argument("weir::Reservation::settle: " + without_hold());
    Limiter::Locked locked(limiter_);
    Schedule& schedule = locked.schedule();
    if (schedule.epoch() != epoch_) return std::nullopt;
    if (now >= until_ + moved_by_pauses(schedule)) return std::nullopt;
    core::TwoWords state = known(locked);
    if (actual < own_.count) {
      schedule.settle(own_, moment_, own_.count - actual, now, 0, state);
    } else {
      schedule.end_hold(own_);
      if (actual > own_.count) {
        schedule.read(now);
        const core::TwoWords owed =
            core::owe(quota_, state, actual - own_.count, schedule.no_earlier(now), Outside{}.overdraft).next;
        if (owed.word != state.word) schedule.lose();
        state = owed;
        schedule.left(state.until);
      }
    }
    locked.state = {std::min(state.until, kInSchedule - 1), state.word};
    if (locked.in_schedule) limiter_.schedule_->state = locked.state;
    locked.leave_idle_schedule(now);
    const core::gcra::Step next = locked.decide(now, Cost{1});
    return nanoseconds{static_cast<std::int64_t>(next.verdict == Verdict::denied ? next.retry_after : 0)};
  }

 private:
  nanoseconds moved_by_pauses(const Schedule& schedule) const {
    return nanoseconds{static_cast<std::int64_t>(schedule.moved_by_pauses(own_))};
  }
  static core::TwoWords known(Limiter::Locked& locked) {
    if (!locked.in_schedule) locked.schedule().lose();
    return {locked.state.tat, locked.state.interval};
  }

  Limiter& limiter_;
  std::uint64_t epoch_ = 0;
  Quota quota_ = Quota::per(1, std::chrono::seconds{1});  // that it was charged by
  OwnUnits own_{};
  nanoseconds moment_{0};
  nanoseconds until_{0};  // it can be settled
};

}  // namespace store

Reservation Limiter::reserve(ReserveOptions options, Cost cost) {
  const nanoseconds at = now();
  if (options.hold.count() > 0 && cost.units != 0) return reserve_later(at, options, cost);
  std::uint64_t tat = unlocked();
  for (;;) {
    if (tat == kInSchedule) return reserve_later(at, options, cost);
    const core::gcra::Step step = store::step_of(quota_, tat, at, cost);
    if (step.verdict == Verdict::denied && options.max_wait.count() > 0)
      return reserve_later(at, options, cost);
    if (!step.changes || tat_.compare_exchange_weak(tat, step.next.tat, std::memory_order_relaxed))
      return Reservation(at, [&] { return step.decision(); });
    if (tat == kLocked) tat = unlocked();
  }
}

// A request that is denied now is charged as it would be at its moment (core/moment.hpp), unless it can take
// over an earlier one.
Reservation Limiter::reserve_later(nanoseconds now, ReserveOptions options, Cost cost) {
  options = store::bounded(options, now);
  if (cost.units == 0) options.hold = nanoseconds{0};
  auto kept = std::make_unique<store::LimiterHandle>(*this);
  Locked locked(*this);
  locked.need_schedule();
  store::Schedule& schedule = locked.schedule();
  if (locked.in_schedule) now = schedule_->no_earlier(quota_, now);
  core::gcra::Step step = locked.decide(now, cost);
  nanoseconds wait{0};
  std::optional<store::Schedule::Taken> taken;
  if (step.verdict == Verdict::denied) {
    const core::Rule rule{locked.quota()};
    if (!core::may_recount_ahead(rule, {locked.state.tat, locked.state.interval}, now))
      options.max_wait = nanoseconds{0};
    const core::Moment moment = core::moment(step, options.max_wait);
    if (locked.in_schedule)
      taken = schedule.take_hole(cost.units, now, now + (moment.granted ? moment.wait : options.max_wait));
    if (taken) {
      wait = taken->moment - now;
      step = locked.decide(now, Cost{0});
    } else if (moment.granted) {
      wait = moment.wait;
      step = locked.decide(now + wait, cost);
    } else {
      step.retry_after = static_cast<std::uint64_t>(moment.wait.count());
    }
  }
  const bool keeps = wait.count() != 0 || options.hold.count() != 0;
  if (step.verdict != Verdict::allowed || (!keeps && !step.changes && !taken))
    return Reservation(now, [&] { return step.decision(); });
  if (!keeps) {
    locked.charge(step.next, now);
    return Reservation(now, [&] { return step.decision(); });
  }
  locked.put_in_schedule();
  const core::gcra::State before = locked.state;
  locked.charge(step.next, now);
  const store::QuotaNumbers numbers(locked.quota());
  schedule.count_by(numbers);
  const core::Charge charge{{before.tat, before.interval}, {step.next.tat, step.next.interval}};
  kept->charged(schedule, locked.quota(),
                taken ? taken->own : schedule.append(charge, cost.units, numbers, now), now, now + wait,
                options.hold);
  const Decision as_of_now = locked.decide(now, Cost{0}).decision();
  return {now, wait, as_of_now, 0, std::move(kept)};
}

}  // namespace weir
