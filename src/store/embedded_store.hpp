// The store of this process: a Table that implements Store.
//
// Any thread may call any member at any time, each with requests of its own; a server has one for all its
// event loops. Every request is answered when submit() returns, so on_answer is never called and cancel()
// finds nothing to cancel. The caller owns the clock.
//
// Not for: the sliding window log, whose state is not two words. A check of such a limit is
// Fault::unsuitable.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "core/random.hpp"
#include "core/siphash.hpp"
#include "store/reservations.hpp"
#include "store/store.hpp"
#include "store/table.hpp"
#include "weir/memory.hpp"

namespace weir::inline v0_1::store {

class EmbeddedStore final : public Store {
 public:
  // As Table's, which throws std::invalid_argument and std::system_error.
  explicit EmbeddedStore(std::size_t bytes, WhenFull when_full = WhenFull::deny,
                         core::HashKey seed = core::random_key(),
                         std::size_t reservation_memory = Reservations::kMemory,
                         const core::Random& random = core::random_key,
                         std::size_t penalty_memory = PenaltyBook::kMemory)
      : table_(bytes, when_full, seed), reservations_(table_, reservation_memory, random, penalty_memory) {}

  void submit(std::span<Request* const> batch, Arrival when) override;
  void cancel(Request&) override {}
  // What an algorithm cannot give back (core::can_give_back) stays charged.
  void give_back(const Request& charged, std::chrono::nanoseconds now) override;

  // For snapshots, and for how full it is.
  Table& table() { return table_; }
  const Table& table() const { return table_; }
  Reservations& reservations() { return reservations_; }
  const Reservations& reservations() const { return reservations_; }

 private:
  void locate(Request& request) const;
  void answer(Request& request, Arrival when);
  void check_all(Request& request, Arrival when);
  void reset(Request& request, Arrival when);
  void reserve(Request& request, Arrival when);
  void charge(Request& request, Arrival when);
  void take(Request& request, Arrival when);

  Table table_;
  Reservations reservations_;
};

}  // namespace weir::store
