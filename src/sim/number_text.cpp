#include "sim/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/duration.hpp"

namespace weir::inline v0_1::sim {
namespace {

bool begins_character(char c) { return (c & 0xC0) != 0x80; }

// Where the code point of that number begins.
std::size_t offset_of(std::string_view text, std::size_t number) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (begins_character(text[at]) && seen++ == number) break;
  }
  return at;
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string counted(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", grouped(number), what, number == 1 ? "" : "s");
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (part == 0 || whole == 0) return "0 %";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (share < 0.01) return "< 0.01 %";
  if (part < whole && share > 99.99) return "> 99.99 %";
  const double rest = part < whole ? 100 - share : 100;
  const int digits = share < 1 || rest < 0.1 ? 2 : share < 10 || rest < 1 ? 1 : 0;
  return fmt::format("{:.{}f} %", share, digits);
}

std::string about(std::int64_t ns) {
  using namespace std::chrono;
  const nanoseconds exact{ns};
  if (exact >= hours{24}) return core::to_text(round<hours>(exact));
  if (exact >= hours{1}) return core::to_text(round<minutes>(exact));
  if (exact >= minutes{1}) return core::to_text(round<seconds>(exact));
  if (exact >= seconds{10}) return core::to_text(round<duration<std::int64_t, std::deci>>(exact));
  if (exact >= seconds{1}) return core::to_text(round<duration<std::int64_t, std::centi>>(exact));
  if (exact >= milliseconds{1}) return core::to_text(round<milliseconds>(exact));
  return core::to_text(exact);
}

std::string span_in_words(std::int64_t seconds) {
  struct Unit {
    std::int64_t seconds;
    const char* one;
    const char* many;
  };
  constexpr Unit kUnits[] = {{604'800, "a week", "weeks"},
                             {86'400, "a day", "days"},
                             {3600, "an hour", "hours"},
                             {60, "a minute", "minutes"},
                             {1, "a second", "seconds"}};
  for (const Unit& each : kUnits) {
    if (seconds % each.seconds != 0) continue;
    const std::int64_t count = seconds / each.seconds;
    return count == 1 ? each.one : fmt::format("{} {}", count, each.many);
  }
  return "";
}

std::string rate_in_words(double per_second) {
  struct Period {
    const char* name;
    double seconds;
  };
  constexpr Period kSpoken[] = {{"a second", 1}, {"a minute", 60}, {"an hour", 3600}, {"a day", 86'400}};
  const Period* period = &kSpoken[0];
  for (const Period& each : kSpoken) {
    period = &each;
    if (per_second * each.seconds >= 0.9999) break;
  }
  const double count = per_second * period->seconds;
  if (count >= 1000) return grouped(static_cast<std::uint64_t>(count + 0.5)) + " " + period->name;
  return fmt::format("{:.3g} {}", count, period->name);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut(std::string text, std::size_t columns) {
  if (width_of(text) <= columns) return text;
  return text.substr(0, offset_of(text, columns - 3)) + "...";
}

std::string cut_middle(std::string_view text, std::size_t columns) {
  const std::size_t width = width_of(text);
  if (width <= columns) return std::string(text);
  const std::size_t after = (columns - 1) / 2;
  return std::string(text.substr(0, offset_of(text, columns - 1 - after))) + "\u2026" +
         std::string(text.substr(offset_of(text, width - after)));
}

}  // namespace weir::sim
