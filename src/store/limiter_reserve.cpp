// What a Limiter reserves: one word, a lock in it, and no room for the moments of those that were cancelled.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/reservation.hpp"
#include "store/kept.hpp"
#include "store/limiter_word.hpp"
#include "store/local.hpp"
#include "weir/limiter.hpp"

namespace weir::inline v0_1 {

using std::chrono::nanoseconds;

namespace store {

class LimiterKept final : public Kept {
 public:
  explicit LimiterKept(Limiter& limiter) : limiter_(limiter) {}

  // While the limiter is locked.
  void charged(std::uint64_t before, std::uint64_t after, nanoseconds moment, nanoseconds until, Cost cost) {
    epoch_ = limiter_.epoch_;
    last_before_ = limiter_.last_moment_;
    limiter_.last_moment_ = std::max(last_before_, moment);
    before_ = before;
    after_ = after;
    until_ = until;
    units_ = cost.units;
  }

  const Clock* clock() const noexcept override { return limiter_.clock_; }

  // Without a reset the tat is the same again only when all that was charged since has been taken back.
  std::uint64_t cancel(nanoseconds) noexcept override {
    std::uint64_t tat = limiter_.lock();
    const bool is_last = limiter_.epoch_ == epoch_ && tat == after_;
    if (is_last) {
      tat = before_;
      limiter_.last_moment_ = last_before_;
    }
    limiter_.tat_.store(tat, std::memory_order_release);
    return is_last ? units_ : 0;
  }

  std::optional<nanoseconds> settle(nanoseconds now, std::uint64_t actual) override {
    const Quota& quota = limiter_.quota_;
    const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
    const auto burst = static_cast<std::uint64_t>(quota.burst());
    if (actual / kMostBursts + (actual % kMostBursts != 0 ? 1 : 0) > burst) {
      throw std::invalid_argument("weir::Reservation::settle: actual is " + std::to_string(actual) +
                                  ", more than " + std::to_string(kMostBursts) + " times the burst of " +
                                  std::to_string(burst));
    }
    if (now >= until_) return std::nullopt;
    std::uint64_t tat = limiter_.lock();
    const bool lives = limiter_.epoch_ == epoch_;
    if (lives) {
      core::Settlement settlement{.quota = quota, .left = {after_, interval}};
      if (actual > units_) {
        settlement.more = actual - units_;
      } else if (limiter_.last_moment_ <= now) {
        settlement.less = units_ - actual;
      }
      tat = std::min(core::settle(settlement, {tat, interval}, now).until, kLocked - 1);
    }
    limiter_.tat_.store(tat, std::memory_order_release);
    if (!lives) return std::nullopt;
    const core::gcra::Step next = step_of(quota, tat, now, Cost{1});
    return nanoseconds{static_cast<std::int64_t>(next.verdict == Verdict::denied ? next.retry_after : 0)};
  }

 private:
  Limiter& limiter_;
  std::uint64_t epoch_ = 0;
  std::uint64_t before_ = 0;
  std::uint64_t after_ = 0;
  std::uint64_t units_ = 0;
  nanoseconds last_before_{0};
  nanoseconds until_{0};  // it can be settled
};

}  // namespace store

Reservation Limiter::reserve(ReserveOptions options, Cost cost) {
  return reserve(now(), options, cost, true);
}

Reservation Limiter::reserve_at(nanoseconds now, ReserveOptions options, Cost cost) {
  return reserve(now, options, cost, false);
}

Reservation Limiter::reserve(nanoseconds now, ReserveOptions options, Cost cost, bool by_our_clock) {
  if (options.hold.count() > 0 && cost.units != 0) return reserve_later(now, options, cost, by_our_clock);
  std::uint64_t tat = unlocked();
  for (;;) {
    const core::gcra::Step step = store::step_of(quota_, tat, now, cost);
    if (step.verdict == Verdict::denied && options.max_wait.count() > 0)
      return reserve_later(now, options, cost, by_our_clock);
    if (!step.changes || tat_.compare_exchange_weak(tat, step.next.tat, std::memory_order_relaxed))
      return Reservation(now, [&] { return step.decision(); });
    if (tat == store::kLocked) tat = unlocked();
  }
}

// A request that is denied now is charged as it would be at the moment that it has to wait for
// (core/reservation.hpp).
Reservation Limiter::reserve_later(nanoseconds now, ReserveOptions options, Cost cost, bool by_our_clock) {
  options = store::bounded(options, now);
  auto kept = std::make_unique<store::LimiterKept>(*this);
  const std::uint64_t tat = lock();
  core::gcra::Step step = store::step_of(quota_, tat, now, cost);
  nanoseconds wait{0};
  if (step.verdict == Verdict::denied) {
    const nanoseconds asked{static_cast<std::int64_t>(step.retry_after)};
    if (asked <= options.max_wait) {
      wait = asked;
      step = store::step_of(quota_, tat, now + wait, cost);
    } else {
      step.retry_after -= static_cast<std::uint64_t>(options.max_wait.count());
    }
  }
  if (step.verdict != Verdict::allowed) {
    tat_.store(tat, std::memory_order_release);
    return Reservation(now, [&] { return step.decision(); });
  }
  const nanoseconds moment = now + wait;
  kept->charged(tat, step.next.tat, moment, moment + options.hold, cost);
  tat_.store(step.next.tat, std::memory_order_release);
  if (wait.count() == 0 && options.hold.count() == 0)
    return Reservation(now, [&] { return step.decision(); });
  const Decision as_of_now = store::step_of(quota_, step.next.tat, now, Cost{0}).decision();
  return {now, wait, as_of_now, 0, std::move(kept), by_our_clock};
}

}  // namespace weir
