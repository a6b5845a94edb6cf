// Of a schedule (schedule.hpp): by hold, where it is not 0, for how long of what followed that hold, up to
// the next one, the schedule has moved up.
//
// Two rows that lie side by side, so that a sum of a hundred takes some tens of nanoseconds; a tree's
// would be ten. A value without a lock; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace weir::inline v0_1::store {

class ScheduleShifts {
 public:
  std::size_t size() const { return numbers_.size(); }
  std::pair<std::uint64_t, std::uint64_t> operator[](std::size_t i) const { return {numbers_[i], words_[i]}; }

  void clear() {
    numbers_.clear();
    words_.clear();
  }

  // Of all holds from that number on.
  std::uint64_t sum_from(std::uint64_t number) const {
    return std::accumulate(words_.begin() + place_of(number), words_.end(), std::uint64_t{0});
  }

  void add(std::uint64_t number, std::uint64_t word) {
    const auto place = place_of(number);
    if (is_at(place, number)) {
      words_[static_cast<std::size_t>(place)] += word;
      return;
    }
    numbers_.insert(numbers_.begin() + place, number);
    words_.insert(words_.begin() + place, word);
  }

  // Removes that of a hold; 0 when it has none.
  std::uint64_t take(std::uint64_t number) {
    const auto place = place_of(number);
    if (!is_at(place, number)) return 0;
    const std::uint64_t word = words_[static_cast<std::size_t>(place)];
    numbers_.erase(numbers_.begin() + place);
    words_.erase(words_.begin() + place);
    return word;
  }

 private:
  std::ptrdiff_t place_of(std::uint64_t number) const {
    return std::lower_bound(numbers_.begin(), numbers_.end(), number) - numbers_.begin();
  }
  bool is_at(std::ptrdiff_t place, std::uint64_t number) const {
    return static_cast<std::size_t>(place) < numbers_.size() &&
           numbers_[static_cast<std::size_t>(place)] == number;
  }

  std::vector<std::uint64_t> numbers_;  // ascending
  std::vector<std::uint64_t> words_;
};

}  // namespace weir::store
