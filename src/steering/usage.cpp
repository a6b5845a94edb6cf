#include "steering/usage.hpp"

#include <algorithm>

namespace weir::inline v0_1::steering {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kHour = std::chrono::hours{1};
constexpr nanoseconds kLeastPeriod = std::chrono::minutes{1};

std::int64_t hour_of(nanoseconds utc) { return utc / kHour; }

}  // namespace

UsageWindow UsageWindow::of(const core::Rule& rule) {
  if (rule.calendar != nullptr) return {nanoseconds{0}, rule.calendar};
  const nanoseconds period = rule.quota.rate().period;
  return {std::max(period, kLeastPeriod), nullptr};
}

UsagePeriod UsageWindow::at(nanoseconds utc) const {
  if (calendar != nullptr) {
    const core::CalendarWindow window = calendar->at(utc);
    return {window.begin, window.end};
  }
  const nanoseconds began = utc / length * length;
  return {began, began + length};
}

// What comes late is of the period before, or of none that is told any more.
void Usage::Kept::book(const UnitChange& change, nanoseconds utc) {
  const UsagePeriod now = window.at(utc);
  if (now.began < period.began) {
    if (now.ends == period.began) last = change.applied_to(last);
    return;
  }
  if (now.began > period.began) {
    last = now.began == period.ends ? used : 0;
    used = 0;
    period = now;
  }
  used = change.applied_to(used);
}

Usage::OfWindow Usage::Kept::at(nanoseconds utc) const {
  const UsagePeriod now = window.at(utc);
  const auto told = [](std::int64_t units) { return static_cast<std::uint64_t>(units); };
  if (now.began <= period.began) return {told(used), told(last), period};
  return {0, now.began == period.ends ? told(used) : 0, now};
}

void Usage::book(const std::vector<UsageWindow>& in, const UnitChange& change, nanoseconds utc) {
  // Of another file's windows nothing is told.
  std::erase_if(windows,
                [&in](const Kept& kept) { return std::find(in.begin(), in.end(), kept.window) == in.end(); });
  for (const UsageWindow& each : in) {
    auto kept =
        std::find_if(windows.begin(), windows.end(), [&each](const Kept& k) { return k.window == each; });
    if (kept == windows.end()) kept = windows.insert(windows.end(), Kept{each, {}, 0, 0});
    kept->book(change, utc);
  }
  const std::int64_t now = hour_of(utc);
  constexpr auto kAll = static_cast<std::int64_t>(kHours);
  if (now <= hour - kAll) return;
  for (std::int64_t each = std::max(hour + 1, now - kAll + 1); each <= now; ++each)
    hours[static_cast<std::size_t>(each) % kHours] = 0;
  hour = std::max(hour, now);
  std::int64_t& units = hours[static_cast<std::size_t>(now) % kHours];
  units = change.applied_to(units);
}

Usage::OfWindow Usage::of(const UsageWindow& window, nanoseconds utc) const {
  for (const Kept& each : windows)
    if (each.window == window) return each.at(utc);
  return {0, 0, window.at(utc)};
}

std::array<std::uint64_t, Usage::kHours> Usage::hours_at(nanoseconds utc) const {
  std::array<std::uint64_t, kHours> told{};
  constexpr auto kAll = static_cast<std::int64_t>(kHours);
  const std::int64_t now = std::max(hour, hour_of(utc));
  for (std::int64_t i = 0; i < kAll; ++i) {
    const std::int64_t each = now - kAll + 1 + i;
    if (each >= 0 && each <= hour && each > hour - kAll)
      told[static_cast<std::size_t>(i)] =
          static_cast<std::uint64_t>(hours[static_cast<std::size_t>(each) % kHours]);
  }
  return told;
}

nanoseconds Usage::over() const {
  nanoseconds last = (hour + static_cast<std::int64_t>(kHours)) * kHour;
  for (const Kept& each : windows) last = std::max(last, each.over());
  return last;
}

nanoseconds next_end(const std::vector<UsageWindow>& windows, nanoseconds utc) {
  nanoseconds first = (hour_of(utc) + 1) * kHour;
  for (const UsageWindow& each : windows) first = std::min(first, each.at(utc).ends);
  return first;
}

}  // namespace weir::steering
