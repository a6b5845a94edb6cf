// How clocks shift in each year from now on, as POSIX' TZ says it: "CET-1CEST,M3.5.0,M10.5.0/3". The last
// line of a time zone's file, for all times after the shifts that it lists (RFC 9636, section 3.3.1).
//
// A value. Not for: TZ's other forms, as ":Europe/Berlin".
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "weir/time_zone.hpp"

namespace weir::inline v0_1::core {

class TimeZoneRule {
 public:
  // Nothing: it is not in that form.
  static std::optional<TimeZoneRule> parse(std::string_view text);

  TimeZone::Span at(std::chrono::seconds utc) const;

 private:
  // A moment of each year, as the clocks show it that are about to shift.
  struct Moment {
    enum class Form { day_without_leap, day_from_zero, weekday_of_month };

    std::chrono::seconds in(std::chrono::year year) const;

    Form form = Form::day_from_zero;
    unsigned month = 1;
    unsigned week = 1;  // 5: the last
    unsigned day = 0;   // of the year, or of the week from Sunday
    std::chrono::seconds time = std::chrono::hours{2};
  };
  struct Summer {
    std::chrono::seconds east{};
    Moment begins;
    Moment ends;
  };
  class Reader;

  std::chrono::seconds standard_{};  // east of UTC
  std::optional<Summer> summer_;
};

}  // namespace weir::core
