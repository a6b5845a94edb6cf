#include "sim/series.hpp"

#include "logs/zone.hpp"

namespace weir::inline v0_1::sim {

using logs::kSecond;

void Series::reach(std::int64_t ns) {
  const std::int64_t second = ns / kSecond;
  if (counts_[0].empty()) first_bin_ = second / bin_s();
  while (width_ + 1 < kWidths.size() &&
         second / bin_s() - first_bin_ >= static_cast<std::int64_t>(most_bins_)) {
    const std::int64_t factor = kWidths[width_ + 1] / kWidths[width_];
    const std::int64_t merged_first = first_bin_ / factor;
    for (std::vector<std::uint64_t>& counts : counts_) {
      std::vector<std::uint64_t> merged;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::int64_t bin = (first_bin_ + static_cast<std::int64_t>(i)) / factor - merged_first;
        merged.resize(static_cast<std::size_t>(bin) + 1);
        merged.back() += counts[i];
      }
      counts = std::move(merged);
    }
    first_bin_ = merged_first;
    ++width_;
  }
  const std::int64_t bin = second / bin_s() - first_bin_;
  for (std::vector<std::uint64_t>& counts : counts_) counts.resize(static_cast<std::size_t>(bin) + 1);
  bin_end_ns_ = (first_bin_ + bin + 1) * bin_s() * kSecond;
}

}  // namespace weir::sim
