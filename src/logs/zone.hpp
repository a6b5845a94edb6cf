// The zone of times that name none: so far from Greenwich, or as a place has it.
//
// One thread at a time: a zone of a place remembers the offset that it found last. Copies are independent.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/time_zone.hpp"

namespace weir::inline v0_1::logs {

inline constexpr std::int64_t kSecond = 1'000'000'000;  // in ns
inline constexpr std::int64_t kDay = 86'400;            // in s

class Zone {
 public:
  explicit Zone(std::int32_t seconds = 0) : offset_(seconds) {}

  // "+0100", "-05:30", "Z", or "Europe/Berlin" of the system's time zone database. Nothing for anything else.
  // Throws std::runtime_error when the system has no database.
  static std::optional<Zone> of(std::string_view text);

  bool is_place() const { return place_ != nullptr; }

  // Seconds east of Greenwich, when the clocks there show `local_s`. An hour that comes twice is the earlier
  // one, or the later one where the earlier is well before `last_s`, the time (UTC) of the line before: a log
  // goes forwards. Of an hour that is left out, the offset before it.
  std::int32_t offset_at(std::int64_t local_s, std::int64_t last_s) {
    if (place_ == nullptr || (local_s >= same_from_ && local_s < same_to_)) return offset_;
    return look_up(local_s, last_s);
  }

 private:
  std::int32_t look_up(std::int64_t local_s, std::int64_t last_s);

  const TimeZone* place_ = nullptr;  // the database's, which is never freed
  std::int32_t offset_;
  // Where a place has had this offset for a day, and will have it for another: local seconds since 1970.
  std::int64_t same_from_ = 0;
  std::int64_t same_to_ = 0;
};

// "+0100", "-05:30", "Z": seconds east of Greenwich. False for anything else.
bool parse_zone(std::string_view text, std::int32_t& seconds);

}  // namespace weir::logs
