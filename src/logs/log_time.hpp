// The times in logs, as nanoseconds since 1970 (UTC, leap seconds not counted: POSIX time).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "logs/time_format.hpp"
#include "logs/zone.hpp"

namespace weir::inline v0_1::logs {

// What is said of a time that has no date, such as 05:49:47; told by its address.
inline constexpr char kNoDateText[] = "the time has no date; --time DATE,TIME names two fields";
inline constexpr TimeFault kNoDate = kNoDateText;

class TimeReader {
 public:
  // `zone`: of times that name none. `format`: how they are written, where it is said.
  explicit TimeReader(Zone zone = Zone(), std::optional<TimeFormat> format = {})
      : zone_(zone), format_(std::move(format)) {}

  // "21/Nov/2026:05:49:47.5 +0100", ISO 8601 with dashes or slashes, or a number (docs/replay.md). At most
  // nine decimals count.
  TimeFault read(std::string_view text, std::int64_t& ns);
  // Only the first of these forms, the one between a log's brackets.
  TimeFault read_clf(std::string_view text, std::int64_t& ns);

  bool has_format() const { return format_.has_value(); }

  // Of a format without a year: the first time read is in the last year in which it is not after this, and
  // each later one in the year in which it is nearest to the one before. Until it is told, that is now.
  void set_newest(std::int64_t ns) { newest_s_ = ns / 1'000'000'000; }
  bool lacks_year() const { return format_ && !format_->has_year(); }

 private:
  TimeFault read_iso(std::string_view text, std::int64_t& ns);
  static TimeFault read_number(std::string_view text, std::int64_t& ns);
  TimeFault read_format(const TimeFormat& format, std::string_view text, std::int64_t& ns);
  TimeFault read_without_year(const TimeFormat& format, std::string_view text,
                              TimeFormat::ClockReading& moment) const;
  TimeFault in_zone(std::int64_t local_s, std::int64_t ns_of_it, std::optional<std::int32_t> own,
                    std::int64_t& ns);

  Zone zone_;
  std::optional<TimeFormat> format_;
  std::int64_t last_s_ = 0;  // UTC, of the time read last
  std::optional<std::int64_t> newest_s_;
  // The last line's day, since most lines have the same: its text and its days since 1970.
  std::array<char, 11> day_text_{};
  std::int64_t day_ = 0;
};

}  // namespace weir::logs
