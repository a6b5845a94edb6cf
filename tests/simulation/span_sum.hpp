// The greatest sum of what lies within a span, less what the span allows, over all spans at once.
//
// A span begins at one of the starts that are told first. A tree keeps for each of them the sum so far, so
// that all that happens costs a logarithm.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "simulation/chance.hpp"

namespace weir::inline v0_1::simulation {

class SpanSum {
 public:
  // `starts` in order; each begins with `first` of its own.
  SpanSum(std::vector<nanoseconds> starts, const std::vector<std::int64_t>& first)
      : starts_(std::move(starts)) {
    while (leaves_ < starts_.size()) leaves_ *= 2;
    most_.assign(2 * leaves_, std::numeric_limits<std::int64_t>::min() / 4);
    added_.assign(2 * leaves_, 0);
    for (std::size_t i = 0; i < starts_.size(); ++i) most_[leaves_ + i] = first[i];
    for (std::size_t i = leaves_ - 1; i > 0; --i) most_[i] = std::max(most_[2 * i], most_[2 * i + 1]);
  }

  // To all spans that begin no later than that.
  void add(nanoseconds latest, std::int64_t amount) { add(1, 0, leaves_, until(latest), amount); }
  // The greatest among them, and which span's it is.
  struct Most {
    std::int64_t sum;
    nanoseconds start;
  };
  Most most(nanoseconds latest) const {
    const std::size_t end = until(latest);
    Most most{std::numeric_limits<std::int64_t>::min() / 4, nanoseconds{0}};
    find(1, 0, leaves_, end, 0, most);
    return most;
  }

 private:
  std::size_t until(nanoseconds latest) const {
    return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), latest) -
                                    starts_.begin());
  }
  void add(std::size_t node, std::size_t from, std::size_t to, std::size_t end, std::int64_t amount) {
    if (from >= end) return;
    if (to <= end) {
      most_[node] += amount;
      added_[node] += amount;
      return;
    }
    const std::size_t middle = (from + to) / 2;
    add(2 * node, from, middle, end, amount);
    add(2 * node + 1, middle, to, end, amount);
    most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + added_[node];
  }
  void find(std::size_t node, std::size_t from, std::size_t to, std::size_t end, std::int64_t above,
            Most& most) const {
    if (from >= end || most_[node] + above <= most.sum) return;
    if (to - from == 1) {
      most = {most_[node] + above, starts_[from]};
      return;
    }
    const std::size_t middle = (from + to) / 2;
    find(2 * node, from, middle, end, above + added_[node], most);
    find(2 * node + 1, middle, to, end, above + added_[node], most);
  }

  std::vector<nanoseconds> starts_;
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> most_;
  std::vector<std::int64_t> added_;  // to all below a node
};

}  // namespace weir::simulation
