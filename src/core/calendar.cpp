#include "core/calendar.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/nearest.hpp"
#include "core/system_time_zones.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::days;
using std::chrono::nanoseconds;
using std::chrono::seconds;

struct UnitName {
  std::string_view text;
  Calendar::Unit unit;
};
// The first name of each is the one that is printed.
constexpr std::array kUnitNames = {
    UnitName{"hour", Calendar::Unit::hour},   UnitName{"h", Calendar::Unit::hour},
    UnitName{"day", Calendar::Unit::day},     UnitName{"d", Calendar::Unit::day},
    UnitName{"week", Calendar::Unit::week},   UnitName{"w", Calendar::Unit::week},
    UnitName{"month", Calendar::Unit::month}, UnitName{"year", Calendar::Unit::year}};

// No two places are further apart, so no clock shifts by more.
constexpr seconds kMostShift = std::chrono::hours{26};
// Ids count from there: no local date or hour is before it.
constexpr days kFirstDate{-731};  // 1968-01-01

constexpr nanoseconds kLatest = std::chrono::sys_days{std::chrono::year{2222} / 1 / 1}.time_since_epoch();

class Utc final : public TimeZone {
 public:
  Span at(seconds /*utc*/) const override { return {seconds::min() / 2, seconds::max() / 2, seconds{0}}; }
};

std::atomic<const TimeZones*> the_zones{nullptr};  // null: the system's

const TimeZones& zones_in_use() {
  const TimeZones* const given = the_zones.load(std::memory_order_acquire);
  return given == nullptr ? system_time_zones() : *given;
}

days floor_days(seconds local) { return std::chrono::floor<days>(local); }

// The first date of the window that a date lies in, and of the one after it.
std::pair<days, days> dates_of(Calendar::Unit unit, days date) {
  using std::chrono::year_month_day;
  const std::chrono::sys_days day{date};
  const year_month_day said{day};
  const auto since = [](year_month_day first) { return std::chrono::sys_days{first}.time_since_epoch(); };
  switch (unit) {
    case Calendar::Unit::week: {
      const days monday = date - (std::chrono::weekday{day} - std::chrono::Monday);
      return {monday, monday + days{7}};
    }
    case Calendar::Unit::month: {
      const auto next = said.year() / said.month() + std::chrono::months{1};
      return {since(said.year() / said.month() / 1), since(next / 1)};
    }
    case Calendar::Unit::year:
      return {since(said.year() / 1 / 1), since((said.year() + std::chrono::years{1}) / 1 / 1)};
    case Calendar::Unit::day:
    case Calendar::Unit::hour:
      break;
  }
  return {date, date + days{1}};
}

std::string unknown_zone(const TimeZones& zones, std::string_view zone) {
  const std::string text = "no time zone '" + std::string(zone) + "' in " + zones.folder();
  const std::string closest = nearest_zone(zones, zone);
  return closest.empty() ? text : text + "; did you mean " + closest + "?";
}

tl::expected<const TimeZone*, std::string> clocks_of(std::string_view zone) {
  static const Utc kUtc;
  if (zone == "UTC") return &kUtc;
  const TimeZones& zones = zones_in_use();
  try {
    if (const TimeZone* const found = zones.find(zone)) return found;
    return tl::unexpected(unknown_zone(zones, zone));
  } catch (const std::runtime_error& error) {
    return tl::unexpected("time zone '" + std::string(zone) + "': " + error.what());
  }
}

}  // namespace

void use_time_zones(const TimeZones& zones) { the_zones.store(&zones, std::memory_order_release); }

std::string nearest_zone(const TimeZones& zones, std::string_view name) {
  const std::vector<std::string> names = zones.names();
  for (const std::string& each : names) {
    if (!name.empty() && each.ends_with("/" + std::string(name))) return each;  // a place without its area
  }
  return nearest(name, names);
}

std::optional<Calendar::Unit> Calendar::unit_named(std::string_view text) {
  const auto* const found = std::find_if(kUnitNames.begin(), kUnitNames.end(),
                                         [&](const UnitName& each) { return each.text == text; });
  return found == kUnitNames.end() ? std::nullopt : std::optional(found->unit);
}

std::string_view Calendar::name_of(Unit unit) {
  return std::find_if(kUnitNames.begin(), kUnitNames.end(),
                      [&](const UnitName& each) { return each.unit == unit; })
      ->text;
}

