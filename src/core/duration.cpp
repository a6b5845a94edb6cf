#include "core/duration.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/digits.hpp"

namespace weir::inline v0_1::core {
namespace {

using std::chrono::nanoseconds;

struct Unit {
  std::string_view name;
  std::int64_t ns;
};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;
// Months and years are left out, since their length varies.
constexpr std::array kUnits = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", kSecond},
    Unit{"sec", kSecond},
    Unit{"second", kSecond},
    Unit{"seconds", kSecond},
    Unit{"m", 60 * kSecond},
    Unit{"min", 60 * kSecond},
    Unit{"minute", 60 * kSecond},
    Unit{"minutes", 60 * kSecond},
    Unit{"h", 3600 * kSecond},
    Unit{"hour", 3600 * kSecond},
    Unit{"hours", 3600 * kSecond},
    Unit{"d", kDay},
    Unit{"day", kDay},
    Unit{"days", kDay},
    Unit{"w", 7 * kDay},
    Unit{"week", 7 * kDay},
    Unit{"weeks", 7 * kDay},
};

// What digits come to with one more after them.
constexpr std::uint64_t then_digit(std::uint64_t front, unsigned digit) { return front * 10 + digit; }

// What the digits after a point come to, each a tenth of the one before it.
struct Fraction {
  std::uint64_t ns = 0;  // below the unit
  bool more = false;     // and a part of a nanosecond
};

// With one digit more before them.
constexpr Fraction with_digit(Fraction after, unsigned digit, nanoseconds unit) {
  const std::uint64_t tenths = after.ns + digit * static_cast<std::uint64_t>(unit.count());
  return {tenths / 10, after.more || tenths % 10 != 0};
}

// front x unit and the fraction, rounded up to the nanosecond.
constexpr ScaledNumber times(std::uint64_t front, Fraction fraction, nanoseconds unit) {
  const unsigned __int128 value =
      static_cast<unsigned __int128>(front) * static_cast<std::uint64_t>(unit.count()) + fraction.ns +
      (fraction.more ? 1 : 0);
  if (value > static_cast<unsigned __int128>(std::numeric_limits<std::int64_t>::max()))
    return {NumberFault::out_of_range, nanoseconds{0}};
  return {NumberFault::none, nanoseconds{static_cast<std::int64_t>(value)}};
}

// What the parts of a duration come to.
struct Sum {
  std::uint64_t ns = 0;
  bool too_long = false;
};

// With one part more, which is not below 0. What is too long stays so.
constexpr Sum with_part(Sum before, ScaledNumber part, std::uint64_t most) {
  if (before.too_long || part.fault == NumberFault::out_of_range) return {0, true};
  const std::uint64_t ns = before.ns + static_cast<std::uint64_t>(part.value.count());
  return {ns, ns > most};
}

}  // namespace

