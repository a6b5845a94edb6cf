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

#include "core/moment.hpp"
#include "core/reservation.hpp"
#include "core/rule.hpp"
#include "store/reservation_id.hpp"
#include "store/sorted_chunks.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::store {

// What is told of a key's slots, where `most` may be open for the one that asks.
struct FreeSlots {
  std::int64_t open = 0;
  std::chrono::nanoseconds lacking{0};  // until there is one for it
  std::chrono::nanoseconds last{0};     // until the last one ends

  // `takes`: it asks for one.
  Decision decide(std::int64_t limit, std::int64_t most, bool takes) const {
    Decision told{Verdict::allowed, limit, std::max<std::int64_t>(most - open, 0), {}, last};
    if (!takes || open < most) return told;
    told.verdict = most < 1 ? Verdict::never : Verdict::busy;
    if (most >= 1) told.retry_after = std::max(lacking, std::chrono::nanoseconds{1});
    return told;
  }
};

// Of a request that finds a slot taken, or its holds full: how long until they and its rates allow it, below
// 0 where no time helps, and which of them says so, of several the first. `decision_of` gives a pointer for
// each number, null for one that has no say; `longest` is what the holds say.
struct Busy {
  std::chrono::nanoseconds wait{0};
  std::uint8_t by = 0;
};
template <class RuleOf, class DecisionOf>
Busy longest_of(std::size_t count, std::chrono::nanoseconds max_wait, const RuleOf& rule_of,
                const DecisionOf& decision_of, Busy longest = {}) {
  for (std::size_t i = 0; i < count; ++i) {
    const Decision* const decision = decision_of(i);
    if (decision == nullptr || decision->allowed()) continue;
    auto wait = decision->retry_after.value_or(std::chrono::nanoseconds{-1});
    const core::Rule& rule = rule_of(i);
    if (wait.count() > 0 && core::can_reserve(rule.algorithm) && core::may_wait(rule))
      wait = std::max(wait - max_wait, std::chrono::nanoseconds{0});
    const bool is_longer = longest.wait.count() < 0 ? wait.count() < 0 && i < longest.by
                                                    : wait.count() < 0 || wait > longest.wait;
    if (wait.count() != 0 && is_longer) longest = {wait, static_cast<std::uint8_t>(i)};
  }
  return longest;
}

class KeySlots {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // About the bytes that one open hold takes.
  static constexpr std::size_t kBytes = 96;

  // `epoch` tells them from earlier ones of the key, which were forgotten; `limit` whose they are
  // (Limit::id).
  KeySlots(std::uint64_t epoch, std::uint64_t limit) : epoch_(epoch), limit_(limit) {}

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
  // Of one that there is.
  void move(ReservationId id, nanoseconds end, nanoseconds to) {
    free(id, end);
    take(id, to);
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

  // Appends those that end first.
  void find_holds(std::size_t most, std::vector<std::pair<ReservationId, std::uint64_t>>& into) const {
    for (auto at = Open::begin(); !open_.is_end(at) && most > 0; at = open_.next(at), --most)
      into.emplace_back(open_[at].second, 1);
  }

  // Costs as many as have to end before one more is open.
  FreeSlots find_free(std::int64_t most, nanoseconds now) const {
    FreeSlots found{.open = static_cast<std::int64_t>(open_.size()), .lacking = {}, .last = {}};
    if (found.open == 0) return found;
    found.last = std::max(open_.back().first - now, nanoseconds{0});
    if (found.open < most || most < 1) return found;
    auto at = Open::begin();
    for (std::int64_t lacking = found.open - most; lacking > 0; --lacking) at = open_.next(at);
    found.lacking = open_[at].first - now;
    return found;
  }

 private:
  using Open = SortedChunks<std::pair<nanoseconds, ReservationId>>;

  std::uint64_t epoch_;
  std::uint64_t limit_;
  Open open_;  // by their ends
};

}  // namespace weir::store
