#include "core/utc_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace weir::core {

std::string utc_text(std::int64_t ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> exact{std::chrono::nanoseconds{ns}};
  const auto time = std::chrono::floor<std::chrono::seconds>(exact);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02ld:%02ld:%02ldZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<long>(clock.hours().count()), static_cast<long>(clock.minutes().count()),
                static_cast<long>(clock.seconds().count()));
  return text.data();
}

}  // namespace weir::core
