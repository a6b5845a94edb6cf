// Counts over time in a bounded number of bins, whatever the span: when all are used, neighbours are merged.
//
// One thread at a time. Times must not go back.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weir::inline v0_1::sim {

class Series {
 public:
  // `channels`: how many counts each bin has.
  Series(std::size_t channels, std::size_t most_bins) : most_bins_(most_bins), counts_(channels) {}

  void add(std::int64_t ns, std::size_t channel, std::uint64_t units = 1) {
    if (ns >= bin_end_ns_) reach(ns);
    counts_[channel].back() += units;
  }

  std::int64_t from_s() const { return first_bin_ * bin_s(); }
  std::int64_t bin_s() const { return kWidths[width_]; }
  const std::vector<std::uint64_t>& counts(std::size_t channel) const { return counts_[channel]; }

 private:
  // In seconds, up to four times 48 weeks; each divides the next. A log may span 130 years: 36 bins of the
  // last.
  static constexpr std::array<std::int64_t, 18> kWidths = {
      1,     5,     10,    30,    60,     300,     600,      1800,     3600,
      10800, 21600, 43200, 86400, 604800, 2419200, 29030400, 58060800, 116121600};
  void reach(std::int64_t ns);

  std::size_t most_bins_;
  std::size_t width_ = 0;
  std::int64_t first_bin_ = 0;  // counted from 1970 in bins
  std::int64_t bin_end_ns_ = INT64_MIN;
  std::vector<std::vector<std::uint64_t>> counts_;
};

}  // namespace weir::sim
