#include "sim/suggest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <stdexcept>

#include "core/rule.hpp"
#include "logs/zone.hpp"
#include "sim/replay.hpp"
#include "sim/round_up.hpp"
#include "sim/warnings.hpp"

namespace weir::inline v0_1::sim {
namespace {

using logs::kSecond;

struct SuggestedPeriod {
  const char* name;
  std::int64_t ns;
};
constexpr std::array kPeriods = {SuggestedPeriod{"s", kSecond}, SuggestedPeriod{"min", 60 * kSecond},
                                 SuggestedPeriod{"h", 3600 * kSecond},
                                 SuggestedPeriod{"d", 86'400 * kSecond}};

struct Step125 {
  std::int64_t count;
  SuggestedPeriod per;
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

Figures figures_of(const core::Rule& rule) {
  const Rate rate = rule.quota.rate();
  return {.limit = core::to_text(rule),
          .count = rate.count,
          .burst = rule.quota.burst(),
          .per_second = per_second(rate.count, rate.period.count()),
          .on_the_curve = core::has_burst(rule.algorithm)};
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
void Suggest::narrow(std::span<const Interval> intervals, std::vector<Bracket>& brackets, double closeness) {
  for (;;) {
    std::vector<Try> tries;
    std::vector<std::size_t> whose;
    for (std::size_t i = 0; i < brackets.size(); ++i) {
      const auto [low, high] = brackets[i];
      if (high - low < 2) continue;
      const bool bounded = high != intervals[i].most_burst() + 1;
      if (bounded && std::log(static_cast<double>(high) / static_cast<double>(low + 1)) < closeness) continue;
      // Doubling first: most bursts are small, and their bound is far away.
      std::uint64_t middle = std::min(high - 1, std::max<std::uint64_t>(1, low * 2));
      if (bounded && (low == 0 || high / low < 4)) middle = low + (high - low) / 2;
      tries.push_back({intervals[i], middle});
      whose.push_back(i);
    }
    if (tries.empty()) return;
    const std::vector<std::uint64_t> counts = denied(tries);
    for (std::size_t i = 0; i < tries.size(); ++i) {
      Bracket& bracket = brackets[whose[i]];
      (counts[i] <= criterion_.most ? bracket.enough : bracket.too_small) = tries[i].burst;
    }
  }
}

std::vector<std::optional<std::uint64_t>> Suggest::bursts_by_trying(std::span<const Interval> intervals) {
  std::vector<Bracket> brackets;
  for (const Interval& interval : intervals) brackets.push_back({0, interval.most_burst() + 1});
  narrow(intervals, brackets, 0);
  std::vector<std::optional<std::uint64_t>> found;
  for (std::size_t i = 0; i < brackets.size(); ++i) {
    const bool any = brackets[i].enough != intervals[i].most_burst() + 1;
    found.push_back(any ? std::optional(brackets[i].enough) : std::nullopt);
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

// Empty limits if there is none: not every number fits a quota.
Suggestion Suggest::suggestion(std::int64_t count, std::int64_t period_ns, const char* name) {
  const Interval interval = Interval::of(count, period_ns);
  const auto needed = bursts({&interval, 1})[0];
  if (!needed) return {};
  const auto burst = static_cast<std::int64_t>(*needed);
  const std::chrono::nanoseconds period{period_ns};
  const auto exact = Quota::make({count, period}, burst);
  if (!exact) return {};
  // Both upwards, so that it denies no more than the exact one does.
  const auto rounded = Quota::make({std::min(period_ns, rounded_up(count)), period}, rounded_up(burst));
  return {name, figures_of(core::Rule{*exact}), figures_of(core::Rule{rounded ? *rounded : *exact}), false};
}

void Suggest::suggest_periods(SuggestReport& report) {
  for (const SuggestedPeriod& period : kPeriods) {
    auto count = smallest_count(period.ns);
    if (!count) continue;
    // Not every rate above a thousand a microsecond fits whole nanoseconds (Quota::make). Of the counts with
    // one interval the lowest fits best, so the next to try is the lowest whose interval is a nanosecond
    // shorter.
    while (*count < period.ns && !Quota::make({*count, std::chrono::nanoseconds{period.ns}})) {
      const std::int64_t interval_ns = (period.ns - 1) / *count + 1;
      *count = (period.ns - 1) / (interval_ns - 1) + 1;
    }
    Suggestion found = suggestion(*count, period.ns, period.name);
    if (found.exact.limit.empty()) continue;
    found.beyond_the_log = beyond_the_log(report.log, std::chrono::nanoseconds{period.ns});
    report.suggestions.push_back(std::move(found));
  }
}

void Suggest::trade_off(SuggestReport& report) {
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
  for (const Suggestion& each : report.suggestions) fastest = std::max(fastest, each.rounded.per_second);
  auto& rows = report.trade_off;
  while (rows.size() > 1 && rows.end()[-1].burst == rows.end()[-2].burst &&
         rows.end()[-2].per_second >= fastest) {
    rows.pop_back();
  }
}

// The rate of the ladder whose burst lies furthest below the straight line from the slowest rate to the
// fastest, with the rate on a logarithmic scale and the burst on a linear one ("Kneedle", Satopaa et al.
// 2011).
void Suggest::suggest_knee(SuggestReport& report) {
  const auto& rows = report.trade_off;
  if (rows.size() < 3) return;
  const double across = std::log(rows.back().per_second / rows.front().per_second);
  const auto fall = static_cast<double>(rows.front().burst - rows.back().burst);
  const TradeOff* knee = nullptr;
  double furthest = fall / 5;  // less is a line that bends nowhere
  for (const TradeOff& each : rows) {
    const double along = std::log(each.per_second / rows.front().per_second) / across;
    const double below = fall * (1 - along) - static_cast<double>(each.burst - rows.back().burst);
    if (below <= furthest) continue;
    furthest = below;
    knee = &each;
  }
  if (knee == nullptr) return;
  const core::Rule rate = core::Rule::parse(knee->rate).value();
  Suggestion found = suggestion(rate.quota.rate().count, rate.quota.rate().period.count(), "knee");
  if (!found.exact.limit.empty()) report.knee.push_back(std::move(found));
}

// The burst that a rate needs lies between those of its neighbours on either side.
std::vector<Suggest::Bracket> Suggest::bursts_between(std::span<const Gap> gaps, double closeness) {
  std::vector<Interval> intervals;
  std::vector<Bracket> found;
  for (const Gap& gap : gaps) {
    intervals.push_back(Interval::of(1, gap.interval_ns));
    found.push_back(gap.bracket);
  }
  if (criterion_.kind != Criterion::Kind::requests) {
    const auto needed = bursts(intervals);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (needed[i]) found[i] = {*needed[i] - 1, *needed[i]};
    }
    return found;
  }
  for (std::size_t at = 0; at < found.size(); at += kTogether) {
    const std::size_t count = std::min(kTogether, found.size() - at);
    const auto begin = found.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<Bracket> some(begin, begin + static_cast<std::ptrdiff_t>(count));
    narrow(std::span(intervals).subspan(at, count), some, closeness);
    std::copy(some.begin(), some.end(), begin);
  }
  return found;
}

// As steps: from each point to the next, faster one the burst of the slower suffices. Gaps that are both wide
// and high are halved until a reader sees none: the line is a five-hundredth of the drawing wide, and twice
// that of its height.
void Suggest::draw_curve(SuggestReport& report) {
  constexpr std::size_t kMostPoints = 1000;
  constexpr double kWide = 1.0 / 500;
  constexpr double kTall = 1.0 / 200;
  std::map<std::int64_t, Bracket, std::greater<>> points;  // by interval, slow to fast
  for (const TradeOff& each : report.trade_off) {
    const auto burst = static_cast<std::uint64_t>(each.burst);
    points[std::llround(1e9 / each.per_second)] = {burst - 1, burst};
  }
  if (report.greater_meets_it_too && !points.empty()) {
    double slowest = report.trade_off.front().per_second;
    for (const Suggestion& each : report.suggestions) slowest = std::min(slowest, each.exact.per_second);
    for (const Figures& each : report.today)
      if (each.on_the_curve) slowest = std::min(slowest, each.per_second);
    const auto first = Interval::of(1, static_cast<std::int64_t>(std::ceil(1e9 / slowest)));
    if (const auto burst = bursts({&first, 1})[0])
      points[static_cast<std::int64_t>(std::ceil(1e9 / slowest))] = {*burst - 1, *burst};
    const auto log_ratio = [](auto more, auto less) {
      return std::log(static_cast<double>(more) / static_cast<double>(less));
    };
    const double across = log_ratio(points.begin()->first, points.rbegin()->first);
    const double up = log_ratio(points.begin()->second.enough, points.rbegin()->second.enough);
    for (bool halved = true; halved && points.size() < kMostPoints;) {
      std::vector<Gap> gaps;
      for (auto slow = points.begin(), fast = std::next(slow); fast != points.end(); slow = fast++) {
        if (log_ratio(slow->first, fast->first) <= across * kWide ||
            log_ratio(slow->second.enough, fast->second.enough) <= up * kTall ||
            slow->first - fast->first < 2)
          continue;
        const double middle =
            std::sqrt(static_cast<double>(slow->first)) * std::sqrt(static_cast<double>(fast->first));
        gaps.push_back({std::clamp(static_cast<std::int64_t>(middle), fast->first + 1, slow->first - 1),
                        {fast->second.too_small, slow->second.enough}});
      }
      const std::vector<Bracket> found = bursts_between(gaps, up * kTall / 2);
      for (std::size_t i = 0; i < gaps.size(); ++i) points[gaps[i].interval_ns] = found[i];
      halved = !gaps.empty();
    }
  }
  for (const auto& [interval_ns, bracket] : points)
    report.curve.push_back({interval_ns, static_cast<std::int64_t>(bracket.enough)});
}

void Suggest::run(SuggestReport& report, const std::vector<core::Rule>& today) {
  suggest_periods(report);
  trade_off(report);
  suggest_knee(report);
  for (const core::Rule& each : today) report.today.push_back(figures_of(each));
  report.greater_meets_it_too = criterion_.kind != Criterion::Kind::requests || report.log.cost == "1";
  draw_curve(report);
  check(report, today);
}

void Suggest::try_on_bad(EventSpool& events, SuggestReport& report) {
  std::vector<Figures*> limits;
  for (std::vector<Suggestion>* some : {&report.suggestions, &report.knee}) {
    for (Suggestion& each : *some) limits.insert(limits.end(), {&each.exact, &each.rounded});
  }
  for (Figures& each : report.today) limits.push_back(&each);
  std::vector<core::Rule> rules;
  for (const Figures* each : limits) rules.push_back(core::Rule::parse(each->limit).value());
  Replay replay(rules, 0);
  events.each([&](const logs::Event& event) { replay.take(event); });
  for (std::size_t i = 0; i < limits.size(); ++i) limits[i]->bad_denied = replay.denials(i, {}).clients;
}

void Suggest::check(SuggestReport& report, const std::vector<core::Rule>& today) {
  std::vector<Suggestion*> suggestions;
  for (std::vector<Suggestion>* some : {&report.suggestions, &report.knee}) {
    for (Suggestion& each : *some) suggestions.push_back(&each);
  }
  std::vector<core::Rule> rules;
  for (const Suggestion* each : suggestions) {
    rules.push_back(core::Rule::parse(each->exact.limit).value());
    rules.push_back(core::Rule::parse(each->rounded.limit).value());
  }
  rules.insert(rules.end(), today.begin(), today.end());
  Replay replay(rules, 0);
  events_.each([&](const logs::Event& event) { replay.take(event); });
  const auto fill = [&](Figures& figures, std::size_t i) {
    const Replay::Denials seen = replay.denials(i, criterion_.good);
    figures.denied = seen.requests;
    figures.clients_denied = seen.clients;
    return criterion_.kind == Criterion::Kind::clients    ? seen.clients
           : criterion_.kind == Criterion::Kind::requests ? seen.requests
                                                          : seen.good_clients;
  };
  for (std::size_t i = 0; i < suggestions.size(); ++i) {
    Suggestion& suggestion = *suggestions[i];
    const std::uint64_t judged = fill(suggestion.exact, 2 * i);
    if (judged > criterion_.most) {
      throw std::logic_error("the replay of " + suggestion.exact.limit + " denied " + std::to_string(judged) +
                             ", not at most " + std::to_string(criterion_.most) +
                             ": this is a bug in weir; please report it");
    }
    // Where costs differ, a greater limit may deny more requests: it lets one in that fills it.
    if (fill(suggestion.rounded, 2 * i + 1) > criterion_.most) suggestion.rounded = suggestion.exact;
  }
  if (!report.today.empty()) fill(report.today[0], 2 * suggestions.size());
}

}  // namespace weir::sim
