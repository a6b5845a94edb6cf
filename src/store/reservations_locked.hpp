#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "store/reservations.hpp"

namespace weir::inline v0_1::store {

// In ascending order, so that two threads cannot wait for each other.
class Reservations::Locked {
 public:
  template <class Hashes>
  Locked(Reservations& reservations, const Hashes& hashes) : reservations_(reservations) {
    for (const auto& each : hashes) wanted_ |= std::uint64_t{1} << (each.hash >> 58);
    each([](Stripe& stripe) WEIR_NOT_ANALYSED { stripe.mutex.lock(); });
  }
  ~Locked() {
    each([](Stripe& stripe) WEIR_NOT_ANALYSED { stripe.mutex.unlock(); });
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  void clear_away(std::chrono::nanoseconds now) {
    each([&](Stripe& stripe) {
      stripe.mutex.assert_held();
      reservations_.clear_away(stripe, now);
    });
  }

 private:
  template <class Call>
  void each(const Call& call) {
    for (std::uint64_t left = wanted_; left != 0; left &= left - 1)
      call(reservations_.stripes_[static_cast<std::size_t>(std::countr_zero(left))]);
  }

  Reservations& reservations_;
  std::uint64_t wanted_ = 0;
};

}  // namespace weir::inline v0_1::store
