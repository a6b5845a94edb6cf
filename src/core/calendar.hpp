// Windows of the calendar: an hour, a day, a week, a month or a year, as the clocks of a place show it.
//
// A day begins at the first instant of its date (midnight may not exist), a week on Monday, a month on the
// 1st, a year on 1 January; an hour begins at a full local hour or where the clocks shift, and ends at the
// next of either. Where clocks that go back would return to the date before, the day that has begun goes on.
// docs/algorithm.md has it under "By the calendar".
//
// Any thread may call anything. A calendar lives as long as the program: there are no more than zones and
// units. It reads no clock; the times are those of a UTC clock without leap seconds.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "weir/time_zone.hpp"

namespace weir::inline v0_1::core {

// A window [begin, end), ns since 1970 in UTC.
struct CalendarWindow {
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
  // Which one it is: later windows have greater ones. A day or longer is known by its first date wherever it
  // begins, an hour by its beginning in UTC, so that another zone counts the same window on.
  std::uint64_t id = 0;  // below 2^27

  friend constexpr bool operator==(const CalendarWindow&, const CalendarWindow&) = default;
};

class Calendar {
 public:
  enum class Unit : std::uint8_t { hour, day, week, month, year };

  // A unit as a rule's period says it: "h", "hour", "d", "day", "w", "week", "month", "year".
  static std::optional<Unit> unit_named(std::string_view text);
  // How it is printed: "hour", "day".
  static std::string_view name_of(Unit unit);
  // What stands for its length in a quota. Of a month and a year it is the mean, which no other period is;
  // no window is measured by it.
  static std::chrono::nanoseconds nominal(Unit unit);

  // Of a zone such as "Europe/Berlin", or "UTC". A sentence for people when it is not known.
  static tl::expected<const Calendar*, std::string> find(Unit unit, std::string_view zone);

  Calendar(Unit unit, std::string zone, const TimeZone& clocks)
      : unit_(unit), zone_(std::move(zone)), clocks_(clocks) {}
  Calendar(const Calendar&) = delete;
  Calendar& operator=(const Calendar&) = delete;

  Unit unit() const { return unit_; }
  const std::string& zone() const { return zone_; }

  // The window that runs at a time from 1970 to 2221.
  CalendarWindow at(std::chrono::nanoseconds utc) const {
    const CalendarWindow last = last_.read();
    return utc >= last.begin && utc < last.end ? last : look_up(utc);
  }
  // The one with that id, or that holds it: another zone may have had other hours.
  CalendarWindow of(std::uint64_t id) const;

 private:
  // The window that was found last, which is mostly the one that is asked for.
  class Last {
   public:
    CalendarWindow read() const;
    void write(const CalendarWindow& window);

   private:
    std::atomic<std::uint32_t> version_{0};  // odd while it is written
    std::array<std::atomic<std::int64_t>, 3> words_{};
  };

  CalendarWindow look_up(std::chrono::nanoseconds utc) const;
  CalendarWindow hour_at(std::chrono::seconds utc) const;
  std::chrono::days date_at(std::chrono::seconds utc) const;
  std::chrono::seconds first_instant(std::chrono::days date) const;
  CalendarWindow from_date(std::chrono::days first) const;

  const Unit unit_;
  const std::string zone_;
  const TimeZone& clocks_;
  mutable Last last_;
};

// The database that Calendar::find() asks from now on, not the system's; it must live as long as the program.
void use_time_zones(const TimeZones& zones);

// The zone that was meant, for a message: "Europe/Berlin" by "Berlin" or "Europe/Berln". Empty: none is near.
// Throws as TimeZones does.
std::string nearest_zone(const TimeZones& zones, std::string_view name);

}  // namespace weir::core
