// What a Limiter reserves: by its ledger (store/key_ledger.hpp), under the lock in its word. While something
// is reserved or paused, what is owed is in the ledger; and for good once the quota was changed.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/moment.hpp"
#include "core/overdraft.hpp"
#include "library/limiter_word.hpp"
#include "library/reservation_handle.hpp"
#include "library/units.hpp"
#include "store/settlement.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1 {

using std::chrono::nanoseconds;
using store::kInLedger;
using store::kLocked;

// The limiter's state, wherever it is, for as long as this lives.
struct Limiter::Locked {
  explicit Locked(Limiter& locked) noexcept : limiter(locked) {
    do {
      tat = limiter.unlocked();
    } while (!limiter.tat_.compare_exchange_weak(tat, kLocked, std::memory_order_acquire,
                                                 std::memory_order_relaxed));
    in_ledger = tat == kInLedger;
  }
  ~Locked() {
    limiter.tat_.store(in_ledger ? kInLedger : std::min(tat, kInLedger - 1), std::memory_order_release);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  store::KeyLedger& ledger() { return limiter.ledger_->ledger; }
  core::Rule rule() const {
    return limiter.ledger_ != nullptr ? limiter.ledger_->rule : core::Rule{limiter.quota_};
  }
  Decision decide(nanoseconds now, Cost cost) {
    if (in_ledger) return ledger().decide(rule(), now, cost).decision();
    return store::step_of(limiter.quota_, tat, now, cost).decision();
  }
  // What it has allowed.
  void charge(nanoseconds now, Cost cost) {
    if (cost.units == 0) return;
    if (in_ledger) return ledger().charge(rule(), now, cost);
    tat = store::step_of(limiter.quota_, tat, now, cost).next.tat;
  }
  void need_ledger() {
    if (limiter.ledger_ == nullptr) limiter.ledger_ = new store::LimiterLedger(limiter.quota_);
  }
  void put_in_ledger() {
    if (!in_ledger) ledger().owes(tat);
    in_ledger = true;
  }
  void leave_idle_ledger(nanoseconds now) {
    if (!in_ledger || limiter.ledger_->is_changed || !ledger().is_idle(rule(), now)) return;
    tat = ledger().state().until;
    in_ledger = false;
  }

  Limiter& limiter;
  std::uint64_t tat = 0;  // where it is not in the ledger
  bool in_ledger = false;
};

Limiter::~Limiter() { delete ledger_; }

Decision Limiter::check_in_ledger(nanoseconds now, Cost cost) noexcept {
  Locked locked(*this);
  locked.leave_idle_ledger(now);
  const Decision decision = locked.decide(now, cost);
  if (decision.allowed()) locked.charge(now, cost);
  return decision;
}

Taken Limiter::take_in_ledger(nanoseconds now, Cost most, Cost least) noexcept {
  Locked locked(*this);
  locked.leave_idle_ledger(now);
  const Cost cost = store::as_many(locked.decide(now, Cost{0}), most, least);
  const Decision decision = locked.decide(now, cost);
  if (decision.allowed()) locked.charge(now, cost);
  return store::taken(decision, cost);
}

void Limiter::reset() noexcept {
  Locked locked(*this);
  locked.tat = 0;
  if (ledger_ == nullptr) return;
  ++ledger_->resets;
  ledger_->ledger = store::KeyLedger({0, store::state_of(ledger_->rule.quota, 0).interval});
  locked.in_ledger = ledger_->is_changed;
}

// What asks for something that has to stay, after a refund too, is kept in the ledger.
Charged Limiter::charge(Outside outside) noexcept {
  const nanoseconds at = now();
  Locked locked(*this);
  locked.leave_idle_ledger(at);
  const core::Rule rule = locked.rule();
  const bool stays = outside.form == Outside::Form::pause || outside.form == Outside::Form::remaining;
  if (stays && store::KeyLedger::can_count(rule.quota)) {
    locked.need_ledger();
    locked.put_in_ledger();
  }
  if (locked.in_ledger) return locked.ledger().charge(rule, at, outside);
  const auto [until, word] = store::state_of(rule.quota, locked.tat);
  const core::Overdrawn told = core::overdraw(rule, {until, word}, at, outside);
  if (told.changes) locked.tat = told.next.until;
  return told;
}

void Limiter::set_quota(Quota quota) {
  if (!store::KeyLedger::can_count(quota) || !store::KeyLedger::can_count(this->quota()))
    throw std::invalid_argument("weir::Limiter::set_quota: " + store::KeyLedger::too_long());
  Locked locked(*this);
  locked.need_ledger();
  locked.put_in_ledger();
  ledger_->rule = core::Rule{quota};
  ledger_->is_changed = true;
}

Quota Limiter::quota() const noexcept {
  if (unlocked() != kInLedger) return quota_;
  return Locked(const_cast<Limiter&>(*this)).rule().quota;
}

namespace store {

class LimiterHandle final : public ReservationHandle {
 public:
  explicit LimiterHandle(Limiter& limiter) : limiter_(limiter) {}

