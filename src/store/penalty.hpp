// A rest after a breach: a limit that denies a request may charge its key as a pause does (Limit::penalty),
// and while the key rests, denials change nothing.
//
// No breach: a look, a check of no units, one that only looks on (a shadow), a cost that no time admits, and
// a denial of one who would have waited; nor what only a class leaves to others, a full table or too many
// open holds have denied, for which the key's own debt is asked once more.
//
// Pure functions, any thread. Not for: how a key rests (key_ledger.hpp, reserve.lua).
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "store/check_rules.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store {

// Of a denied request: whether it is one that its limits may take a penalty for.
inline bool may_breach(const Request& request) {
  return request.verb == Verb::check || (request.verb == Verb::take && !request.take->looks) ||
         (request.verb == Verb::reserve && !request.reservation->stands_in_line &&
          request.reservation->max_wait.count() == 0);
}

// Of such a request, a check of that limit.
inline bool may_be_breached(const Limit& limit, bool shadow, const Decision& decision) {
  return limit.penalty && !shadow && decision.verdict == Verdict::denied;
}

// What a request is told whose keys have come to rest: what its checks say now, or how long open holds deny
// it if that is longer.
inline void tell_rest(Request& request) {
  request.by = deciding(request.checks);
  if (request.verb != Verb::reserve) return;
  ReservationTerms& asked = *request.reservation;
  // All at once may have to wait for longer than each; one alone for less, where its rest forgets.
  auto& retry_after = request.checks[request.by].decision.retry_after;
  if (retry_after && request.checks.size() > 1) retry_after = std::max(*retry_after, asked.wait);
  asked.wait = retry_after.value_or(std::chrono::nanoseconds{-1});
  const bool never = asked.full_for.count() < 0;
  // Of several that no time helps the first.
  if (asked.wait.count() < 0 ? !never || request.by < asked.full_by : !never && asked.full_for <= asked.wait)
    return;
  request.by = asked.full_by;
  asked.wait = asked.full_for;
  Decision& decision = request.checks[request.by].decision;
  decision.verdict = never ? Verdict::never : Verdict::denied;
  decision.retry_after = never ? std::nullopt : std::optional(asked.wait);
}

}  // namespace weir::store
