// What was admitted in any span of time: how the promise is tested.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir::inline v0_1 {

struct Admitted {
  std::int64_t at;
  std::int64_t cost;
};

// The greatest sum of cost x T - W over all spans that start and end at an admission, by carrying the
// greatest over all starts (Kadane's walk).
inline __int128 most_in_any_span(const std::vector<Admitted>& admitted, std::int64_t interval) {
  __int128 most = 0;
  __int128 worst = 0;
  std::int64_t last = admitted.empty() ? 0 : admitted.front().at;
  for (const Admitted& each : admitted) {
    worst = std::max<__int128>(0, worst - (each.at - last)) + static_cast<__int128>(each.cost) * interval;
    last = each.at;
    most = std::max(most, worst);
  }
  return most;
}

// For every span: sum <= burst + W / T, in whole nanoseconds of T.
inline bool kept(const std::vector<Admitted>& admitted, std::int64_t burst, std::int64_t interval) {
  return most_in_any_span(admitted, interval) <= static_cast<__int128>(burst) * interval;
}

}  // namespace weir