  // While the limiter is locked.
  void reserved(const KeyLedger::Own& own, std::uint64_t resets, bool held) {
    own_ = own;
    resets_ = resets;
    is_held_ = held;
  }

  const Clock* clock() const noexcept override { return limiter_.clock_; }

  std::optional<nanoseconds> moment(nanoseconds now) override {
    Limiter::Locked locked(limiter_);
    if (is_forgotten() || (is_held_ && now >= own_.until)) return std::nullopt;
    if (locked.ledger().may_act(own_)) return std::max(at() - now, nanoseconds{0});
    is_paused_ = true;
    if (now < own_.until) locked.ledger().cancel(own_);
    return std::nullopt;
  }

  nanoseconds extend(nanoseconds now, nanoseconds hold) override {
    Limiter::Locked locked(limiter_);
    if (is_forgotten() || !is_held_ || now >= own_.until) return nanoseconds{0};
    const nanoseconds end = std::max(now, at()) + std::min(hold, kLongestExtension);
    locked.ledger().extend(own_, end);
    return end - now;
  }

  std::uint64_t cancel(nanoseconds now) noexcept override {
    Limiter::Locked locked(limiter_);
    if (is_forgotten()) return 0;
    locked.ledger().cancel(own_);
    locked.leave_idle_ledger(now);
    return own_.units;
  }

  std::optional<nanoseconds> settle(nanoseconds now, std::optional<std::uint64_t> told) override {
    Limiter::Locked locked(limiter_);
    if (is_forgotten() || now >= own_.until) return std::nullopt;
    if (!is_held_) throw std::invalid_argument("weir::Reservation::settle: " + without_hold());
    if (now < at()) return std::nullopt;
    locked.ledger().settle(locked.rule(), own_, told.value_or(own_.units), now, Outside{}.overdraft);
    locked.leave_idle_ledger(now);
    return locked.decide(now, Cost{1}).retry_after.value_or(nanoseconds{0});
  }

 private:
  nanoseconds at() const { return nanoseconds{own_.place.at}; }
  bool is_forgotten() const { return is_paused_ || resets_ != limiter_.ledger_->resets; }

  Limiter& limiter_;
  KeyLedger::Own own_{};
  std::uint64_t resets_ = 0;
  bool is_held_ = false;
  bool is_paused_ = false;
};

}  // namespace store

Reservation Limiter::reserve(ReserveOptions options, Cost cost) {
  const nanoseconds at = now();
  if (options.hold.count() > 0 && cost.units != 0) return reserve_later(at, options, cost);
  std::uint64_t tat = unlocked();
  for (;;) {
    if (tat == kInLedger) return reserve_later(at, options, cost);
    const core::gcra::Step step = store::step_of(quota_, tat, at, cost);
    if (step.verdict == Verdict::denied && options.max_wait.count() > 0)
      return reserve_later(at, options, cost);
    if (!step.changes || tat_.compare_exchange_weak(tat, step.next.tat, std::memory_order_relaxed))
      return Reservation(at, [&] { return step.decision(); });
    if (tat == kLocked) tat = unlocked();
  }
}

Reservation Limiter::reserve_later(nanoseconds now, ReserveOptions options, Cost cost) {
  options = store::bounded(options, now);
  if (!store::KeyLedger::can_count(quota()))
    throw std::invalid_argument("weir::Limiter::reserve: " + store::KeyLedger::too_long());
  auto kept = std::make_unique<store::LimiterHandle>(*this);
  Locked locked(*this);
  locked.leave_idle_ledger(now);
  locked.need_ledger();
  const core::Rule rule = locked.rule();
  Decision decision = locked.decide(now, cost);
  if (cost.units == 0 || decision.verdict == Verdict::never)
    return Reservation(now, [&] { return decision; });
  locked.put_in_ledger();
  const core::Moment moment = locked.ledger().moment(rule, now, cost, options.max_wait);
  if (!moment.granted) {
    decision.retry_after = moment.wait;
    locked.leave_idle_ledger(now);
    return Reservation(now, [&] { return decision; });
  }
  if (moment.wait.count() == 0 && options.hold.count() == 0) {
    locked.charge(now, cost);
    return Reservation(now, [&] { return decision; });
  }
  const nanoseconds at = now + moment.wait;
  kept->reserved(locked.ledger().reserve(rule, now, at, cost.units, at + options.hold), ledger_->resets,
                 options.hold.count() != 0);
  return {now, moment.wait, locked.decide(now, Cost{0}), 0, std::move(kept)};
}

}  // namespace weir
