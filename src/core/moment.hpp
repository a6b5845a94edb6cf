// The moment at which a request may act: under one limit, and under several that are charged all or none.
//
// A request that is denied at `now` with retry_after r would be allowed at the moment s = now + r, if nobody
// else came. Under several limits s is the latest that any of them asks for, and all are charged as of it.
// That lifts each limit that asked for less, so a request that waits for one may not take more of another
// than that one's burst has to spare. docs/algorithm.md, "Waiting", has the proofs. src/redis/reserve.lua
// decides the same inside Redis; tests/agreement compares the two, trace by trace.
//
// Pure functions of values: no clock, no lock, no allocation, any thread. Not for: charging, and what others
// have given up (store/ledger.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "core/rule.hpp"
#include "core/step.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::core {

// Whether requests under this rule may be charged ahead of their moment. One of a class that leaves room for
// more important ones may not: its debt would fill that room.
constexpr bool may_wait(const Rule& rule) { return rule.kept.count() == 0 || counts_slots(rule.algorithm); }

// Whether a debt may be counted in the rule's T as of a moment that has not come: not one in a shorter T.
// Until the moment more units of it drain than the longer T would say, so for those who come before that it
// would be fewer than it is.
constexpr bool may_recount_ahead(const Rule& rule, TwoWords state, std::chrono::nanoseconds now) {
  return state.word >= static_cast<std::uint64_t>(rule.quota.emission_interval().count()) ||
         ahead_of(state.until, now) == 0;
}

struct Moment {
  bool granted = false;
  // Granted: until the moment. Otherwise the shortest time after which the same request would be granted if
  // nobody else came, and below 0 if no time helps.
  std::chrono::nanoseconds wait{0};
  std::uint8_t by = 0;  // of several: the limit that decides
};

// Of one limit, by what was decided of the request as of now.
template <class State>
constexpr Moment moment(const StepOf<State>& now, std::chrono::nanoseconds max_wait) {
  if (now.verdict == Verdict::allowed) return {true};
  if (now.verdict == Verdict::never) return {false, std::chrono::nanoseconds{-1}};
  const std::chrono::nanoseconds asked{static_cast<std::int64_t>(now.retry_after)};
  if (asked <= max_wait) return {true, asked};
  return {false, asked - max_wait};
}

// What a request asks of one of its limits, and what was there before it. Of gcra's.
struct Demand {
  static constexpr std::uint8_t kAlone = 255;

  const Rule* rule = nullptr;  // of the request's class
  TwoWords state{};
  Cost cost{};
  std::chrono::nanoseconds no_earlier{0};  // a moment before this is decided as of this
  bool shadow = false;                     // it stops no other
  std::uint8_t inside = kAlone;  // an earlier demand: while that is allowed, this one keeps nothing free
  // A bit for each demand of the request that all who come to this limit have to wait for too.
  std::uint16_t waits_with = 0;
  // What requests of the least important class leave free of this limit.
  std::chrono::nanoseconds lowest_kept{0};
};

// Of 1 to 16.
Moment moment(std::span<const Demand> demands, std::chrono::nanoseconds now,
              std::chrono::nanoseconds max_wait);

}  // namespace weir::core
