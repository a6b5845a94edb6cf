// Counts over time in as many bins as a reader can tell apart, each of a width that a person would choose.
//
// Pure, any thread. Not for: counting (sim/series.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

// Bins begin at multiples of their width since 1970.
struct Bins {
  std::int64_t from_s;
  std::int64_t bin_s;
};

// The narrowest ones that hold `count` bins of `fine` and are at most `most`, which is 2 or more.
Bins fewer_bins(const Bins& fine, std::size_t count, std::size_t most);

// The counts of `fine` bins, added up in `wide` ones.
std::vector<std::uint64_t> added_up(const std::vector<std::uint64_t>& counts, const Bins& fine,
                                    const Bins& wide);

Timeline in_fewer_bins(const Timeline& timeline, std::size_t most);

}  // namespace weir::sim
