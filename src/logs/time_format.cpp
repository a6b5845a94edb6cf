#include "logs/time_format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>

#include "core/digits.hpp"
#include "logs/zone.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr TimeFault kOther = "the time is not as --time-format says";
constexpr TimeFault kNever = "the time does not exist";

constexpr std::string_view kKnown = "YymdeBbhjHIMSfpAazZ";

bool space(char c) { return c == ' ' || c == '\t'; }

// %T is %H:%M:%S, and so on.
std::string written_out(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    const char c = text[++at];
    out += c == 'T'   ? "%H:%M:%S"
           : c == 'R' ? "%H:%M"
           : c == 'F' ? "%Y-%m-%d"
           : c == 'D' ? "%m/%d/%y"
                      : std::string{'%', c};
  }
  return out;
}

// What a pattern has been compared with so far.
class Reading {
 public:
  Reading(std::string_view text, int year) : rest_(text), year_(year) {}

  TimeFault follow(std::string_view pattern) {
    for (std::size_t at = 0; at < pattern.size(); ++at) {
      if (space(pattern[at])) {
        while (!rest_.empty() && space(rest_[0])) rest_.remove_prefix(1);
        continue;
      }
      const bool conversion = pattern[at] == '%' && at + 1 < pattern.size() && pattern[at + 1] != '%';
      if (pattern[at] == '%') ++at;
      const bool good = conversion ? take(pattern[at], pattern.substr(at + 1)) : take_literal(pattern[at]);
      if (!good) return kOther;
    }
    return rest_.empty() ? nullptr : kOther;
  }

  TimeFault finish(TimeFormat::ClockReading& moment) const {
    const int hour = half_ < 0 ? hour_ : hour_ % 12 + half_ * 12;
    if (hour > 23 || (half_ >= 0 && (hour_ < 1 || hour_ > 12)) || minute_ > 59 || second_ > 60) return kNever;
    const std::chrono::year_month_day date{std::chrono::year{year_},
                                           std::chrono::month{static_cast<unsigned>(month_)},
                                           std::chrono::day{static_cast<unsigned>(day_)}};
    if (!date.ok()) return kNever;
    const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
    moment.second = days * kDay + std::int64_t{hour} * 3600 + std::int64_t{minute_} * 60 + second_;
    moment.ns = ns_;
    moment.zone_s = zone_s_;
    moment.names_zone = names_zone_;
    return nullptr;
  }

 private:
  bool take_literal(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // 1 to `most` digits; a day of one digit may have a space in place of the other.
  bool take_number(std::size_t most, int& value) {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
    std::size_t size = 0;
    value = 0;
    for (; size < most && size < rest_.size() && core::is_digit(rest_[size]); ++size)
      value = value * 10 + (rest_[size] - '0');
    rest_.remove_prefix(size);
    return size > 0;
  }

  bool take_fraction() {
    std::int64_t unit = kSecond / 10;
    std::size_t size = 0;
    for (; size < rest_.size() && core::is_digit(rest_[size]); ++size, unit /= 10)
      ns_ += (rest_[size] - '0') * unit;
    rest_.remove_prefix(size);
    return size > 0;
  }

  std::string_view take_letters() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), core::is_letter);
    const std::string_view found = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(found.size());
    return found;
  }

  bool take_month() {
    constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                       "may",       "june",     "july",     "august",
                                                       "september", "october",  "november", "december"};
    std::string name(take_letters());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return static_cast<char>(c | 0x20); });
    for (std::size_t i = 0; i < kMonths.size(); ++i) {
      if (name != kMonths[i] && name != kMonths[i].substr(0, 3)) continue;
      month_ = static_cast<int>(i) + 1;
      return true;
    }
    return false;
  }

  bool take_zone() {
    const bool colon = rest_.size() >= 6 && rest_[3] == ':';
    const std::size_t size = rest_.starts_with('Z') ? 1 : colon ? 6 : 5;
    std::int32_t seconds = 0;
    if (!parse_zone(rest_.substr(0, size), seconds)) return false;
    zone_s_ = seconds;
    rest_.remove_prefix(size);
    return true;
  }

  bool take(char conversion, std::string_view after) {
    int ignored = 0;
    switch (conversion) {
      case 'Y':
        return take_number(4, year_) && year_ >= 1000;
      case 'y':
        if (!take_number(2, year_)) return false;
        year_ += 2000;
        return true;
      case 'm':
        return take_number(2, month_);
      case 'd':
      case 'e':
        return take_number(2, day_);
      case 'b':
      case 'B':
      case 'h':
        return take_month();
      case 'H':
      case 'I':
        return take_number(2, hour_);
      case 'M':
        return take_number(2, minute_);
      case 'S':
        if (!take_number(2, second_)) return false;
        if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') || !core::is_digit(rest_[1]))
          return true;
        if (after.starts_with(rest_[0])) return true;  // the pattern has it
        rest_.remove_prefix(1);
        return take_fraction();
      case 'f':
        return take_fraction();
      case 'p': {
        const std::string_view half = take_letters();
        half_ = half == "AM" || half == "am" ? 0 : half == "PM" || half == "pm" ? 1 : -1;
        return half_ >= 0;
      }
      case 'a':
      case 'A':
        return !take_letters().empty();
      case 'j':
        return take_number(3, ignored);
      case 'z':
        return take_zone();
      case 'Z': {
        const std::string_view name = take_letters();
        std::int32_t seconds = 0;
        names_zone_ = !parse_zone(name, seconds);
        if (!names_zone_) zone_s_ = seconds;
        return !name.empty();
      }
      default:
        return false;
    }
  }

  std::string_view rest_;
  int year_;
  int month_ = 0;
  int day_ = 0;
  int hour_ = 0;
  int minute_ = 0;
  int second_ = 0;
  int half_ = -1;  // 0 before noon, 1 after it
  std::int64_t ns_ = 0;
  std::optional<std::int32_t> zone_s_;
  bool names_zone_ = false;
};

