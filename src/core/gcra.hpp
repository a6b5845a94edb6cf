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
// A class of requests that is to leave a part of the burst free for more important ones has that much less
// room: `kept`, a time like burst x T and at most that, is taken off it.
//
//   allowed  iff  max(tat, now) + cost x T  <=  now + burst x T - kept
//
// All classes share one tat, and what is remembered does not depend on `kept`.
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

namespace weir::inline v0_1::core::gcra {

using std::chrono::nanoseconds;

// All that is remembered of a key. A tat that is not after `now` equals no state at all.
struct State {
  std::uint64_t tat = 0;       // ns on the store's clock
  std::uint64_t interval = 0;  // the T that tat was counted in, ns; meaningless when tat is not after now

  friend constexpr bool operator==(const State&, const State&) = default;
};

using Step = StepOf<State>;

// The units that a request can take at once from rest when its class keeps that free.
constexpr std::uint64_t most_units(const Quota& quota, nanoseconds kept) {
  const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
  const auto burst = static_cast<std::uint64_t>(quota.burst());
  if (kept.count() == 0) return burst;
  return (burst * interval - static_cast<std::uint64_t>(kept.count())) / interval;
}

// Decides a request under another quota than the one that the debt was counted in. Debt is kept in units, a
// part of a unit counting as a whole one: a request passes when it and what is owed fit into the burst, and
// then all of it drains at the new T. Until one passes, the debt drains at the T that it was counted in. So a
// request that is not admitted leaves nothing that another quota could use, lowering a limit never lengthens
// a wait, and debt is never forgiven: quotas used alternately on one key (as in a rolling deployment)
// together admit at most the greatest burst + W / the smallest T, for readings of the clock that come in
// order. A class counts in units too: what it keeps free is rounded up to whole ones.
constexpr Step decide_other_quota(const Quota& quota, State state, nanoseconds now, Cost cost,
                                  nanoseconds kept) {
  const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
  const std::uint64_t burst = most_units(quota, kept);
  const std::uint64_t ahead = ahead_of(state.tat, now);
  const std::uint64_t owed = (ahead - 1) / state.interval + 1;
  const std::uint64_t room = owed < burst ? burst - owed : 0;
  if (cost.units != 0 && cost.units <= room) {
    const std::uint64_t after = (owed + cost.units) * interval;  // at most burst x T - kept
    const State next{static_cast<std::uint64_t>(now.count()) + after, interval};
    return {Verdict::allowed, quota.burst(), room - cost.units, 0, after, next, true};
  }
  Verdict verdict = Verdict::allowed;
  std::uint64_t retry_after = 0;
  if (cost.units > burst) {
    verdict = Verdict::never;
  } else if (cost.units != 0) {
    verdict = Verdict::denied;
    // Less is subtracted than is owed, so it is less than `ahead`.
    retry_after = at_most_the_longest(ahead - (burst - cost.units) * state.interval);
  }
  return {verdict, quota.burst(), room, retry_after, at_most_the_longest(ahead), state, false};
}

// Decides one request of `cost` at `now`. A look (cost 0) is always allowed, and like a denial it changes
// nothing.
//
// `arrived` is when the requester began to wait, at most `now`. An admitted cost is charged from then: a
// delay of ours is not the requester's idling, and a saturated limit of burst 1 would lose every such delay.
// The promise holds for any moment in between, because the permission was asked for and not yet given.
[[gnu::always_inline]] constexpr Step decide(const Quota& quota, State state, nanoseconds now, Cost cost,
                                             nanoseconds arrived, nanoseconds kept = nanoseconds{0}) {
  const auto interval = static_cast<std::uint64_t>(quota.emission_interval().count());
  const auto burst = static_cast<std::uint64_t>(quota.burst());
  std::uint64_t ahead = ahead_of(state.tat, now);
  if (state.interval != interval && ahead != 0) [[unlikely]]
    return decide_other_quota(quota, state, now, cost, kept);
  // The debt that a request of this class may leave, at most.
  const std::uint64_t room = burst * interval - static_cast<std::uint64_t>(kept.count());

  Verdict verdict = Verdict::allowed;
  std::uint64_t retry_after = 0;
  State next = state;
  if (cost.units - 1 < burst) {  // from 1 to the burst
    const std::uint64_t need = cost.units * interval;
    if (need > room) [[unlikely]] {
      verdict = Verdict::never;
      ahead = at_most_the_longest(ahead);
    } else if (ahead <= room - need) {
      // The tat stays where it is past: who arrived before it is not charged from before it.
      next = {std::max(state.tat, static_cast<std::uint64_t>(arrived.count())) + need, interval};
      ahead = ahead_of(next.tat, now);
    } else {
      verdict = Verdict::denied;
      retry_after = at_most_the_longest(ahead - (room - need));
      ahead = at_most_the_longest(ahead);
    }
  } else {
    if (cost.units != 0) verdict = Verdict::never;
    ahead = at_most_the_longest(ahead);
  }
  // A quota's interval is not 0.
  const std::uint64_t remaining =
      ahead >= room ? 0 : (room - ahead) / interval;  // NOLINT(clang-analyzer-core.DivideZero)
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
