// What one loop has decided by the trees, by limit and verdict: for metrics.
//
// The loop's thread counts, any reads. Counting takes a store to its own memory; it allocates only when other
// trees come in force, and then forgets limits that have gone. Values of descriptors never come here, so what
// is reported has a bound: that of the files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limits/descriptors.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::rls {

class SeriesCounts {
 public:
  enum class Said : std::uint8_t { allowed, denied, would_deny };  // the last: in shadow
  static constexpr std::array<std::string_view, 3> kSaid = {"allowed", "denied", "would_deny"};

  template <class Number>
  struct Row {
    std::array<Number, kSaid.size()> decisions{};
    std::array<Number, kSaid.size()> hits{};
    Number near{};        // of those that were allowed: where little was left
    Number remembered{};  // of the others: where the store was not asked
  };
  using Total = std::map<std::string, Row<std::uint64_t>, std::less<>>;  // by name

  SeriesCounts() = default;
  SeriesCounts(const SeriesCounts&) = delete;
  SeriesCounts& operator=(const SeriesCounts&) = delete;

  // What is counted from now on is of these.
  void adopt(const std::shared_ptr<const limits::Descriptors>& trees);
  struct Hits {
    std::uint64_t all = 0;
    std::uint64_t near = 0;
    bool remembered = false;
  };
  void count(limits::Index series, Said said, const Hits& hits) {
    Row<std::atomic<std::uint64_t>>& row = *rows_[series];
    grow(row.decisions[static_cast<std::size_t>(said)], 1);
    grow(row.hits[static_cast<std::size_t>(said)], hits.all);
    if (hits.near != 0) grow(row.near, hits.near);
    if (hits.remembered) grow(row.remembered, hits.all);
  }
  void add_to(Total& total) const;

 private:
  using Numbers = Row<std::atomic<std::uint64_t>>;
  // Ours alone writes, so that no read-modify-write of the bus is needed.
  static void grow(std::atomic<std::uint64_t>& number, std::uint64_t by) {
    number.store(number.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::shared_ptr<const limits::Descriptors> of_;  // the loop's
  std::vector<Numbers*> rows_;                     // the loop's, by the numbers of series
  mutable detail::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Numbers>, std::less<>> by_name_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::rls