bool has_any(const std::string& pattern, std::string_view conversions) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] != '%') continue;
    if (conversions.find(pattern[++at]) != std::string_view::npos) return true;
  }
  return false;
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw std::runtime_error("time-format: '" + text + "': " + why);
}

}  // namespace

const TimeFormat::Count* TimeFormat::count_called(std::string_view name) {
  // Day 60 of Excel is a 29 February that never was, so its days since March 1900 count from 1899-12-30.
  static constexpr std::array<Count, 8> kCounts{{{"s", kSecond, 0, false},
                                                 {"ms", 1'000'000, 0, false},
                                                 {"us", 1'000, 0, false},
                                                 {"ns", 1, 0, false},
                                                 {"excel", kDay * kSecond, -25'569 * kDay, true},
                                                 {"filetime", 100, -11'644'473'600, false},
                                                 {"webkit", 1'000, -11'644'473'600, false},
                                                 {"ticks", 100, -62'135'596'800, false}}};
  const auto* const found =
      std::find_if(kCounts.begin(), kCounts.end(), [name](const Count& each) { return each.name == name; });
  return found == kCounts.end() ? nullptr : found;
}

TimeFormat TimeFormat::parse(const std::string& text) {
  TimeFormat format;
  format.count_ = count_called(text);
  if (format.count_ != nullptr) return format;
  if (text.find('%') == std::string::npos)
    refuse(
        text,
        "neither a pattern such as '%d.%m.%Y %H:%M:%S' nor s, ms, us, ns, excel, filetime, webkit or ticks");
  format.pattern_ = written_out(text);
  for (std::size_t at = 0; at < format.pattern_.size(); ++at) {
    if (format.pattern_[at] != '%') continue;
    const char c = ++at < format.pattern_.size() ? format.pattern_[at] : '\0';
    if (c != '%' && kKnown.find(c) == std::string_view::npos)
      refuse(
          text,
          "%" + std::string(c == '\0' ? 0 : 1, c) +
              " is unknown; known are %Y %y %m %d %e %B %b %H %I %M %S %f %p %A %a %j %z %Z %T %R %F %D %%");
  }
  const auto needs = [&](std::string_view any, const char* what) {
    if (!has_any(format.pattern_, any)) refuse(text, what);
  };
  format.has_year_ = has_any(format.pattern_, "Yy");
  needs("mBbh", "no month (%m or %b)");
  needs("de", "no day (%d)");
  needs("HI", "no hour (%H, or %I with %p)");
  if (has_any(format.pattern_, "I")) needs("p", "%I without %p, AM or PM");
  return format;
}

TimeFault TimeFormat::read_count(std::string_view text, ClockReading& moment) const {
  constexpr std::int64_t kMost = 4'000'000'000'000'000'000;
  std::int64_t whole = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, whole);
  if (error != std::errc{} || whole < 0 || whole > kMost) return kOther;
  __int128 ns = static_cast<__int128>(whole) * count_->unit_ns;
  if (rest != end) {
    if (*rest != '.' || rest + 1 == end) return kOther;
    std::int64_t part = 0;
    std::int64_t of = 1;
    for (const char* at = rest + 1; at != end; ++at) {
      if (!core::is_digit(*at)) return kOther;
      if (of > kMost / 10) continue;
      part = part * 10 + (*at - '0');
      of *= 10;
    }
    ns += static_cast<__int128>(part) * count_->unit_ns / of;
  }
  // A day's fraction has ten decimals or a few more: what is left of a millisecond is not the log's.
  constexpr std::int64_t kMs = 1'000'000;
  if (count_->unit_ns > kSecond) ns = (ns + kMs / 2) / kMs * kMs;
  ns += static_cast<__int128>(count_->from_s) * kSecond;
  if (ns < 0 || ns > kMost) return "the time is before 1970 or after 2099";
  moment.second = static_cast<std::int64_t>(ns / kSecond);
  moment.ns = static_cast<std::int64_t>(ns % kSecond);
  if (!count_->local) moment.zone_s = 0;
  return nullptr;
}

TimeFault TimeFormat::read(std::string_view text, ClockReading& moment, int year) const {
  moment = {};
  if (count_ != nullptr) return read_count(text, moment);
  Reading reading(text, year);
  if (const TimeFault fault = reading.follow(pattern_)) return fault;
  return reading.finish(moment);
}

}  // namespace weir::logs
