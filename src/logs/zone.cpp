#include "logs/zone.hpp"

#include <date/tz.h>

#include <stdexcept>

#include "core/digits.hpp"

namespace weir::inline v0_1::logs {
namespace {

const date::tzdb& database() {
  std::string why = "it is empty";
  try {
    const date::tzdb& found = date::get_tzdb();
    if (!found.zones.empty()) return found;
  } catch (const std::exception& error) {
    why = error.what();
    while (why.ends_with('\n')) why.pop_back();
  }
  throw std::runtime_error(
      "zone: places need the system's time zone database in /usr/share/zoneinfo, Debian's package tzdata: " +
      why);
}

}  // namespace

bool parse_zone(std::string_view text, std::int32_t& seconds) {
  if (text == "Z" || text == "z" || text == "UTC" || text == "GMT") {
    seconds = 0;
    return true;
  }
  const bool colon = text.size() == 6 && text[3] == ':';
  if ((text.size() != 5 && !colon) || (text[0] != '+' && text[0] != '-')) return false;
  const int hours = core::digits_at(text, 1, 2);
  const int minutes = core::digits_at(text, colon ? 4 : 3, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
  seconds = (hours * 3600 + minutes * 60) * (text[0] == '-' ? -1 : 1);
  return true;
}

std::optional<Zone> Zone::of(std::string_view text) {
  std::int32_t seconds = 0;
  if (parse_zone(text, seconds)) return Zone(seconds);
  for (const date::time_zone& each : database().zones) {
    if (each.name() != text) continue;
    Zone zone;
    zone.place_ = &each;
    return zone;
  }
  return std::nullopt;
}

std::vector<std::string> Zone::places() {
  std::vector<std::string> names;
  for (const date::time_zone& each : database().zones) names.push_back(each.name());
  return names;
}

std::int32_t Zone::look_up(std::int64_t local_s, std::int64_t last_s) {
  using std::chrono::seconds;
  const date::local_info info = place_->get_info(date::local_seconds(seconds(local_s)));
  const auto first = static_cast<std::int32_t>(info.first.offset.count());
  if (info.result == date::local_info::ambiguous) {
    constexpr std::int64_t kWellBefore = 300;
    const bool earlier = local_s - first + kWellBefore >= last_s;
    return earlier ? first : static_cast<std::int32_t>(info.second.offset.count());
  }
  if (info.result == date::local_info::nonexistent) return first;
  // Within a day of a change an hour may come twice, or not at all.
  same_from_ = info.first.begin.time_since_epoch().count() + first + kDay;
  same_to_ = info.first.end.time_since_epoch().count() + first - kDay;
  offset_ = first;
  return first;
}

}  // namespace weir::logs
