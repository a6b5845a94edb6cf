// What each limit has said in each of the last seconds: for a picture of it.
//
// One thread samples, any reads. Its memory is bounded by kMostLimits. Not for: totals (decision_counts.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "service/decision_counts.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

class DecisionSeries {
 public:
  static constexpr std::size_t kSteps = 300;
  static constexpr std::size_t kMostLimits = 1000;

  // The oldest first.
  struct Series {
    std::array<std::uint32_t, kSteps> allowed{};
    std::array<std::uint32_t, kSteps> denied{};  // by whatever cause
    std::array<std::uint32_t, kSteps> banned{};  // of them, by a ban
    std::array<std::uint32_t, kSteps> would_deny{};
  };

  struct Sums {
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t banned = 0;
    std::uint64_t would_deny = 0;
  };

  // To be called each second with what all loops have counted since the start.
  void sample(const DecisionCounts::Total& total);
  std::optional<Series> of(std::string_view limit) const;
  Sums lately(std::string_view limit) const;  // all of its series

 private:
  struct Row {
    Sums before;
    Sums lately;
    Series ring;  // from next_ on
  };
  static Sums sums_of(const DecisionCounts::Counted& counted);

  mutable detail::Mutex mutex_;
  std::size_t next_ WEIR_GUARDED_BY(mutex_) = 0;  // where the next second goes
  std::map<std::string, std::unique_ptr<Row>, std::less<>> rows_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::service
