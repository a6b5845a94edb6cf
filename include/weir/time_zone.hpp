// Time zones, as windows by the calendar need them: when the clocks of a place are how far from UTC.
//
// The system's are there by themselves; a program with others gives them to weir::Limits::use_time_zones().
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "weir/version.hpp"

namespace weir::inline v0_1 {

class TimeZone {
 public:
  // In [from, to), seconds since 1970 in UTC, the clocks are `east` ahead of UTC.
  struct Span {
    std::chrono::seconds from;
    std::chrono::seconds to;
    std::chrono::seconds east;
  };

  virtual ~TimeZone() = default;
  // The span that `utc` lies in. Any thread.
  [[nodiscard]] virtual Span at(std::chrono::seconds utc) const = 0;

 protected:
  TimeZone() = default;
  TimeZone(const TimeZone&) = default;
  TimeZone& operator=(const TimeZone&) = default;
};

// Any thread may call any member. What it finds lives as long as it does.
class TimeZones {
 public:
  virtual ~TimeZones() = default;
  // Null: there is no such zone. Throws std::runtime_error when there is no database.
  [[nodiscard]] virtual const TimeZone* find(std::string_view name) const = 0;
  // All of them, for a message that names the closest.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // Where it looked, for a message.
  [[nodiscard]] virtual std::string folder() const = 0;

 protected:
  TimeZones() = default;
  TimeZones(const TimeZones&) = default;
  TimeZones& operator=(const TimeZones&) = default;
};

}  // namespace weir
