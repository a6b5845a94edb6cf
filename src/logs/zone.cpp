#include "logs/zone.hpp"

#include <chrono>

#include "core/digits.hpp"
#include "core/system_time_zones.hpp"

namespace weir::inline v0_1::logs {

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
  Zone zone;
  zone.place_ = core::system_time_zones().find(text);
  if (zone.place_ == nullptr) return std::nullopt;
  return zone;
}

// The spans in which the clocks show that time are sought around it, in order: an hour that comes twice is in
// two of them, one that is left out in none.
std::int32_t Zone::look_up(std::int64_t local_s, std::int64_t last_s) {
  constexpr std::int64_t kWellBefore = 300;
  constexpr std::int64_t kMostEast = kDay + std::int64_t{2} * 3600;  // no clock is that far from Greenwich
  const auto east_of = [](const TimeZone::Span& span) {
    return static_cast<std::int32_t>(span.east.count());
  };
  std::optional<TimeZone::Span> first;
  std::int32_t before = 0;  // of the last span that had ended by then
  for (std::int64_t utc_s = local_s - kMostEast; utc_s <= local_s + kMostEast;) {
    const TimeZone::Span span = place_->at(std::chrono::seconds{utc_s});
    const std::int64_t then_s = local_s - east_of(span);
    utc_s = span.to.count();
    if (then_s >= utc_s) before = east_of(span);
    if (then_s < span.from.count() || then_s >= utc_s) continue;
    if (first) return local_s - east_of(*first) + kWellBefore >= last_s ? east_of(*first) : east_of(span);
    first = span;
  }
  if (!first) return before;
  // Within a day of a change an hour may come twice, or not at all.
  same_from_ = first->from.count() + east_of(*first) + kDay;
  same_to_ = first->to.count() + east_of(*first) - kDay;
  offset_ = east_of(*first);
  return offset_;
}

}  // namespace weir::logs
