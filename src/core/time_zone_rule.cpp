#include "core/time_zone_rule.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>

#include "core/digits.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::seconds;

// Beyond, the calendar of <chrono> ends; no clock that a program asks about shows it.
constexpr seconds kFarAhead = std::chrono::sys_days{std::chrono::year{9999} / 1 / 1}.time_since_epoch();
constexpr seconds kFarBack = std::chrono::sys_days{std::chrono::year{-9999} / 1 / 1}.time_since_epoch();

}  // namespace

// Each member takes what it names from the front, and says whether it was there.
class TimeZoneRule::Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Letters, or more in angle brackets. What a time is called matters to nobody here.
  bool name() {
    const bool quoted = skip('<');
    std::size_t length = 0;
    while (length < rest_.size() &&
           (is_letter(rest_[length]) ||
            (quoted && (is_digit(rest_[length]) || rest_[length] == '+' || rest_[length] == '-'))))
      ++length;
    rest_.remove_prefix(length);
    return length >= 3 && (!quoted || skip('>'));
  }

  // "2", "-2:30", "+02:30:15".
  bool time(int most_hours, seconds& into) {
    const bool minus = skip('-');
    if (!minus) (void)skip('+');
    unsigned hours = 0;
    unsigned minutes = 0;
    unsigned rest = 0;
    if (!number(0, static_cast<unsigned>(most_hours), hours)) return false;
    if (skip(':') && (!number(0, 59, minutes) || (skip(':') && !number(0, 59, rest)))) return false;
    into = seconds{hours * 3600 + minutes * 60 + rest} * (minus ? -1 : 1);
    return true;
  }

  // POSIX counts to the west.
  bool offset(seconds& east) {
    seconds west{};
    if (!time(24, west)) return false;
    east = -west;
    return true;
  }

  bool moment(Moment& into) {
    if (!skip(',') || !date(into)) return false;
    return !skip('/') || time(167, into.time);
  }

 private:
  bool date(Moment& into) {
    if (skip('J')) {
      into.form = Moment::Form::day_without_leap;
      return number(1, 365, into.day);
    }
    if (!skip('M')) return number(0, 365, into.day);
    into.form = Moment::Form::weekday_of_month;
    return number(1, 12, into.month) && skip('.') && number(1, 5, into.week) && skip('.') &&
           number(0, 6, into.day);
  }

  bool number(unsigned least, unsigned most, unsigned& into) {
    std::size_t length = 0;
    into = 0;
    for (; length < rest_.size() && length < 3 && is_digit(rest_[length]); ++length)
      into = into * 10 + static_cast<unsigned>(rest_[length] - '0');
    rest_.remove_prefix(length);
    return length > 0 && into >= least && into <= most;
  }

  std::string_view rest_;
};

std::optional<TimeZoneRule> TimeZoneRule::parse(std::string_view text) {
  Reader reader(text);
  TimeZoneRule rule;
  if (!reader.name() || !reader.offset(rule.standard_)) return std::nullopt;
  if (reader.at_end()) return rule;
  Summer summer{.east = rule.standard_ + std::chrono::hours{1}, .begins = {}, .ends = {}};
  if (!reader.name()) return std::nullopt;
  (void)reader.offset(summer.east);  // an hour ahead unless it says
  if (!reader.moment(summer.begins) || !reader.moment(summer.ends) || !reader.at_end()) return std::nullopt;
  rule.summer_ = summer;
  return rule;
}

seconds TimeZoneRule::Moment::in(std::chrono::year year) const {
  using std::chrono::sys_days;
  const std::chrono::days first = sys_days{year / 1 / 1}.time_since_epoch();
  switch (form) {
    case Form::day_without_leap:
      return first + std::chrono::days{day - 1 + (year.is_leap() && day >= 60 ? 1 : 0)} + time;
    case Form::weekday_of_month: {
      const std::chrono::weekday weekday{day};
      const std::chrono::month in{month};
      const sys_days date =
          week == 5 ? sys_days{year / in / weekday[std::chrono::last]} : sys_days{year / in / weekday[week]};
      return date.time_since_epoch() + time;
    }
    case Form::day_from_zero:
      break;
  }
  return first + std::chrono::days{day} + time;
}

// Shifts may lie a week beside their year, and two of them on one another, where it is summer all year.
TimeZone::Span TimeZoneRule::at(seconds utc) const {
  if (!summer_) return {seconds::min() / 2, seconds::max() / 2, standard_};
  if (utc >= kFarAhead) return {kFarAhead, seconds::max() / 2, standard_};
  if (utc < kFarBack) return {seconds::min() / 2, kFarBack, standard_};

  struct Shift {
    seconds at;
    int order;  // of those at one moment the later holds
    seconds east;
  };
  constexpr int kYears = 2;  // before and after
  std::array<Shift, std::size_t{4} * kYears + 2> shifts{};
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::floor<std::chrono::days>(utc)}};
  auto* next = shifts.begin();
  for (int i = -kYears; i <= kYears; ++i) {
    const std::chrono::year year = date.year() + std::chrono::years{i};
    const seconds begins = summer_->begins.in(year);
    const seconds ends = summer_->ends.in(year);
    *next++ = {begins - standard_, 2 * i, summer_->east};
    *next++ = {ends - summer_->east, 2 * i + 1, standard_};
  }
  std::sort(shifts.begin(), shifts.end(),
            [](const Shift& a, const Shift& b) { return std::tie(a.at, a.order) < std::tie(b.at, b.order); });
  const auto* const after = std::upper_bound(shifts.begin(), shifts.end(), utc,
                                             [](seconds time, const Shift& each) { return time < each.at; });
  return {std::max((after - 1)->at, kFarBack), std::min(after->at, kFarAhead), (after - 1)->east};
}

}  // namespace weir::core
