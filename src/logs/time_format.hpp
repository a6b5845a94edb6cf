// How times are written that no known form has: a pattern such as %d.%m.%Y %H:%M:%S, or the name of a count.
//
// Plain values, any thread. Not for: the forms that need no telling (log_time.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::inline v0_1::logs {

// What is wrong with a time, or nullptr.
using TimeFault = const char*;

class TimeFormat {
 public:
  // Throws std::runtime_error.
  static TimeFormat parse(const std::string& text);

  // What a text says: a moment on a clock, or, where it says the zone, that too.
  struct ClockReading {
    std::int64_t second = 0;  // since 1970, as that clock shows it
    std::int64_t ns = 0;      // within the second
    std::optional<std::int32_t> zone_s;
    bool names_zone = false;  // in letters that say no offset: CEST
  };
  // `year`: of a pattern without one.
  TimeFault read(std::string_view text, ClockReading& moment, int year = 0) const;

  bool has_year() const { return has_year_; }

 private:
  struct Count {
    std::string_view name;
    std::int64_t unit_ns;
    std::int64_t from_s;  // what 0 is, since 1970
    bool local;           // the clock's time, and not Greenwich's
  };
  static const Count* count_called(std::string_view name);

  TimeFault read_count(std::string_view text, ClockReading& moment) const;

  std::string pattern_;
  bool has_year_ = true;
  const Count* count_ = nullptr;  // in place of a pattern
};

}  // namespace weir::logs
