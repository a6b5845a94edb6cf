// Charts as HTML with a static SVG: the shapes stretch with the page, the words beside them keep their size,
// and no script is needed. Scripts find the data of a chart by its data-* attributes.
//
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

// Requests over time, those denied on top of those allowed, on a linear scale up to `peak`.
struct OverTime {
  std::int64_t from_s;
  std::int64_t bin_s;
  const std::vector<std::uint64_t>& requests;
  const std::vector<std::uint64_t>& denied;
  std::uint64_t peak;
};
// With axes. `what` says to readers of no pictures what there is to see; `at` is where the data is for the
// script, as "0" for the first limit or "0 3" for its fourth client.
std::string chart_of(const OverTime& series, const std::string& what, const std::string& at);
// Without.
std::string strip_of(const OverTime& series, const std::string& what, const std::string& at);

std::uint64_t peak_of(const std::vector<std::uint64_t>& requests);

// Clients by number of requests: how many there are of each size, and how many of them were ever denied.
std::string sizes_of(const std::vector<std::uint64_t>& clients, const std::vector<std::uint64_t>& denied);

// The burst that each rate needs, and limits as numbered dots.
std::string curve_of(const SuggestReport& report, const std::vector<Figures>& dots);

}  // namespace weir::sim
