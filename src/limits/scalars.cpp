#include "limits/scalars.hpp"

#include <algorithm>
#include <optional>

#include "core/digits.hpp"
#include "core/duration.hpp"
#include "core/number.hpp"
#include "core/utc_text.hpp"
#include "limits/findings.hpp"

namespace weir::inline v0_1::limits {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kLongestName = 64;

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

std::string wrong(std::string_view text, std::string_view marks, std::string_view allowed) {
  const bool right = !text.empty() && text.size() <= kLongestName && is_lower(text.front()) &&
                     std::all_of(text.begin(), text.end(), [marks](char c) {
                       return is_lower(c) || core::is_digit(c) || marks.find(c) != std::string_view::npos;
                     });
  return right ? "" : in_quotes(text) + " is not a name; " + std::string(allowed);
}

// "Z", "+01:00": east of Greenwich.
std::optional<std::chrono::minutes> zone_of(std::string_view text) {
  using std::chrono::minutes;
  if (text == "Z" || text == "z") return minutes{0};
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = core::digits_at(text, 1, 2);
  const int rest = core::digits_at(text, 4, 2);
  if (hours < 0 || hours > 23 || rest < 0 || rest > 59) return std::nullopt;
  return minutes{(hours * 60 + rest) * (text[0] == '-' ? -1 : 1)};
}

// The clock and the zone after a date: "T12:00:00.5Z".
std::optional<nanoseconds> clock_of(std::string_view text) {
  constexpr std::string_view kBetween = "Tt ";
  if (text.size() < 10 || kBetween.find(text[0]) == std::string_view::npos) return std::nullopt;
  const int hour = core::digits_at(text, 1, 2);
  const int minute = core::digits_at(text, 4, 2);
  const int second = core::digits_at(text, 7, 2);
  if (text[3] != ':' || text[6] != ':' || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60)  // a leap second
    return std::nullopt;
  std::size_t at = 9;
  std::int64_t fraction = 0;
  if (text[at] == '.') {
    if (++at == text.size() || !core::is_digit(text[at])) return std::nullopt;
    for (std::int64_t unit = 100'000'000; at < text.size() && core::is_digit(text[at]); ++at, unit /= 10)
      fraction += (text[at] - '0') * unit;
  }
  const auto zone = zone_of(text.substr(at));
  if (!zone) return std::nullopt;
  return std::chrono::hours{hour} + std::chrono::minutes{minute} + std::chrono::seconds{second} +
         nanoseconds{fraction} - *zone;
}

}  // namespace

std::string wrong_name(std::string_view text) {
  return wrong(text, "_-", "it begins with a-z and has at most 64 of a-z, 0-9, _ and -");
}

std::string wrong_attribute(std::string_view text) {
  return wrong(text, "_.-", "it begins with a-z and has at most 64 of a-z, 0-9, _, . and -");
}

Read<std::uint64_t> read_integer(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto value = core::number_in<std::uint64_t>(text);
  if (value && *value >= least && *value <= most) return *value;
  return tl::unexpected(in_quotes(text) + " is not a whole number from " + std::to_string(least) + " to " +
                        std::to_string(most));
}

Read<bool> read_switch(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return tl::unexpected(in_quotes(text) + " is neither true nor false");
}

Read<Share> read_share(std::string_view text) {
  const auto refused = [text] {
    return tl::unexpected(in_quotes(text) + " is not a share from 0% to 100%, such as 20% or 12.5%");
  };
  if (!text.ends_with('%')) return refused();
  const std::string_view number = text.substr(0, text.size() - 1);
  const std::size_t point = std::min(number.find('.'), number.size());
  const std::string_view decimals = number.substr(std::min(point + 1, number.size()));
  constexpr std::size_t kMostDecimals = 4;
  if (point == 0 || point > 3 || decimals.size() > kMostDecimals ||
      (decimals.empty() && point < number.size()))
    return refused();
  int value = core::digits_at(number, 0, point);
  if (value < 0) return refused();
  for (std::size_t i = 0; i < kMostDecimals; ++i) {
    if (i < decimals.size() && !core::is_digit(decimals[i])) return refused();
    value = value * 10 + (i < decimals.size() ? decimals[i] - '0' : 0);
  }
  if (value > static_cast<int>(Share::kWhole)) return refused();
  return Share{static_cast<std::uint32_t>(value)};
}

Read<nanoseconds> read_time_span(std::string_view text) {
  const core::ScaledNumber read = core::read_duration(text);
  if (read.fault == core::NumberFault::none && read.value.count() >= 0) return read.value;
  if (read.fault == core::NumberFault::out_of_range)
    return tl::unexpected(in_quotes(text) + " is above the maximum (" + core::to_text(nanoseconds::max()) +
                          ")");
  return tl::unexpected(in_quotes(text) + " is not a time such as 250ms, 10s, 1.5h or 1d");
}

Read<Time> read_time(std::string_view text) {
  const auto refused = [text](std::string_view what) {
    return tl::unexpected(in_quotes(text) + std::string(what) +
                          "; write 2026-12-01, which is its midnight in UTC, or 2026-12-01T12:00:00Z");
  };
  const int year = core::digits_at(text, 0, 4);
  const int month = core::digits_at(text, 5, 2);
  const int day = core::digits_at(text, 8, 2);
  if (year < 0 || month < 0 || day < 0 || text[4] != '-' || text[7] != '-')
    return refused(" is not a date or a time of RFC 3339");
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return refused(" is not in the calendar");
  if (year < 1970 || year > 2261) return refused(" is not from 1970 to 2261");
  const Time midnight = std::chrono::sys_days{date};
  if (text.size() == 10) return midnight;
  const auto clock = clock_of(text.substr(10));
  if (!clock) return refused(" is not a date or a time of RFC 3339");
  return midnight + *clock;
}

namespace {

// Of `whole` parts, which is a power of ten.
std::string with_decimals(std::uint32_t number, std::uint32_t whole) {
  std::string text = std::to_string(number / whole);
  if (const std::uint32_t rest = number % whole; rest != 0) {
    std::string decimals = std::to_string(whole + rest).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += "." + decimals;
  }
  return text;
}

}  // namespace

std::string to_text(Share share) { return with_decimals(share.millionths, 10'000) + "%"; }

std::string thousandths(std::uint32_t number) { return with_decimals(number, 1000); }

std::string to_text(Time time) { return core::utc_text(time.time_since_epoch().count()); }

}  // namespace weir::limits
