// The open holds of one key, each of which has a slot of it until it ends.
//
// Counted are ids, never numbers: what ends twice, by its settlement and by its time, is there once. How many
// there may be is the limit's business, and may change: nobody is thrown out.
//
// A value without a clock or a lock; one thread. Each call costs the logarithm of what is open, but where it
// says otherwise. Not for: when a hold ends (reservations.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "store/reservation_id.hpp"
#include "store/sorted_chunks.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::store {

class Slots {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // About the bytes that one open hold takes.
  static constexpr std::size_t kBytes = 96;

  // `epoch` tells them from earlier ones of the key, which were forgotten; `limit` whose they are
  // (Limit::id).
  Slots(std::uint64_t epoch, std::uint64_t limit) : epoch_(epoch), limit_(limit) {}

  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t limit() const { return limit_; }
  std::size_t open() const { return open_.size(); }
  void take(ReservationId id, nanoseconds end) { open_.insert({end, id}); }
  // False: there is none that ends then.
  bool free(ReservationId id, nanoseconds end) {
    const auto at = open_.find_from({end, id});
    if (open_.is_end(at) || open_[at].second != id) return false;
    open_.erase(at);
    return true;
  }
  bool has(ReservationId id, nanoseconds end) const {
    const auto at = open_.find_from({end, id});
    return !open_.is_end(at) && open_[at].second == id;
  }

  // Appends those that end by then. Costs as many as there are.
  void find_ended(nanoseconds by, std::vector<std::pair<ReservationId, nanoseconds>>& into) const {
    for (auto at = Open::begin(); !open_.is_end(at) && open_[at].first <= by; at = open_.next(at))
      into.emplace_back(open_[at].second, open_[at].first);
  }

  // What a request for one more is told, where `most` may be open for it. Costs as many as have to end before
  // it has one.
  Decision decide(std::int64_t limit, std::int64_t most, bool takes, nanoseconds now) const {
    const auto open = static_cast<std::int64_t>(open_.size());
    Decision told{Verdict::allowed, limit, std::max<std::int64_t>(most - open, 0), {}, nanoseconds{0}};
    if (open > 0) told.reset_after = std::max(open_.back().first - now, nanoseconds{0});
    if (!takes || open < most) return told;
    if (most < 1) {
      told.verdict = Verdict::never;
      return told;
    }
    told.verdict = Verdict::busy;
    auto last = Open::begin();
    for (std::int64_t lacking = open - most; lacking > 0; --lacking) last = open_.next(last);
    told.retry_after = std::max(open_[last].first - now, nanoseconds{1});
    return told;
  }

 private:
  using Open = SortedChunks<std::pair<nanoseconds, ReservationId>>;

  std::uint64_t epoch_;
  std::uint64_t limit_;
  Open open_;  // by their ends
};

}  // namespace weir::store
