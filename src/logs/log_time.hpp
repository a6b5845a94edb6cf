// The times in logs, as nanoseconds since 1970 (UTC, leap seconds not counted: POSIX time).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::inline v0_1::logs {

// What is wrong with a time, or nullptr.
using TimeFault = const char*;

class TimeReader {
 public:
  // `zone_s`: seconds east of Greenwich, for times that name no zone.
  explicit TimeReader(std::int32_t zone_s = 0) : zone_s_(zone_s) {}

  // "21/Nov/2026:05:49:47.5 +0100", ISO 8601 with dashes or slashes, or a number (docs/replay.md). At most
  // nine decimals count.
  TimeFault read(std::string_view text, std::int64_t& ns);
  // Only the first of these forms, the one between a log's brackets.
  TimeFault read_clf(std::string_view text, std::int64_t& ns);

 private:
  TimeFault read_iso(std::string_view text, std::int64_t& ns) const;
  static TimeFault read_number(std::string_view text, std::int64_t& ns);

  std::int32_t zone_s_;
  // The last line's day, since most lines have the same: its text and its days since 1970.
  std::array<char, 11> day_text_{};
  std::int64_t day_ = 0;
};

// "+0100", "-05:30", "Z": seconds east of Greenwich. False for anything else.
bool parse_zone(std::string_view text, std::int32_t& seconds);

}  // namespace weir::logs
