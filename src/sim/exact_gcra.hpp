// GCRA with the interval that a limit says: period / count as a fraction, not rounded up to a nanosecond.
//
// Logs record coarse times, so that requests come exactly when they would just pass: with the interval that
// servers count in, 3/s denied a request in every sixth second of a log with three in each. The rule is
// core/gcra.hpp's, counted in parts of a nanosecond; where period / count is whole the two are equal. Else
// this interval is less than 1 ns shorter, so that the first verdict in which they differ is one on a request
// that comes within 1 ns, for each unit charged since the key was idle, of the moment at which it would just
// pass.
//
// Pure functions of values, any thread. Not for: serving, which counts in two words of whole nanoseconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/step.hpp"
#include "weir/decision.hpp"
#include "weir/quota.hpp"

namespace weir::inline v0_1::sim {

// Up to 2^63 ns in parts, of which a nanosecond has fewer than 2^63.
using Parts = unsigned __int128;

// The time that one unit takes to drain: `parts`, of which `in_ns` are a nanosecond, in lowest terms.
struct Interval {
  std::uint64_t parts = 1;
  std::uint64_t in_ns = 1;

  static constexpr Interval of(std::int64_t count, std::int64_t period_ns) {
    const std::int64_t common = std::gcd(count, period_ns);
    return {static_cast<std::uint64_t>(period_ns / common), static_cast<std::uint64_t>(count / common)};
  }
  // What a Quota of the same rate has.
  constexpr std::uint64_t rounded_up_ns() const { return (parts - 1) / in_ns + 1; }
  // The greatest burst that a Quota may have with it.
  constexpr std::uint64_t most_burst() const {
    return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / rounded_up_ns();
  }
  constexpr Parts at(std::int64_t ns) const { return Parts{static_cast<std::uint64_t>(ns)} * in_ns; }
};

class ExactGcra {
 public:
  constexpr ExactGcra(Interval interval, std::uint64_t burst) : interval_(interval), burst_(burst) {}
  constexpr explicit ExactGcra(const Quota& quota)
      : ExactGcra(Interval::of(quota.rate().count, quota.rate().period.count()),
                  static_cast<std::uint64_t>(quota.burst())) {}

  struct Answer {
    Verdict verdict;
    std::uint64_t retry_after;  // ns, rounded up; 0 unless denied
  };

  // `tat` is the key's, in parts since 1970; 0 for a new one.
  constexpr Answer decide(Parts& tat, std::int64_t now_ns, std::uint64_t cost) const {
    if (cost == 0) return {Verdict::allowed, 0};
    if (cost > burst_) return {Verdict::never, 0};
    const Parts now = interval_.at(now_ns);
    const Parts room = Parts{burst_ - cost} * interval_.parts;
    const Parts from = std::max(tat, now);
    if (from - now > room)
      return {Verdict::denied, static_cast<std::uint64_t>((from - now - room - 1) / interval_.in_ns) + 1};
    tat = from + Parts{cost} * interval_.parts;
    return {Verdict::allowed, 0};
  }

 private:
  Interval interval_;
  std::uint64_t burst_;
};

// A tat as a key's state is kept.
constexpr core::TwoWords in_words(Parts tat) {
  return {static_cast<std::uint64_t>(tat >> 64), static_cast<std::uint64_t>(tat)};
}
constexpr Parts from_words(core::TwoWords words) { return Parts{words.until} << 64 | words.word; }

}  // namespace weir::sim
