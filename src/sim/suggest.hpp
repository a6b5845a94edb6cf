// The smallest limits that would have denied at most a given share: for each of a few natural periods the
// smallest count, then the smallest burst; and for each of a ladder of rates the burst that it needs.
//
// Why it is exact: under a GCRA that denies nothing, a client's debt rises and falls independently of the
// burst, and its greatest height, in units, is the smallest burst that never denies the client (the leaky
// bucket as a meter, ITU-T I.371). Until the first denial a smaller burst sees the same debt, so any burst
// below that height does deny the client. One pass finds the heights of every client under several rates;
// counting them tells how many a burst denies.
//
// One thread at a time; memory grows with the clients, 192 bytes each, not with the events.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/rule.hpp"
#include "sim/event_spool.hpp"
#include "sim/exact_gcra.hpp"
#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

struct Criterion {
  enum class Kind : std::uint8_t { clients, requests, good } kind = Kind::clients;
  std::uint64_t most = 0;    // clients or requests that may be denied
  std::vector<bool> good{};  // of kind good: by the client's number, whether it must not be denied
};

class Suggest {
 public:
  Suggest(EventSpool& events, std::uint32_t clients, Criterion criterion)
      : events_(events), clients_(clients), criterion_(std::move(criterion)) {}

  // Fills in the trade-off, its curve and the suggestions, each verified by a replay, and what `today` would
  // have denied. Throws std::logic_error if a replay contradicts a suggestion.
  void run(SuggestReport& report, const std::vector<core::Rule>& today = {});
  // What the limits of the report would have denied of other clients, which its criterion does not know.
  static void try_on_bad(EventSpool& events, SuggestReport& report);

 private:
  static constexpr std::size_t kTogether = 8;  // rates measured in one pass

  struct Try {
    Interval interval;
    std::uint64_t burst;
  };
  // Of an interval: a burst that does not meet the criterion, 0 if none is known, and one that does.
  struct Bracket {
    std::uint64_t too_small;
    std::uint64_t enough;
  };
  struct Gap {
    std::int64_t interval_ns;
    Bracket bracket;
  };
  // For each interval the smallest burst that meets the criterion; empty if none below 2^63 ns does.
  std::vector<std::optional<std::uint64_t>> bursts(std::span<const Interval> intervals);
  std::vector<std::optional<std::uint64_t>> bursts_by_heights(std::span<const Interval> intervals);
  std::vector<std::optional<std::uint64_t>> bursts_by_trying(std::span<const Interval> intervals);
  // Until no bracket is wider than `closeness`, as a logarithm.
  void narrow(std::span<const Interval> intervals, std::vector<Bracket>& brackets, double closeness);
  std::vector<Bracket> bursts_between(std::span<const Gap> gaps, double closeness);
  // For each try the requests that it denies.
  std::vector<std::uint64_t> denied(std::span<const Try> tries);
  // The smallest count for the period whose own burst suffices.
  std::optional<std::int64_t> smallest_count(std::int64_t period_ns);
  std::vector<bool> suffice(std::span<const std::int64_t> counts, std::int64_t period_ns);
  // The limit of that count with the burst that it needs, and rounded.
  Suggestion suggestion(std::int64_t count, std::int64_t period_ns, const char* name);
  void suggest_periods(SuggestReport& report);
  void trade_off(SuggestReport& report);
  void suggest_knee(SuggestReport& report);
  void draw_curve(SuggestReport& report);
  void check(SuggestReport& report, const std::vector<core::Rule>& today);

  EventSpool& events_;
  std::uint32_t clients_;
  Criterion criterion_;
};

}  // namespace weir::sim
