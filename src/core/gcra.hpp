// GCRA, the generic cell rate algorithm: the rule that everything else in weir delivers.
//
// Source: ITU-T Recommendation I.371 (03/2004), annex A, "virtual scheduling algorithm", with costs. In its
// words: T is the emission interval, tau the tolerance, TAT the theoretical arrival time.
//
//   allowed  iff  max(tat, now) + cost x T  <=  now + burst x T
//   then  tat := max(tat, arrived) + cost x T
//
// where `arrived`, mostly equal to now, is when the requester began to wait.
//
// The promise: in any span of length W, for any arrival pattern, any idling, any interleaving of threads, the
// cost admitted for a key is at most burst + W / T. It holds because `tat` is never before the time
// that the admitted units take to drain: an admitted cost advances it by cost x T, starting no earlier than
// that moment, and never beyond now + burst x T. Idling earns nothing, since a tat in the past counts as
// `now`. tests/agreement/promise_test.cpp tests it under this name.
//
// Pure functions of values: no clock, no lock, no allocation, any thread. Not for: where the state of a key
// is kept (src/store) or what asks (src/service).
//
// Range: a Quota has burst x T < 2^63. With 0 <= now < 2^63 every tat computed here is below 2^64, and no
// product or sum below wraps: a cost is compared with the burst before it is multiplied.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/step.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::core::gcra {

using std::chrono::nanoseconds;

// All that is remembered of a key. A tat that is not after `now` equals no state at all.
struct State {
  std::uint64_t tat = 0;       // ns on the store's clock
  std::uint64_t interval = 0;  // the T that tat was counted in, ns; meaningless when tat is not after now

  friend constexpr bool operator==(const State&, const State&) = default;
};

using Step = StepOf<State>;

// The same debt under another quota. Debt is kept in units, a part of a unit counting as a whole one: k units
// that were draining at the old T drain at the new one, so a raised limit acts at once. The exception is a
// slower T that leaves no room for `cost`: until there is room, the debt continues to drain at the old,
// faster T, so that lowering a limit never lengthens a wait that a requester already had. Debt is never
// forgiven: two quotas used alternately on one key (as in a rolling deployment) together admit at most the
// greater burst + W / the smaller T.
constexpr State redenominate(State state, const Quota& quota, nanoseconds now, Cost cost) {
  const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
  const auto burst = static_cast<std::uint64_t>(quota.burst());
  if (state.interval == interval) return state;
  const auto n = static_cast<std::uint64_t>(now.count());
  // The tat stays: a request that arrived before it must not be charged from before it.
  if (state.tat <= n) return {state.tat, interval};
  const std::uint64_t units = (state.tat - n - 1) / state.interval + 1;
  if (interval > state.interval && units > burst - std::min(burst, cost.units)) return state;
  // units x interval is at most burst x T when T grows, and below ahead + T_old when it shrinks.
  return {n + units * interval, interval};
}

// Decides one request of `cost` at `now`. A look (cost 0) is always allowed, and like a denial it changes
// nothing, except that a denial stores a debt that a changed quota has re-denominated: otherwise the next
// request would convert the old debt again, and the retry_after given here would not be enough.
//
// `arrived` is when the requester began to wait, at most `now`. An admitted cost is charged from then: a
// delay of ours is not the requester's idling, and a saturated limit of burst 1 would lose every such delay.
// The promise holds for any moment in between, because the permission was asked for and not yet given.
constexpr Step decide(const Quota& quota, State state, nanoseconds now, Cost cost, nanoseconds arrived) {
  const State debt = redenominate(state, quota, now, cost);
  const auto burst = static_cast<std::uint64_t>(quota.burst());
  const std::uint64_t interval = debt.interval;
  // An interval that is not the quota's is a shorter one, so this product is below burst x T.
  const std::uint64_t full = burst * interval;
  std::uint64_t ahead = ahead_of(debt.tat, now);

  Verdict verdict = Verdict::allowed;
  std::uint64_t retry_after = 0;
  State next = state;
  if (cost.units > burst) {
    verdict = Verdict::never;
  } else if (cost.units != 0) {
    const std::uint64_t need = cost.units * interval;
    if (ahead <= full - need) {
      next = {std::max(debt.tat, static_cast<std::uint64_t>(arrived.count())) + need, interval};
      ahead = ahead_of(next.tat, now);
    } else {
      verdict = Verdict::denied;
      retry_after = ahead - (full - need);
      next = debt;
    }
  }
  const std::uint64_t remaining = ahead >= full ? 0 : (full - ahead) / interval;
  return {verdict, quota.burst(), remaining, retry_after, ahead, next, next != state};
}

constexpr Step decide(const Quota& quota, State state, nanoseconds now, Cost cost) {
  return decide(quota, state, now, cost, now);
}

// Gives back what a request of `cost` was charged at `charged_at` (its `arrived`), as far as it is still
// owed: of a cost charged at one time, charged_at + cost x T - now has not drained. What has drained may have
// admitted other requests, so it is not given back; nor is more than is owed in total. A debt that has since
// been counted in another T stays as it is.
//
// The promise holds for what is not given back. For a request that will be given back, let L be what is still
// owed: cost x T when it is charged, falling with time to 0; and let D be tat - now. D less the L of all such
// requests is never negative and never above burst x T, grows by T with each other unit admitted, and falls
// by no more than the time that passes, because what give_back() takes off D it takes off L. So in a span W
// no more than burst x T + W can be added to it.
constexpr State give_back(const Quota& quota, State state, nanoseconds now, Cost cost,
                          nanoseconds charged_at) {
  const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
  if (state.interval != interval || cost.units > static_cast<std::uint64_t>(quota.burst())) return state;
  const std::uint64_t need = cost.units * interval;
  const std::uint64_t owed = ahead_of(static_cast<std::uint64_t>(charged_at.count()) + need, now);
  // `need` again, for a clock reading earlier than the one that charged.
  return {state.tat - std::min({owed, need, ahead_of(state.tat, now)}), interval};
}

}  // namespace weir::core::gcra
