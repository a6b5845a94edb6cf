// What one event loop has booked since it was last asked for it: of each key one Booking for each time in
// which no period of it ends.
//
// One thread books; any may take what there is, and they meet in a lock that nobody else takes. Bounded: a
// loop whose buffer is full has it taken first (full()). Not for: adding up (usage_book.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "steering/usage_book.hpp"
#include "store/spin.hpp"

namespace weir::inline v0_1::steering {

class UsageBuffer {
 public:
  static constexpr std::size_t kMost = 4096;  // keys
  static constexpr std::chrono::nanoseconds kKeeps = std::chrono::seconds{1};

  // `name` is given the booking of a key that has none, and fills in what it is.
  template <class NameIt>
  void add(std::uint64_t hash, std::int64_t units, std::chrono::nanoseconds utc, const NameIt& name) {
    const store::Held lock(mutex_);
    Open& open = keys_[hash];
    if (open.until <= utc) begin(open, hash, utc, name);
    open.booking.change.add(units);
  }
  // Of the key that was booked by that place, wherever: a booking with a place and no hash.
  void add(const UsagePlace& place, std::int64_t units, std::chrono::nanoseconds utc) {
    const store::Held lock(mutex_);
    const auto booked = places_.find(place);
    if (booked != places_.end()) {
      const auto open = keys_.find(booked->second);
      if (open->second.until > utc) return open->second.booking.change.add(units);
      // What it has booked is before this.
      steps_.push_back(std::move(open->second.booking));
      keys_.erase(open);
      places_.erase(booked);
    }
    steps_.push_back({.place = place, .utc = utc});
    steps_.back().change.add(units);
  }
  // It should be taken soon.
  bool due(std::chrono::nanoseconds utc) {
    const store::Held lock(mutex_);
    return keys_.size() + steps_.size() >= kMost || utc >= since_ + kKeeps || utc < since_;
  }
  // In an order in which they may be added up: of each key that of their times, as no sum is ever below 0.
  std::vector<Booking> take(std::chrono::nanoseconds utc);

 private:
  struct Open {
    Booking booking;
    std::chrono::nanoseconds until{0};
  };

  template <class NameIt>
  void begin(Open& open, std::uint64_t hash, std::chrono::nanoseconds utc, const NameIt& name)
      WEIR_REQUIRES(mutex_) {
    if (open.until.count() != 0) steps_.push_back(std::move(open.booking));
    open.booking = {.hash = hash, .utc = utc};
    name(open.booking);
    if (open.booking.place != UsagePlace{}) places_[open.booking.place] = hash;
    open.until = next_end(open.booking.windows, utc);
  }

  store::SpinLock mutex_;
  std::unordered_map<std::uint64_t, Open> keys_ WEIR_GUARDED_BY(mutex_);
  std::unordered_map<UsagePlace, std::uint64_t, UsagePlaceHash> places_ WEIR_GUARDED_BY(mutex_);
  // Those of keys that have begun another, and what came of keys that had not begun one.
  std::vector<Booking> steps_ WEIR_GUARDED_BY(mutex_);
  std::chrono::nanoseconds since_ WEIR_GUARDED_BY(mutex_){0};
};

}  // namespace weir::steering
