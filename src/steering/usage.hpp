// How much a key has used of a limit: in each window's running period, in the one before, and in each of the
// last 24 hours.
//
// A period is aligned: to the epoch in UTC, or as the calendar of its window has it. It is the window's own,
// but of shorter ones a minute. Times are of the wall clock. Plain values, any thread. Not for: keys
// (usage_book.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/calendar.hpp"
#include "core/rule.hpp"
#include "steering/unit_change.hpp"

namespace weir::inline v0_1::steering {

struct UsagePeriod {
  std::chrono::nanoseconds began{0};
  std::chrono::nanoseconds ends{0};

  friend bool operator==(const UsagePeriod&, const UsagePeriod&) = default;
};

// Which periods a window's usage is told by.
struct UsageWindow {
  std::chrono::nanoseconds length{0};        // unless it has a calendar
  const core::Calendar* calendar = nullptr;  // lives as long as the program

  static UsageWindow of(const core::Rule& rule);
  UsagePeriod at(std::chrono::nanoseconds utc) const;
  UsagePeriod before(const UsagePeriod& period) const {
    return at(period.began - std::chrono::nanoseconds{1});
  }

  friend bool operator==(const UsageWindow&, const UsageWindow&) = default;
};

// What a key used within a time in which no period ends.
struct Usage {
  static constexpr std::size_t kHours = 24;

  struct OfWindow {
    std::uint64_t used = 0;
    std::uint64_t last = 0;  // in the period before
    UsagePeriod period{};
  };
  // What is kept of one window.
  struct Kept {
    UsageWindow window;
    UsagePeriod period{};  // the latest of which anything is known
    std::int64_t used = 0;
    std::int64_t last = 0;

    void book(const UnitChange& change, std::chrono::nanoseconds utc);
    OfWindow at(std::chrono::nanoseconds utc) const;
    // When nothing of it is told any more.
    std::chrono::nanoseconds over() const { return window.at(period.ends).ends; }
  };

  std::vector<Kept> windows;
  std::array<std::int64_t, kHours> hours{};  // by their number since 1970
  std::int64_t hour = -1;                    // the latest of them

  void book(const std::vector<UsageWindow>& in, const UnitChange& change, std::chrono::nanoseconds utc);
  OfWindow of(const UsageWindow& window, std::chrono::nanoseconds utc) const;
  // The oldest first; the last is the one that runs.
  std::array<std::uint64_t, kHours> hours_at(std::chrono::nanoseconds utc) const;
  std::chrono::nanoseconds over() const;
};

// The first moment after `utc` at which a period or an hour ends.
std::chrono::nanoseconds next_end(const std::vector<UsageWindow>& windows, std::chrono::nanoseconds utc);

}  // namespace weir::steering
