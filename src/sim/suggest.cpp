#include "sim/suggest.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <stdexcept>

#include "core/rule.hpp"
#include "sim/replay.hpp"

namespace weir::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct Period {
  const char* name;
  std::int64_t ns;
};
constexpr std::array kPeriods = {Period{"s", kSecond}, Period{"min", 60 * kSecond},
                                 Period{"h", 3600 * kSecond}, Period{"d", 86'400 * kSecond}};

struct Step125 {
  std::int64_t count;
  Period per;
};
// The rates of the trade-off, slow to fast; it ends where a faster one needs no smaller burst.
constexpr std::array kLadder = {
    Step125{1, kPeriods[2]},       Step125{2, kPeriods[2]},        Step125{5, kPeriods[2]},
    Step125{10, kPeriods[2]},      Step125{20, kPeriods[2]},       Step125{1, kPeriods[1]},
    Step125{2, kPeriods[1]},       Step125{5, kPeriods[1]},        Step125{10, kPeriods[1]},
    Step125{20, kPeriods[1]},      Step125{1, kPeriods[0]},        Step125{2, kPeriods[0]},
    Step125{5, kPeriods[0]},       Step125{10, kPeriods[0]},       Step125{20, kPeriods[0]},
    Step125{50, kPeriods[0]},      Step125{100, kPeriods[0]},      Step125{200, kPeriods[0]},
    Step125{500, kPeriods[0]},     Step125{1'000, kPeriods[0]},    Step125{10'000, kPeriods[0]},
    Step125{100'000, kPeriods[0]}, Step125{1'000'000, kPeriods[0]}};

double per_second(std::int64_t count, std::int64_t period_ns) {
  return static_cast<double>(count) * static_cast<double>(kSecond) / static_cast<double>(period_ns);
}

}  // namespace

// Every event updates its client's heights, so they are kept for all clients; kTogether of them fill one or
// two cache lines.
std::vector<std::optional<std::uint64_t>> Suggest::bursts_by_heights(std::span<const Interval> intervals) {
  struct Debt {
    std::array<Parts, kTogether> tat{};
    std::array<std::uint64_t, kTogether> height{};  // greatest tat - now, in units, rounded up
  };
  std::vector<Debt> debts(clients_);
  std::array<std::uint64_t, kTogether> most{};
  for (std::size_t i = 0; i < intervals.size(); ++i) most[i] = intervals[i].most_burst();
  events_.each([&](const logs::Event& event) {
    Debt& debt = debts[event.client];
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      const Interval& interval = intervals[i];
      if (event.cost > most[i] || debt.height[i] > most[i]) {
        debt.height[i] = std::numeric_limits<std::uint64_t>::max();  // no quota has such a burst
        continue;
      }
      const Parts now = interval.at(event.ns);
      debt.tat[i] = std::max(debt.tat[i], now) + Parts{event.cost} * interval.parts;
      const Parts height = debt.tat[i] - now;
      if (height > Parts{debt.height[i]} * interval.parts)
        debt.height[i] = static_cast<std::uint64_t>((height - 1) / interval.parts) + 1;
    }
  });
  std::vector<std::optional<std::uint64_t>> found;
  std::vector<std::uint64_t> heights;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    heights.clear();
    for (std::uint32_t client = 0; client < clients_; ++client) {
      if (criterion_.kind == Criterion::Kind::good && !criterion_.good[client]) continue;
      heights.push_back(debts[client].height[i]);
    }
    std::uint64_t needed = 0;
    if (criterion_.most < heights.size()) {
      const auto place = heights.begin() + static_cast<std::ptrdiff_t>(criterion_.most);
      std::nth_element(heights.begin(), place, heights.end(), std::greater<>{});
      needed = *place;
    }
    found.push_back(needed > most[i] ? std::nullopt : std::optional(std::max<std::uint64_t>(1, needed)));
  }
  return found;
}

std::vector<std::uint64_t> Suggest::denied(std::span<const Try> tries) {
  std::vector<ExactGcra> limits;
  for (const Try& each : tries) limits.emplace_back(each.interval, each.burst);
  std::vector<std::array<Parts, kTogether>> tats(clients_);
  std::vector<std::uint64_t> denied(tries.size());
  events_.each([&](const logs::Event& event) {
    auto& tat = tats[event.client];
    for (std::size_t i = 0; i < tries.size(); ++i) {
      if (limits[i].decide(tat[i], event.ns, event.cost).verdict != Verdict::allowed) ++denied[i];
    }
  });
  return denied;
}

// All bisections at once: each halving is one pass.
std::vector<std::optional<std::uint64_t>> Suggest::bursts_by_trying(std::span<const Interval> intervals) {
  struct Range {
    std::uint64_t low;   // does not suffice
    std::uint64_t high;  // suffices, or is beyond what a quota may have
  };
  std::vector<Range> ranges;
  for (const Interval& interval : intervals) ranges.push_back({0, interval.most_burst() + 1});
  for (;;) {
    std::vector<Try> tries;
    std::vector<std::size_t> whose;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto [low, high] = ranges[i];
      if (high - low < 2) continue;
      // Doubling first: most bursts are small, and their bound is far away.
      const bool bounded = high != intervals[i].most_burst() + 1;
      const std::uint64_t middle =
          bounded ? low + (high - low) / 2 : std::min(high - 1, std::max<std::uint64_t>(1, low * 2));
      tries.push_back({intervals[i], middle});
      whose.push_back(i);
    }
    if (tries.empty()) break;
    const std::vector<std::uint64_t> counts = denied(tries);
    for (std::size_t i = 0; i < tries.size(); ++i) {
      Range& range = ranges[whose[i]];
      (counts[i] <= criterion_.most ? range.high : range.low) = tries[i].burst;
    }
  }
  std::vector<std::optional<std::uint64_t>> found;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool any = ranges[i].high != intervals[i].most_burst() + 1;
    found.push_back(any ? std::optional(ranges[i].high) : std::nullopt);
  }
  return found;
}

