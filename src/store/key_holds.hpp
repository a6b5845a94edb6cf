// The open holds of a key whose units may be settled, by when they end.
//
// A value without a lock; one thread. Not for: what they owe (key_ledger.hpp), and slots (slots.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "store/reservation_id.hpp"
#include "store/sorted_chunks.hpp"

namespace weir::inline v0_1::store {

class KeyHolds {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // About the bytes that one takes.
  static constexpr std::size_t kBytes = 80;

  void add(nanoseconds until, ReservationId id, std::uint64_t units) {
    if (holds_.insert({until, id, units})) units_ += units;
  }
  void remove(nanoseconds until, ReservationId id) {
    const auto at = holds_.find_from({until, id, 0});
    if (holds_.is_end(at) || holds_[at].id != id) return;
    units_ -= holds_[at].units;
    holds_.erase(at);
  }

  // Appends those that end first.
  void find(std::size_t most, nanoseconds now, std::vector<std::pair<ReservationId, std::uint64_t>>& into) {
    drop_ended(now);
    for (auto at = holds_.begin(); !holds_.is_end(at) && most > 0; at = holds_.next(at), --most)
      into.emplace_back(holds_[at].id, holds_[at].units);
  }
  std::uint64_t units(nanoseconds now) {
    drop_ended(now);
    return units_;
  }
  // 0 where another one of `units` keeps all at `at_most` units; below 0 where it never does. Where more than
  // kLooked would have to end first: until that many have.
  nanoseconds until_fits(std::uint64_t units, std::uint64_t at_most, nanoseconds now) {
    if (at_most == ~std::uint64_t{0}) return nanoseconds{0};
    if (units > at_most) return nanoseconds{-1};
    drop_ended(now);
    unsigned __int128 held = units_;
    nanoseconds wait{0};
    std::size_t looked = 0;
    for (auto at = holds_.begin(); held + units > at_most && looked < kLooked;
         at = holds_.next(at), ++looked) {
      held -= holds_[at].units;
      wait = holds_[at].until - now;
    }
    return wait;
  }

 private:
  static constexpr std::size_t kLooked = 64;

  struct Hold {
    nanoseconds until{0};
    ReservationId id{};
    std::uint64_t units = 0;

    friend bool operator<(const Hold& a, const Hold& b) {
      return std::tie(a.until, a.id) < std::tie(b.until, b.id);
    }
  };

  void drop_ended(nanoseconds now) {
    while (!holds_.empty() && holds_.front().until <= now) {
      units_ -= holds_.front().units;
      holds_.erase(holds_.begin());
    }
  }

  SortedChunks<Hold> holds_;
  std::uint64_t units_ = 0;
};

}  // namespace weir::store
