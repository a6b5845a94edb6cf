#include "redis/health.hpp"

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;

// The last 0.1 to 0.2 s: a store that fails is noticed, and one that recovers believed, within that.
constexpr Health::nanoseconds kSlot = 100ms;
// Without checks nothing is learnt. A caller that asks no more because the store is failing would never hear
// of its recovery, so after this long without a refusal the store gets another chance.
constexpr Health::nanoseconds kForget = 1min;
constexpr std::uint64_t kOneIn = 10;

}  // namespace

void Health::refused(std::string_view why, nanoseconds now) {
  if (now >= slot_end_) roll(now);
  ++recent_[0].refused;
  ++not_decided_;
  last_refused_ = true;
  refused_at_ = now;
  if (why_ != why) why_ = why;
}

void Health::roll(nanoseconds now) {
  recent_[1] = now < slot_end_ + kSlot ? recent_[0] : Outcomes{};
  recent_[0] = {};
  slot_end_ = now + kSlot;
}

bool Health::fails(nanoseconds now) const {
  const std::uint64_t refused = recent_[0].refused + recent_[1].refused;
  const std::uint64_t all = refused + recent_[0].decided + recent_[1].decided;
  if (all == 0) return last_refused_ && now < refused_at_ + kForget;  // as it was when last asked
  return refused * kOneIn > all;
}

void Health::look(bool connected, std::string_view error, nanoseconds now) {
  if (now >= slot_end_) roll(now);
  // What was refused for want of a connection says nothing of one that is there.
  if (connected && !connected_) {
    recent_[0] = recent_[1] = {};
    last_refused_ = false;
  }
  connected_ = connected;
  if (!connected) return become(error.empty() ? State::connecting : State::down, error);
  if (fails(now)) return become(State::failing, why_);
  become(State::ready, {});
}

void Health::become(State state, std::string_view why) {
  if (view_.state == state && view_.why == why) return;
  view_.state = state;
  view_.why = why;
  ++changes_;
}

}  // namespace weir::redis
