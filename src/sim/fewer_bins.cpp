#include "sim/fewer_bins.hpp"

#include <array>

namespace weir::inline v0_1::sim {
namespace {

constexpr std::array<std::int64_t, 22> kWidths{
    1,    2,    5,    10,     15,     30,     60,     120,     300,     600,       900,
    1800, 3600, 7200, 10'800, 21'600, 43'200, 86'400, 172'800, 604'800, 1'209'600, 2'419'200};

Bins with(const Bins& fine, std::int64_t width) { return {fine.from_s / width * width, width}; }

std::size_t place(std::size_t i, const Bins& fine, const Bins& wide) {
  const std::int64_t begin = fine.from_s + static_cast<std::int64_t>(i) * fine.bin_s;
  return static_cast<std::size_t>((begin - wide.from_s) / wide.bin_s);
}

}  // namespace

Bins fewer_bins(const Bins& fine, std::size_t count, std::size_t most) {
  const auto enough = [&](std::int64_t width) {
    return width % fine.bin_s == 0 && (count == 0 || place(count - 1, fine, with(fine, width)) < most);
  };
  if (enough(fine.bin_s)) return fine;
  for (const std::int64_t width : kWidths) {
    if (enough(width)) return with(fine, width);
  }
  std::int64_t width = fine.bin_s * 2;
  while (!enough(width)) width *= 2;
  return with(fine, width);
}

std::vector<std::uint64_t> added_up(const std::vector<std::uint64_t>& counts, const Bins& fine,
                                    const Bins& wide) {
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t at = place(i, fine, wide);
    if (at >= sums.size()) sums.resize(at + 1);
    sums[at] += counts[i];
  }
  return sums;
}

Timeline in_fewer_bins(const Timeline& timeline, std::size_t most) {
  const Bins fine{timeline.from_s, timeline.bin_s};
  const Bins wide = fewer_bins(fine, timeline.requests.size(), most);
  return {wide.from_s, wide.bin_s, added_up(timeline.requests, fine, wide),
          added_up(timeline.denied, fine, wide)};
}

}  // namespace weir::sim
