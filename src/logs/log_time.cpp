#include "logs/log_time.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>

#include "core/digits.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::int64_t kEnd = 4'102'444'800 * kSecond;  // 2100-01-01

// Of a number nothing else tells what it is. A duration, a serial day of Excel and seconds since 2001 are
// before 2000 as a time since 1970, and so are a FILETIME and ticks of 100 ns since the year 1, as
// nanoseconds; seconds since 1900 are after 2079.
constexpr std::int64_t kFirstNumber = 946'684'800 * kSecond;     // 2000-01-01
constexpr std::int64_t kEndOfNumbers = 3'471'292'800 * kSecond;  // 2080-01-01

constexpr TimeFault kNoCount =
    "the number is not a time from 2000 to 2079 in s, ms, us or ns since 1970; --time-format reads excel, "
    "filetime, webkit and ticks";
constexpr TimeFault kNotATime = "the time is in no known format";
constexpr TimeFault kNoSuchTime = "the time does not exist";
constexpr TimeFault kOutside = "the time is before 1970 or after 2099";

int month_of(std::string_view name) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = kMonths.find(name);
  return at == std::string_view::npos || at % 3 != 0 ? 0 : static_cast<int>(at / 3) + 1;
}

std::optional<std::int64_t> days_of(int year, int month, int day) {
  if (year < 0 || month < 1 || day < 1) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch().count();
}

// "05:49:47[.5]" at text[at]; moves `at` past it.
TimeFault clock_of(std::string_view text, std::size_t& at, std::int64_t& ns) {
  const int hour = core::digits_at(text, at, 2);
  const int minute = core::digits_at(text, at + 3, 2);
  const int second = core::digits_at(text, at + 6, 2);
  if (hour < 0 || minute < 0 || second < 0 || text[at + 2] != ':' || text[at + 5] != ':') return kNotATime;
  if (hour > 23 || minute > 59 || second > 60) return kNoSuchTime;  // 60: a leap second
  ns = (std::int64_t{hour} * 3600 + std::int64_t{minute} * 60 + second) * kSecond;
  at += 8;
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    ++at;
    if (at == text.size() || !core::is_digit(text[at])) return kNotATime;
    std::int64_t unit = kSecond / 10;
    for (; at < text.size() && core::is_digit(text[at]); ++at, unit /= 10) ns += (text[at] - '0') * unit;
  }
  return nullptr;
}

}  // namespace

TimeFault TimeReader::in_zone(std::int64_t local_s, std::int64_t ns_of_it, std::optional<std::int32_t> own,
                              std::int64_t& ns) {
  const std::int64_t second = local_s - (own ? *own : zone_.offset_at(local_s, last_s_));
  // Years 0 to 9999 are far from an overflow in seconds, but not in nanoseconds.
  if (second < -2 * kDay || second > kEnd / kSecond) return kOutside;
  ns = second * kSecond + ns_of_it;
  if (ns < 0 || ns >= kEnd) return kOutside;
  last_s_ = second;
  return nullptr;
}

TimeFault TimeReader::read_clf(std::string_view text, std::int64_t& ns) {
  if (text.size() < 20 || text[2] != '/' || text[6] != '/' || text[11] != ':') return kNotATime;
  if (std::memcmp(day_text_.data(), text.data(), day_text_.size()) != 0) {
    const int day = core::digits_at(text, 0, 2);
    const int year = core::digits_at(text, 7, 4);
    if (day < 0 || year < 0) return kNotATime;
    const auto days = days_of(year, month_of(text.substr(3, 3)), day);
    if (!days) return kNoSuchTime;
    day_ = *days;
    std::memcpy(day_text_.data(), text.data(), day_text_.size());
  }
  std::size_t at = 12;
  std::int64_t clock_ns = 0;
  if (const TimeFault fault = clock_of(text, at, clock_ns)) return fault;
  std::optional<std::int32_t> own;
  if (at < text.size() && (text[at] != ' ' || !parse_zone(text.substr(at + 1), own.emplace())))
    return kNotATime;
  return in_zone(day_ * kDay + clock_ns / kSecond, clock_ns % kSecond, own, ns);
}