std::vector<std::optional<std::uint64_t>> Suggest::bursts(std::span<const Interval> intervals) {
  std::vector<std::optional<std::uint64_t>> all;
  for (std::size_t at = 0; at < intervals.size(); at += kTogether) {
    const auto some = intervals.subspan(at, std::min(kTogether, intervals.size() - at));
    const auto found =
        criterion_.kind == Criterion::Kind::requests ? bursts_by_trying(some) : bursts_by_heights(some);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

std::vector<bool> Suggest::suffice(std::span<const std::int64_t> counts, std::int64_t period_ns) {
  std::vector<bool> answers;
  if (criterion_.kind == Criterion::Kind::requests) {
    std::vector<Try> tries;
    for (const std::int64_t count : counts)
      tries.push_back({Interval::of(count, period_ns), static_cast<std::uint64_t>(count)});
    for (const std::uint64_t count : denied(tries)) answers.push_back(count <= criterion_.most);
    return answers;
  }
  std::vector<Interval> intervals;
  for (const std::int64_t count : counts) intervals.push_back(Interval::of(count, period_ns));
  const auto needed = bursts_by_heights(intervals);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    answers.push_back(needed[i] && *needed[i] <= static_cast<std::uint64_t>(counts[i]));
  }
  return answers;
}

// A greater count needs no greater burst and allows a greater one, so every count above one that suffices
// does.
std::optional<std::int64_t> Suggest::smallest_count(std::int64_t period_ns) {
  std::int64_t low = 0;               // does not suffice
  std::int64_t high = period_ns + 1;  // suffices, or is beyond one unit a nanosecond
  const std::int64_t none = high;
  while (high - low > 1) {
    std::vector<std::int64_t> counts;
    if (high == none) {
      // By factors of four at first, since most answers are small.
      for (std::int64_t count = std::max<std::int64_t>(1, low * 4); counts.size() < kTogether && count < high;
           count *= 4) {
        counts.push_back(count);
        if (count > none / 4) break;
      }
      if (counts.empty()) counts.push_back(high - 1);
    } else {
      const std::int64_t pieces = std::min<std::int64_t>(kTogether + 1, high - low);
      for (std::int64_t i = 1; i < pieces; ++i) counts.push_back(low + (high - low) / pieces * i);
    }
    const std::vector<bool> enough = suffice(counts, period_ns);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (enough[i]) {
        high = counts[i];
        break;
      }
      low = counts[i];
    }
  }
  return high == none ? std::nullopt : std::optional(high);
}

void Suggest::run(SuggestReport& report) {
  for (const Period& period : kPeriods) {
    auto count = smallest_count(period.ns);
    if (!count) continue;
    // Not every rate above a thousand a microsecond fits whole nanoseconds (Quota::make).
    while (*count < period.ns && !Quota::make({*count, std::chrono::nanoseconds{period.ns}})) ++*count;
    const Interval interval = Interval::of(*count, period.ns);
    const auto burst = bursts({&interval, 1})[0];
    if (!burst) continue;
    const auto quota =
        Quota::make({*count, std::chrono::nanoseconds{period.ns}}, static_cast<std::int64_t>(*burst));
    if (!quota) continue;
    report.suggestions.push_back({period.name, core::to_text(core::Rule{*quota}), *count, quota->burst(),
                                  per_second(*count, period.ns), 0, 0});
  }
  std::vector<Interval> intervals;
  for (const auto& [count, per] : kLadder) intervals.push_back(Interval::of(count, per.ns));
  const auto needed = bursts(intervals);
  for (std::size_t i = 0; i < kLadder.size(); ++i) {
    const auto& [count, per] = kLadder[i];
    const std::optional<std::uint64_t> burst = needed[i];
    if (!burst) continue;
    report.trade_off.push_back({std::to_string(count) + "/" + per.name, per_second(count, per.ns),
                                static_cast<std::int64_t>(*burst)});
  }
  // A faster rate that needs no smaller burst adds nothing, but the ladder should reach every suggestion.
  double fastest = 0;
  for (const Suggestion& each : report.suggestions) fastest = std::max(fastest, each.per_second);
  auto& rows = report.trade_off;
  while (rows.size() > 1 && rows.end()[-1].burst == rows.end()[-2].burst &&
         rows.end()[-2].per_second >= fastest) {
    rows.pop_back();
  }
  check(report);
}

void Suggest::check(SuggestReport& report) {
  std::vector<core::Rule> rules;
  for (const Suggestion& each : report.suggestions) rules.push_back(core::Rule::parse(each.limit).value());
  Replay replay(rules, 0);
  events_.each([&](const logs::Event& event) { replay.take(event); });
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Suggestion& suggestion = report.suggestions[i];
    const Replay::Denials seen = replay.denials(i, criterion_.good);
    suggestion.denied = seen.requests;
    suggestion.clients_denied = seen.clients;
    const std::uint64_t judged = criterion_.kind == Criterion::Kind::clients    ? seen.clients
                                 : criterion_.kind == Criterion::Kind::requests ? seen.requests
                                                                                : seen.good_clients;
    if (judged > criterion_.most) {
      throw std::logic_error("the replay of " + suggestion.limit + " denied " + std::to_string(judged) +
                             ", not at most " + std::to_string(criterion_.most) +
                             ": this is a bug in weir; please report it");
    }
  }
}

}  // namespace weir::sim
