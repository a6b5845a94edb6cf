#include "core/whole_rate.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "core/duration.hpp"

namespace weir::inline v0_1::core {
namespace {

using Wide = unsigned __int128;
using std::chrono::nanoseconds;

struct WrittenPeriod {
  std::string_view name;
  nanoseconds length;
};
// In which people say a rate, and write one.
constexpr std::array<WrittenPeriod, 4> kSaidPeriods = {{{"min", std::chrono::minutes{1}},
                                                        {"h", std::chrono::hours{1}},
                                                        {"d", std::chrono::days{1}},
                                                        {"w", std::chrono::weeks{1}}}};
constexpr std::array<WrittenPeriod, 7> kWrittenPeriods = {{{"d", std::chrono::days{1}},
                                                           {"h", std::chrono::hours{1}},
                                                           {"m", std::chrono::minutes{1}},
                                                           {"s", std::chrono::seconds{1}},
                                                           {"ms", std::chrono::milliseconds{1}},
                                                           {"us", std::chrono::microseconds{1}},
                                                           {"ns", nanoseconds{1}}}};

// What a reader takes in; beyond it "11/2000s" says less than the number.
constexpr std::uint64_t kMostPeriods = 100'000;

// units / 10^decimals: "0.0055" is 55 / 10^4.
struct Decimal {
  std::uint64_t units = 0;
  std::uint64_t scale = 1;
};

std::optional<Decimal> read_decimal(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || point + 1 == text.size()) return std::nullopt;
  std::string digits(text.substr(0, point));
  digits += text.substr(point + 1);
  Decimal read;
  if (digits.size() > kMostDigits || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  std::from_chars(digits.data(), digits.data() + digits.size(), read.units);
  for (std::size_t i = point + 1; i < text.size(); ++i) read.scale *= 10;
  if (read.units == 0) return std::nullopt;
  return read;
}

// With two decimals at most, rounded down: "19.8".
std::string about(Wide number, Wide of) {
  const auto hundredths = static_cast<std::uint64_t>(number * 100 / of);
  std::string text = std::to_string(hundredths / 100);
  const std::uint64_t rest = hundredths % 100;
  if (rest == 0) return text;
  text += (rest < 10 ? ".0" : ".") + std::to_string(rest);
  if (text.ends_with('0')) text.pop_back();
  return text;
}

Wide common(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// "2000s": in the longest unit that it is whole in.
std::string written(nanoseconds period) {
  const auto* const unit =
      std::find_if(kWrittenPeriods.begin(), kWrittenPeriods.end(),
                   [&](const WrittenPeriod& each) { return period % each.length == nanoseconds{0}; });
  return std::to_string(period / unit->length) + std::string(unit->name);
}

}  // namespace

std::string in_whole_numbers(std::string_view count, std::string_view period_text, nanoseconds period,
                             bool has_burst) {
  const auto read = read_decimal(count);
  if (!read || period.count() <= 0) return "";
  const Wide each = Wide{read->scale} * static_cast<std::uint64_t>(period.count());
  const auto of_unit = [&](const WrittenPeriod& unit) {
    return Wide{read->units} * static_cast<std::uint64_t>(unit.length.count());
  };
  const auto whole = std::find_if(kSaidPeriods.begin(), kSaidPeriods.end(),
                                  [&](const WrittenPeriod& unit) { return of_unit(unit) % each == 0; });
  const auto near = std::find_if(kSaidPeriods.begin(), kSaidPeriods.end(),
                                 [&](const WrittenPeriod& unit) { return of_unit(unit) >= each; });
  const WrittenPeriod& unit = whole != kSaidPeriods.end()  ? *whole
                              : near != kSaidPeriods.end() ? *near
                                                           : kSaidPeriods.back();
  const Wide number = of_unit(unit);
  const bool exact = number * 100 % each == 0;
  std::string text = std::string(count) + "/" + std::string(period_text) + " is " + (exact ? "" : "about ") +
                     about(number, each) + "/" + std::string(unit.name);
  const auto shared = static_cast<std::uint64_t>(common(read->units, read->scale));
  const std::uint64_t periods = read->scale / shared;
  if (periods > kMostPeriods || period > nanoseconds::max() / periods) return text;
  text += ": write '" + std::to_string(read->units / shared) + "/" +
          written(period * static_cast<std::int64_t>(periods));
  const std::uint64_t burst = (read->units + read->scale - 1) / read->scale;
  return text + (has_burst ? "'" : " burst " + std::to_string(burst) + "'");
}

}  // namespace weir::core
