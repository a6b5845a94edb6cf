// How long things took: a histogram for Prometheus.
//
// One thread counts, any reads. Not for: exact quantiles.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace weir::inline v0_1::core {

class Histogram {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // The upper bounds of its buckets, from what a table needs to what a store may take; beyond them is one
  // more.
  static constexpr std::array kBounds = {
      nanoseconds{1'000},      nanoseconds{2'500},      nanoseconds{5'000},      nanoseconds{10'000},
      nanoseconds{25'000},     nanoseconds{50'000},     nanoseconds{100'000},    nanoseconds{250'000},
      nanoseconds{500'000},    nanoseconds{1'000'000},  nanoseconds{2'500'000},  nanoseconds{5'000'000},
      nanoseconds{10'000'000}, nanoseconds{25'000'000}, nanoseconds{50'000'000}, nanoseconds{100'000'000},
      nanoseconds{250'000'000}};

  // Those of several, added up.
  struct Total {
    std::array<std::uint64_t, kBounds.size() + 1> buckets{};  // each apart, not what is at most its bound
    nanoseconds sum{0};

    std::uint64_t count() const { return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0}); }
  };

  // That often it took that long.
  void count(nanoseconds took, std::uint64_t times = 1) {
    const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), took) - kBounds.begin();
    grow(buckets_[static_cast<std::size_t>(bucket)], times);
    grow(sum_, static_cast<std::uint64_t>(std::max(took, nanoseconds{0}).count()) * times);
  }

  void add_to(Total& total) const {
    for (std::size_t i = 0; i < buckets_.size(); ++i)
      total.buckets[i] += buckets_[i].load(std::memory_order_relaxed);
    total.sum += nanoseconds{sum_.load(std::memory_order_relaxed)};
  }

 private:
  // Ours alone writes, so that no read-modify-write of the bus is needed.
  static void grow(std::atomic<std::uint64_t>& number, std::uint64_t by) {
    number.store(number.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace weir::core
