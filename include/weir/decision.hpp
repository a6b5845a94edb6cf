// What a limiter answers. A denial is an answer, not an error.
//
//   if (auto d = limiter.check(); !d.allowed()) refuse(d.retry_after);  // empty: waiting does not help
//
// A plain value: copy it, keep it, send it. Durations are exact nanoseconds. To print whole seconds, round
// them up, so that waiting the printed time is always enough.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/source.hpp"

namespace weir::inline v0_1 {

enum class Verdict : std::uint8_t {
  allowed,  // go ahead
  denied,   // not now: retry_after says when
  never,    // the cost is above the limit: waiting does not help
  busy,     // not now, as all slots are taken: retry_after says when at the latest one is free
};

struct Decision {
  Verdict verdict = Verdict::denied;
  std::int64_t limit = 0;      // units admitted at once from rest: gcra's burst, any other's count
  std::int64_t remaining = 0;  // units that would be admitted at once now
  // The shortest wait after which the same request passes if nobody else uses the key. Present exactly when
  // denied or busy, and then never 0. Empty for `never` too: test it, or use value_or().
  std::optional<std::chrono::nanoseconds> retry_after;
  // Time until the key is as if never used. Never negative.
  std::chrono::nanoseconds reset_after{0};
  Source source = Source::store;  // who decided; always `store` for the limiters inside one process

  [[nodiscard]] constexpr bool allowed() const noexcept { return verdict == Verdict::allowed; }

  friend constexpr bool operator==(const Decision&, const Decision&) noexcept = default;
};

// What several limits made of one request, which is charged to all of them or to none.
struct JointDecision {
  // Of the limit that decides: the one denied for longest, or where all allow the one with the least left.
  Decision decision{};
  std::size_t by = 0;  // which check that is, counted from 0

  [[nodiscard]] constexpr bool allowed() const noexcept { return decision.allowed(); }

  friend constexpr bool operator==(const JointDecision&, const JointDecision&) noexcept = default;
};

}  // namespace weir