nanoseconds Calendar::nominal(Unit unit) {
  switch (unit) {
    case Unit::hour:
      return std::chrono::hours{1};
    case Unit::day:
      return days{1};
    case Unit::week:
      return std::chrono::weeks{1};
    case Unit::month:
      return std::chrono::months{1};
    case Unit::year:
      break;
  }
  return std::chrono::years{1};
}

tl::expected<const Calendar*, std::string> Calendar::find(Unit unit, std::string_view zone) {
  static weir::detail::Mutex mutex;
  static std::map<std::pair<Unit, std::string>, std::unique_ptr<const Calendar>> known WEIR_GUARDED_BY(mutex);
  const weir::detail::Held lock(mutex);
  const std::pair<Unit, std::string> name(unit, zone);
  if (const auto found = known.find(name); found != known.end()) return found->second.get();
  const auto clocks = clocks_of(zone);
  if (!clocks) return tl::unexpected(clocks.error());
  return known.emplace(name, std::make_unique<const Calendar>(unit, name.second, **clocks))
      .first->second.get();
}

// A sequence lock: who reads while it is written takes nothing, and looks up.
CalendarWindow Calendar::Last::read() const {
  const std::uint32_t before = version_.load(std::memory_order_acquire);
  const CalendarWindow window{nanoseconds{words_[0].load(std::memory_order_acquire)},
                              nanoseconds{words_[1].load(std::memory_order_acquire)},
                              static_cast<std::uint64_t>(words_[2].load(std::memory_order_acquire))};
  const bool whole = before % 2 == 0 && version_.load(std::memory_order_relaxed) == before;
  return whole ? window : CalendarWindow{};
}

void Calendar::Last::write(const CalendarWindow& window) {
  std::uint32_t before = version_.load(std::memory_order_relaxed);
  if (before % 2 != 0 || !version_.compare_exchange_strong(before, before + 1, std::memory_order_acquire))
    return;  // another thread writes
  words_[0].store(window.begin.count(), std::memory_order_release);
  words_[1].store(window.end.count(), std::memory_order_release);
  words_[2].store(static_cast<std::int64_t>(window.id), std::memory_order_release);
  version_.store(before + 2, std::memory_order_release);
}

CalendarWindow Calendar::look_up(nanoseconds utc) const {
  const seconds second = std::chrono::floor<seconds>(std::clamp(utc, nanoseconds{0}, kLatest));
  const CalendarWindow window = unit_ == Unit::hour ? hour_at(second) : from_date(date_at(second));
  last_.write(window);
  return window;
}

CalendarWindow Calendar::of(std::uint64_t id) const {
  if (unit_ != Unit::hour) return from_date(kFirstDate + days{id});
  return hour_at(kFirstDate + std::chrono::minutes{id + 1} - seconds{1});
}

// Spans may follow each other with the same offset: only where it differs do the clocks shift.
CalendarWindow Calendar::hour_at(seconds utc) const {
  TimeZone::Span span = clocks_.at(utc);
  const seconds east = span.east;
  const seconds full = std::chrono::floor<std::chrono::hours>(utc + east) - east;
  const seconds next = full + std::chrono::hours{1};
  seconds begin = full;
  seconds end = next;
  for (TimeZone::Span before = span; before.from > full;) {
    const seconds shift = before.from;
    before = clocks_.at(shift - seconds{1});
    if (before.east == east) continue;
    begin = shift;
    break;
  }
  while (span.to < next) {
    const seconds shift = span.to;
    span = clocks_.at(shift);
    if (span.east == east) continue;
    end = shift;
    break;
  }
  const auto minute = std::chrono::floor<std::chrono::minutes>(begin) - kFirstDate;
  return {begin, end, static_cast<std::uint64_t>(minute.count())};
}

// The latest date that the clocks have shown by then.
days Calendar::date_at(seconds utc) const {
  TimeZone::Span span = clocks_.at(utc);
  days date = floor_days(utc + span.east);
  while (span.from > utc - kMostShift) {
    const seconds last = span.from - seconds{1};
    span = clocks_.at(last);
    date = std::max(date, floor_days(last + span.east));
  }
  return date;
}

// At which the clocks show that date, or one after it, for the first time.
seconds Calendar::first_instant(days date) const {
  seconds from = date - kMostShift;
  for (;;) {
    const TimeZone::Span span = clocks_.at(from);
    const seconds midnight = std::max(from, date - span.east);
    if (midnight < span.to) return midnight;
    from = span.to;
  }
}

CalendarWindow Calendar::from_date(days date) const {
  const auto [first, next] = dates_of(unit_, date);
  return {first_instant(first), first_instant(next),
          static_cast<std::uint64_t>((first - kFirstDate).count())};
}

}  // namespace weir::core