TimeFault TimeReader::read_iso(std::string_view text, std::int64_t& ns) {
  const int year = core::digits_at(text, 0, 4);
  const int month = core::digits_at(text, 5, 2);
  const int day = core::digits_at(text, 8, 2);
  if (year < 0 || month < 0 || day < 0 || text.size() < 19 || text[7] != text[4]) return kNotATime;
  if (text[10] != 'T' && text[10] != 't' && text[10] != ' ' && text[10] != '\t') return kNotATime;
  const auto days = days_of(year, month, day);
  if (!days) return kNoSuchTime;
  std::size_t at = 11;
  std::int64_t clock_ns = 0;
  if (const TimeFault fault = clock_of(text, at, clock_ns)) return fault;
  std::optional<std::int32_t> own;
  if (at < text.size() && text[at] == ' ') ++at;
  if (at < text.size() && !parse_zone(text.substr(at), own.emplace())) return kNotATime;
  return in_zone(*days * kDay + clock_ns / kSecond, clock_ns % kSecond, own, ns);
}

TimeFault TimeReader::read_number(std::string_view text, std::int64_t& ns) {
  std::int64_t whole = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, whole);
  const bool fraction = rest != end;
  if (error == std::errc::invalid_argument || (fraction && (*rest != '.' || rest + 1 == end)))
    return kNotATime;
  if (fraction && !std::all_of(rest + 1, end, core::is_digit)) return kNotATime;
  if (error == std::errc::result_out_of_range) return kNoCount;
  // The magnitude tells the unit: logs are not from the year 5138 (in seconds) or 1973 (in milliseconds).
  std::int64_t unit = 1;
  if (whole < 100'000'000'000'000'000) unit = 1'000;
  if (whole < 100'000'000'000'000) unit = 1'000'000;
  if (whole < 100'000'000'000) unit = kSecond;
  if (whole < kFirstNumber / unit || whole >= kEndOfNumbers / unit) return kNoCount;
  ns = whole * unit;
  for (const char* at = rest + 1; at < end; ++at) {
    unit /= 10;
    ns += (*at - '0') * unit;
  }
  return nullptr;
}

TimeFault TimeReader::read(std::string_view text, std::int64_t& ns) {
  if (format_) return read_format(*format_, text, ns);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  if (text.empty()) return kNotATime;
  if (text.size() > 4 && (text[4] == '-' || text[4] == '/')) return read_iso(text, ns);
  if (text.size() > 2 && text[2] == '/') return read_clf(text, ns);
  if (text.size() >= 5 && text[2] == ':' && core::digits_at(text, 0, 2) >= 0 &&
      core::digits_at(text, 3, 2) >= 0)
    return kNoDate;
  return read_number(text, ns);
}

// A day later than the newest may be a zone, or a clock that is wrong.
TimeFault TimeReader::read_without_year(const TimeFormat& format, std::string_view text,
                                        TimeFormat::ClockReading& moment) const {
  using std::chrono::system_clock;
  const std::int64_t now = newest_s_ ? *newest_s_ : system_clock::to_time_t(system_clock::now());
  const std::int64_t latest = last_s_ == 0 ? now + kDay : last_s_ + 183 * kDay;
  const std::chrono::sys_days day{std::chrono::days{latest / kDay}};
  const int year = static_cast<int>(std::chrono::year_month_day{day}.year());
  constexpr int kMost = 8;  // years between two 29 Februaries
  TimeFault fault = nullptr;
  for (int back = 0; back <= kMost; ++back) {
    fault = format.read(text, moment, year - back);
    if (fault == nullptr && moment.second <= latest) return nullptr;
  }
  return fault;
}

TimeFault TimeReader::read_format(const TimeFormat& format, std::string_view text, std::int64_t& ns) {
  TimeFormat::ClockReading moment;
  const TimeFault fault =
      format.has_year() ? format.read(text, moment) : read_without_year(format, text, moment);
  if (fault != nullptr) return fault;
  if (moment.names_zone && !zone_.is_place())
    return "the time names its zone in letters; --zone Area/City says which it is";
  return in_zone(moment.second, moment.ns, moment.zone_s, ns);
}

}  // namespace weir::logs
