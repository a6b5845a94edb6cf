// Of a schedule (schedule.hpp): the moments that have not come, each with whose units it is of: their number,
// and the grant, as two may have the same number, of which one has given its units back. All of them can move
// by one time at once.
//
// A value without a lock; one thread. Each call costs the logarithm of what is kept.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "store/sorted_chunks.hpp"

namespace weir::inline v0_1::store {

class MomentsAhead {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  struct Whose {
    std::uint64_t number = 0;
    std::uint64_t grant = 0;

    friend auto operator<=>(const Whose&, const Whose&) = default;
  };

  // About the bytes that one takes.
  static constexpr std::size_t kBytes = 80;

  bool empty() const { return by_number_.empty(); }
  // Of those that are there.
  nanoseconds first_moment() const { return by_moment_.front().first + moved_; }
  nanoseconds last_moment() const { return by_moment_.back().first + moved_; }
  std::uint64_t first_number() const { return by_number_.front().first.number; }

  void add(Whose whose, nanoseconds moment) {
    take(whose);
    by_number_.insert({whose, moment - moved_});
    by_moment_.insert({moment - moved_, whose});
  }
  std::optional<nanoseconds> find(Whose whose) const {
    const auto at = by_number_.find_from({whose, nanoseconds::min()});
    if (by_number_.is_end(at) || by_number_[at].first != whose) return std::nullopt;
    return by_number_[at].second + moved_;
  }
  std::optional<nanoseconds> take(Whose whose) {
    const auto moment = find(whose);
    if (!moment) return std::nullopt;
    by_number_.erase(by_number_.find_from({whose, nanoseconds::min()}));
    by_moment_.erase(by_moment_.find_from({*moment - moved_, whose}));
    return moment;
  }
  void drop_passed(nanoseconds now) {
    while (!empty() && first_moment() <= now) take(by_moment_.front().second);
  }
  void move(nanoseconds by) { moved_ += by; }

  template <class Each>
  void each(const Each& each) const {
    for (auto at = by_number_.begin(); !by_number_.is_end(at); at = by_number_.next(at))
      each(by_number_[at].first, by_number_[at].second + moved_);
  }

 private:
  SortedChunks<std::pair<Whose, nanoseconds>> by_number_;
  SortedChunks<std::pair<nanoseconds, Whose>> by_moment_;  // the same
  nanoseconds moved_{0};
};

}  // namespace weir::store
