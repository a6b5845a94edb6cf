// A key under one of the algorithms, however its state is kept.
#pragma once

#include <array>
#include <vector>

#include "agreement/window_oracles.hpp"
#include "core/chance_test.hpp"
#include "core/rule.hpp"
#include "core/sliding_window_log.hpp"

namespace weir::inline v0_1 {

using core::Chance;

inline constexpr std::array kAlgorithms = {Algorithm::gcra, Algorithm::fixed_window,
                                           Algorithm::fixed_window_clock, Algorithm::sliding_window_log,
                                           Algorithm::sliding_window_counter};
inline constexpr std::array<const char*, 5> kAlgorithmNames = {
    "gcra", "fixed_window", "fixed_window_clock", "sliding_window_log", "sliding_window_counter"};

// The state of one key. Copying it is going back in time.
class Subject {
 public:
  explicit Subject(const core::Rule& rule) : rule_(rule) {
    if (rule.algorithm == Algorithm::sliding_window_log) {
      ring_.resize(static_cast<std::size_t>(rule.quota.rate().count));
    }
  }

  Decision ask(std::int64_t now, std::uint64_t cost) {
    using std::chrono::nanoseconds;
    if (rule_.algorithm == Algorithm::sliding_window_log) {
      return core::sliding_window_log::decide(rule_.quota, log_, ring_, nanoseconds{now}, Cost{cost});
    }
    const core::Step step = decide(rule_, words_, nanoseconds{now}, Cost{cost});
    if (step.changes) words_ = step.next;
    return step.decision();
  }

  // From now on by other numbers of the same algorithm.
  void adopt(const core::Rule& rule) { rule_ = rule; }

  bool same_state(const Subject& other) const { return words_ == other.words_ && log_ == other.log_; }

 private:
  core::Rule rule_;
  core::TwoWords words_;
  core::sliding_window_log::State log_;
  std::vector<core::sliding_window_log::Entry> ring_;
};

// For gcra the leaky bucket, which says the same.
inline oracle::History history_for(const core::Rule& rule) {
  using Kind = oracle::History::Kind;
  const Quota& quota = rule.quota;
  switch (rule.algorithm) {
    case Algorithm::gcra:
    case Algorithm::in_flight:  // no history of units
    case Algorithm::calendar:   // whose windows no number tells
      break;
    case Algorithm::fixed_window:
      return {Kind::fixed_window, quota.rate().count, quota.rate().period.count()};
    case Algorithm::fixed_window_clock:
      return {Kind::fixed_window_clock, quota.rate().count, quota.rate().period.count()};
    case Algorithm::sliding_window_log:
      return {Kind::sliding_window_log, quota.rate().count, quota.rate().period.count()};
    case Algorithm::sliding_window_counter:
      return {Kind::sliding_window_counter, quota.rate().count, quota.rate().period.count()};
  }
  return {Kind::leaky_bucket, quota.burst(), quota.emission_interval().count()};
}

inline bool same(const Decision& decision, const oracle::Answer& answer) {
  const auto verdict = static_cast<oracle::Answer::Kind>(decision.verdict);
  const bool denied = decision.verdict == Verdict::denied;
  return verdict == answer.kind && decision.remaining == answer.remaining &&
         decision.retry_after.has_value() == denied &&
         (!denied || decision.retry_after->count() == answer.retry_after) &&
         decision.reset_after.count() == answer.reset_after;
}

}  // namespace weir
