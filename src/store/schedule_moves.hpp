// Of a schedule (schedule.hpp): how far pauses have moved its units, by their numbers. Each pause moves those
// from a number on, so what a unit has moved by is a sum of all that began no later.
//
// A value without a lock; one thread. At most kMost sums are kept apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir::inline v0_1::store {

class ScheduleMoves {
 public:
  static constexpr std::size_t kMost = 64;

  std::uint64_t of(std::uint64_t number) const {
    std::uint64_t sum = all_;
    for (const auto& [from, by] : moves_) sum += from <= number ? by : 0;
    return sum;
  }

  // False when others than those have moved too, as there are too many sums already.
  bool add(std::uint64_t from, std::uint64_t by) {
    const auto after =
        std::upper_bound(moves_.begin(), moves_.end(), from,
                         [](std::uint64_t number, const auto& move) { return number < move.first; });
    if (after != moves_.begin() && (after - 1)->first == from) {
      (after - 1)->second += by;
      return true;
    }
    if (moves_.size() < kMost) {
      moves_.insert(after, {from, by});
      return true;
    }
    (after != moves_.begin() ? (after - 1)->second : all_) += by;
    return false;
  }

  // As many sums are kept apart that some should be folded.
  bool is_half_full() const { return moves_.size() >= kMost / 2; }

  // Nobody asks about an earlier one any more, or is told that it has moved by those too.
  void fold_up_to(std::uint64_t number) {
    while (!moves_.empty() && moves_.front().first <= number) {
      all_ += moves_.front().second;
      moves_.erase(moves_.begin());
    }
  }

  template <class Archive>
  void transfer(Archive& archive) {
    archive.number(all_);
    moves_.resize(archive.size(moves_.size()));
    for (auto& [from, by] : moves_) {
      archive.number(from);
      archive.number(by);
    }
  }

 private:
  std::uint64_t all_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> moves_;  // ascending
};

}  // namespace weir::store
