// boundaries FIRST LAST: for each line "UNIT ZONE" of the standard input, a line of the windows that begin in
// the years from FIRST to LAST (UTC): "BEGIN LENGTHxCOUNT LENGTHxCOUNT ...", in seconds since 1970.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "core/calendar.hpp"

namespace {

using weir::core::Calendar;
using weir::core::CalendarWindow;

std::int64_t in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::floor<std::chrono::seconds>(time).count();
}

void print(const Calendar& calendar, std::chrono::nanoseconds from, std::chrono::nanoseconds to) {
  CalendarWindow window = calendar.at(from);
  if (window.begin < from) window = calendar.at(window.end);
  std::cout << in_seconds(window.begin);
  std::int64_t length = 0;
  std::int64_t count = 0;
  std::uint64_t last_id = 0;
  for (; window.begin < to; window = calendar.at(window.end)) {
    if (window.id <= last_id || calendar.of(window.id) != window) std::cout << " ids";
    last_id = window.id;
    const std::int64_t its = in_seconds(window.end) - in_seconds(window.begin);
    if (its != length && count > 0) std::cout << ' ' << length << 'x' << count;
    count = its == length ? count + 1 : 1;
    length = its;
  }
  std::cout << ' ' << length << 'x' << count << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto begin_of = [](int year) {
    return std::chrono::sys_days{std::chrono::year{year} / 1 / 1}.time_since_epoch();
  };
  const auto from = begin_of(std::atoi(argv[1]));
  const auto to = begin_of(std::atoi(argv[2]) + 1);
  std::string unit;
  std::string zone;
  while (std::cin >> unit >> zone) {
    const auto calendar = Calendar::find(Calendar::unit_named(unit).value(), zone);
    if (!calendar) {
      std::fprintf(stderr, "%s\n", calendar.error().c_str());
      return 1;
    }
    print(**calendar, from, to);
  }
}
