#include "core/utc_text.hpp"

#include <array>
#include <chrono>

namespace weir::inline v0_1::core {
namespace {

// `count` digits, the last of them before `end`.
void put(int number, int count, char* end) {
  for (; count > 0; --count, number /= 10) *--end = static_cast<char>('0' + number % 10);
}

}  // namespace

void append_utc_text(std::string& out, std::int64_t ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> exact{std::chrono::nanoseconds{ns}};
  const auto time = std::chrono::floor<std::chrono::seconds>(exact);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const auto second = static_cast<int>((time - day).count());
  std::array<char, 20> text{'0', '0', '0', '0', '-', '0', '0', '-', '0', '0',
                            'T', '0', '0', ':', '0', '0', ':', '0', '0', 'Z'};
  put(static_cast<int>(date.year()), 4, &text[4]);
  put(static_cast<int>(static_cast<unsigned>(date.month())), 2, &text[7]);
  put(static_cast<int>(static_cast<unsigned>(date.day())), 2, &text[10]);
  put(second / 3600, 2, &text[13]);
  put(second / 60 % 60, 2, &text[16]);
  put(second % 60, 2, &text[19]);
  out.append(text.data(), text.size());
}

std::string utc_ms_text(std::int64_t ns) {
  std::string text = utc_text(ns);
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(std::chrono::nanoseconds{ns}).count();
  std::array<char, 5> end{'.', '0', '0', '0', 'Z'};
  put(static_cast<int>((ms % 1000 + 1000) % 1000), 3, &end[4]);
  return text.replace(text.size() - 1, 1, end.data(), end.size());
}

std::string utc_text(std::int64_t ns) {
  std::string text;
  append_utc_text(text, ns);
  return text;
}

}  // namespace weir::core