ScaledNumber parse_scaled(std::string_view digits, nanoseconds unit) {
  constexpr ScaledNumber kNotANumber{NumberFault::not_a_number, nanoseconds{0}};
  constexpr ScaledNumber kOutOfRange{NumberFault::out_of_range, nanoseconds{0}};
  std::size_t at = 0;
  const bool negative = at < digits.size() && digits[at] == '-';
  if (negative) ++at;

  // The significant digits as one integer, and how far the point stands to their right.
  std::string significant;
  std::int64_t point = 0;
  bool any = false;
  bool fraction = false;
  for (; at < digits.size() && (is_digit(digits[at]) || (digits[at] == '.' && !fraction)); ++at) {
    if (digits[at] == '.') {
      fraction = true;
      continue;
    }
    any = true;
    if (!(significant.empty() && digits[at] == '0')) significant += digits[at];
    if (fraction) --point;
  }
  if (!any) return kNotANumber;
  if (at < digits.size() && (digits[at] == 'e' || digits[at] == 'E')) {
    ++at;
    const bool down = at < digits.size() && digits[at] == '-';
    if (at < digits.size() && (digits[at] == '-' || digits[at] == '+')) ++at;
    std::int64_t exponent = 0;
    const std::size_t first = at;
    for (; at < digits.size() && is_digit(digits[at]); ++at) {
      if (exponent < 100'000) exponent = exponent * 10 + (digits[at] - '0');
    }
    if (at == first) return kNotANumber;
    point += down ? -exponent : exponent;
  }
  if (at != digits.size()) return kNotANumber;
  if (significant.empty()) return {NumberFault::none, nanoseconds{0}};

  // Split at the point. What has more than 19 digits before it is out of range.
  constexpr std::int64_t kFront = 19;
  const auto length = static_cast<std::int64_t>(significant.size());
  const std::int64_t split = length + point;
  if (split > kFront) return kOutOfRange;
  const auto digit_at = [&](std::int64_t place) {
    return static_cast<unsigned>(place < length ? significant[static_cast<std::size_t>(place)] - '0' : 0);
  };
  std::uint64_t front = 0;
  for (std::int64_t place = 0; place < split; ++place) front = then_digit(front, digit_at(place));
  Fraction decimals;
  for (std::int64_t place = length; place-- > std::max<std::int64_t>(0, split);)
    decimals = with_digit(decimals, digit_at(place), unit);
  for (std::int64_t zeros = -split; zeros > 0 && decimals.ns != 0; --zeros)
    decimals = with_digit(decimals, 0, unit);
  const ScaledNumber value = times(front, decimals, unit);
  return {value.fault, negative ? -value.value : value.value};
}

ScaledNumber read_duration(std::string_view text) {
  constexpr ScaledNumber kNotATime{NumberFault::not_a_number, nanoseconds{0}};
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  // The least int64 is one further from 0 than the greatest.
  const std::uint64_t most =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  Sum sum;
  std::int64_t unit_before = 0;
  do {
    const std::size_t unit_at = text.find_first_not_of("0123456789.");
    if (unit_at == std::string_view::npos) return kNotATime;
    const std::size_t end = std::min(text.find_first_of("0123456789.", unit_at), text.size());
    const std::string_view name = text.substr(unit_at, end - unit_at);
    const auto unit = std::ranges::find(kUnits, name, &Unit::name);
    const bool alone = unit_before == 0 && end == text.size();
    if (unit == kUnits.end() || (unit_at == 0 && !alone)) return kNotATime;
    if (unit_before != 0 && unit->ns >= unit_before) return kNotATime;
    const std::string_view digits = unit_at == 0 ? "1" : text.substr(0, unit_at);
    if (end != text.size() && digits.find('.') != std::string_view::npos) return kNotATime;
    const ScaledNumber part = parse_scaled(digits, nanoseconds{unit->ns});
    if (part.fault == NumberFault::not_a_number) return part;
    // -2^63 ns has a part alone that is below 2^63, so no part of a text of ours is out of range.
    sum = with_part(sum, part, most);
    unit_before = unit->ns;
    text.remove_prefix(end);
  } while (!text.empty());
  if (sum.too_long) return {NumberFault::out_of_range, nanoseconds{0}};
  return {NumberFault::none, nanoseconds{static_cast<std::int64_t>(negative ? 0 - sum.ns : sum.ns)}};
}

std::optional<nanoseconds> parse_duration(std::string_view text) {
  const ScaledNumber number = read_duration(text);
  if (number.fault != NumberFault::none) return std::nullopt;
  return number.value;
}

std::string to_text(nanoseconds duration) {
  std::int64_t rest = duration.count();
  if (rest == 0) return "0s";
  std::string text = rest < 0 ? "-" : "";
  // The least int64 cannot be negated; its magnitude can be taken.
  auto magnitude = rest < 0 ? 0 - static_cast<std::uint64_t>(rest) : static_cast<std::uint64_t>(rest);
  constexpr std::array<Unit, 3> kLarge = {Unit{"d", kDay}, Unit{"h", 3600 * kSecond},
                                          Unit{"m", 60 * kSecond}};
  for (const Unit& unit : kLarge) {
    const auto ns = static_cast<std::uint64_t>(unit.ns);
    if (magnitude < ns) continue;
    text += std::to_string(magnitude / ns);
    text += unit.name;
    magnitude %= ns;
  }
  if (magnitude == 0) return text;
  // Below a minute: the largest unit that the rest fills, with the remaining digits after a point.
  Unit unit = kUnits[0];
  for (const Unit& candidate : {kUnits[1], kUnits[2], kUnits[3]}) {
    if (magnitude >= static_cast<std::uint64_t>(candidate.ns) || text.size() > 1) unit = candidate;
  }
  const auto ns = static_cast<std::uint64_t>(unit.ns);
  text += std::to_string(magnitude / ns);
  if (std::uint64_t rest_of_unit = magnitude % ns; rest_of_unit != 0) {
    std::string decimals = std::to_string(ns + rest_of_unit).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += "." + decimals;
  }
  text += unit.name;
  return text;
}

void append_window(nanoseconds period, std::string& out) {
  constexpr std::array<Unit, 7> kWhole = {
      Unit{"d", kDay},    Unit{"h", 3600 * kSecond}, Unit{"min", 60 * kSecond},
      Unit{"s", kSecond}, Unit{"ms", 1000000},       Unit{"us", 1000},
      Unit{"ns", 1}};
  const auto unit =
      std::ranges::find_if(kWhole, [period](const Unit& each) { return period.count() % each.ns == 0; });
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), period.count() / unit->ns);
  out.append(digits.data(), end.ptr);
  out += unit->name;
}

}  // namespace weir::core
