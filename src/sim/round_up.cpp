#include "sim/round_up.hpp"

namespace weir::inline v0_1::sim {

std::int64_t rounded_up(std::int64_t number) {
  if (number <= 10) return number;
  constexpr std::int64_t kTens[] = {10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100};
  std::int64_t unit = 1;
  while (number / 100 >= unit) unit *= 10;
  for (const std::int64_t each : kTens) {
    if (each * unit >= number) return each * unit;
  }
  return number;
}

}  // namespace weir::sim
